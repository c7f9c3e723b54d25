"""What the section looks like at all sizes, with a clock that stands still and ids that are counted."""

from __future__ import annotations

from collections.abc import Container

import pytest

from screens.learnings.audit import PRUNE, AuditView, JunkAudit, JunkFinding
from store.clock import SystemClock
from tests.memory.learnings.facts import contradict, note_hit
from tests.screens.golden import SIZES, check_golden
from tests.screens.learnings.conftest import Made, Open
from workbench.memory.learnings import learningtype

NOW = 1_795_000_000.0
"""2026-11-18, the time of the goldens."""


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock stand still, and number the learnings."""

    def numbered(owner: str, feature: str, text: str, taken: Container[str]) -> str:
        return next(name for at in range(100) if (name := f"learning-{at:020d}") not in taken)

    monkeypatch.setattr(SystemClock, "now", lambda self: NOW)
    monkeypatch.setattr(learningtype, "learning_id", numbered)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_review(still: None, opened: Open, made: Made, size: tuple[int, int]) -> None:
    """A contradiction under the cursor, one marked; all with a filter; the audit; what a prompt is told."""
    made.desk.reject([made.hostile.id])
    made.desk.edit(made.agent.id, text="The staging API has no route `/v2/orders` at all")
    contradict(made.desk, made.agent.id, session_id="s-7", why="`curl /v2/orders` worked")
    note_hit(made.desk, made.stale.id, session_id="s-8", why="found out again")
    async with opened(size) as desk:
        await desk.press("j", "space", "g")
        check_golden(desk.app, "learnings-queue")
        await desk.press("escape", "t")
        desk.go(made.agent)
        await desk.settle()
        check_golden(desk.app, "learnings-all")
        await desk.press("p")
        check_golden(desk.app, "learnings-prompt")
        await desk.press("escape")
        desk.app.push_screen(AuditView(_audit(made)))
        await desk.settle()
        check_golden(desk.app, "learnings-audit")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_nothing_learned(still: None, opened: Open, size: tuple[int, int]) -> None:
    """How learnings come, and the key that adds one."""
    async with opened(size) as desk:
        check_golden(desk.app, "learnings-empty")


def _audit(made: Made) -> JunkAudit:
    stale = JunkFinding("stale", made.stale.id, "nothing new was learned of it for 319 days", made.stale.text)
    twice = JunkFinding(
        "duplicate",
        made.repeating.id,
        "both need the same variable",
        made.repeating.text,
        made.plain.id,
    )
    going = JunkFinding(PRUNE, made.stale.id, "automatic, unreviewed, seen once, old", made.stale.text)
    found = {"duplicate": (twice,), "contradiction": (), "stale": (stale,), PRUNE: (going,)}
    return JunkAudit(7, found)
