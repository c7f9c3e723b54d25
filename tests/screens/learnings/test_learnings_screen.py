"""The review of learnings on the sample project: a key decides, the next one shows, undo brings it back."""

from __future__ import annotations

from tests.screens.learnings.conftest import Made, Open
from workbench.records.learnings import LearningState


async def test_what_waits_comes_first(opened: Open, made: Made) -> None:
    """The queue has conflicts, repetitions and what nobody reviewed; the badge counts them."""
    async with opened() as desk:
        waiting = desk.screen.known.waiting
        assert waiting[made.conflicting.id].why == "conflict"
        assert waiting[made.repeating.id].why == "duplicate"
        assert waiting[made.agent.id].why == "unreviewed"
        assert made.human.id not in waiting
        assert desk.shown[0] == made.conflicting.id
        assert desk.app.badges["learnings"] == str(len(waiting))
        await desk.press("t")
        assert made.human.id in desk.shown


async def test_a_key_accepts_and_the_next_one_shows(opened: Open, made: Made) -> None:
    """Accepting is a step in the journal; the next learning is under the cursor; undo brings it back."""
    async with opened() as desk:
        desk.go(made.agent)
        place = desk.shown.index(made.agent.id)
        after = desk.shown[place + 1]
        await desk.press("a")
        assert made.agent.id not in desk.shown
        assert desk.screen.table.cursor_key == after
        assert made.desk.find(made.agent.id).reviewed
        assert desk.commands[-1] == f"workbench memory accept {made.agent.id[:17]}"
        await desk.press("u")
        assert made.agent.id in desk.shown
        assert desk.commands[-1] == "workbench memory undo"
        await desk.press("U")
        assert made.agent.id not in desk.shown


async def test_many_are_decided_as_one_step(opened: Open, made: Made) -> None:
    """Marked learnings are rejected together; one undo brings all back; restoring is a key as well."""
    async with opened() as desk:
        await desk.press("*", "x")
        assert desk.shown == []
        assert made.desk.find(made.hostile.id).state is LearningState.REJECTED
        assert "rejected" in desk.told
        await desk.press("u")
        assert made.hostile.id in desk.shown
        desk.go(made.hostile)
        await desk.press("d", "t")
        desk.go(made.hostile)
        assert desk.screen.current is not None
        assert desk.screen.current.state is LearningState.RETIRED
        await desk.press("R")
        assert made.desk.find(made.hostile.id).live
