"""How lists in the app bear many records: `python -m bench.lists [--rules N] [--conflicts N] …`.

Records are generated into the journals of projects made here, the tables brought up to date with them, and
each section opened in an app without a terminal, of 120 columns and 40 rows: first in a process that has not
loaded what it needs, then again in another app. Times are wall clock from a key or a call to what it leads to
on the screen, and CPU of the process meanwhile, which other programs on the machine leave alone. A gap is how
long the event loop does not turn (`bench/loop.py`).
The memory is what the process holds more after browsing than before.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from textual.pilot import Pilot

from bench.loop import SIZE, Gaps, measured, settle
from bench.rules_fetch import make_rules
from screens.app import WorkbenchApp
from screens.conflicts.queue import QueuedPair
from screens.curation.facets import FacetDialog
from screens.curation.record_screen import RecordScreen
from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.memory.learnings.learningtype import LEARNINGS
from workbench.records.learnings import FeatureLearning, LearningSource
from workbench.records.rules import Rule
from workbench.rules.conflicts.queue import conflict_queue, conflict_rows
from workbench.rules.curation.ruletype import RULES

KEYS: Final = 40
AIMS: Final = {"first page": 150, "cursor key": 30, "filter": 150, "page after an edit": 100}
"""Milliseconds."""

FILTERS: Final = {
    "rules": ("tag:python priority:>=80", "helper tests", "hlpr tests"),
    "learnings": ("feature:auth hits:>=2", "retries cache", "rtry cache"),
    "conflicts": ("kind:exact file:your*", "helper logs", "hlpr logs"),
}
"""By fields, by words, and by words of which letters are missing; after them none."""

COPIES: Final = 20
"""Rules that say the same, in the project with conflicts."""


def generate(root: Path, rules: int, learnings: int) -> None:
    """Write records into the journals of a project, and bring tables and rulebook up to date."""
    opened = open_workspace(root, Config())
    project = opened.workspace.rule_store().project_id
    bodies = [RULES.to_body(replace(rule, project_id=project)) for rule in make_rules(rules)]
    opened.journal.append("rules", "rule.put", bodies, by="bench")
    features: dict[str, list[dict[str, Any]]] = {}
    for learning in make_learnings(learnings, project):
        features.setdefault(learning.feature, []).append(LEARNINGS.to_body(learning))
    for feature, mine in features.items():
        opened.journal.append(f"memory/{feature}", "learning.put", mine, by="bench")
    opened.open_tables().catch_up()
    opened.workspace.sync_rules()


def generate_conflicts(root: Path, count: int) -> None:
    """Write rules of which so many repeat another one, and search for them."""
    opened = open_workspace(root, Config())
    texts = count // (COPIES - 1) + 1
    rules = [
        Rule(
            id=f"rule-{number:08}",
            name=f"rule {number}",
            rule=f"Use the helper of module {number % texts} for the logs of part {number % texts // 7}.",
            priority=number % 101,
            project_id=opened.project_id,
        )
        for number in range(count + texts)
    ]
    opened.journal.append("rules", "rule.put", [RULES.to_body(rule) for rule in rules], by="bench")
    opened.open_tables().catch_up()
    book, _ = opened.workspace.sync_rules()
    store = opened.workspace.rule_store()
    found = conflict_queue(store, book.rules, store.ledger()).open
    opened.conflicts.keep("rule", conflict_rows(found, {rule.id: rule for rule in book.rules}))


def make_learnings(count: int, project: str) -> list[FeatureLearning]:
    """Return learnings of many features, a third of them reviewed, found out one to five times."""
    return [
        FeatureLearning(
            id=f"learning-{number:08}",
            feature=("auth", "orders", "cache", "search")[number % 4],
            text=f"`tool-{number}` retries {number % 7} times and writes its cache to `out/{number}.csv`",
            reason="the run failed until it was done",
            timestamp=f"2026-{number % 10 + 1:02}-11T08:00:00+00:00",
            source=(LearningSource.AUTO, LearningSource.AGENT)[number % 2],
            hit_count=number % 5 + 1,
            reviewed=number % 3 == 0,
            session_id=f"s-{number % 900}",
            project_id=project,
        )
        for number in range(count)
    ]


@dataclass(frozen=True, slots=True, order=True)
class Took:
    """Milliseconds: wall clock, and CPU of all threads of the process."""

    wall: float
    cpu: float


@dataclass(slots=True)
class Browsed:
    """What a section took by name, and the gaps of the loop meanwhile."""

    took: dict[str, Took] = field(default_factory=dict)
    gaps: Gaps = field(default_factory=Gaps)
    megabytes: float = 0.0

    def row(self, name: str) -> str:
        """Return what was measured as a row of a table."""
        times = " | ".join(f"{self.took[name].wall:.0f} / {self.took[name].cpu:.0f}" for name in COLUMNS)
        return f"| {name} | {times} | {self.gaps.longest * 1e3:.0f} | {self.megabytes:.0f} |"

    @property
    def is_within(self) -> bool:
        """Whether everything took as long as it may."""
        return all(self.took[name].wall <= most for name, most in AIMS.items())


COLUMNS: Final = ("first page", "cursor key", "filter", "facets", "page after an edit")
HEADER: Final = (
    f"| list | {' | '.join(f'{name}, ms / CPU' for name in COLUMNS)} | gap, ms CPU | MB |\n"
    f"|---|{'--:|' * (len(COLUMNS) + 2)}"
)


async def until(done: Callable[[], bool]) -> None:
    """Let the loop turn until something is so."""
    while not done():
        await asyncio.sleep(0.0005)


async def browse(root: Path, section: str) -> Browsed:
    """Open a section in an app of its own, and measure what people do most there."""
    app = WorkbenchApp(root, watch=False, section="log")
    found = Browsed()
    times = found.took
    opening: AbstractAsyncContextManager[Pilot[Any]] = app.run_test(size=SIZE)
    async with opening as pilot:
        await settle(pilot)
        gc.collect()
        before = resident()
        async with measured() as (gaps, _):
            start = moment()
            app.action_show_section(section)
            await until(lambda: isinstance(app.screen, RecordScreen))
            screen = app.screen
            assert isinstance(screen, RecordScreen)
            await until(lambda: screen.is_mounted and screen.table.cursor_key is not None)
            times["first page"] = since(start)
            await settle(pilot)
            times["cursor key"] = await keys(pilot, screen)
            times["filter"] = await filters(pilot, screen, FILTERS[section])
            start = moment()
            screen.action_facets()
            await until(lambda: isinstance(app.screen, FacetDialog))
            times["facets"] = since(start)
            await settle(pilot)
            await pilot.press("escape")
            gc.collect()
            found.megabytes = resident() - before
            times["page after an edit"] = await edit(pilot, screen)
        found.gaps = gaps
    return found


async def keys(pilot: Pilot[Any], screen: RecordScreen[Any, Any]) -> Took:
    """Return the median of a cursor key, from the key to the row under the cursor."""
    table, took = screen.table, []
    table.focus()
    for number in range(KEYS):
        start, place = moment(), table.cursor
        key = "down" if number % 8 else "pagedown"
        pilot.app.simulate_key(key)
        await until(lambda place=place: table.cursor != place and table.cursor_key is not None)  # type: ignore[misc]
        took.append(since(start))
        await asyncio.sleep(0)
    await settle(pilot)
    return Took(*(statistics.median(times) for times in zip(*map(astuple, took), strict=True)))


async def filters(pilot: Pilot[Any], screen: RecordScreen[Any, Any], texts: Sequence[str]) -> Took:
    took = []
    for text in (*texts, ""):
        before, start = screen.rows, moment()
        screen.bar.set_text(text)
        await until(lambda before=before: screen.rows is not before)  # type: ignore[misc]
        took.append(since(start))
        await settle(pilot)
    return max(took)


async def edit(pilot: Pilot[Any], screen: RecordScreen[Any, Any]) -> Took:
    """Return how long the page takes once an edit by another process is in the journal."""
    change(screen)
    before, start = screen.rows, moment()
    screen.mark_stale()
    await until(lambda: screen.rows is not before)
    took = since(start)
    await settle(pilot)
    return took


def change(screen: RecordScreen[Any, Any]) -> None:
    """Append a change of the record under the cursor to its journal."""
    record = screen.current
    if isinstance(record, QueuedPair):
        record = record.pair.left.seen
    opened = open_workspace(screen.engine.root, Config())
    if isinstance(record, Rule):
        opened.journal.append("rules", "rule.put", [RULES.to_body(replace(record, priority=77))], by="bench")
    elif isinstance(record, FeatureLearning):
        body = LEARNINGS.to_body(replace(record, reviewed=not record.reviewed))
        opened.journal.append(f"memory/{record.feature}", "learning.put", [body], by="bench")


def run_apart(work: Callable[..., None], *arguments: object) -> None:
    """Run something in a process of its own, so that it leaves nothing in this one."""
    child = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    child.start()
    child.join()
    if child.exitcode:
        raise SystemExit(child.exitcode)


def moment() -> tuple[float, float]:
    """Return now: wall clock and CPU used, in seconds."""
    return time.perf_counter(), time.process_time()


def since(start: tuple[float, float]) -> Took:
    return Took((time.perf_counter() - start[0]) * 1e3, (time.process_time() - start[1]) * 1e3)


def resident() -> float:
    """Return the megabytes that the process has in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table in Markdown; return 1 if an aim is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.lists",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rules", type=int, default=100_000, help="rules (default: 100,000)")
    parser.add_argument("--learnings", type=int, default=20_000, help="learnings (default: 20,000)")
    parser.add_argument("--conflicts", type=int, default=20_000, help="conflicts (default: 20,000)")
    parser.add_argument("--only", choices=tuple(FILTERS), action="append", help="this list; may be repeated")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        root, other = Path(scratch) / "project", Path(scratch) / "conflicts"
        root.mkdir()
        other.mkdir()
        os.environ.update(HOME=scratch, WORKBENCH_HOME=str(Path(scratch) / "home"))
        sections = options.only or tuple(FILTERS)
        if set(sections) != {"conflicts"}:
            run_apart(generate, root, options.rules, options.learnings)
        if "conflicts" in sections:
            run_apart(generate_conflicts, other, options.conflicts)
        counts = {"rules": options.rules, "learnings": options.learnings, "conflicts": options.conflicts}
        print(f"{', '.join(f'{counts[one]:,} {one}' for one in sections)}, {os.cpu_count()} cores.\n")
        print(HEADER)
        within = True
        for section in sections:
            for name in (f"{section}, first opened", section):
                found = asyncio.run(browse(other if section == "conflicts" else root, section))
                print(found.row(name), flush=True)
            within = within and found.is_within
    aims = ", ".join(f"{name} {most}" for name, most in AIMS.items())
    print(f"\nAims in ms: {aims}. {'All are met.' if within else 'Not all are met.'}")
    return 0 if within else 1


if __name__ == "__main__":
    raise SystemExit(main())
