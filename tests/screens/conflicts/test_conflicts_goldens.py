"""How the desk looks at every size, with pairs whose ids and days are always the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from screens.app import WorkbenchApp
from screens.conflicts.pair import PairType, RecordPair
from screens.conflicts.queue import PairState, QueuedPair
from screens.conflicts.screen import ConflictsScreen
from screens.widgets.window_rows import WindowRows
from tests.screens.conflicts.making import pair, side
from tests.screens.conftest import press, settle
from tests.screens.golden import SIZES, check_golden
from workbench.lists.conflicts import WaitingConflicts
from workbench.lists.tables import row_number
from workbench.records.conflicts import Action, ConflictKind, Evidence, Suggestion

FULL = "Run the full test suite with `make test` before every commit."
NOT_FULL = "Do not run the full test suite with `make test` before every commit; run only changed tests."
CENTS = "Amounts of money are integers of cents; never use floats for money."


def sample() -> tuple[RecordPair, ...]:
    """Return pairs of every kind, one of them of learnings."""
    denies = "one rules out, the other asks for: run the full test suite before every commit"
    first = pair(
        "copilot",
        "claude",
        ConflictKind.CONTRADICTORY,
        score=1.0,
        left=side("copilot", NOT_FULL, where=".github/copilot-instructions.md:4"),
        right=side("claude", FULL, where="CLAUDE.md:4"),
        why=f"Both cannot be followed: {denies}.",
        evidence=(
            Evidence("negation", 1.0, denies),
            Evidence("words", 0.12, "share of terms"),
        ),
        suggestion=Suggestion(Action.KEEP_LEFT, "Keep the left one: its priority is higher.", keep="copilot"),
    )
    money = {"left": side("agents", CENTS), "right": side("python", "Never use floats for money.")}
    return (
        first,
        pair("agents", "python", ConflictKind.SUBSUMED, **money),
        pair("left", "right", ConflictKind.EXACT, score=1.0, suggestion=Suggestion(Action.MERGE, "Twice.")),
        pair("one", "other", of=PairType.LEARNING),
    )


def show(app: WorkbenchApp) -> None:
    """Show the sample's pairs, one put off, one settled by somebody else."""
    screen = app.screen
    assert isinstance(screen, ConflictsScreen)
    first, later, exact, elsewhere = sample()
    items = [
        QueuedPair(first),
        QueuedPair(exact),
        QueuedPair(elsewhere, PairState.ELSEWHERE, "Settled meanwhile by cli: keep both."),
        QueuedPair(later, PairState.LATER),
    ]
    held = {row_number(item.pair.id): item for item in items}
    waiting = sorted(number for number, item in held.items() if item.waits)
    screen.queue.seen = WaitingConflicts(np.array(waiting), np.zeros(len(waiting), dtype=np.int64))
    screen.total = len(items)
    screen.show_rows(
        WindowRows(np.array(list(held)), lambda *_: None, key=screen.id_of, cells=screen.cells_of, held=held),
        0,
    )


@pytest.mark.parametrize("size", SIZES)
async def test_the_desk(tmp_path: Path, size: tuple[int, int]) -> None:
    """A pair to decide, one that somebody else settled, the list alone, and nothing left."""
    app = WorkbenchApp(tmp_path, watch=False, section="conflicts")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        check_golden(app, "conflicts-none")
        show(app)
        await settle(pilot)
        check_golden(app, "conflicts-pair")
        await press(pilot, "J", "J")
        check_golden(app, "conflicts-elsewhere")
        await press(pilot, "t")
        check_golden(app, "conflicts-toggled")
        await press(pilot, "t", "slash", *"nothing here", "enter")
        check_golden(app, "conflicts-filtered")
