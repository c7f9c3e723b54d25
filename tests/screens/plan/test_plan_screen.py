"""The plan in use: a task is written and the pack follows, every key does what it says, nothing blocks."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.events import ScreenSuspend
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input

from screens.app import WorkbenchApp
from screens.base import SectionScreen
from screens.engine import AppEngine
from screens.jobs import Job
from screens.plan import candidates
from screens.plan.candidates import IN, OUT, PackCandidate, ShownPlan, fold_passages
from screens.plan.first_run import FirstRun
from screens.plan.handover import open_plan
from screens.plan.panels import PreviewPanel, WhyPanel
from screens.plan.query import PlanQuery
from screens.plan.screen import PlanScreen
from screens.widgets.code import Details
from screens.widgets.dialogs import Ask, Choose, Confirm
from tests.processes import LONG
from tests.screens.conftest import press, settle
from tests.screens.golden import SIZES, check_every_size, check_golden, screen_text
from workbench.entry.services.episodes import episode_service

TASK = "coupon is applied twice at checkout"


def plan_of(app: WorkbenchApp) -> PlanScreen:
    assert isinstance(app.section, PlanScreen)
    return app.section


async def write(pilot: Pilot[Any], text: str = TASK) -> PlanScreen:
    """Write a task, wait for its plan, and go to the list."""
    await settle(pilot)
    here = plan_of(pilot.app)  # type: ignore[arg-type]
    here.editor.text = text
    here.editor.focus()
    await press(pilot, "enter")
    return here


def lines(app: WorkbenchApp) -> list[str]:
    return [action.command for action in app.log_of_actions.actions]


def focus_of(here: PlanScreen) -> Widget | None:
    return here.focused


def panels_of(here: PlanScreen) -> tuple[Widget | None, Widget | None]:
    """Return what is zoomed, and what has the focus."""
    return here.maximized, here.focused


def is_shown(widget: Widget) -> bool:
    return widget.display


def planned(here: PlanScreen) -> bool:
    return here.plan is not None


def on(here: PlanScreen, name: str) -> PackCandidate:
    one = next(one for one in here.plan.candidates if one.name == name)  # type: ignore[union-attr]
    if not here.table.select_key(one.key):  # it is folded
        here._opened_kinds |= {one.kind}
        here._list()
        assert here.table.select_key(one.key)
    return one


async def test_the_pack_follows_what_is_typed(app: WorkbenchApp) -> None:
    """Typing alone leads to a plan: rows, budget, status; the log gets a line once enter is pressed."""
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        here = plan_of(app)
        assert focus_of(here) is here.editor
        await pilot.press(*"coupon")
        here.editor.settle()
        await settle(pilot)
        assert here.plan is not None
        assert here.asked.task == "coupon"
        assert len(here.table.rows) == len(fold_passages(here.plan, ()))
        used = here.plan.response.budget_report.estimated_used
        assert f"{used:,} of {here.plan.limit:,} tokens" in screen_text(app)
        assert focus_of(here) is here.editor
        assert lines(app) == []
        await press(pilot, "enter")
        assert focus_of(here) is here.table
        assert lines(app) == ["workbench plan coupon"]
        assert "To the list" not in screen_text(app)


async def test_the_task_field_has_its_own_keys(app: WorkbenchApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the field the pack is copied and a new task begun; the footer there says so."""
    taken: list[str] = []
    monkeypatch.setattr(app, "copy", lambda text, what: taken.append(text))
    async with app.run_test(size=(120, 40)) as pilot:
        here = await write(pilot)
        await press(pilot, "i", "t", "ctrl+y")
        assert here.plan is not None
        assert taken == [here.plan.text]
        footer = screen_text(app).splitlines()[-1]
        assert [word in footer for word in ("To the list", "Back", "Copy pack", "New task")] == [True] * 4
        await press(pilot, "ctrl+l")
        assert (here.editor.text, here.asked.pinned, planned(here)) == ("", (), False)
        assert focus_of(here) is here.editor
        await press(pilot, "up")
        assert here.editor.text == TASK


