"""What a new process pays after an edit of one rule among many: a hook, or the next command.

Used by `bench.rules_fetch` and `bench.rules_speed`. The time is that from the first import to the first page
of rules, with and without the imports.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from workbench.ports import Journal
from workbench.records.rules import Rule
from workbench.rules.curation.ruletype import to_body

PROCESSES: Final = 5

_FETCH = """
import sys, time
from pathlib import Path
started = time.perf_counter()
from store.clock import SystemClock
from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.entry.services.rules import rule_fetcher
from workbench.rules.fetching.queries import RuleRequest, rule_filter
opened = open_workspace(Path(sys.argv[1]), Config())
fetcher = rule_fetcher(opened.workspace, Config(), SystemClock(), wait=5)
imported = time.perf_counter()
fetcher.fetch(RuleRequest(rule_filter(tool_targets=["claude"])))
ended = time.perf_counter()
from bench.scale.measuring import peak  # of this program alone, whoever started it
print((ended - started) * 1000, (ended - imported) * 1000, peak())
"""


def edit_rule(journal: Journal, rule: Rule) -> None:
    journal.append("rules", "rule.put", [to_body(replace(rule, priority=1, tags=("edited",)))], by="bench")


def fetch_after_edits(
    root: Path, environment: Mapping[str, str], journal: Journal, rules: Sequence[Rule]
) -> tuple[list[float], list[float]]:
    """Edit rules one after the other, each followed by a fetch in a new process.

    Returns the milliseconds of each but the first, with the imports and without.
    """
    taken = []
    for rule in rules[: PROCESSES + 1]:
        edit_rule(journal, rule)
        taken.append(fetch_in_new_process(root, environment))
    whole, own, _ = zip(*taken[1:], strict=True)
    return list(whole), list(own)


def fetch_in_new_process(root: Path, environment: Mapping[str, str]) -> tuple[float, float, float]:
    """Return the milliseconds from the first import to the answer, those after the imports, and its MB."""
    done = subprocess.run(
        [sys.executable, "-c", _FETCH, str(root)],
        env={**environment, "PYTHONPATH": os.getcwd()},
        check=True,
        capture_output=True,
        text=True,
    )
    whole, own, memory = map(float, done.stdout.split())
    return whole, own, memory


def figures(taken: Sequence[float]) -> tuple[float, float]:
    """Return (median, worst)."""
    return float(np.median(taken)), max(taken)
