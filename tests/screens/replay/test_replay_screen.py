"""The section of replays: every command, with runs that are kept and with replays that really run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from screens.app import WorkbenchApp
from screens.jobs import Job
from screens.replay import work
from screens.replay.actions import COMPARE, RUN, RUNS, TASK, TASKS
from screens.replay.charts import interval_chart
from screens.replay.comparison import ComparePanel, largest_changes
from screens.replay.figures import gap_cells
from screens.replay.live_run import LivePanel
from screens.replay.new_replay import COMMITS, NewReplay, ReplayRequest
from screens.replay.run_panel import RunPanel
from screens.replay.runs import RunsPanel
from screens.replay.screen import ReplayScreen
from screens.replay.task_panel import LEFT, TaskPanel
from screens.replay.tasks import TasksPanel
from screens.replay.work import ListedRuns, read_identity
from screens.widgets.bars import FeatureBars
from screens.widgets.code import Details
from screens.widgets.plot import Plot
from screens.widgets.table import VirtualTable
from tests.conftest import Work
from tests.replay.made import made_run
from tests.screens.conftest import press, settle
from tests.screens.golden import SIZES, check_golden, screen_text
from workbench.config import GatesConfig
from workbench.entry.cli.output import to_json
from workbench.entry.services.runs import keep_elsewhere, keep_run, list_kept_runs, runs_root
from workbench.errors import StoreError
from workbench.records.replay import ReplayRun, run_to_json
from workbench.replay.gates import GateEvidence, evaluate
from workbench.replay.run_comparison import compare_runs

HOSTILE = "[/] x = list[int][0]\x1b[31m\x00‮👩‍💻"
FIRST = made_run(24)
SECOND = replace(made_run(24, seed=2), at="2026-02-03T04:05:06Z")


def keep(root: Path, runs: Sequence[ReplayRun]) -> list[str]:
    """Keep runs as the program does; return their ids."""
    return [keep_run(runs_root(root), run).id for run in runs]


def make(root: Path, **given: Any) -> WorkbenchApp:
    return WorkbenchApp(root, watch=False, section="replay", **given)


def screen_of(app: WorkbenchApp) -> ReplayScreen:
    assert isinstance(app.section, ReplayScreen)
    return app.section


@pytest.fixture
def project(work: Work) -> Path:
    """Return a project with a commit, for runs that are only looked at."""
    work.write("a.py")
    work.commit()
    return work.root


async def opened(pilot: Pilot[Any], *keys: str) -> ReplayScreen:
    """Settle, press keys, return the section."""
    await settle(pilot)
    await press(pilot, *keys)
    assert isinstance(pilot.app, WorkbenchApp)
    return screen_of(pilot.app)


async def test_without_runs_the_section_says_what_a_replay_is(roastery: Path) -> None:
    """The empty list teaches the key to press."""
    app = make(roastery)
    async with app.run_test() as pilot:
        await opened(pilot)
        text = screen_text(app)
        assert "A replay runs past tasks again" in text
        assert "c  starts one" in text


async def test_runs_that_cannot_be_read_are_reported_in_place_of_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list names the reason and the next step instead of waiting for ever."""

    def refuse(root: Path, job: Job) -> ListedRuns:
        raise StoreError("the runs are locked [/]", hint="Try again.")

    monkeypatch.setattr(work, "list_runs", refuse)
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await opened(pilot)
        text = screen_text(app)
        assert "! the runs are locked [/]" in text
        assert "Try again." in text
        assert "Reading the saved runs" not in text


async def test_a_project_without_a_past_says_so(tmp_path: Path) -> None:
    """Where there is neither history nor a session nothing is promised."""
    app = make(tmp_path)
    async with app.run_test() as pilot:
        await opened(pilot)
        text = screen_text(app)
        assert "was imported" in text
        assert "c  replays another place" in text


async def test_runs_are_listed_opened_and_left_again(project: Path) -> None:
    """Enter goes from the list to a run, to its tasks, to a task; escape goes back step by step."""
    first, second = keep(project, (FIRST, SECOND))
    app = make(project)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        assert [line.name for line in screen.query_one(RunsPanel).lines] == [second, first]
        views = [screen.place.view]
        for key in ("enter", "enter", "enter", "escape", "escape", "escape"):
            await press(pilot, key)
            views.append(screen.place.view)
        assert views == [RUNS, RUN, TASKS, TASK, TASKS, RUN, RUNS]
        assert app.log_of_actions.actions[-1].command == f"workbench runs show {second}"


