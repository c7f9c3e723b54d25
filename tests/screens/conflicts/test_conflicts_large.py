"""The desk on thousands of rules: searched by a child, taken in beside the loop, looked up afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from screens.app import WorkbenchApp
from screens.conflicts.queue import PairState
from screens.conflicts.record_pairs import SMALL
from screens.conflicts.screen import ConflictsScreen
from tests.screens.conftest import press, settle
from workbench.config import Config
from workbench.curation.conflicts import ConflictDecision
from workbench.entry.project import open_workspace
from workbench.records.conflicts import Action
from workbench.records.rules import Rule
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.ruletype import to_body


def fill(root: Path, count: int, texts: int) -> None:
    """Put rules into a project's journal, `texts` of them different, the others copies."""
    (root / "CLAUDE.md").write_text("# Rules\n\n- Never log a token.\n", encoding="utf-8")
    rules = [
        Rule(
            id=f"rule-{number:08}",
            name=f"rule {number}",
            rule=f"Use the helper of module {number % texts} for the logs of part {number % texts // 7}.",
            priority=number % 101,
        )
        for number in range(count)
    ]
    opened = open_workspace(root, Config())
    opened.journal.append("rules", "rule.put", [to_body(rule) for rule in rules], by="test")


def desk_of(app: WorkbenchApp) -> ConflictsScreen:
    screen = app.screen
    assert isinstance(screen, ConflictsScreen)
    return screen


def state_of(desk: ConflictsScreen) -> PairState:
    assert desk.item is not None
    return desk.item.state


async def test_many_rules_are_searched_beside_the_loop(tmp_path: Path) -> None:
    """Found by a child: a decision, the undo of it, a filter and an order are all there when it is over."""
    fill(tmp_path, SMALL + 300, 100)
    app = WorkbenchApp(tmp_path, watch=False, section="conflicts")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        desk = desk_of(app)
        waiting = desk.queue.waiting
        assert waiting > 500
        assert desk.item is not None
        first = desk.item.pair
        await press(pilot, "a", "o", "slash", *"logs", "enter", "G")
        assert desk.queue.progress[0] == 1
        await press(pilot, "u")
        assert (desk.item.pair.id, desk.queue.waiting) == (first.id, waiting)
        await press(pilot, "R")
        assert desk.queue.waiting < waiting - 1  # what else its side was in goes along
        await press(pilot, "u")
        assert (desk.item.pair.id, desk.queue.waiting) == (first.id, waiting)


async def test_a_search_by_a_child_can_be_cancelled_and_begun_anew(tmp_path: Path) -> None:
    """Cancelling is acknowledged at once and says what to press; nothing of it is taken in."""
    fill(tmp_path, SMALL + 100, 100)
    app = WorkbenchApp(tmp_path, watch=False, section="conflicts")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        desk = desk_of(app)
        app.action_cancel_jobs()
        assert all(job.cancelled for job in app.jobs.running)
        await settle(pilot)
        assert (desk.queue.waiting, desk.query_one("#conflicts-queue").is_mounted) == (0, True)
        await press(pilot, "D")
        assert desk.queue.waiting > 300


@pytest.mark.parametrize("reworded", [False, True])
async def test_what_others_do_is_looked_up_in_the_journals(tmp_path: Path, reworded: bool) -> None:
    """Without another search a pair is known to be settled, to say something else, or to be none."""
    fill(tmp_path, SMALL + 100, SMALL + 90)
    app = WorkbenchApp(tmp_path, watch=False, section="conflicts")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        desk = desk_of(app)
        assert desk.item is not None
        pair = desk.item.pair
        store = open_workspace(tmp_path, Config()).workspace.rule_store()
        if reworded:
            text = pair.left.text.replace("Use the", "USE the")
            made = Curator(store, "cli").edit(pair.left.id, rule=text)
            await press(pilot, "R")
            assert state_of(desk) is PairState.CHANGED
            assert made.id in [side.id for side in desk.item.pair.sides]
            Curator(store, "cli").edit(made.id, rule="Something else altogether is said here.")
            await press(pilot, "f5")
            assert state_of(desk) is PairState.GONE
        else:
            decision = ConflictDecision(pair.id, pair.left.id, pair.right.id, Action.KEEP_BOTH)
            Curator(store, "cli").resolve(decision)
            await press(pilot, "f5")
            assert state_of(desk) is PairState.ELSEWHERE
