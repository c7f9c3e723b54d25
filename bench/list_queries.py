"""How fast lists are read from the tables: `python -m bench.list_queries [--records 100000] [--repeat 5]`.

`--server postgresql://…` measures them on a server, `make team-server` runs one; its CPU is not counted.

Rules, and a fifth as many learnings and conflicts, are written into the journals of a project made here.
Figures are medians in milliseconds of one process that keeps its connection, wall clock and CPU: a filter is
a whole order, a page after an edit includes bringing the tables up to date.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.rules_fetch import make_rules
from store.table_queries import TableQueries
from workbench.config import Config
from workbench.entry.project import OpenedProject, open_workspace
from workbench.lists.conflicts import ConflictRow, ConflictSide
from workbench.lists.tables import ListQuery, ListTable
from workbench.records.conflicts import Action, ConflictKind, Suggestion
from workbench.records.ids import new_id
from workbench.records.learnings import FeatureLearning, LearningSource
from workbench.records.rules import Rule
from workbench.rules.curation.ruletype import to_body

PART = 5
TEXTS = ("The helper of module {} needs its tests first", "`make test-{}` fails without a database")


def fill(opened: OpenedProject, count: int) -> Rule:
    """Write the records; return one of the rules."""
    rules = [replace(rule, project_id=opened.project_id) for rule in make_rules(count)]
    opened.journal.append("rules", "rule.put", [to_body(rule) for rule in rules], by="bench")
    learnings = [
        FeatureLearning(
            id=f"learning-{number:06}",
            text=TEXTS[number % 2].format(number),
            reason="seen",
            source=LearningSource.AUTO,
            timestamp="2026-10-01T00:00:00Z",
            feature=f"feature {number % 20}",
            project_id=opened.project_id,
        )
        for number in range(count // PART)
    ]
    bodies = [{name: getattr(learning, name) for name in learning.__slots__} for learning in learnings]
    opened.journal.append("memory/bench", "learning.put", bodies, by="bench")
    opened.conflicts.keep("rule", [conflict(rules, number) for number in range(count // PART)])
    return rules[0]


def conflict(rules: Sequence[Rule], number: int) -> ConflictRow:
    left, right = rules[number], rules[number + 1]
    sides = [ConflictSide(rule.id, rule.rule, "CLAUDE.md:1", "CLAUDE.md") for rule in (left, right)]
    kind, way = tuple(ConflictKind)[number % 4], Suggestion(Action.KEEP_LEFT, "it is older")
    return ConflictRow(f"conflict-{number}", "rule", kind, 0.9, sides[0], sides[1], "Both say it.", (), way)


def on_server(opened: OpenedProject, url: str) -> TableQueries:
    from store.postgres.tables import ServerTables

    journals = {"project": opened.journal, "home": opened.home_journal}
    return ServerTables(url, new_id(), opened.state, journals, opened.clock)


def median(call: Callable[[], Any], repeat: int, before: Callable[[], Any] | None = None) -> str:
    """Return the medians of a call's times, wall clock and CPU."""
    wall, used = [], []
    for _ in range(repeat):
        if before is not None:
            before()
        start, at = time.perf_counter(), time.process_time()
        call()
        used.append((time.process_time() - at) * 1000)
        wall.append((time.perf_counter() - start) * 1000)
    return f"{statistics.median(wall):,.0f} | {statistics.median(used):,.0f}"


def rows(listed: ListTable[Any], words: str, facet: str, repeat: int, edit: Callable[[], Any]) -> list[str]:
    query = listed.type.query
    order = listed.order(ListQuery()).numbers
    window = order[len(order) // 2 :][:50].tolist()
    calls: dict[str, Callable[[], Any]] = {
        "first page": lambda: listed.page(ListQuery()),
        "window of 50 rows": lambda: listed.rows(window),
        f"filter `{words}`": lambda: listed.order(query(words)),
        f"filter `{facet}`": lambda: listed.order(query(facet)),
        "facets": lambda: listed.facets(ListQuery()),
    }
    name = f"{listed.type.noun}s | {len(order):,}"
    found = [f"| {name} | {step} | {median(call, repeat)} |" for step, call in calls.items()]
    after = median(lambda: listed.page(ListQuery()), repeat, edit)
    return [*found, f"| {name} | page after an edit | {after} |"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000, help="rules (default: 100,000)")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--server", default="", help="the URL of a PostgreSQL server that has the tables")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "project"
        (root / ".git").mkdir(parents=True)
        os.environ.update(HOME=scratch, WORKBENCH_HOME=str(Path(scratch) / "home"))
        opened = open_workspace(root, Config())
        if asked.server:
            vars(opened)["kept_tables"] = on_server(opened, asked.server)
        rule = fill(opened, asked.records)

        def edit() -> None:
            opened.journal.append("rules", "rule.put", [to_body(rule)], by="bench")

        _ = opened.rule_list.page(ListQuery())
        print("| list | rows | step | ms | CPU ms |\n|---|---:|---|---:|---:|")
        lines = [
            *rows(opened.rule_list, "hlpr tests", "tag:python priority:>=80", asked.repeat, edit),
            *rows(opened.learning_list, "hlpr tests", "hits:>=1 feature:feature*", asked.repeat, edit),
            *rows(opened.conflicts.list_waiting(), "hlpr tests", "kind:exact of:rule", asked.repeat, edit),
        ]
        print("\n".join(lines))
        print(opened.kept_tables.degraded)
        if asked.server:
            vars(opened)["kept_tables"].remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