async def test_escape_in_a_pane_goes_back_to_the_list(project: Path) -> None:
    """From the preview, measures and the explanation of a file escape leads to the list beside it."""
    keep(project, (FIRST,))
    app = make(project)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        for name in ("runs-table", "systems", "right-ranking"):
            assert screen.focused is not None
            assert screen.focused.id == name
            await press(pilot, "tab")
            assert screen.focused.id != name
            assert "esc Back" in screen_text(app)
            await press(pilot, "escape")
            assert screen.focused.id == name
            await press(pilot, *{"runs-table": ["enter"], "systems": ["enter", "enter"]}.get(name, []))


async def test_a_run_shows_gaps_of_the_system_under_the_cursor_and_its_plots(project: Path) -> None:
    """The best figures are starred, p goes through the plots."""
    keep(project, (FIRST,))
    app = make(project)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot, "enter")
        panel = screen.query_one(RunPanel)
        assert panel.systems.cursor_key == "hybrid"
        assert "▲ better" in screen_text(app)
        seen = []
        for _ in range(6):
            await press(pilot, "right_square_bracket")
            seen.append(panel.view)
        assert seen == ["intervals", "age", "over", "latency", "gates", "gaps"]
        await press(pilot, "g")
        assert "better" not in screen_text(app)


async def test_a_second_run_shows_its_own_measures_and_chart(project: Path) -> None:
    """Every figure below the systems is that of the run that was opened last, where the cursor stays, too."""
    keep(project, (FIRST, SECOND))
    app = make(project)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, "enter", "escape", "j", "enter")
        found = screen.opened
        assert found is not None
        assert found.run.at == FIRST.at
        panel = screen.query_one(RunPanel)
        rows = panel.query_one("#gaps", VirtualTable)._rows
        shown = [[str(cell) for cell in rows.cells(at)] for at in range(len(rows))]
        system = panel.systems.cursor_key
        assert system == found.counterpart
        assert shown == [[str(cell) for cell in gap_cells(line)] for line in found.figures.gaps[system]]
        expected = interval_chart(found.figures, "ndcg_at_10", found.counterpart)
        assert panel.query_one("#intervals", Plot).chart == expected


async def test_tasks_are_filtered_ordered_and_compared_between_any_two_systems(project: Path) -> None:
    """`/` filters, o orders, S swaps, s chooses."""
    keep(project, (FIRST,))
    app = make(project)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, "enter", "t")
        panel = screen.query_one(TasksPanel)
        assert panel.table.count == 24
        await press(pilot, "slash", *"change:<0.7", "enter")
        assert 0 < panel.table.count < 24
        assert "of 24" in screen_text(app)
        before = list(panel.order)
        await press(pilot, "o")
        assert screen.place.order == "largest gain"
        assert sorted(panel.order) == sorted(before)
        await press(pilot, "S")
        assert screen.place.systems == ("hybrid", "baseline")
        await press(pilot, "w", *"bm", "enter", *"hy", "enter")
        assert screen.place.systems == ("bm25", "hybrid")


async def test_a_task_shows_both_rankings_and_why_a_file_was_missed(project: Path) -> None:
    """The cursor begins at the missed file; x goes to the other side, m and ] go to the next ones."""
    keep(project, (FIRST,))
    app = make(project)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, "enter", "t")
        screen.place.systems = ("baseline", "bm25")
        screen.arrange_tasks()
        screen.query_one(TasksPanel).bar.set_text("missed:>=1")
        await settle(pilot)
        await press(pilot, "enter")
        panel = screen.query_one(TaskPanel)
        assert panel.current is not None
        system, row = panel.current
        assert system == "bm25"
        assert row.missed
        text = screen_text(app)
        assert "Missed" in text
        assert "☆" in text
        await press(pilot, "b")
        assert panel.focused_side == LEFT
        assert panel.current is not None
        assert panel.current[1].path == row.path
        assert "weighs no features" in screen_text(app)
        task = screen.place.task
        await press(pilot, "J")
        assert screen.place.task != task
        await press(pilot, "K", "exclamation_mark", "y")
        assert screen.place.task == task