async def test_enter_opens_a_fold_and_closes_it(app: WorkbenchApp) -> None:
    """The passages of a kind follow their row, and are kept open."""
    async with app.run_test(size=(120, 40)) as pilot:
        here = await write(pilot)
        assert here.plan is not None
        folded = len(here.table.rows)
        fold = next(one for one in fold_passages(here.plan, ()) if one.folds)
        assert here.table.select_key(fold.key)
        await press(pilot, "enter")
        assert len(here.table.rows) > folded
        assert here.table.cursor_key == fold.key
        assert here.remember()["opened"] == [fold.folds]
        await press(pilot, "W")
        assert "only files" in screen_text(app)
        await press(pilot, "enter")
        assert len(here.table.rows) == folded


async def test_a_pasted_error_of_many_lines_is_one_task(app: WorkbenchApp) -> None:
    """Line feeds stay, hidden characters become visible, and one plan is made of it."""
    from textual.events import Paste

    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        here = plan_of(app)
        here.editor.post_message(Paste("Traceback\n  File x.py\nKeyError: \x1b[31mcoupon[0]"))
        await settle(pilot)
        await press(pilot, "enter")
        assert here.asked.task.count("\n") == 2
        assert "\x1b" not in here.asked.task
        assert "coupon[0]" in here.asked.task
        assert here.plan is not None


async def test_up_goes_to_earlier_tasks_and_to_what_was_done_here(app: WorkbenchApp) -> None:
    """Tasks of this sitting come first, then those of the project's past."""
    async with app.run_test(size=(120, 40)) as pilot:
        here = await write(pilot, "first task about coupons")
        await press(pilot, "t")
        here.editor.text = "second task about refunds"
        await press(pilot, "enter", "t", "up")
        assert here.editor.text == "second task about refunds"
        here.editor.settle()  # the typing pauses, and the plan brings the tasks again
        await settle(pilot)
        await press(pilot, "up")
        assert here.editor.text == "first task about coupons"
        here.editor.settle()
        await settle(pilot)
        await press(pilot, "up")
        assert here.editor.text in here.plan.heads  # type: ignore[union-attr]


async def test_another_task_begins_at_the_first_candidate(app: WorkbenchApp) -> None:
    """The cursor stays with its candidate as long as the task does."""
    async with app.run_test(size=(120, 40)) as pilot:
        here = await write(pilot)
        await press(pilot, "j", "j", "j")
        key = here.table.cursor_key
        await press(pilot, "plus")
        assert here.table.cursor_key == key
        here = await write(pilot, "refund of a cancelled order")
        assert here.table.cursor == 0


