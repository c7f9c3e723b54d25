"""The shell of the app: sections, jobs, failures, sizes, keys, themes and the place it was left at."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from screens.app import WorkbenchApp
from screens.chrome.footer import CommandFooter, Entry, fitting
from screens.chrome.too_small import TooSmall
from screens.chrome.top_bar import labels
from screens.help import HelpScreen
from screens.jobs import Job
from screens.jump import JumpScreen
from screens.sections import SECTIONS
from tests.screens.conftest import settle
from tests.screens.golden import SIZES
from workbench.errors import UsageError


def make(root: Path, section: str = "log", **given: object) -> WorkbenchApp:
    """Return an app that keeps nothing and watches nothing."""
    return WorkbenchApp(root, watch=False, section=section, **given)  # type: ignore[arg-type]


async def test_a_job_hands_its_result_to_the_loop(tmp_path: Path) -> None:
    """What a job returns arrives at its owner, in the thread of the event loop."""
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.section is not None
        arrived: list[tuple[int, threading.Thread]] = []
        app.section.ask("Count", lambda job: 42, lambda n: arrived.append((n, threading.current_thread())))
        await settle(pilot)
        assert [(42, threading.main_thread())] == arrived


async def test_a_newer_job_of_a_group_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    """Only the last question of a group is answered, whichever ends first."""
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.section is not None
        gate, arrived = threading.Event(), list[str]()

        def slow(job: Job) -> str:
            gate.wait(10)
            return "old"

        app.section.ask("Ask", slow, arrived.append)
        app.section.ask("Ask", lambda job: "new", arrived.append)
        gate.set()
        await settle(pilot)
        assert arrived == ["new"]


async def test_what_is_asked_twice_for_later_is_done_once(tmp_path: Path) -> None:
    """A call that was replaced does nothing, even where its time had come already."""
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        done: list[str] = []
        app.jobs.later("typing", 30.0, lambda: done.append("old"))
        overtaken = app.jobs._delayed["typing"]._callback
        app.jobs.later("typing", 0.01, lambda: done.append("new"))
        assert overtaken is not None
        overtaken()
        assert done == []
        await settle(pilot)
        assert done == ["new"]


async def test_a_cancelled_job_stops_at_its_next_word_and_tells_nothing(tmp_path: Path) -> None:
    """Cancelling ends a job where it tells its progress; nothing is handed over, its owner is told."""
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.section is not None
        begun, ended, arrived = threading.Event(), threading.Event(), list[None]()

        def endless(job: Job) -> None:
            try:
                while True:
                    begun.set()
                    job.progress("Counting", 1, 2)
            finally:
                ended.set()

        stopped: list[bool] = []
        app.section.ask("Count", endless, arrived.append, stopped=lambda: stopped.append(True))
        assert begun.wait(10)
        await pilot.press("ctrl+x")
        await settle(pilot)
        assert ended.wait(10)
        assert (arrived, stopped) == ([], [True])


@pytest.mark.parametrize("error", [UsageError("no [/] such", hint="try x[0]"), ZeroDivisionError("x[0] [/]")])
async def test_a_failure_is_shown_and_the_app_goes_on(tmp_path: Path, error: Exception) -> None:
    """An error in a job, foreseen or not, becomes a note and a line in the log."""
    app = make(tmp_path)
    async with app.run_test(notifications=True) as pilot:
        await settle(pilot)
        assert app.section is not None

        def fail(job: Job) -> None:
            raise error

        app.section.ask("Divide", fail, lambda _: None)
        await settle(pilot)
        assert app.is_running
        assert [action.failed for action in app.log_of_actions.actions] == [True]
        assert any("[/]" in note.message for note in app._notifications)


@pytest.mark.parametrize("size", SIZES)
async def test_the_footer_is_never_clipped(tmp_path: Path, size: tuple[int, int]) -> None:
    """At every size the footer ends with help and commands and fits."""
    for section in SECTIONS:
        app = make(tmp_path, section.id)
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            footer = app.screen.query_one(CommandFooter)
            shown = fitting(footer.entries(), size[0] - 1)
            assert [entry.title for entry in shown[-2:]] == ["Help", "Commands"]
            assert sum(entry.width + 2 for entry in shown) <= size[0] - 1


def test_the_footer_drops_the_last_commands_first() -> None:
    """Where not all commands fit, those with the highest rank give way, help stays."""
    entries = [Entry("a", "One", "a", 1), Entry("b", "Two", "b", 2), Entry("?", "Help", "h", 90)]
    assert [entry.title for entry in fitting(entries, 16)] == ["One", "Help"]


@pytest.mark.parametrize("width", [20, 60, 80, 120, 200])
def test_the_bar_of_sections_fits_where_keys_fit(width: int) -> None:
    """Titles give way from the right; the current section keeps its own."""
    current = SECTIONS[-1]
    found = labels(current.id, width)
    assert [section.id for section in SECTIONS] == [section.id for section, _ in found]
    assert current.title in found[-1][1]
    if width >= 60:
        assert sum(len(text) + 1 for _, text in found) <= width + 1


async def test_a_terminal_too_small_is_covered_and_refuses_changes(tmp_path: Path) -> None:
    """Below 60 by 20 a panel says so and undo cannot be given; larger again, everything is back."""
    app = make(tmp_path)
    async with app.run_test(size=(50, 15)) as pilot:
        await settle(pilot)
        assert app.screen.query_one(TooSmall).display
        assert app.check_action("undo", ()) is False
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert not app.screen.query_one(TooSmall).display
        assert app.check_action("undo", ()) is True


async def test_help_lists_commands_and_runs_the_chosen_one(tmp_path: Path) -> None:
    """`?` opens the list, typing filters it, enter runs what is highlighted."""
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press(*"jump", "enter")
        await settle(pilot)
        assert isinstance(app.screen, JumpScreen)


async def test_jump_mode_goes_to_the_panel_of_a_letter(tmp_path: Path) -> None:
    """`;` shows letters and a letter gives its panel the focus."""
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        app.screen.set_focus(None)
        await pilot.press("semicolon", "a")
        await settle(pilot)
        assert app.focused is not None


async def test_the_place_is_found_again(tmp_path: Path) -> None:
    """The theme and the section of one run are those the next one opens with."""
    place = tmp_path / "places" / "p.json"
    app = WorkbenchApp(tmp_path, watch=False, section=SECTIONS[-1].id, place_file=place)
    async with app.run_test() as pilot:
        await settle(pilot)
        app.theme = "nord"
        await settle(pilot)
    again = WorkbenchApp(tmp_path, watch=False, place_file=place)
    async with again.run_test() as pilot:
        await settle(pilot)
        assert again.theme == "nord"
        assert again.section is not None
        assert SECTIONS[-1].id == again.section.section


async def test_a_damaged_place_costs_nothing_but_the_place(tmp_path: Path) -> None:
    """A file that holds anything else opens the app as at first."""
    place = tmp_path / "p.json"
    place.write_bytes(b'\xff{"section": 7')
    app = WorkbenchApp(tmp_path, watch=False, place_file=place)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.section is not None