async def test_one_ranking_is_shown_where_two_have_no_room(project: Path) -> None:
    """At 60 columns x turns to the other ranking."""
    keep(project, (FIRST,))
    app = make(project)
    async with app.run_test(size=(60, 20)) as pilot:
        screen = await opened(pilot, "enter", "t", "enter")
        panel = screen.query_one(TaskPanel)
        assert (panel.table("left").region.width, panel.table("right").region.width > 50) == (0, True)
        await press(pilot, "b")
        assert (panel.table("left").region.width > 50, panel.table("right").region.width) == (True, 0)


async def test_two_marked_runs_are_compared(project: Path) -> None:
    """C compares the older with the newer one, enter on a task looks at it in the newer one."""
    first, second = keep(project, (FIRST, SECOND))
    app = make(project)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, "space", "space", "C")
        assert screen.place.view == COMPARE
        panel = screen.query_one(ComparePanel)
        assert panel.found is not None
        assert (panel.found.before, panel.found.after) == (first, second)
        assert app.log_of_actions.actions[-1].command == f"workbench runs compare {first} {second}"
        changes = [abs(one.after - one.before) for one in panel.found.tasks]
        assert changes == sorted(changes, reverse=True)
        await press(pilot, "enter")
        assert "--measure" in app.log_of_actions.actions[-1].command
        task = panel.found.tasks[0].id
        screen.query_one("#changed", VirtualTable).focus()
        await press(pilot, "enter")
        assert (screen.place.view, screen.place.run, screen.place.task) == (TASK, second, task)


async def test_comparing_needs_two_runs(project: Path) -> None:
    """With one run alone nothing is compared, and it is said how."""
    keep(project, (FIRST,))
    app = make(project)
    async with app.run_test(notifications=True) as pilot:
        screen = await opened(pilot, "C")
        assert screen.place.view == RUNS
        assert any(
            note.message == "mark two runs with space, then C compares them" for note in app._notifications
        )


async def test_a_report_and_rows_are_written_and_their_place_is_said(project: Path) -> None:
    """E and R write files and log the command that does it."""
    (name,) = keep(project, (FIRST,))
    app = make(project)
    async with app.run_test(notifications=True) as pilot:
        screen = await opened(pilot, "E")
        assert screen.written is not None
        assert screen.written.read_bytes().startswith(b"<!doctype html>")
        assert any(str(screen.written) in note.message for note in app._notifications)
        action = app.log_of_actions.actions[-1]
        assert action.command == f"workbench runs show {name} --report {screen.written}"
        await press(pilot, "R")
        assert screen.written.read_bytes()[:4] == b"PAR1"


async def test_a_damaged_run_is_listed_and_not_opened(project: Path) -> None:
    """What cannot be read is said; the others are there."""
    first, second = keep(project, (FIRST, SECOND))
    found = next(path for path in runs_root(project).rglob(f"*{second}*") if path.is_file())
    found.write_bytes(b"torn")
    app = make(project)
    async with app.run_test(notifications=True) as pilot:
        screen = await opened(pilot)
        lines = {line.name: line for line in screen.query_one(RunsPanel).lines}
        assert lines[second].fault
        assert not lines[first].fault
        screen.query_one(RunsPanel).table.select_key(second)
        await press(pilot, "enter")
        assert screen.place.view == RUNS
        assert any("cannot be read" in note.message for note in app._notifications)


@pytest.mark.parametrize("text", ["[]", "{", '{"tasks": 7}', '{"format": 9, "tasks": []}'])
async def test_a_damaged_run_of_another_place_is_listed_with_why(project: Path, text: str) -> None:
    """Whatever stands where the last replay of another place is kept, the list is there."""
    keep(project, (FIRST,))
    keep_elsewhere(runs_root(project), text.encode())
    app = make(project)
    async with app.run_test() as pilot:
        screen = await opened(pilot)
        faults = [line.fault for line in screen.query_one(RunsPanel).lines]
        assert len([fault for fault in faults if "cannot be read" in fault]) == 1
        assert len(faults) == 2


async def test_runs_that_others_kept_are_there_on_coming_back(project: Path) -> None:
    """Going to another section and back lists what was kept meanwhile; the focus is in the list."""
    app = make(project)
    async with app.run_test() as pilot:
        screen = await opened(pilot)
        await press(pilot, "0")
        keep(project, (FIRST,))
        await press(pilot, "6")
        assert len(screen.query_one(RunsPanel).lines) == 1
        assert app.focused is screen.query_one(RunsPanel).table


