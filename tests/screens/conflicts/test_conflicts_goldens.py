"""How the desk looks at every size, with pairs whose ids and days are always the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from screens.app import WorkbenchApp
from screens.conflicts.pair import PairType, RecordPair
from screens.conflicts.queue import PairScan, PairState, count, taken
from screens.conflicts.screen import ConflictsScreen
from tests.screens.conflicts.making import pair, side
from tests.screens.conftest import press, settle
from tests.screens.golden import SIZES, check_golden
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


async def shown(app: WorkbenchApp) -> ConflictsScreen:
    """Return the desk with the sample's pairs, one put off, one settled by somebody else."""
    screen = app.screen
    assert isinstance(screen, ConflictsScreen)
    before, touched = screen.queue.ask()
    items = taken(before, touched, PairScan(sample()))
    for place, state in ((1, PairState.LATER), (3, PairState.ELSEWHERE)):
        key = list(items)[place]
        told = "Settled meanwhile by cli: keep both." if state is PairState.ELSEWHERE else ""
        items[key] = replace(items[key], state=state, reason=told)
    screen.queue.adopt(items, PairScan(), count(items))
    screen._arrange()
    return screen


@pytest.mark.parametrize("size", SIZES)
async def test_the_desk(tmp_path: Path, size: tuple[int, int]) -> None:
    """A pair to decide, one that somebody else settled, the list alone, and nothing left."""
    app = WorkbenchApp(tmp_path, watch=False, section="conflicts")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        check_golden(app, "conflicts-none")
        await shown(app)
        await press(pilot, "K", "K", "K")
        check_golden(app, "conflicts-pair")
        await press(pilot, "J", "J")
        check_golden(app, "conflicts-elsewhere")
        await press(pilot, "t")
        check_golden(app, "conflicts-toggled")
        await press(pilot, "t", "slash", *"nothing here", "enter")
        check_golden(app, "conflicts-filtered")
