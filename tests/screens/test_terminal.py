"""What the app does with its terminal: pictures of what it shows, and the mouse given back."""

from __future__ import annotations

import asyncio
import sys
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual.app import App
from textual.events import Resize

from screens import terminal
from screens.app import WorkbenchApp
from screens.terminal import SureTimer, draw_text, write_pictures
from store.locks import exclusive
from tests.processes import LONG
from tests.screens.conftest import press, settle
from tests.screens.golden import screen_text
from workbench.errors import StoreBusy, StoreError


async def test_a_screenshot_is_written_and_the_mouse_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the palette, without the palette on it, as SVG and text; f6 releases the mouse."""
    app = WorkbenchApp(tmp_path, watch=False, section="log")
    async with app.run_test(size=(100, 24)) as pilot:
        await settle(pilot)
        shown = draw_text(app)
        await press(pilot, "ctrl+p", *"screenshot", "enter")
        await app.workers.wait_for_complete()
        await settle(pilot)
        pictures = {path.suffix: path for path in (tmp_path / ".workbench/screenshots").iterdir()}
        assert pictures.keys() == {".svg", ".txt"}
        assert pictures[".txt"].read_text(encoding="utf-8") == shown
        drawn = pictures[".svg"].read_text(encoding="utf-8")
        assert drawn.startswith("<svg")
        assert "@font-face" not in drawn
        assert pictures[".svg"].name in app.log_of_actions.actions[-1].outcome

        sent: list[str] = []
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", sent.append)
        await press(pilot, "f6")
        assert "mouse released, f6" in screen_text(app)
        await press(pilot, "1")
        assert "mouse released, f6" in screen_text(app)
        await press(pilot, "f6")
        assert "mouse released, f6" not in screen_text(app)
        modes = (1000, 1003, 1015, 1006)
        asked = ["".join(f"\x1b[?{mode}{how}" for mode in modes) for how in "lh"]
        assert [one for one in sent if "?1000" in one] == asked


def test_a_picture_replaces_none_and_leaves_by_no_link(tmp_path: Path) -> None:
    """A second one of a moment has a name of its own; a link in the state of a stranger is not followed."""
    state, elsewhere = tmp_path / "state", tmp_path / "elsewhere"
    state.mkdir()
    elsewhere.mkdir()
    first = write_pictures(state, "log", {"svg": "<svg/>", "txt": "one"})
    second = write_pictures(state, "log", {"svg": "<svg/>", "txt": "two \ud800"})
    assert [path.name for path in (*first, *second)] == ["log.svg", "log.txt", "log-2.svg", "log-2.txt"]
    assert first[1].read_text(encoding="utf-8") == "one"
    assert second[1].read_text(encoding="utf-8") == "two \\ud800"
    assert {path.stat().st_mode & 0o777 for path in first} == {0o600}
    for path in (*first, *second):
        path.unlink()
    (state / "screenshots").rmdir()
    (state / "screenshots").symlink_to(elsewhere)
    with pytest.raises(StoreError):
        write_pictures(state, "log", {"txt": "one"})
    assert list(elsewhere.iterdir()) == []


async def test_a_terminal_that_was_resized_and_back_is_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of quick resizes the app may see the last alone: the size is as before, what is there is not."""
    app = WorkbenchApp(tmp_path, watch=False, section="log")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        drawn = asyncio.Event()
        monkeypatch.setattr(app, "refresh", lambda *_, **__: drawn.set())
        app.post_message(Resize(app.size, app.size))
        await asyncio.wait_for(drawn.wait(), LONG)


async def test_a_timer_that_ticks_once_is_never_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is held up between two looks at the clock finds it overdue; it ticks all the same."""
    app: App[None] = App()
    async with app.run_test():
        ticked, moments = asyncio.Event(), chain((0.0,), repeat(100.0))
        timer = app.screen.set_timer(0.01, ticked.set, pause=True)
        assert isinstance(timer, SureTimer)
        clock = SimpleNamespace(get_time=lambda: next(moments), sleep=asyncio.sleep)
        monkeypatch.setitem(vars(sys.modules["textual.timer"]), "_time", clock)
        timer.resume()
        await asyncio.wait_for(ticked.wait(), LONG)


async def test_nobody_waits_for_an_app_that_was_stopped(
    roastery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables that it just read are let go before the program stops."""
    lock, free = roastery / ".workbench" / "locks" / "tables.lock", []

    def stop(_: object) -> None:
        with exclusive(lock, timeout=0):
            free.append(True)

    monkeypatch.setattr(terminal, "shell_waits", lambda: True)
    monkeypatch.setattr(App, "action_suspend_process", stop)
    app = WorkbenchApp(roastery, watch=False, section="rules")
    async with app.run_test(size=(100, 24)) as pilot:
        await settle(pilot)
        with pytest.raises(StoreBusy), exclusive(lock, timeout=0):
            pass
        await press(pilot, "ctrl+z")
    assert free == [True]