async def test_the_place_comes_back(project: Path, tmp_path: Path) -> None:
    """Run, task, systems, order and filter are as they were left."""
    (name,) = keep(project, (FIRST,))
    place = tmp_path / "place.json"
    app = make(project, place_file=place)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, "enter", "t", "slash", *"gold:2", "enter", "o", "S", "j", "enter")
        kept = (screen.place.view, screen.place.run, screen.place.task, screen.place.systems)
        order = list(screen.query_one(TasksPanel).order)
        assert kept[:2] == (TASK, name)
    again = make(project, place_file=place)
    async with again.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        assert (screen.place.view, screen.place.run, screen.place.task, screen.place.systems) == kept
        assert screen.query_one(TasksPanel).order == order
        assert screen.query_one(TasksPanel).bar.text == "gold:2"


@pytest.mark.parametrize(
    "kept",
    [
        {"view": 7, "run": ["x"], "systems": "ab", "order": "no", "filter": None, "plot": 3},
        {"view": "task", "run": "gone", "task": "gone", "systems": ["a", "b"]},
    ],
)
async def test_a_foreign_place_costs_nothing_but_the_place(project: Path, kept: dict[str, Any]) -> None:
    """Whatever was kept, the list of runs is shown."""
    keep(project, (FIRST,))
    app = make(project)
    app.place.sections["replay"] = kept
    async with app.run_test() as pilot:
        screen = await opened(pilot)
        assert screen.place.view == RUNS
        await press(pilot, "enter", "t")
        assert screen.place.view == TASKS


async def test_hostile_text_is_data_on_every_view(project: Path) -> None:
    """Tasks, paths, systems and projects may hold anything."""
    run = made_run(6, head=HOSTILE, path="d[/]/\x1b[31m{}.py")
    keep(project, (replace(run, project=HOSTILE, notes=(HOSTILE,)),))
    app = make(project)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        for keys in ((), ("enter",), ("t",), ("enter",), ("x",)):
            await press(pilot, *keys)
            text = screen_text(app)
            assert "\x1b" not in text
            assert "\x00" not in text
        assert "[/] x = list[int][0]" in text


