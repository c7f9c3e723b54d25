"""Where the section of replays is, and what its commands do: start one, compare, judge, write, copy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.timer import Timer

from screens.base import SectionScreen
from screens.commands import key_of
from screens.headless import command_line
from screens.jobs import Failure, Job
from screens.replay import work
from screens.replay.comparison import ComparePanel
from screens.replay.figures import gates_sentence
from screens.replay.live_run import LivePanel, SoFar, find_ends, read_further
from screens.replay.new_replay import ReplayRequest, SystemChoice, list_systems, replay_arguments
from screens.replay.rankings import Weights, weighs
from screens.replay.run_panel import RunPanel
from screens.replay.runs import RunsPanel
from screens.replay.task_panel import TaskPanel
from screens.replay.tasks import ORDERS, TasksPanel
from screens.replay.work import EndedReplay, OpenedRun, Weighed
from workbench.records.replay import BASELINE, RunComparison
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.replay.gates import Gate

RUNS, RUN, TASKS, TASK, COMPARE = "runs", "run", "tasks", "task", "compare"
"""The views of the section."""

_LOOK_EVERY: Final = 0.5  # seconds between two looks at what a replay has reached


@dataclass(slots=True)
class ReplayPlace:
    """Where the section is. `gates` are those that were judged in this sitting, by run.

    `weighed` is what was computed again of scores: by run, by (task, system), by path.
    """

    view: str = RUNS
    run: str = ""
    task: str = ""
    systems: tuple[str, str] = (BASELINE, "")
    order: str = next(iter(ORDERS))
    gates: dict[str, tuple[Gate, ...]] = field(default_factory=dict)
    weighed: dict[str, dict[tuple[str, str], Mapping[str, Weights]]] = field(default_factory=dict)


class ReplayActions(SectionScreen):
    """The commands of the replays; one replay is started at a time.

    `state` is where runs are saved, once it is known; `request` is the replay that was asked for last,
    `written` the file that was written last.
    """

    def __init__(self) -> None:
        super().__init__()
        self.place = ReplayPlace()
        self.opened: OpenedRun | None = None
        self.state: Path | None = None
        self.request = ReplayRequest()
        self.written: Path | None = None
        self._replay: Job | None = None
        self._watch: Timer | None = None
        self._benchmark = ""
        self._compared: tuple[str, str] = ("", "")

    # What the screen gives.

    @abstractmethod
    def show_view(self, view: str) -> None:
        """Show a view and give it the focus."""

    @abstractmethod
    def open_run(self, name: str, view: str) -> None:
        """Load a run and show it in a view."""

    @abstractmethod
    def arrange_tasks(self, view: str = "") -> None:
        """Put the tasks of the run in order and show a view, or stay in the one that is shown."""

    # Starting a replay.

    def action_new(self) -> None:
        """Ask what to replay."""
        if self._replay is not None and not self._replay.over:
            self.bench.report("a replay is running: ctrl+c cancels it", severity="warning")
            return

        def look(job: Job) -> tuple[tuple[SystemChoice, ...], int]:
            return list_systems(), self.engine.config.plan.budget

        self.ask("Looking at systems", look, self._ask_request, quiet=True, leads=True)

    def _ask_request(self, found: tuple[tuple[SystemChoice, ...], int]) -> None:
        from screens.replay.new_replay import NewReplay

        if self.is_current:
            self.app.push_screen(
                NewReplay(found[0], self.request, found[1], self.engine.root), self._start_replay
            )

    def _start_replay(self, request: ReplayRequest | None) -> None:
        if request is None:
            return
        self.request = request
        words = replay_arguments(request)
        self.query_one(LivePanel).start(command_line(words))
        self.show_view(RUNS)
        root = self.engine.root

        def replay(job: Job) -> EndedReplay:
            return work.start_replay(root, words, request.elsewhere, request.dataset, job)

        self._replay = self.ask(
            "Replaying",
            replay,
            partial(self._finish_replay, words),
            group="replay",
            writes=True,
            failed=partial(self._report_failure, words),
            stopped=partial(self._finish_cancelled, words),
        )
        self._follow()

    def _follow(self) -> None:
        """Look now and then at what the replay has reached."""
        if self.state is None:
            return
        rows = self.state / "replay" / "rows"
        self.ask("Looking", lambda job: find_ends(rows), self._show_figures, group="follow", quiet=True)
        self._watch = self.set_interval(_LOOK_EVERY, partial(self._look, rows))

    def _look(self, rows: Path) -> None:
        job = self._replay
        if job is None or job.over:
            return
        live = self.query_one(LivePanel)
        live.update_state(job.stage, job.done, job.total)
        before = live.so_far
        self.ask(
            "Looking", lambda job: read_further(rows, before), self._show_figures, group="follow", quiet=True
        )

    def _show_figures(self, so_far: SoFar) -> None:
        self.query_one(LivePanel).update_figures(so_far)

    def _over(self) -> None:
        if self._watch is not None:
            self._watch.stop()
        self._watch = None
        self.query_one(LivePanel).stop()

    def _finish_replay(self, words: list[str], ended: EndedReplay) -> None:
        self._over()
        if ended.text:
            self.bench.log_action(words, "rules benchmark")
            self._benchmark = ended.text
            self.show_benchmark()
            return
        outcome = gates_sentence(ended.gates) if ended.gates else ""
        self.bench.log_action(words, outcome or "done")
        self.bench.report(f"replayed: {outcome}" if outcome else "replayed")
        if ended.gates:
            self.place.gates[ended.name] = ended.gates
        self.load()
        if self.place.view == RUNS:
            self.open_run(ended.name, RUN)

    def show_benchmark(self) -> None:
        """Show what a rules benchmark printed, once this section is in front."""
        from screens.widgets.code import Details

        if self._benchmark and self.is_current:
            self.app.push_screen(Details("Rules benchmark", self._benchmark))
            self._benchmark = ""

    def _report_failure(self, words: list[str], failure: Failure) -> None:
        self._over()
        self.bench.log_action(words, failure.message, failed=True)
        self.bench.report(f"{failure.message}\n{failure.hint}".strip(), severity="error")

    def _finish_cancelled(self, words: list[str]) -> None:
        """List what the cancelled replay has kept."""
        self._over()
        self.bench.log_action(words, "cancelled; what was done is kept", failed=True)
        self.load()

    # What becomes of runs.

    def action_compare(self) -> None:
        """Compare two runs."""
        panel = self.query_one(RunsPanel)
        marked = [line.name for line in panel.marked]
        if not marked and panel.current is not None:
            names = [line.name for line in panel.lines if not line.fault]
            at = names.index(panel.current.name) if panel.current.name in names else len(names)
            marked = names[at : at + 2][::-1]
        if len(marked) != 2:
            self.bench.report(
                f"mark two runs with space, then {key_of('replay.compare')} compares them", severity="warning"
            )
            return
        self._compare(marked[0], marked[1], "", "")

    def _compare(self, before: str, after: str, system: str, measure: str) -> None:
        self._compared = (before, after)
        words = work.compare_arguments(before, after, system, measure)

        def compare(job: Job) -> RunComparison:
            job.progress("Comparing")
            return work.compare_runs(self.engine.root, before, after, system, measure, job)

        def then(found: RunComparison) -> None:
            self.bench.log_action(words, f"{plural(len(found.tasks), 'task')} changed")
            self.query_one(ComparePanel).show(found)
            self.show_view(COMPARE)

        self.ask("Comparing", compare, then, group="compare")

    def on_compare_panel_measure_opened(self, message: ComparePanel.MeasureOpened) -> None:
        """List the tasks that changed by another measure."""
        self._compare(*self._compared, message.system, message.measure)

    def on_compare_panel_task_opened(self, message: ComparePanel.TaskOpened) -> None:
        """Look at a task in the later run."""
        self.place.task = message.task_id
        if self.opened is not None and self.opened.name == self._compared[1]:
            self.arrange_tasks(TASK)
        else:
            self.place.run = self._compared[1]
            self.open_run(self._compared[1], TASK)

    def action_gates(self) -> None:
        """Judge the gates of the run."""
        name = self._current_run()
        if not name:
            return

        def then(gates: tuple[Gate, ...]) -> None:
            self.place.gates[name] = gates
            self.bench.log_action(["runs", "show", name, "--gate"], gates_sentence(gates))
            self.bench.report(gates_sentence(gates))
            if self.opened is not None and self.opened.name == name:
                self.query_one(RunPanel).show_gates(gates)

        self.ask("Judging gates", partial(work.judge_gates, self.engine.root, name), then, group="gates")

    def action_weigh(self) -> None:
        """Compute again what each feature adds to the files of this system."""
        found, opened, task = self.query_one(TaskPanel).current, self.opened, self.place.task
        if found is None or opened is None:
            return
        system = found[0]
        if not weighs(system):
            self.say(f"{system} weighs no features")
            return

        def then(weighed: Weighed) -> None:
            outcome = "" if weighed.same else "the program ranks differently now than in this run"
            self.bench.log_action(work.explain_arguments(opened.name, task, system), outcome)
            self.place.weighed.setdefault(opened.name, {})[task, system] = weighed.files
            self.say(outcome or f"weighed again: {plural(len(weighed.files), 'file')} of {system}")
            if opened is self.opened:
                self.arrange_tasks()

        weigh = partial(work.weigh_features, self.engine.root, opened.name, task, system)
        self.ask("Weighing again", weigh, then, group="weigh")

    def action_report(self) -> None:
        """Write the HTML page."""
        self._write("--report", "html", "report")

    def action_rows(self) -> None:
        """Write the Parquet rows."""
        self._write("--rows", "parquet", "rows")

    def _write(self, option: str, suffix: str, what: str) -> None:
        name = self._current_run()
        if not name or self.state is None:
            return
        file = self.state / "replay" / f"{what}-{Path(name).stem}.{suffix}"

        def then(path: Path) -> None:
            self.written = path
            self.bench.log_action(["runs", "show", name, option, str(path)], str(path))
            self.bench.report(f"{what} written to {path}\nY copies the path")
            self.say(str(path))

        self.ask(
            f"Writing the {what}",
            partial(work.write_file, self.engine.root, name, option, file),
            then,
            group="write",
        )

    def _current_run(self) -> str:
        """Return the run that a command is for: the opened one, or the one under the cursor."""
        if self.place.view == RUNS:
            line = self.query_one(RunsPanel).current
            return "" if line is None or line.fault else line.name
        return self.place.run

    def action_copy(self) -> None:
        """Copy what is under the cursor."""
        found = self.query_one(TaskPanel).current if self.place.view == TASK else None
        if found is not None:
            self.bench.copy(found[1].path, "the path")
        elif self.place.view in (TASKS, TASK):
            number = self.query_one(TasksPanel).current
            if number is not None and self.opened is not None:
                self.bench.copy(self.opened.run.rows[number].id, "the id of the task")
        elif name := self._current_run():
            self.bench.copy(name, "the id of the run")

    def action_copy_report(self) -> None:
        """Copy the path of what was written last."""
        if self.written is None:
            self.bench.report(
                f"nothing was written yet: {key_of('replay.report')} writes a report", severity="warning"
            )
        else:
            self.bench.copy(str(self.written), "the path")
