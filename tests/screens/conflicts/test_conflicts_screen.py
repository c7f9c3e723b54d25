"""The desk on the sample project: a key settles a pair, the next one shows, undo brings it back."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.conflicts.pair_panel import PairPanel
from screens.conflicts.screen import ConflictsScreen
from screens.widgets.table import VirtualTable
from tests.screens.conftest import press, settle


def make(root: Path, **given: object) -> WorkbenchApp:
    """Return an app that opens on the desk, keeps nothing and watches nothing."""
    return WorkbenchApp(root, watch=False, section="conflicts", **given)  # type: ignore[arg-type]


async def desk_of(pilot: Pilot[int]) -> ConflictsScreen:
    """Return the desk once the first search is over."""
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, ConflictsScreen)
    return screen


async def test_a_key_settles_a_pair_and_the_next_one_shows(roastery: Path) -> None:
    """Keeping one side is a step in the journal, and undo brings the pair back and shows it."""
    app = make(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        desk = await desk_of(pilot)
        first = desk.item
        assert first is not None
        assert first.pair.kind == "contradictory"
        assert app.badges["conflicts"] == "9"
        await press(pilot, "L")
        assert desk.item is not None
        assert desk.item.pair.id != first.pair.id
        assert desk.desk.progress == (1, 9)
        assert app.log_of_actions.actions[-1].command.endswith("--action keep-left")
        assert "does not say so yet" in app.log_of_actions.actions[-1].outcome
        await press(pilot, "u")
        assert desk.item.pair.id == first.pair.id
        assert desk.desk.progress == (0, 9)
        assert app.log_of_actions.actions[-1].command == "workbench rules undo"
        await press(pilot, "U")
        assert first.pair.id not in desk.desk.items
        assert desk.query_one(VirtualTable).count == 8
        assert not desk.query_one(PairPanel).has_class("-empty")
