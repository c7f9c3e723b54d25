"""Processes that read and edit rules at once: `python -m bench.crowd [--seconds 60] [--processes 8]`.

Each edits a rule and then reads lists of them, over and over, in a project made here. Afterwards every edit
that was acknowledged is there, and every answer is consistent: pages are the order, and nobody's own edits
are missing. What readers wait for locks is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.rules_fetch import make_rules
from store import locks
from workbench.config import Config
from workbench.entry.project import OpenedProject, open_workspace
from workbench.lists.rules import RULES
from workbench.lists.tables import ListQuery
from workbench.records.rules import Rule
from workbench.rules.curation.ruletype import to_body


@dataclass(frozen=True, slots=True)
class CrowdReport:
    """What the processes did: `lost` edits and `faults` of answers, waits for locks and times in ms."""

    edits: int
    reads: int
    lost: tuple[str, ...]
    faults: tuple[str, ...]
    waits: tuple[float, ...]
    durations: tuple[float, ...]


def crowd(root: Path, *, processes: int, rules: int, rounds: int = 0, seconds: float = 0.0) -> CrowdReport:
    """Let processes read and edit at once, for so many rounds each or for so long."""
    opened = open_workspace(root, Config())
    bodies = [to_body(replace(rule, project_id=opened.project_id)) for rule in make_rules(rules)]
    opened.journal.append("rules", "rule.put", bodies, by="bench")
    _ = opened.rule_list.page(ListQuery())
    command = [sys.executable, "-m", "bench.crowd", "--worker", str(root), str(rounds), str(seconds)]
    here = Path(__file__).resolve().parent.parent
    started = [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, text=True, cwd=here)
        for number in range(processes)
    ]
    answers: list[dict[str, Any]] = []
    for one in started:
        output, _ = one.communicate()
        if one.returncode:
            raise RuntimeError(f"a process of the crowd failed: {one.returncode}")
        answers.append(json.loads(output))
    made = [identifier for each in answers for identifier in each["made"]]
    known = set(_ids(opened, ListQuery(RULES.query("id:crowd-*").filter)))
    return CrowdReport(
        len(made),
        sum(len(each["waits"]) for each in answers),
        tuple(identifier for identifier in made if identifier not in known),
        tuple(fault for each in answers for fault in each["faults"]),
        tuple(sorted(wait for each in answers for wait in each["waits"])),
        tuple(sorted(took for each in answers for took in each["durations"])),
    )


def _ids(opened: OpenedProject, query: ListQuery) -> list[str]:
    """Return the ids of all rules that match, page after page."""
    page = opened.rule_list.page(query, limit=1000)
    found = [rule.id for rule in page.rows]
    while page.cursor is not None:
        page = opened.rule_list.page(query, page.cursor, 1000)
        found += [rule.id for rule in page.rows]
    return found


def work(root: Path, rounds: int, seconds: float, number: int) -> dict[str, Any]:
    """Edit and read; return what was acknowledged, what was wrong, and how long reading waited and took."""
    opened = open_workspace(root, Config())
    until = time.monotonic() + seconds
    made: list[str] = []
    faults: list[str] = []
    waits, durations = [], []
    own = RULES.query(f"id:crowd-{number}-*")
    queries = (own, RULES.query("tests tag:python"), RULES.query("", "priority"), RULES.query("hlpr"))
    while len(made) < rounds or time.monotonic() < until:
        identifier = f"crowd-{number}-{len(made)}"
        rule = Rule(
            id=identifier, name="", rule=f"Edit {len(made)} of {number}.", project_id=opened.project_id
        )
        opened.journal.append("rules", "rule.put", [to_body(rule)], by="bench")
        made.append(identifier)
        query = queries[len(made) % len(queries)]
        before, start = locks.seconds_waited(), time.perf_counter()
        page = opened.rule_list.page(query, limit=1000)
        waits.append((locks.seconds_waited() - before) * 1000)
        durations.append((time.perf_counter() - start) * 1000)
        ids = [row.id for row in page.rows]
        if len(ids) != len(set(ids)) or len(ids) != min(page.total, 1000):
            faults.append(f"{number}: a page of {len(ids)} rows, {len(set(ids))} of them different")
        if query is own and page.total != len(made):
            faults.append(f"{number}: {page.total} of {len(made)} own edits are listed")
    return {"made": made, "faults": faults, "waits": waits, "durations": durations}


def quantile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the crowd and print what readers waited; 1 if an edit was lost or an answer inconsistent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rules", type=int, default=10_000)
    parser.add_argument("--worker", nargs=4, metavar=("ROOT", "ROUNDS", "SECONDS", "NUMBER"))
    asked = parser.parse_args(arguments)
    if asked.worker:
        root, rounds, seconds, number = asked.worker
        print(json.dumps(work(Path(root), int(rounds), float(seconds), int(number))))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "project"
        (root / ".git").mkdir(parents=True)
        os.environ.update(HOME=scratch, WORKBENCH_HOME=str(Path(scratch) / "home"))
        report = crowd(root, processes=asked.processes, rules=asked.rules, seconds=asked.seconds)
    print(f"{report.edits:,} edits and {report.reads:,} reads by {asked.processes} processes")
    for name, values in (("wait for locks", report.waits), ("read", report.durations)):
        p50, p95 = quantile(values, 0.5), quantile(values, 0.95)
        print(f"{name}: p50 {p50:,.1f} ms, p95 {p95:,.1f} ms, longest {values[-1]:,.1f} ms")
    print(f"lost edits: {len(report.lost)}, inconsistent answers: {len(report.faults)}")
    return 1 if report.lost or report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
