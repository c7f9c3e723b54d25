"""The shell of the app: sections, jobs, failures, sizes, keys, themes and the place it was left at."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual._xterm_parser import XTermParser
from textual.widgets import OptionList

from screens import sitting
from screens.app import WorkbenchApp
from screens.chrome import CommandFooter, FooterEntry, TooSmall, TopBar, fit_entries, labels, styled_label
from screens.commands import SECTIONS, commands_of, read_alt_digits
from screens.curation.record_form import RecordForm
from screens.jobs import Ahead, Job
from screens.overlays import HelpScreen, JumpScreen
from screens.plan.screen import PlanScreen
from screens.widgets.dialogs import LeaveQuestion
from screens.widgets.form import FormField
from tests.conftest import Connections
from tests.processes import LONG
from tests.screens.conftest import press, settle
from tests.screens.golden import SIZES, screen_text
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


def test_what_was_asked_ahead_answers_its_own_question_alone() -> None:
    """Another question, and one whose answer failed, are to be asked again."""
    job: Any = None

    def refuse(job: Job) -> int:
        raise UsageError("no", hint="")

    asked, failed = Ahead("all", lambda job: 42), Ahead("all", refuse)
    asked.run(job)
    with pytest.raises(UsageError):
        failed.run(job)

    assert (asked.answer("all"), asked.answer("some"), failed.answer("all")) == (42, None, None)


async def test_a_section_that_opens_leaves_the_styles_of_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Textual would read all styles again for each new screen, which takes longer than the rest of it."""
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        refreshed: list[bool] = []
        monkeypatch.setattr(app, "refresh_css", lambda animate=True: refreshed.append(animate))
        await app.go_to("rules")
        await settle(pilot)
        assert app.screen.classes >= {"-narrow", "-short"}
    assert refreshed == []


async def test_no_connection_outlives_the_app(roastery: Path, connections: Connections) -> None:
    """What lists were read from is closed with the app, whose objects stay in memory for a while."""
    app = make(roastery, "rules")
    async with app.run_test() as pilot:
        await settle(pilot)
        for section in ("learnings", "sessions", "stash"):
            await app.go_to(section)
            await settle(pilot)
        assert connections.alive == 1
        await app.go_to("metrics")
        await settle(pilot)
    assert connections.made > 1
    assert connections.alive == 0


async def test_a_newer_job_of_a_group_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    """Only the last question of a group is answered, whichever ends first."""
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.section is not None
        gate, arrived = threading.Event(), list[str]()

        def slow(job: Job) -> str:
            gate.wait(LONG)
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


async def test_an_app_that_ends_does_nothing_later(tmp_path: Path) -> None:
    """A timer that fires while the widgets are taken away calls nothing."""
    app, done = make(tmp_path), list[str]()
    async with app.run_test() as pilot:
        await settle(pilot)
        app.jobs.later("late", 0.001, lambda: done.append("while it ran"))
        await settle(pilot)
        app.jobs.later("late", LONG, lambda: done.append("when it ended"))
        timer = app.jobs._delayed["late"]
    assert isinstance(timer._callback, partial)  # a call that waits in the queue of the app
    timer._callback.args[0]()
    assert done == ["while it ran"]


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
        assert begun.wait(LONG)
        await pilot.press("ctrl+c")
        await settle(pilot)
        assert ended.wait(LONG)
        assert (arrived, stopped) == ([], [True])


def test_alt_and_a_digit_are_no_composed_character() -> None:
    """Escape and a digit are alt and the digit; what a terminal composes itself stays a character."""
    read_alt_digits()
    for digit in "1234567890":
        (event,) = XTermParser()._sequence_to_key_events(f"\x1b{digit}")
        assert (event.key, event.character) == (f"alt+{digit}", None)
    (event,) = XTermParser()._sequence_to_key_events("£")
    assert (event.key, event.character) == ("pound_sign", "£")


async def test_a_digit_goes_elsewhere_from_a_field(tmp_path: Path) -> None:
    """With the task being written, alt and a digit change the screen, ctrl+g and a digit as well."""
    app = make(tmp_path, "plan")
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("alt+0")
        await settle(pilot)
        assert app.place.section == "log"
        await pilot.press("1", "x", "0", "ctrl+g", "0")
        await settle(pilot)
        assert app.place.section == "log"
        await pilot.press("1")
        assert isinstance(app.section, PlanScreen)
        assert app.section.editor.text == "x0"


def asks_to_leave(app: WorkbenchApp) -> bool:
    return isinstance(app.screen, LeaveQuestion)


async def test_leaving_asks_where_something_would_be_lost(tmp_path: Path) -> None:
    """q leaves at once, but not out of a form with changes or of work that writes; asked again it does."""
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        form = RecordForm("Edit", [FormField("name", "Name", "a")], lambda form, values: None)
        app.push_screen(form)
        await settle(pilot)
        await pilot.press("b", "ctrl+q")
        assert asks_to_leave(app)
        assert "not saved" in screen_text(app)
        await pilot.press("n", "escape", "y")
        section = app.section
        assert section is not None
        gate = threading.Event()
        section.ask("Writing", lambda job: gate.wait(LONG), lambda _: None, writes=True)
        await pilot.press("q")
        assert asks_to_leave(app)
        assert "Writing: not done yet" in screen_text(app)
        gate.set()
        await pilot.press("q", "ctrl+q")
        assert not app.is_running


