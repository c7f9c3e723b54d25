"""Versions that two machines of a team wrote apart: who wrote each, what can be decided, who was faster."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from screens.conflicts.pair import RecordPair
from screens.conflicts.queue import PairState
from screens.conflicts.screen import ConflictsScreen
from screens.widgets.merge import MergeEditor
from screens.widgets.table import VirtualTable
from tests.clones import Clone, edited_apart, stashed_apart
from tests.screens.conflicts.test_conflicts_screen import desk_of, items, make, said
from tests.screens.conftest import press, settle
from workbench.curation.concurrency import REMOVED
from workbench.curation.conflicts import ConflictDecision
from workbench.records.conflicts import Action
from workbench.records.segments import ContextSegment


async def pair_of(pilot: Pilot[int], desk: ConflictsScreen, of: str) -> RecordPair:
    pair = next(item.pair for item in items(desk).values() if item.pair.of == of)
    desk.go_to(pair.id)
    await settle(pilot)
    return pair


async def test_versions_say_who_wrote_them_and_one_is_chosen(tmp_path: Path) -> None:
    """What is for two records alone is not offered; a choice is undone, and the pair shows again."""
    anna, _ = edited_apart(tmp_path)
    app = make(anna.root)
    async with app.run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        assert [item.pair.kind for item in items(desk).values()] == ["concurrent"] * 2
        pair = await pair_of(pilot, desk, "rule")
        assert (pair.left.text, pair.right.text) == (
            "Round VAT down, and log the rest.",
            "Round VAT half up.",
        )
        assert pair.left.where.startswith("in force · this machine (anna), written by cli, ")
        assert pair.right.where.startswith("not in force · bobs-pc (bob), written by cli, ")
        assert "Changed on this machine (anna) and on bobs-pc (bob)" in said(desk)
        assert "priority 50 | 80 (base 50)" in said(desk)
        assert "Round VAT down.\n" in said(desk)
        for command in ("keep-both", "narrow", "supersede"):
            assert desk.available(f"conflicts.{command}") is None
        desk.action_keep_both()
        desk.action_narrow()
        await settle(pilot)
        assert app.screen is desk
        assert pair.id in items(desk)
        await press(pilot, "m")
        assert isinstance(app.screen, MergeEditor)
        assert app.screen.result == pair.left.text
        await press(pilot, "escape", "R")
        assert pair.id not in items(desk)
        assert [one.rule for one in anna.rules.records()] == ["Round VAT half up."]
        await press(pilot, "j", "u")
        again = desk.item
        assert again is not None
        assert (again.pair.of, again.pair.left.text) == ("rule", pair.left.text)


async def test_a_pair_says_which_machine_settled_it_while_it_was_read(tmp_path: Path) -> None:
    """It shows what it was about; a merge that comes too late is refused, and its text is in the log."""
    anna, bob = edited_apart(tmp_path)
    app = make(anna.root)
    async with app.run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        pair = await pair_of(pilot, desk, "learning")
        await press(pilot, "m")
        editor = app.screen
        assert isinstance(editor, MergeEditor)
        decision = ConflictDecision(pair.id, pair.left.id, pair.right.id, Action.KEEP_RIGHT)
        bob.learnings.resolve(decision)
        bob.send(anna)
        editor.dismiss("The cache is on in production alone")
        await settle(pilot)
        await settle(pilot)
        item = items(desk)[pair.id]
        assert (item.state, item.reason) == (
            PairState.ELSEWHERE,
            "Settled meanwhile by cli on bobs-pc (bob): keep right.",
        )
        assert item.pair.left.text == "The cache is on in production"
        action = app.log_of_actions.actions[-1]
        assert "The cache is on in production alone" in action.command
        assert "settled by cli on another machine meanwhile" in action.outcome
        assert desk.query_one(VirtualTable).count == 2


async def test_versions_of_a_segment_are_read_and_settled_like_others(tmp_path: Path) -> None:
    """What differs comes before the text, both machines are named; each way out, undone and done again."""
    anna, bob = Clone(tmp_path / "anna", "anna"), Clone(tmp_path / "bob", "bob")
    stashed_apart(anna, bob)
    app = make(anna.root)
    async with app.run_test(size=(80, 24)) as pilot:
        desk = await desk_of(pilot)
        pair = await pair_of(pilot, desk, "segment")
        assert pair.left.text == "protected: no\ntopic: sessions\nWe keep sessions in Redis"
        assert pair.right.text == "protected: yes\ntopic: auth\nWe keep sessions in Redis"
        assert pair.left.where.startswith("in force · this machine (anna), written by cli, ")
        assert pair.right.where.startswith("not in force · bobs-pc (bob), written by cli, ")
        assert "topic sessions | auth (base none)" in said(desk)
        assert "m what both changed" in said(desk)
        for command in ("keep-both", "narrow", "supersede"):
            assert desk.available(f"conflicts.{command}") is None

        def held() -> tuple[str | None, bool]:
            one = anna.stash.find("seg-1")
            return one.topic, one.protected

        for key, after in (("L", ("sessions", False)), ("R", ("auth", True)), ("a", ("sessions", True))):
            await press(pilot, key)
            assert (held(), items(desk)) == (after, {})
            anna.stash.add(ContextSegment(text=f"What an agent puts aside after {key}"))
            anna.stash.undo()
            await press(pilot, "u")
            assert held() == ("sessions", False)
            assert [item.pair.of for item in items(desk).values()] == ["segment"]
        await press(pilot, "m")
        assert held() == ("sessions", True)
        assert app.log_of_actions.actions[-1].command.startswith("workbench stash resolve conflict-")
        anna.stash.add(ContextSegment(text="What an agent puts aside then"))
        await settle(pilot)
        await press(pilot, "u")
        assert (held(), anna.stash.count()) == (("sessions", True), 2)


async def test_a_segment_that_somebody_else_settles_says_so(tmp_path: Path) -> None:
    """Another process of this machine, while it is read; a choice after that is refused."""
    anna, bob = Clone(tmp_path / "anna", "anna"), Clone(tmp_path / "bob", "bob")
    stashed_apart(anna, bob)
    app = make(anna.root)
    async with app.run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        pair = await pair_of(pilot, desk, "segment")
        anna.stash.resolve(ConflictDecision(pair.id, pair.left.id, pair.right.id, Action.KEEP_RIGHT))
        desk.action_keep_left()
        await settle(pilot)
        await settle(pilot)
        item = items(desk)[pair.id]
        assert (item.state, item.reason) == (
            PairState.ELSEWHERE,
            "Settled meanwhile by cli on this machine (anna): keep right.",
        )
        assert "settled by cli meanwhile: keep-right" in app.log_of_actions.actions[-1].outcome


async def test_a_segment_that_one_side_removed_is_kept_or_removed(tmp_path: Path) -> None:
    """What the other side changed is shown; there is nothing to merge."""
    anna, bob = Clone(tmp_path / "anna", "anna"), Clone(tmp_path / "bob", "bob")
    anna.stash.add(ContextSegment(segment_id="seg-1", text="We keep sessions in Redis"))
    anna.send(bob)
    bob.stash.edit("seg-1", topic="auth")
    anna.stash.remove(["seg-1"])
    anna.send(bob)
    bob.send(anna)
    app = make(anna.root)
    async with app.run_test(size=(80, 24)) as pilot:
        desk = await desk_of(pilot)
        pair = await pair_of(pilot, desk, "segment")
        assert (pair.left.text, pair.right.text) == (REMOVED, "topic: auth\nWe keep sessions in Redis")
        assert "topic auth (base none)" in said(desk)
        assert "what both changed" not in said(desk)
        assert desk.available("conflicts.merge") is None
        desk.action_merge()
        await settle(pilot)
        assert pair.id in items(desk)
        await press(pilot, "R")
        assert anna.stash.find("seg-1").topic == "auth"
