"""Many learnings are read, compared by another process, filtered and decided, all beside the event loop."""

from __future__ import annotations

from pathlib import Path

from screens.conflicts.record_pairs import FEW
from screens.widgets.merge import MergeEditor
from tests.screens.learnings.conftest import Made, Open, auto, store_at
from workbench.curation.records import EntryDraft
from workbench.curation.steps import draft_addition
from workbench.curation.store import record
from workbench.memory.learnings.learningstore import LOCK
from workbench.memory.learnings.ledger import LearningLedger

MANY = 600


def fill(root: Path) -> None:
    """Put thousands of learnings of many features into the journals, two of them contradicting each other."""
    store = store_at(root)
    known = LearningLedger()
    texts = [
        f"`tool-{number}` writes its table {number * 7} to `out/{number}.csv`" for number in range(MANY - 2)
    ]
    texts += ["Always run `make seed` before the suite", "Never run `make seed` before the suite"]
    drafts: list[EntryDraft] = []
    for number, text in enumerate(texts):
        feature = "seed" if "seed" in text else f"part-{number % 60}"
        one = auto(text, feature, project_id=store.project_id, session_id=f"s-{number % 90}")
        drafts += draft_addition(known, one, reason=one.reason, now=store.moment()).entries
    with store.lock(LOCK):
        record(store, drafts, by="auto:ingest")


async def test_many_are_compared_by_another_process_and_reviewed(opened: Open, roastery: Path) -> None:
    """More than a few are listed at once; what collides, a filter, an order and decisions come to them."""
    fill(roastery)
    async with opened(section="log") as desk:
        await desk.press("4")
        screen = desk.screen
        assert screen.counts.live == MANY > FEW
        assert desk.waiting[desk.shown[0]] == "conflict"
        screen.bar.set_text("feature:part-7 table")
        await desk.settle()
        assert len(desk.shown) == MANY // 60
        await desk.pilot.press("a", "j", "r", "t", "G", "g", "o")
        await desk.settle()
        assert screen.counts.waiting == MANY - 2


async def test_what_waits_is_known_before_all_are_compared(opened: Open, made: Made) -> None:
    """Counting alone knows the queue; what collides comes to its top, and the cursor with it."""
    async with opened(section="log") as desk:
        assert set(desk.waiting.values()) == {"unreviewed"}
        assert made.conflicting.id in desk.waiting
        await desk.press("4")
        assert desk.shown[0] == made.conflicting.id
        assert desk.screen.table.cursor == 0


async def test_a_key_right_after_a_move_finds_its_pair(opened: Open, made: Made) -> None:
    """What is in a pair can be merged before it is shown beside the list."""
    async with opened() as desk:
        desk.go(made.repeating)
        desk.screen.action_merge()
        await desk.settle()
        desk.dialog(MergeEditor)