async def test_ctrl_c_copies_cancels_and_leaves(tmp_path: Path) -> None:
    """In a field it copies what is selected; else it cancels, and says that it leaves when pressed again."""
    app = make(tmp_path, "plan")
    async with app.run_test(notifications=True) as pilot:
        await settle(pilot)
        await pilot.press(*"coupon", "ctrl+a", "shift+end", "ctrl+c")
        await settle(pilot)
        assert app.clipboard == "coupon"
        assert isinstance(app.section, PlanScreen)
        assert app.section.editor.text == "coupon"
        await pilot.press("end", "ctrl+x", "ctrl+c")
        assert app.section.editor.text == "coupon"
        assert any("ctrl+c again leaves" in note.message for note in app._notifications)
        await pilot.press("x", "ctrl+c")
        assert app.is_running
        await pilot.press("ctrl+c")
        assert not app.is_running


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


async def test_the_footer_is_never_clipped(tmp_path: Path) -> None:
    """At every size the footer ends with help and commands and fits."""
    app = make(tmp_path, SECTIONS[0].id)
    async with app.run_test(size=SIZES[0]) as pilot:
        for section in SECTIONS:
            app.action_show_section(section.id)
            await settle(pilot)
            footer = app.screen.query_one(CommandFooter)
            for columns, _ in SIZES:
                shown = fit_entries(footer.entries(), columns - 1)
                assert [entry.title for entry in shown[-2:]] == ["Help", "Commands"]
                assert sum(entry.width + 2 for entry in shown) <= columns - 1


def test_the_footer_drops_the_last_commands_first() -> None:
    """Where not all commands fit, those with the highest rank give way, help stays."""
    entries = [
        FooterEntry("a", "One", "a", 1),
        FooterEntry("b", "Two", "b", 2),
        FooterEntry("?", "Help", "h", 90),
    ]
    assert [entry.title for entry in fit_entries(entries, 16)] == ["One", "Help"]


@pytest.mark.parametrize(("width", "form"), [(60, "brief"), (80, "short"), (120, "title"), (200, "title")])
def test_the_bar_names_every_section_and_its_key(width: int, form: str) -> None:
    """Names get shorter, none is left out, and the keys are the digits without a hole."""
    found = labels(SECTIONS[-1].id, width)
    assert sum(len(text) for _, text in found) <= width
    assert all(getattr(section, form) in text and section.key in text for section, text in found)
    assert [section.key for section in SECTIONS] == list("1234567890")


@pytest.mark.parametrize("width", [20, 60, 72, 80, 88, 120, 200])
def test_the_bar_fits_with_counts(width: int) -> None:
    """Counts of what waits give way before a name does; the current section keeps its name anywhere."""
    found = labels("log", width, {"conflicts": "12", "learnings": "1,340"})
    assert sum(len(text) for _, text in found) <= max(width, 24)
    assert "Log" in found[-1][1]
    assert any("12" in text for _, text in found) == (width > 72)


def test_no_count_passes_for_a_key() -> None:
    """A count is joined to the name it belongs to, and has a colour of its own, as the key has."""
    bar = TopBar("log", {"conflicts": "9", "learnings": "5"})
    section, text = labels("log", 80, bar.badges)[2]
    assert text == " 3 Conf·9"
    styled = styled_label(section, text)
    assert styled.plain == text
    assert [(styled.plain[one.start : one.end], str(one.style)) for one in styled.spans] == [
        ("3", "bold $text-accent"),
        (" Conf", "$foreground"),
        ("·9", "$text-warning"),
    ]


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


async def test_help_lists_every_command_of_every_section(tmp_path: Path) -> None:
    """Two commands of a section may do the same."""
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        for section in SECTIONS:
            await app.push_screen(HelpScreen(section.id, section.title))
            listed = {one.id for one in app.screen.query_one(OptionList).options if one.id}
            assert listed >= {command.id for command in commands_of(section.id)}
            app.pop_screen()


async def test_help_lists_commands_and_runs_the_chosen_one(tmp_path: Path) -> None:
    """`?` opens the list, which pages; `/` filters it, enter runs what is highlighted."""
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        listed = app.screen.query_one(OptionList)
        last = max(at for at, one in enumerate(listed.options) if not one.disabled)
        places = []
        for key in ("pagedown", "space", "pageup", "j", "k", "end", "home", "G", "g"):
            await pilot.press(key)
            places.append(listed.highlighted or 0)
        assert 2 < places[0] < places[1] < last
        assert places[2] < places[1]
        assert places[4] == places[2]
        assert places[3] - places[2] in (1, 2), "a heading is skipped"
        assert places[5:] == [last, 1, last, 1]
        await pilot.press("slash", *"j", "escape", "slash", *"jum", "pagedown", "p", "enter")
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
        await pilot.press("y")
        app.theme = "nord"
    again = WorkbenchApp(tmp_path, watch=False, place_file=place)
    async with again.run_test() as pilot:
        await settle(pilot)
        assert again.theme == "nord"
        assert again.section is not None
        assert SECTIONS[-1].id == again.section.section
        other = b'{"section":"plan","theme":"nord","sections":{"plan":{"task":"of another app"}}}'
        place.write_bytes(other)
        await pilot.press("q")
    assert place.read_bytes() == other  # nothing was changed here: the newer state is that one's


async def test_a_section_that_opens_late_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a key may have its effect after the look that it led to."""
    monkeypatch.setattr(sitting, "SOON", 0.001)
    place = tmp_path / "p.json"
    app = WorkbenchApp(tmp_path, watch=False, place_file=place)
    async with app.run_test() as pilot:
        await press(pilot, "y")
        for section in ("rules", "plan"):
            app.show_section(section)
            await settle(pilot)
        assert '"section":"plan"' in place.read_text(encoding="utf-8")


async def test_a_damaged_place_costs_nothing_but_the_place(tmp_path: Path) -> None:
    """A file that holds anything else opens the app as at first."""
    place = tmp_path / "p.json"
    place.write_bytes(b'\xff{"section": 7')
    app = WorkbenchApp(tmp_path, watch=False, place_file=place)
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.section is not None
