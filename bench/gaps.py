"""How long keys wait while much is shown: `python -m bench.gaps [SCREEN …] [--scale N]`.

For each screen data is made in a copy of the sample project, and the app is opened on it without a terminal,
at 120 columns and 40 rows: 8,000 rules that repeat each other, 3,000 learnings, 20,000 sessions, a run of
1,500 tasks, a replay that runs meanwhile, and tasks typed into the plan. Gaps are those of `bench/loop.py`;
opening a screen for the first time includes its import. `--scale 10` makes a tenth of everything.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from textual.pilot import Pilot

from bench.loop import HEADER, SIZE, Phase, phase, settle, smooth
from sample_data.build import build
from screens.app import WorkbenchApp
from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.records.rules import Rule
from workbench.rules.curation.ruletype import to_body

Act = Callable[[], Awaitable[object] | object]


def fill_rules(root: Path, count: int) -> None:
    """Put rules into the journal, a third of them copies."""
    rules = [
        Rule(
            id=f"rule-{number:08}",
            name=f"rule {number}",
            rule=f"Use the helper of module {number % (count * 2 // 3)} for the logs of part {number % 700}.",
            priority=number % 101,
        )
        for number in range(count)
    ]
    open_workspace(root, Config()).journal.append(
        "rules", "rule.put", [to_body(r) for r in rules], by="bench"
    )


def fill_learnings(root: Path, count: int) -> None:
    """Put learnings of sixty features into the journals, as one ingest finds them."""
    from dataclasses import replace

    from workbench.curation.records import EntryDraft
    from workbench.curation.steps import draft_addition
    from workbench.curation.store import record
    from workbench.memory.learnings.learningstore import LOCK, store_of
    from workbench.memory.learnings.ledger import LearningLedger
    from workbench.records.learnings import FeatureLearning

    store = store_of(open_workspace(root, Config()).workspace.rule_store())
    known, drafts = LearningLedger(), list[EntryDraft]()
    for number in range(count):
        text = f"`tool-{number}` writes its table {number * 7} to `out/{number}.csv`"
        one = replace(
            FeatureLearning.auto_extracted(text, 7, reason="the test run failed until it was done"),
            feature=f"part-{number % 60}",
            project_id=store.project_id,
            session_id=f"s-{number % 90}",
        )
        drafts += draft_addition(known, one, reason=one.reason, now=store.moment()).entries
    with store.lock(LOCK):
        record(store, drafts, by="auto:ingest")


def fill_sessions(root: Path, count: int) -> None:
    bodies = [
        {
            "session_id": f"claude_code:{number:05}",
            "project_id": "p",
            "task_fingerprint": "f",
            "task_text": f"fix the number {number} of the catalog",
            "query_type": "bugfix",
            "started_at": 1_700_000_000 + number * 60,
            "ended_at": 1_700_000_030 + number * 60,
            "outcome": ("success", "failed", "unknown")[number % 3],
            "changes": [["roastery/app.py", "modified", 1, 1, ""]],
            "reads": [f"roastery/{number % 40}.py"],
            "source": "claude_code",
            "parent_session": f"s{number // 4}",
            "prompt_index": number % 4,
        }
        for number in range(count)
    ]
    journal = open_workspace(root, Config()).journal
    journal.append("sessions", "episode.imported", bodies, by="import:sessions")


def fill_runs(root: Path, count: int) -> None:
    from tests.replay.made import made_run
    from workbench.entry.services.runs import keep_run, runs_root

    keep_run(runs_root(root), made_run(count))


def fill_index(root: Path, count: int) -> None:
    """Index the project: nothing is planned before it is agreed to."""
    open_workspace(root, Config()).workspace.sync(settle=True)


def typed(app: WorkbenchApp, word: str) -> None:
    """Write a task as if typing paused after it."""
    editor = app.section.editor  # type: ignore[union-attr]
    editor.text = word
    editor.settle()


def filtered(app: WorkbenchApp, text: str) -> None:
    app.screen.query_one("FilterBar").set_text(text)  # type: ignore[attr-defined]


def replayed(app: WorkbenchApp) -> None:
    from screens.replay.new_replay import COMMITS, ReplayRequest

    app.section._requested(  # type: ignore[union-attr]
        ReplayRequest(COMMITS, tasks=12, systems=("baseline", "bm25", "hybrid"), packs=False)
    )


def keys(pilot: Pilot[Any], *pressed: str) -> Act:
    """Return what presses keys, each when what the last one led to is over."""

    async def press() -> None:
        for key in pressed:
            await pilot.press(key)
            await settle(pilot)

    return press


SCREENS: Final[dict[str, tuple[str, Callable[[Path, int], None], int]]] = {
    "conflicts": ("conflicts", fill_rules, 8_000),
    "learnings": ("learnings", fill_learnings, 3_000),
    "sessions": ("sessions", fill_sessions, 20_000),
    "run": ("replay", fill_runs, 1_500),
    "replay": ("replay", fill_index, 0),
    "plan": ("plan", fill_index, 0),
}
"""The screens by name: the section, what fills it, and with how much."""


def steps_of(name: str, app: WorkbenchApp, pilot: Pilot[Any]) -> dict[str, Act]:
    """Return what is done on a screen once it is open."""
    steps: dict[str, dict[str, Act]] = {
        "conflicts": {
            "decide, filter, go": keys(pilot, "a", "o", "slash", *"logs", "enter", "G"),
            "undo": keys(pilot, "u"),
        },
        "learnings": {
            "filter": lambda: filtered(app, "feature:part-7 table"),
            "decide, go, sort": keys(pilot, "a", "j", "r", "t", "G", "g", "o"),
        },
        "sessions": {
            "go": keys(pilot, "G", "k", "ctrl+u", "g"),
            "filter": lambda: filtered(app, "catalog outcome:failed file:app.py"),
            "sort": keys(pilot, "o", "o", "O"),
        },
        "run": {
            "open, filter, sort": keys(pilot, "enter", "t", "slash", *"module_7", "enter", "o", "enter"),
        },
        "replay": {"replay 12 commits": lambda: replayed(app)},
        "plan": {f"type {word}": partial(typed, app, word) for word in ("refund", "webhook", "invoice")},
    }
    return steps[name]


async def browse(root: Path, name: str) -> list[Phase]:
    """Open a screen and do what is done on it."""
    section = SCREENS[name][0]
    app = WorkbenchApp(root, watch=False, section="log")
    found: list[Phase] = []
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        found.append(await phase(f"{name}: open", pilot, lambda: app.action_show_section(section)))
        for label, act in steps_of(name, app, pilot).items():
            found.append(await phase(f"{name}: {label}", pilot, act))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.gaps", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("screens", nargs="*", choices=[*SCREENS, []], help="screens (default: all)")
    parser.add_argument("--scale", type=int, default=1, help="make this part of the data (default: 1, all)")
    options = parser.parse_args(arguments)
    phases: list[Phase] = []
    print(HEADER)
    for name in options.screens or SCREENS:
        with tempfile.TemporaryDirectory() as scratch:
            os.environ.update(HOME=scratch, WORKBENCH_HOME=str(Path(scratch) / "home"))
            root = build(Path(scratch) / "sample")[0]
            _, fill, count = SCREENS[name]
            fill(root, count // options.scale)
            gc.collect()
            gc.freeze()
            for found in asyncio.run(browse(root, name)):
                print(found.row(), flush=True)
                phases.append(found)
    print()
    smooth(phases)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
