"""The sessions screen: what was done here is listed, told, read in its transcript, judged and imported."""

from __future__ import annotations

from pathlib import Path

from screens.app import WorkbenchApp
from screens.sessions.screen import SessionsScreen
from screens.sessions.story import StoryRows
from tests.screens.conftest import press, settle
from workbench.config import load
from workbench.entry.places import episode_desk
from workbench.sessions.episodes import EpisodeDesk


def desk_of(root: Path) -> EpisodeDesk:
    """Return the desk as another process would open it."""
    return episode_desk(root, load(project=root).config, "hook")


def told_by(screen: SessionsScreen) -> list[str]:
    """Return the lines of the story that is shown."""
    rows = screen.story.rows
    assert isinstance(rows, StoryRows)
    return [line.text.plain for line in rows.lines]


async def test_a_session_is_listed_with_its_story(roastery: Path) -> None:
    """What another process recorded is in the list, its task, reads, edits and outcome beside it."""
    desk = desk_of(roastery)
    desk.start("fix the login [/] (#7)", session_id="fix-login", source="claude_code")
    desk.event("fix-login", "read", files=["roastery/app.py"])
    desk.event("fix-login", "edit", files=["roastery/gone.py"])
    desk.end("fix-login", "success", evidence="tests passed")
    app = WorkbenchApp(roastery, watch=False, section="sessions")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.section
        assert isinstance(screen, SessionsScreen)
        assert screen.table.cursor_key == "fix-login"
        told = told_by(screen)
        assert any("fix the login [/] (#7)" in line for line in told)
        assert any("roastery/app.py" in line for line in told)
        assert any("roastery/gone.py gone" in line for line in told)
        assert any("✓ success" in line for line in told)
        await press(pilot, "tab")
        assert screen.story.has_focus
