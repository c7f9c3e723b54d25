"""What becomes of runs: compared, judged by the gates, written as a report or rows, copied."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from screens.jobs import Job
from screens.replay import asking
from screens.replay.asking import Weighed
from screens.replay.compare_panel import ComparePanel
from screens.replay.comparison import Compared, compared
from screens.replay.gates_view import gates_sentence
from screens.replay.place import COMPARE, RUNS, TASK, TASKS, ReplayBase
from screens.replay.run_panel import RunPanel
from screens.replay.runs_panel import RunsPanel
from screens.replay.task_panel import TaskPanel
from screens.replay.tasks_panel import TasksPanel
from screens.replay.why import weighs
from workbench.text.counts import counted

if TYPE_CHECKING:
    from workbench.replay.gates import Gate


class UsesRuns(ReplayBase):
    """Compares, judges, writes and copies; `written` is the file that was written last."""

    def __init__(self) -> None:
        super().__init__()
        self.written: Path | None = None
        self._compared: tuple[str, str] = ("", "")

    def action_compare(self) -> None:
        """Compare two runs."""
        panel = self.query_one(RunsPanel)
        marked = [line.name for line in panel.marked]
        if not marked and panel.current is not None:
            names = [line.name for line in panel.lines if not line.fault]
            at = names.index(panel.current.name) if panel.current.name in names else len(names)
            marked = names[at : at + 2][::-1]
        if len(marked) != 2:
            self.bench.tell("mark two runs with space, then c compares them", severity="warning")
            return
        self._compare(marked[0], marked[1], "", "")

    def _compare(self, before: str, after: str, system: str, measure: str) -> None:
        self._compared = (before, after)
        words = asking.compare_arguments(before, after, system, measure)

        def work(job: Job) -> Compared:
            job.progress("Comparing")
            return compared(asking.compare_runs(self.engine.root, before, after, system, measure, job))

        def then(found: Compared) -> None:
            self.bench.log_action(words, f"{counted(len(found.tasks), 'task')} changed")
            self.query_one(ComparePanel).show(found)
            self.show_view(COMPARE)

        self.ask("Comparing", work, then, group="compare")

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
        name = self._named()
        if not name:
            return

        def then(gates: tuple[Gate, ...]) -> None:
            self.place.gates[name] = gates
            self.bench.log_action(["runs", "show", name, "--gate"], gates_sentence(gates))
            self.bench.tell(gates_sentence(gates))
            if self.opened is not None and self.opened.name == name:
                self.query_one(RunPanel).show_gates(gates)

        self.ask("Judging gates", partial(asking.judge, self.engine.root, name), then, group="gates")

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
            told = "" if weighed.same else "the program ranks otherwise now than in this run"
            self.bench.log_action(asking.explain_arguments(opened.name, task, system), told)
            self.place.weighed.setdefault(opened.name, {})[task, system] = weighed.parts
            self.say(told or f"weighed again: {counted(len(weighed.parts), 'file')} of {system}")
            if opened is self.opened:
                self.arrange_tasks()

        work = partial(asking.weigh, self.engine.root, opened.name, task, system)
        self.ask("Weighing again", work, then, group="weigh")

    def action_report(self) -> None:
        """Write the HTML page."""
        self._write("--report", "html", "report")

    def action_rows(self) -> None:
        """Write the Parquet rows."""
        self._write("--rows", "parquet", "rows")

    def _write(self, option: str, suffix: str, what: str) -> None:
        name = self._named()
        if not name or self.state is None:
            return
        file = self.state / "replay" / f"{what}-{Path(name).stem}.{suffix}"

        def then(path: Path) -> None:
            self.written = path
            self.bench.log_action(["runs", "show", name, option, str(path)], str(path))
            self.bench.tell(f"{what} written to {path}\nY copies the path")
            self.say(str(path))

        self.ask(
            f"Writing the {what}",
            partial(asking.write_file, self.engine.root, name, option, file),
            then,
            group="write",
        )

    def _named(self) -> str:
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
        elif name := self._named():
            self.bench.copy(name, "the id of the run")

    def action_copy_report(self) -> None:
        """Copy the path of what was written last."""
        if self.written is None:
            self.bench.tell("nothing was written yet: H writes a report", severity="warning")
        else:
            self.bench.copy(str(self.written), "the path")