async def test_a_cancelled_plan_leaves_no_older_one_in_its_place(
    app: WorkbenchApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ctrl+c ends the planning; what is shown says so, and enter plans again."""
    from screens.plan import work

    begun = threading.Event()
    real = work.make_plan

    def slow(engine: AppEngine, asked: PlanQuery, job: Job, **how: object) -> ShownPlan:
        begun.set()
        while True:
            job.progress("Reading files", 3, 10)

    async with app.run_test(size=(80, 24)) as pilot:
        here = await write(pilot)
        monkeypatch.setattr(work, "make_plan", slow)
        here.editor.text = "something else"
        here.editor.settle()
        await pilot.pause()
        assert begun.wait(LONG)
        await pilot.press("ctrl+c")
        await settle(pilot)
        assert not planned(here)
        assert "Cancelled." in screen_text(app)
        monkeypatch.setattr(work, "make_plan", real)
        await press(pilot, "t", "enter")
        assert planned(here)


async def test_no_task_teaches(app: WorkbenchApp) -> None:
    """Without a task there is no plan, and the list says how to begin; taking it away goes back there."""
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "Write above what is to be done" in screen_text(app)
        here = await write(pilot)
        assert here.plan is not None
        here.editor.text = "  "
        here.editor.settle()
        await settle(pilot)
        assert not planned(here)
        assert "Write above what is to be done" in screen_text(app)
        assert here.check_action("copy", ()) is None


async def test_pins_and_exclusions_change_the_pack_at_once(app: WorkbenchApp) -> None:
    """i packs the candidate, x leaves it out, each again takes it back, c all; the cursor stays with it."""
    async with app.run_test(size=(120, 40)) as pilot:
        here = await write(pilot)
        assert here.plan is not None
        left = next(one.name for one in here.plan.candidates if one.state == OUT and one.kind == "files")
        on(here, left)
        await press(pilot, "i")
        assert (here.asked.pinned, here.candidate and here.candidate.name) == ((left,), left)
        assert here.candidate is not None
        assert here.candidate.state == IN
        assert left in here.plan.response.context.files
        assert lines(app)[-1] == f"workbench plan --pin {left} '{TASK}'"
        assert f" +1 file ({here.candidate.title})" in screen_text(app)
        await press(pilot, "x")
        assert (here.asked.pinned, here.asked.excluded) == ((), (left,))
        assert here.candidate.excluded
        assert here.candidate.why == "excluded by you"
        await press(pilot, "x")
        assert here.asked.excluded == ()
        rule = next(one.name for one in here.plan.candidates if one.kind == "rules")
        on(here, rule)
        await press(pilot, "x")
        assert rule not in [one.id for one in here.plan.response.rules]
        await press(pilot, "R")
        assert rule in [one.id for one in here.plan.response.rules]


async def test_both_rankings_follow_what_is_decided(app: WorkbenchApp, tmp_path: Path) -> None:
    """C lists both side by side, through pins, filters and other tasks, until it is pressed again."""
    async with app.run_test(size=(80, 24)) as pilot:
        here = await write(pilot)
        packed = here.table.columns
        await press(pilot, "C")
        assert here.plan is not None
        first = here.plan.comparison
        assert first is not None
        assert [word in screen_text(app) for word in ("Baseline", "Hybrid", "Moved")] == [True] * 3
        assert any("in baseline; in" in line for line in here.query_one(WhyPanel).lines)
        await press(pilot, "j", "i")
        assert here.candidate is not None
        assert here.asked.pinned == (first.hybrid.order[1],) == (here.candidate.name,)
        assert here.plan.comparison is not None
        assert here.candidate.name in here.plan.comparison.baseline.packed
        await press(pilot, "i", "B")
        assert here.plan.comparison == first
        await press(pilot, "B", "slash", *"name:coupon", "enter")
        rows = here.table.rows
        assert [rows.key(place) for place in range(len(rows))] == [
            f"files:{path}" for path in first.hybrid.order if "coupon" in path
        ]
        await press(pilot, "escape", "C")
        assert here.table.columns == packed
        assert here.remember()["compared"] is False


async def test_marked_candidates_are_pinned_together(app: WorkbenchApp) -> None:
    """Space marks; the key is for all marked ones and takes the marks off."""
    async with app.run_test(size=(120, 40)) as pilot:
        here = await write(pilot)
        await press(pilot, "G", "k", "space", "space", "i")
        assert len(here.asked.pinned) == 2
        assert here.table.marks == frozenset()


async def test_the_budget_moves_by_steps_and_by_number(app: WorkbenchApp) -> None:
    """+ and - step, b takes a number and tells what is none; the pack never exceeds it."""
    async with app.run_test(size=(80, 24)) as pilot:
        here = await write(pilot)
        await press(pilot, "plus")
        assert here.plan is not None
        assert here.plan.limit == 5000
        await press(pilot, "minus", "minus")
        assert here.plan.limit == 3750
        await press(pilot, "b")
        assert isinstance(app.screen, Ask)
        app.screen.query_one("Input").value = "many"  # type: ignore[attr-defined]
        await press(pilot, "enter")
        assert "a number of tokens" in screen_text(app)
        app.screen.query_one("Input").value = "700"  # type: ignore[attr-defined]
        await pilot.resize_terminal(120, 40)
        await press(pilot, "enter")
        assert here.plan.limit == 700
        assert here.plan.response.budget_report.estimated_used <= 700
        assert lines(app)[-1] == f"workbench plan --budget 700 '{TASK}'"


async def test_baseline_kind_and_strict_are_switched(app: WorkbenchApp) -> None:
    """m, K and S change how it is planned, the line over the list says so, and so does the log."""
    async with app.run_test(size=(120, 40)) as pilot:
        here = await write(pilot)
        await press(pilot, "B")
        assert here.plan is not None
        assert here.plan.model == "baseline"
        await press(pilot, "T")
        assert isinstance(app.screen, Choose)
        await press(pilot, *"bugf", "enter")
        assert here.plan.response.intent.predicted == "bugfix"
        await press(pilot, "S")
        text = screen_text(app)
        assert " · baseline · strict · bugfix" in text
        assert lines(app)[-1] == f"workbench plan --query-type bugfix --baseline --strict '{TASK}'"
        await press(pilot, "B", "S")
        assert here.plan.model != "baseline"
        assert here.asked.strict is False


async def test_a_refused_plan_is_told_in_place(roastery: Path) -> None:
    """Under strict a change on disk shows as the error and its hint where the list was; S goes on."""
    app = WorkbenchApp(roastery, watch=False, section="plan")
    async with app.run_test(size=(80, 24)) as pilot:
        here = await write(pilot)
        (roastery / "README.md").write_text("changed\n", encoding="utf-8")
        await press(pilot, "S")
        assert not planned(here)
        assert "! " in screen_text(app)
        assert len(here.table.rows) == 0
        assert app.log_of_actions.actions[-1].failed
        await press(pilot, "S")
        assert here.plan is not None


async def test_the_cursor_explains_and_previews(app: WorkbenchApp) -> None:
    """Bars, packed lines with the file's numbers, the whole file with those marked, the whole pack."""
    async with app.run_test(size=(200, 60)) as pilot:
        here = await write(pilot)
        assert here.plan is not None
        one = next(one for one in here.plan.candidates if one.kind == "files" and one.state == IN)
        on(here, one.name)
        await settle(pilot)
        why, preview = here.query_one(WhyPanel), here.query_one(PreviewPanel)
        assert why.lines[0] == f"✓ {one.name}"
        assert any(line.startswith("total") and f"{one.score:+.3f}" in line for line in why.lines)
        assert preview.code.line_count == len(one.text.split("\n"))
        assert f"Packed · {one.form}" in str(preview.border_title)
        await press(pilot, "F")
        assert str(preview.border_title).endswith(f" File · {one.name}")
        await press(pilot, "p")
        assert "The whole pack" in str(preview.border_title)
        assert not is_shown(why)
        await press(pilot, "w")
        assert is_shown(why)
        await press(pilot, "w")
        assert not is_shown(why)
        await press(pilot, "enter")
        assert focus_of(here) is preview.code
        await press(pilot, "r")
        assert isinstance(app.screen, Details)
        await press(pilot, "escape")


async def test_a_filter_narrows_the_list(app: WorkbenchApp) -> None:
    """/ filters by words and fields, the cursor's candidate follows, escape takes it off."""
    async with app.run_test(size=(120, 40)) as pilot:
        here = await write(pilot)
        assert here.plan is not None
        await press(pilot, "slash")
        here.filter.field.value = "kind:rules state:in"
        await press(pilot, "enter")
        assert len(here.table.rows) == len(here.plan.response.rules)
        assert here.candidate is not None
        assert here.candidate.kind == "rules"
        await press(pilot, "slash")
        here.filter.field.value = "zzzzzz"
        await press(pilot, "enter")
        assert "Nothing matches the filter" in screen_text(app)
        assert len(here.table.rows) == 0
        await press(pilot, "slash", "escape")
        assert len(here.table.rows) == len(fold_passages(here.plan, ()))


async def test_the_pack_is_copied(app: WorkbenchApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """y copies the text of the pack, and the log has the command that copies it headless."""
    taken: list[tuple[str, str]] = []
    monkeypatch.setattr(app, "copy", lambda text, what: taken.append((text, what)))
    async with app.run_test(size=(80, 24)) as pilot:
        here = await write(pilot)
        await press(pilot, "y")
        assert here.plan is not None
        assert taken == [(here.plan.text, "the pack")]
        assert lines(app)[-1] == f"workbench plan --copy '{TASK}'"


async def test_an_export_never_replaces_a_file_unasked(app: WorkbenchApp, tmp_path: Path) -> None:
    """The form and the path are asked for; a file that is there is replaced only after yes."""
    target = tmp_path / "my pack.json"
    target.write_text("mine", encoding="utf-8")
    async with app.run_test(size=(80, 24)) as pilot:
        here = await write(pilot)

        async def export() -> None:
            await press(pilot, "E", *"json", "enter")
            asked = app.screen.query_one(Input)
            assert asked.value == ".workbench/context.json"  # which no later plan reads
            asked.value = str(target)
            await press(pilot, "enter")

        await export()
        assert isinstance(app.screen, Confirm)
        await press(pilot, "enter")  # no has the focus
        assert target.read_text(encoding="utf-8") == "mine"
        await export()
        await press(pilot, "y")
        answer = json.loads(target.read_text(encoding="utf-8"))
        assert here.plan is not None
        assert answer["context"]["text"] == here.plan.text
        assert lines(app)[-1] == f"workbench plan --format json '{TASK}' > '{target}'"


async def test_a_path_that_cannot_be_written_is_told(app: WorkbenchApp, tmp_path: Path) -> None:
    """The error is shown, nothing is lost, and the app goes on."""
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await write(pilot)
        await press(pilot, "E", "enter")
        app.screen.query_one("Input").value = str(tmp_path / "no" / "such" / "[/]")  # type: ignore[attr-defined]
        await press(pilot, "enter")
        assert any("cannot be written" in note.message for note in app._notifications)
        assert app.is_running


async def test_a_plan_is_saved_as_an_episode(roastery: Path) -> None:
    """s starts an episode and records the pack in it; the log has the command that does both."""
    app = WorkbenchApp(roastery, watch=False, section="plan")
    async with app.run_test(size=(80, 24)) as pilot:
        here = await write(pilot)
        await press(pilot, "ctrl+s", "enter")
        line = lines(app)[-1]
        session = re.search(r"^workbench plan .*--session (\S+)", line)[1]  # type: ignore[index]
        assert re.fullmatch("[a-z0-9-]+", session)  # words of the task
        trace = episode_service(roastery, here.engine.config, "cli").trace(session)
        assert trace.episode.task_text == TASK
        assert trace.episode.token_budget == 4000
        assert "pack" in trace.events[-1].payload


async def test_nothing_is_undone_by_accident(app: WorkbenchApp) -> None:
    """u does not reach for the rules from here, and says what takes a wish back."""
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await write(pilot)
        await press(pilot, "u")
        assert any("nothing can be undone here" in note.message for note in app._notifications)


async def test_the_place_comes_back(shop: Path, tmp_path: Path) -> None:
    """Task, budget, wishes, mode, cursor, filter and view are as they were left."""
    place = tmp_path / "place.json"
    app = WorkbenchApp(shop, watch=False, section="plan", place_file=place)
    async with app.run_test(size=(120, 40)) as pilot:
        here = await write(pilot)
        assert here.plan is not None
        on(here, here.plan.response.context.files[1])
        await press(pilot, "i", "plus", "w", "slash")
        here.filter.field.value = "kind:files"
        await press(pilot, "enter")
        left, key = here.asked, here.table.cursor_key
    again = WorkbenchApp(shop, watch=False, place_file=place)
    async with again.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        here = plan_of(again)
        assert here.asked == left
        assert here.editor.text == TASK
        assert here.table.cursor_key == key
        assert not here.query_one(WhyPanel).display
        assert here.plan is not None
        assert len(here.table.rows) < len(here.plan.candidates)


async def test_a_first_run_says_what_it_reads_and_begins_with_one_key(untouched: Path) -> None:
    """Before any index there are counts; enter indexes by the headless command, and the plan opens."""
    app = WorkbenchApp(untouched, watch=False, section="plan")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        here = plan_of(app)
        assert here.editor.has_focus
        text = screen_text(app)
        assert "Nothing leaves this machine" in text
        assert "122" in text
        assert "enter Index and go" in text
        assert here.check_action("copy", ()) is False
        assert here.check_action("index_all", ()) is False  # no transcripts here
        await press(pilot, "enter")
        assert not here.has_class("-first")
        assert lines(app) == ["workbench index"]
        await press(pilot, *"coupon", "enter")
        assert here.plan is not None
        assert here.plan.response.cache_status == "hit"


async def test_a_first_run_can_be_left_for_another_section(tmp_path: Path) -> None:
    """The section before shows again for a moment while the next one has no widgets yet."""
    app = WorkbenchApp(tmp_path, watch=False, section="plan")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+g", "3")
        await settle(pilot)
        assert app.section is not None
        assert app.section.section == "conflicts"


async def test_a_fault_is_what_the_app_ends_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A section that failed has no widgets left whose place could be kept, and keeping it hides no fault."""
    app = WorkbenchApp(tmp_path, watch=False, section="plan", place_file=tmp_path / "place.json")

    async def sit() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await settle(pilot)
            await pilot.press("a")
            monkeypatch.setattr(SectionScreen, "on_screen_suspend", lambda self: 1 // 0)
            plan_of(app).post_message(ScreenSuspend())
            await pilot.pause()

    with pytest.raises(ZeroDivisionError):
        await sit()


async def test_what_is_typed_before_a_first_run_is_known_waits_for_the_index(untouched: Path) -> None:
    """Nothing is read before enter agrees to it; the task is there afterwards and planned."""
    app = WorkbenchApp(untouched, watch=False, section="plan")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"mqu1")  # before anything is painted
        await settle(pilot)
        here = plan_of(app)
        assert here.editor.has_focus
        assert here.editor.text == "mqu1"
        assert "Nothing leaves this machine" in screen_text(app)
        assert not here.asked.baseline
        assert not planned(here)
        with app.engine.workspace() as opened:
            assert not opened.workspace.indexed
        await press(pilot, "escape")
        assert here.query_one(FirstRun).has_focus
        await press(pilot, "enter")
        assert here.asked.task == "mqu1"
        assert planned(here)


async def test_enter_before_the_counts_begins_nothing(
    untouched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would be read is said before it is read, however early enter is pressed."""
    from screens.plan import work

    told = threading.Event()
    real = work.find_opening

    def late(engine: AppEngine, job: Job) -> work.Opening:
        assert told.wait(LONG)
        return real(engine, job)

    monkeypatch.setattr(work, "find_opening", late)
    app = WorkbenchApp(untouched, watch=False, section="plan")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"gift", "enter")
        here = plan_of(app)
        assert here.has_class("-first")
        assert [job.name for job in app.jobs.running] == ["Opening"]
        told.set()
        await settle(pilot)
        assert here.editor.text == "gift"
        assert here.indexing is None
        assert lines(app) == []


async def test_escape_leaves_the_task_for_the_list(app: WorkbenchApp) -> None:
    """In the list the letters are keys again; what was written stays and is planned."""
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        here = plan_of(app)
        await press(pilot, *"coupon", "escape")
        assert here.table.has_focus
        assert here.editor.text == "coupon"
        assert planned(here)


async def test_a_zoomed_panel_gives_way_to_what_a_command_goes_to(app: WorkbenchApp) -> None:
    """Nobody types into a field that is not on the screen; keys of the panel itself leave it as it is."""
    async with app.run_test(size=(80, 24)) as pilot:
        here = await write(pilot)
        for key in ("t", "slash"):
            here.table.focus()
            await press(pilot, "z", "j")
            assert panels_of(here) == (here.table, here.table)
            await press(pilot, key)
            zoomed, focused = panels_of(here)
            assert zoomed is None
            assert focused is not None
            assert focused.is_on_screen


async def test_a_task_of_the_last_time_gives_way_to_what_is_typed(roastery: Path, tmp_path: Path) -> None:
    """Keys pressed while the app opens are another task, not commands; up brings the last one back."""
    place = tmp_path / "place.json"
    first = WorkbenchApp(roastery, watch=False, section="plan", place_file=place)
    async with first.run_test(size=(80, 24)) as pilot:
        await write(pilot)
    again = WorkbenchApp(roastery, watch=False, section="plan", place_file=place)
    async with again.run_test(size=(80, 24)) as pilot:
        await pilot.press("m")
        await settle(pilot)
        here = plan_of(again)
        assert here.editor.has_focus
        assert here.editor.text == "m"
        assert not here.asked.baseline
        await press(pilot, "up")
        assert here.editor.text == TASK


async def test_a_digit_at_the_start_opens_a_section_and_leaves_the_task(
    roastery: Path, tmp_path: Path
) -> None:
    """The bar of sections says 2: nothing is planned for "2", also not back on Plan; the footer says ^g."""
    place = tmp_path / "place.json"
    place.write_text(json.dumps({"sections": {"plan": {"task": TASK}}}))
    app = WorkbenchApp(roastery, watch=False, section="plan", place_file=place)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        here = plan_of(app)
        assert "^g Screens" in screen_text(app)
        await press(pilot, "2")
        here.editor.settle()
        await settle(pilot)
        assert app.place.section == "rules"
        assert (here.editor.text, here.asked.task) == (TASK, TASK)
        open_plan(app, lambda asked: asked.pinning(["README.md"]))
        await settle(pilot)
        assert here.table.has_focus
        assert here.asked.pinned == ("README.md",)


async def test_a_cancelled_first_index_goes_back_to_the_counts(
    untouched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ctrl+c ends the reading; the counts and the key are there again."""
    from screens.plan import work

    begun = threading.Event()

    def slow(engine: object, sessions: bool, job: Job) -> None:
        begun.set()
        while True:
            job.progress("Reading files", 3, 10)

    monkeypatch.setattr(work, "index", slow)
    app = WorkbenchApp(untouched, watch=False, section="plan")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        here = plan_of(app)
        await pilot.press("enter")
        assert begun.wait(LONG)
        here.mark_stale()  # as the watcher does when the index that is being written changes
        assert [job.name for job in app.jobs.running] == ["Indexing"]
        await pilot.press("ctrl+c")
        await settle(pilot)
        here._pulse()
        await settle(pilot)
        assert here.indexing is None
        assert here.check_action("index", ()) is True
        assert "Nothing leaves this machine" in screen_text(app)


async def test_another_process_changes_the_rules(app: WorkbenchApp) -> None:
    """A change of what plans are made of leads to a new plan of the same task."""
    async with app.run_test(size=(80, 24)) as pilot:
        here = await write(pilot)
        before = here.plan
        here.mark_stale()
        await settle(pilot)
        assert here.plan is not before
        assert here.asked.task == TASK
        assert len(lines(app)) == 1


async def test_each_pause_in_typing_leads_to_a_plan(app: WorkbenchApp) -> None:
    """One of what is written by then, made beside the loop."""
    async with app.run_test(size=(120, 40)) as pilot:
        here = await write(pilot)
        for word in ("refund", "webhook", "invoice"):
            here.editor.text = word
            here.editor.settle()
            await settle(pilot)
            assert here.plan is not None
            assert here.asked.task == word
            await press(pilot, "tab")


@pytest.mark.parametrize("size", SIZES)
async def test_the_screen_at_every_size(
    app: WorkbenchApp, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The main state at every size, without the time it took."""
    monkeypatch.setattr(candidates, "milliseconds", lambda response: 42.0)
    async with app.run_test(size=size) as pilot:
        here = await write(pilot)
        assert here.plan is not None
        left = next(one.name for one in here.plan.candidates if one.state == OUT and one.kind == "files")
        on(here, left)
        await press(pilot, "i", "k", "x")
        check_golden(app, "plan")


async def test_the_first_run_at_every_size(untouched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts and the keys are whole at every size."""
    app = WorkbenchApp(untouched, watch=False, section="plan")
    async with app.run_test(size=SIZES[0]) as pilot:
        await settle(pilot)
        await check_every_size(pilot, "plan-first")