async def test_a_replay_runs_shows_what_it_reached_and_opens_its_run(roastery: Path) -> None:
    """A real replay in a process of its own leaves the loop free; its run is opened in the end."""
    app = make(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        screen._start_replay(
            ReplayRequest(COMMITS, tasks=12, systems=("baseline", "bm25", "hybrid"), packs=False)
        )
        assert screen.query_one(LivePanel).has_class("-running")
        await settle(pilot)
        assert screen.place.view == RUN
        assert screen.opened is not None
        assert len(screen.opened.run.rows) == 12
        assert [one.id for one in list_kept_runs(runs_root(roastery))] == [screen.place.run]
        assert not screen.query_one(LivePanel).has_class("-running")
        commands = [action.command for action in app.log_of_actions.actions]
        wanted = "--source commits --tasks 12 --systems baseline,bm25,hybrid --no-packs"
        assert f"workbench replay {wanted}" in commands
        assert screen.query_one(RunsPanel).lines[0].sources == (("commit", 12),)
        await press(pilot, "t", "enter", "W")
        panel = screen.query_one(TaskPanel)
        panel.table("right").cursor = 15
        await settle(pilot)
        assert screen.query_one(FeatureBars).rows
        wanted = f"workbench runs explain {screen.place.run} {screen.place.task} --system hybrid"
        assert wanted == app.log_of_actions.actions[-1].command
        assert not app.log_of_actions.actions[-1].outcome


async def test_a_cancelled_replay_says_so_and_the_app_goes_on(roastery: Path) -> None:
    """ctrl+c ends the child; the log tells the command that was cancelled."""
    app = make(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        screen._start_replay(ReplayRequest(COMMITS, tasks=150))
        await pilot.press("ctrl+c")
        await settle(pilot)
        assert not screen.query_one(LivePanel).has_class("-running")
        assert "cancelled" in app.log_of_actions.actions[-1].outcome
        await press(pilot, "c")
        assert isinstance(app.screen, NewReplay)


async def test_the_command_is_shown_before_it_starts(roastery: Path) -> None:
    """Marks and fields are in the command; what is wrong is said and refused; escape starts nothing."""
    app = make(roastery)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "c")
        dialog = app.screen
        assert isinstance(dialog, NewReplay)
        assert "$ workbench replay --tasks 150" in screen_text(app)
        await press(pilot, "space")
        assert "bm25,vector,hybrid,hybrid+files-v4-lexical" in screen_text(app)
        tasks = dialog.query_one("#field-2", Input)
        tasks.value = "none"
        await settle(pilot)
        await press(pilot, "f2")
        assert app.screen is dialog
        assert "must be a number" in screen_text(app)
        tasks.value = "7"
        dialog.query_one("#field-1", Input).value = "/no/such/place"
        await settle(pilot)
        assert "does not exist" in screen_text(app)
        await press(pilot, "escape")
        assert not dialog.is_attached
        assert not app.log_of_actions.actions


async def test_a_replay_that_fails_is_told(roastery: Path, tmp_path: Path) -> None:
    """A path that is nothing to replay is an error with its words; the app goes on."""
    app = make(roastery)
    async with app.run_test(notifications=True) as pilot:
        screen = await opened(pilot)
        screen._start_replay(ReplayRequest(path=str(tmp_path)))
        await settle(pilot)
        assert any("ended with" in note.message for note in app._notifications)
        assert app.log_of_actions.actions[-1].failed
        assert not screen.query_one(LivePanel).has_class("-running")


async def test_a_replay_of_another_place_is_kept_beside_the_runs(roastery: Path, tmp_path: Path) -> None:
    """What another repository's replay printed can be opened and compared; its gates are not judged here."""
    import shutil

    other = tmp_path / "other"
    shutil.copytree(roastery, other, symlinks=True)
    app = make(roastery)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        screen._start_replay(
            ReplayRequest(COMMITS, str(other), tasks=4, systems=("baseline", "bm25"), packs=False)
        )
        await settle(pilot)
        assert screen.place.view == RUN
        line = screen.query_one(RunsPanel).lines[0]
        assert line.elsewhere
        assert screen.query_one(RunsPanel).current is line
        assert (line.project, line.tasks) == ("other", 4)


async def test_a_rules_benchmark_is_shown_as_text(roastery: Path) -> None:
    """A dataset takes no options and leaves no run: what it printed is shown."""
    app = make(roastery)
    data = Path("sample_data/rules_benchmark").resolve()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        screen._start_replay(ReplayRequest(path=str(data), dataset=True))
        await settle(pilot)
        assert isinstance(app.screen, Details)
        assert "macro F1" in screen_text(app)


async def test_gates_that_were_judged_stand_under_the_run(project: Path) -> None:
    """What `--gate --json` prints is shown by glyph and figure."""
    (name,) = keep(project, (FIRST,))
    gates = evaluate(FIRST, GateEvidence(reason="not looked at [/]"), GatesConfig())
    printed = to_json({**run_to_json(replace(FIRST, id=name)), "gates": gates})
    assert read_identity(printed) == (name, gates)
    assert read_identity(to_json(run_to_json(FIRST))) == (FIRST.id, ())
    app = make(project)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot, "enter")
        screen.query_one(RunPanel).show_gates(read_identity(printed)[1])
        await settle(pilot)
        text = screen_text(app)
        assert "? G1 freshness" in text
        assert "not looked at [/]" in text


@pytest.mark.parametrize("size", SIZES)
async def test_views_look_as_they_should(project: Path, size: tuple[int, int]) -> None:
    """The list, a run, its tasks, a task, the dialog and a comparison at every size."""
    keep(project, (FIRST, SECOND))
    app = make(project)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        check_golden(app, "replay-runs")
        await press(pilot, "enter")
        check_golden(app, "replay-run")
        await press(pilot, "right_square_bracket")
        check_golden(app, "replay-run-plot")
        await press(pilot, "t")
        check_golden(app, "replay-tasks")
        await press(pilot, "enter")
        check_golden(app, "replay-task")
        await press(pilot, "escape", "escape", "c")
        check_golden(app, "replay-new")
        await press(pilot, "escape")
        screen = screen_of(app)
        found = compare_runs(FIRST, replace(SECOND, id="r2"), system="hybrid")
        screen.query_one(ComparePanel).show(replace(found, tasks=largest_changes(found)))
        screen.show_view(COMPARE)
        await settle(pilot)
        check_golden(app, "replay-compare")


async def test_a_big_run_is_opened_and_filtered_beside_the_loop(project: Path) -> None:
    """Many tasks are read, arranged and filtered in jobs."""
    run = made_run(300)
    keep(project, (run,))
    app = make(project)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await press(pilot, "enter", "t", "slash", *"module_7", "enter", "o", "enter")
        assert screen.place.view == TASK
