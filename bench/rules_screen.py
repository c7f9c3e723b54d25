"""How the screen of rules bears many of them: `python -m bench.rules_screen [--rules N] [--repeat N]`.

Rules are generated into the journal of a project made here. The app runs without a terminal, at 120 columns
and 40 rows. A gap is how long the event loop does not turn (`bench/loop.py`). The first load
reads the journal and indexes the words; the second, in a new app, what was kept.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.loop import HEADER, SIZE, Phase, phase, settle, smooth
from bench.rules_fetch import make_rules
from screens.app import WorkbenchApp
from screens.rules.rows import COLUMNS, RuleRows
from screens.rules.screen import RulesScreen
from screens.widgets.table import VirtualTable
from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.rules.curation.ruletype import to_body

KEYS: Final = 20
LIMIT_OPEN: Final = 0.150
LIMIT_KEY: Final = 0.030


def generate(root: Path, count: int) -> None:
    """Write rules into the journal of a project."""
    opened = open_workspace(root, Config())
    project = opened.workspace.rule_store().project_id
    bodies = [to_body(replace(rule, project_id=project)) for rule in make_rules(count)]
    opened.journal.append("rules", "rule.put", bodies, by="bench")


async def browse(root: Path, name: str) -> list[Phase]:
    """Open the rules in an app, then filter, sort and search them."""
    app = WorkbenchApp(root, watch=False, section="log")
    found: list[Phase] = []
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        found.append(await phase(f"open, {name}", pilot, lambda: app.action_show_section("rules")))
        screen = app.screen
        assert isinstance(screen, RulesScreen)
        steps: dict[str, Callable[[], object]] = {
            "filter `hlpr tests`": lambda: screen.query_one("#filter").set_text("hlpr tests"),  # type: ignore[attr-defined]
            "filter `tag:python priority:>=80`": lambda: screen.query_one("#filter").set_text(  # type: ignore[attr-defined]
                "tag:python priority:>=80"
            ),
            "no filter": lambda: screen.query_one("#filter").set_text(""),  # type: ignore[attr-defined]
            "sort by text": lambda: screen.sort_by("text"),
            "search, the first": lambda: screen.query_one("#search").set_text("dates in module 12"),  # type: ignore[attr-defined]
            "search, the next": lambda: screen.query_one("#search").set_text("logs in module 7"),  # type: ignore[attr-defined]
        }
        for label, act in steps.items():
            found.append(await phase(label, pilot, act))
    return found


async def table(root: Path, repeat: int) -> tuple[float, float]:
    """Return processor seconds of showing the rows in the mounted table, and of a cursor key, as medians."""
    app = WorkbenchApp(root, watch=False, section="rules")
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, RulesScreen)
        shown = screen.table.rows
        assert isinstance(shown, RuleRows)
        opened, keys = [], []
        for _ in range(repeat):
            start = time.thread_time()
            again = VirtualTable(COLUMNS, shown)
            await screen.query_one("#split").mount(again)
            await pilot.pause()
            opened.append(time.thread_time() - start)
            await again.remove()
        screen.table.focus()
        for _ in range(KEYS):
            start = time.thread_time()
            await pilot.press("down")
            await pilot.pause()
            keys.append(time.thread_time() - start)
        await settle(pilot)
    return statistics.median(opened), statistics.median(keys)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables in Markdown; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.rules_screen",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rules", type=int, default=100_000, help="rules in the store (default: 100,000)")
    parser.add_argument("--repeat", type=int, default=7, help="measurements of the table (default: 7)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "project"
        root.mkdir()
        os.environ.update(HOME=scratch, WORKBENCH_HOME=str(Path(scratch) / "home"))
        generate(root, options.rules)
        gc.collect()
        gc.freeze()
        print(f"{options.rules:,} rules, {os.cpu_count()} cores.\n")
        print(HEADER)
        phases: list[Phase] = []
        for name in ("never read", "kept"):
            for found in asyncio.run(browse(root, name)):
                print(found.row(), flush=True)
                phases.append(found)
        shown, key = asyncio.run(table(root, options.repeat))
    print(f"\nThe table opens in {shown * 1e3:.0f} ms CPU, a cursor key takes {key * 1e3:.1f} ms CPU.")
    within = smooth(phases)
    return 0 if within and shown <= LIMIT_OPEN and key <= LIMIT_KEY else 1


if __name__ == "__main__":
    raise SystemExit(main())
