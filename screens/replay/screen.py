"""Replays: runs, their figures, their tasks, one task with both rankings, and two runs compared.

The screen only wires: panels show one thing each and say what was opened, `asking` has the jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import ContentSwitcher, Static

from screens.base import SectionScreen
from screens.commands.model import bindings
from screens.commands.replay import REPLAY
from screens.headless import command_line
from screens.jobs import Cancelled, Failure, Job
from screens.replay import asking
from screens.replay.asking import Ended, Listed, Opened
from screens.replay.compare_panel import ComparePanel
from screens.replay.comparison import Compared, compared
from screens.replay.following import LivePanel, SoFar, begin, further
from screens.replay.gates_view import gates_sentence
from screens.replay.run_panel import RunPanel
from screens.replay.runs_panel import RunsPanel
from screens.replay.sides import LEGEND
from screens.replay.task_panel import TaskPanel, TaskShown
from screens.replay.tasks import ORDERS, TaskLine, arranged, task_lines
from screens.replay.tasks_panel import TasksPanel
from screens.replay.wish import SystemChoice, Wish, arguments, system_choices
from screens.safe_text import shown
from workbench.records.replay import BASELINE

if TYPE_CHECKING:
    from workbench.replay.gates import Gate

RUNS, RUN, TASKS, TASK, COMPARE = "runs", "run", "tasks", "task", "compare"
_UP: Final = {RUN: RUNS, TASKS: RUN, TASK: TASKS, COMPARE: RUNS}
_LOOK_EVERY: Final = 0.5  # seconds between two looks at what a replay has reached
_ORDERS: Final = tuple(ORDERS)


@dataclass(slots=True)
class Place:
    """Where the section is: the view, the run, the task, the systems, the order and the filters."""

    view: str = RUNS
    run: str = ""
    task: str = ""
    systems: tuple[str, str] = (BASELINE, "")
    order: str = _ORDERS[0]
    filter: str = ""
    plot: str = ""
    gates: dict[str, tuple[Gate, ...]] = field(default_factory=dict)


class ReplayScreen(SectionScreen):
    """What would have been shown for past tasks, and was it right."""

    section: ClassVar[str] = "replay"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(REPLAY)]
    DEFAULT_CSS = """
    ReplayScreen {
        & #crumbs { height: 1; padding: 0 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
        & #views { height: 1fr; }
    }
    """

    class Stopped(Message):
        """A replay was cancelled; what it had done is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Place()
        self.opened: Opened | None = None
        self.lines: tuple[TaskLine, ...] = ()
        self.wish = Wish()
        self.written: Path | None = None
        self._state: Path | None = None
        self._replay: Job | None = None
        self._watch: Timer | None = None
        self._compared: tuple[str, str] = ("", "")

    def compose_body(self) -> ComposeResult:
        """Lay out where one is above the views."""
        with Vertical(classes="body"):
            yield Static(id="crumbs", markup=False)
            with ContentSwitcher(id="views", initial=RUNS):
                yield RunsPanel()
                yield RunPanel()
                yield TasksPanel()
                yield TaskPanel()
                yield ComparePanel()

    # What is shown, and where it was left.

    def load(self) -> None:
        """Ask for the runs."""
        self.ask("Reading runs", partial(asking.list_runs, self.engine.root), self._listed)

    def remember(self) -> Mapping[str, Any]:
        """Return the run, the task, the systems, the order and the filter."""
        place = self.place
        return {
            "view": place.view if place.view != COMPARE else RUNS,
            "run": place.run,
            "task": place.task,
            "systems": list(place.systems),
            "order": place.order,
            "filter": self.query_one(TasksPanel).bar.text,
            "runs_filter": self.query_one("#runs-filter").text,  # type: ignore[attr-defined]
            "plot": self.query_one(RunPanel).view,
        }

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Go back to where it was left; what is not there any more is left out."""

        def text(name: str) -> str:
            value = kept.get(name, "")
            return value if isinstance(value, str) else ""

        place = self.place
        place.view = text("view") if text("view") in (*_UP, RUNS) else RUNS
        place.run, place.task = text("run"), text("task")
        place.order = text("order") if text("order") in ORDERS else _ORDERS[0]
        place.filter, place.plot = text("filter"), text("plot")
        systems = kept.get("systems")
        if isinstance(systems, list) and len(systems) == 2 and all(isinstance(one, str) for one in systems):
            place.systems = (systems[0], systems[1])
        if place.plot:
            self.query_one(RunPanel).set_view(place.plot)
        if place.filter:
            self.query_one(TasksPanel).bar.set_text(place.filter)

    def available(self, command_id: str) -> bool | None:
        """Offer what makes sense in the view."""
        view = self.place.view
        where = _WHERE.get(command_id.partition(".")[2])
        return where is None or view in where

    # Runs.

    def _listed(self, found: Listed) -> None:
        self._state = found.state
        panel = self.query_one(RunsPanel)
        panel.show(found.runs, found.no_past, self.place.run or None)
        known = {line.name for line in found.runs}
        if self.place.view in (RUN, TASKS, TASK) and self.opened is None and self.place.run in known:
            self._open(self.place.run, self.place.view)
        elif self.opened is None:
            self._show(RUNS)

    def on_runs_panel_opened(self, message: RunsPanel.Opened) -> None:
        """Open a run."""
        if message.line.fault:
            self.bench.tell(message.line.fault, severity="warning")
        else:
            self._open(message.line.name, RUN)

    def _open(self, name: str, view: str) -> None:
        assert self._state is not None
        self.query_one(RunsPanel).table.busy = "Reading the run …"
        self.ask(
            "Reading the run",
            partial(asking.open_run, self._state, name),
            partial(self._run_opened, view=view),
            group="run",
            failed=self._not_opened,
        )

    def _not_opened(self, failure: Failure) -> None:
        self.query_one(RunsPanel).table.busy = ""
        self.bench.tell(f"{failure.message}\n{failure.hint}".strip(), severity="error")
        self._show(RUNS)

    def _run_opened(self, opened: Opened, view: str) -> None:
        self.query_one(RunsPanel).table.busy = ""
        place = self.place
        if opened.name != place.run:
            place.task = ""
        self.opened, place.run = opened, opened.name
        names = [one.system for one in opened.run.systems]
        left, right = place.systems
        if left not in names or right not in names:
            first = BASELINE if BASELINE in names else next(iter(names), "")
            place.systems = (first, opened.counterpart or first)
        self.query_one(RunPanel).show(opened, place.gates.get(opened.name), place.systems[1])
        self.bench.log_action(["runs", "show", opened.name], f"{len(opened.run.rows):,} tasks")
        self._arrange(view)

    # Tasks.

    def _arrange(self, view: str) -> None:
        """Put the tasks in order in a job, then show a view."""
        opened, place = self.opened, self.place
        if opened is None:
            return
        wanted, order, systems = self.query_one(TasksPanel).bar.filter, place.order, place.systems

        def work(job: Job) -> tuple[tuple[TaskLine, ...], list[int]]:
            lines = task_lines(opened.run, *systems)
            job.check()
            return lines, arranged(lines, opened.run.rows, wanted, order)

        self.ask("Ordering tasks", work, partial(self._arranged, opened, view), group="order", quiet=True)

    def _arranged(self, opened: Opened, view: str, found: tuple[tuple[TaskLine, ...], list[int]]) -> None:
        self.lines, order = found
        panel = self.query_one(TasksPanel)
        keep = next((line.number for line in self.lines if line.id == self.place.task), None)
        panel.show(opened.run.rows, self.lines, order, self.place.systems, keep)
        if view == TASK and keep is not None:
            self._show_task(keep)
        self._show(view if view != TASK or keep is not None else TASKS)

    def on_tasks_panel_filtered(self, message: TasksPanel.Filtered) -> None:
        """Filter the tasks."""
        self._arrange(self.place.view)

    def on_tasks_panel_opened(self, message: TasksPanel.Opened) -> None:
        """Open a task."""
        self._show_task(message.number)
        self._show(TASK)

    def on_run_panel_system_opened(self, message: RunPanel.SystemOpened) -> None:
        """List the tasks with this system on the right."""
        left, right = self.place.systems
        if message.system not in (left, right):
            self.place.systems = (left, message.system)
        self._arrange(TASKS)

    def _show_task(self, number: int) -> None:
        assert self.opened is not None
        row = self.opened.run.rows[number]
        self.place.task = row.id
        budget = self.opened.run.settings.get("budget")
        given = TaskShown(row, self.place.systems, budget if isinstance(budget, int) else None)
        self.query_one(TaskPanel).show(given)
        self.query_one(TasksPanel).table.select_key(str(number))

    # Going about.

    def _show(self, view: str) -> None:
        self.place.view = view
        self.query_one("#views", ContentSwitcher).current = view
        self._tell_place()
        if self.is_current:
            self._focus(view)
        self.say(LEGEND if view == TASK else "")
        self.refresh_bindings()

    def _focus(self, view: str) -> None:
        if view == TASK:
            panel = self.query_one(TaskPanel)
            panel.focus_side(panel.focused_side)
            return
        tables = {
            RUNS: lambda: self.query_one(RunsPanel).table,
            RUN: lambda: self.query_one(RunPanel).systems,
            TASKS: lambda: self.query_one(TasksPanel).table,
            COMPARE: lambda: self.query_one(ComparePanel).table,
        }
        tables[view]().focus()

    def _tell_place(self) -> None:
        place, parts = self.place, ["Runs"]
        if place.view == COMPARE:
            parts.append("Compare")
        elif place.view != RUNS and self.opened is not None:
            parts.append(f"{self.opened.run.project} {self.opened.run.id[:8]}")
            if place.view in (TASKS, TASK):
                parts.append(f"Tasks, {place.order}: {place.systems[0]} | {place.systems[1]}")
        if place.view == TASK:
            order = self.query_one(TasksPanel).order
            number = next((line.number for line in self.lines if line.id == place.task), None)
            if number in order:
                parts.append(f"{order.index(number) + 1:,} of {len(order):,}")
        self.query_one("#crumbs", Static).update(shown(" › ".join(parts), "bold"))

    def action_back(self) -> None:
        """Go up one step."""
        view = self.place.view
        if view in _UP:
            self._show(_UP[view])

    def action_open(self) -> None:
        """Open what is under the cursor."""
        focused = self.focused
        if focused is not None and hasattr(focused, "action_open"):
            focused.action_open()

    def action_tasks(self) -> None:
        """List the tasks."""
        self._arrange(TASKS)

    def action_order(self) -> None:
        """Order the tasks otherwise."""
        at = _ORDERS.index(self.place.order)
        self.place.order = _ORDERS[(at + 1) % len(_ORDERS)]
        self._arrange(self.place.view)
        self.say(f"ordered: {self.place.order}")

    def action_filter(self) -> None:
        """Filter what is listed."""
        from screens.widgets.filter import FilterBar

        self.query_one(f"#{self.place.view}-filter", FilterBar).open()

    def action_plot(self) -> None:
        """Show the next plot."""
        self.say(f"shown: {self.query_one(RunPanel).next_view()}")

    def action_other(self) -> None:
        """Go to the other ranking."""
        self.query_one(TaskPanel).other_side()

    def action_missed(self) -> None:
        """Go to the next missed file."""
        if not self.query_one(TaskPanel).next_missed():
            self.say("this system missed no gold file")

    def action_next(self) -> None:
        """Go to the next task."""
        self._step(1)

    def action_previous(self) -> None:
        """Go to the task before."""
        self._step(-1)

    def _step(self, step: int) -> None:
        order = self.query_one(TasksPanel).order
        number = next((line.number for line in self.lines if line.id == self.place.task), None)
        at = order.index(number) + step if number in order else 0
        if 0 <= at < len(order):
            self._show_task(order[at])
            self._tell_place()
        else:
            self.say("there is no other task in this direction")

    def action_swap(self) -> None:
        """Put the left system to the right."""
        left, right = self.place.systems
        self._use((right, left))

    def action_systems(self) -> None:
        """Choose both systems, one after the other."""
        if self.opened is None:
            return
        from screens.widgets.choose import Choice, Choose

        names = [one.system for one in self.opened.run.systems]
        choices = [Choice(name, name) for name in names]

        def place_of(name: str) -> int:
            return names.index(name) if name in names else 0

        def left(chosen: str | None) -> None:
            if chosen is not None:
                self.app.push_screen(
                    Choose("Right system", choices, selected=place_of(self.place.systems[1])),
                    partial(right, chosen),
                )

        def right(first: str, chosen: str | None) -> None:
            if chosen is not None:
                self._use((first, chosen))

        self.app.push_screen(Choose("Left system", choices, selected=place_of(self.place.systems[0])), left)

    def _use(self, systems: tuple[str, str]) -> None:
        self.place.systems = systems
        self._arrange(self.place.view)

    # A replay that runs.

    def action_new(self) -> None:
        """Ask what to replay."""
        if self._replay is not None and not self._replay.over:
            self.bench.tell("a replay is running: ctrl+x cancels it", severity="warning")
            return

        def work(job: Job) -> tuple[tuple[SystemChoice, ...], int]:
            return system_choices(), self.engine.config.plan.budget

        self.ask("Looking at systems", work, self._ask_wish, quiet=True)

    def _ask_wish(self, found: tuple[tuple[SystemChoice, ...], int]) -> None:
        from screens.replay.new_dialog import NewReplay

        if self.is_current:
            self.app.push_screen(NewReplay(found[0], self.wish, found[1]), self._wished)

    def _wished(self, wish: Wish | None) -> None:
        if wish is None:
            return
        self.wish = wish
        words = arguments(wish)
        self.query_one(LivePanel).start(command_line(words))
        self._show(RUNS)
        root = self.engine.root

        def work(job: Job) -> Ended:
            try:
                return asking.start_replay(root, words, wish.elsewhere, wish.dataset, job)
            except Cancelled:
                self.post_message(self.Stopped())
                raise

        self._replay = self.ask(
            "Replaying",
            work,
            partial(self._replayed, words),
            group="replay",
            failed=partial(self._failed, words),
        )
        self._follow()

    def _follow(self) -> None:
        """Look now and then at what the replay has reached."""
        if self._state is None:
            return
        rows = self._state / "replay" / "rows"
        self.ask("Looking", lambda job: begin(rows), self._reached, group="follow", quiet=True)
        self._watch = self.set_interval(_LOOK_EVERY, partial(self._look, rows))

    def _look(self, rows: Path) -> None:
        job = self._replay
        if job is None or job.over:
            return
        live = self.query_one(LivePanel)
        live.update_state(job.stage, job.done, job.total)
        before = live.so_far
        self.ask("Looking", lambda job: further(rows, before), self._reached, group="follow", quiet=True)

    def _reached(self, so_far: SoFar) -> None:
        self.query_one(LivePanel).update_figures(so_far)

    def _over(self) -> None:
        if self._watch is not None:
            self._watch.stop()
        self._watch = None
        self.query_one(LivePanel).stop()

    def _replayed(self, words: list[str], ended: Ended) -> None:
        self._over()
        if ended.text:
            from screens.widgets.details import Details

            self.bench.log_action(words, "rules benchmark")
            self.app.push_screen(Details("Rules benchmark", ended.text))
            return
        told = gates_sentence(ended.gates) if ended.gates else ""
        self.bench.log_action(words, told or "done")
        self.bench.tell(f"replayed: {told}" if told else "replayed")
        if ended.gates:
            self.place.gates[ended.name] = ended.gates
        self.load()
        if self.place.view == RUNS:
            self._open(ended.name, RUN)

    def _failed(self, words: list[str], failure: Failure) -> None:
        self._over()
        self.bench.log_action(words, failure.message, failed=True)
        self.bench.tell(f"{failure.message}\n{failure.hint}".strip(), severity="error")

    def on_replay_screen_stopped(self, message: Stopped) -> None:
        """List what the cancelled replay has kept."""
        self._over()
        self.bench.log_action(arguments(self.wish), "cancelled; what was done is kept", failed=True)
        self.load()

    # Runs compared, judged and written.

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
            self.bench.log_action(words, f"{len(found.tasks):,} tasks changed")
            self.query_one(ComparePanel).show(found)
            self._show(COMPARE)

        self.ask("Comparing", work, then, group="compare")

    def on_compare_panel_measure_opened(self, message: ComparePanel.MeasureOpened) -> None:
        """List the tasks that changed by another measure."""
        self._compare(*self._compared, message.system, message.measure)

    def on_compare_panel_task_opened(self, message: ComparePanel.TaskOpened) -> None:
        """Look at a task in the later run."""
        self.place.task = message.task_id
        if self.opened is not None and self.opened.name == self._compared[1]:
            self._arrange(TASK)
        else:
            self.place.run = self._compared[1]
            self._open(self._compared[1], TASK)

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

    def action_report(self) -> None:
        """Write the HTML page."""
        self._write("--report", "html", "report")

    def action_rows(self) -> None:
        """Write the Parquet rows."""
        self._write("--rows", "parquet", "rows")

    def _write(self, option: str, suffix: str, what: str) -> None:
        name = self._named()
        if not name or self._state is None:
            return
        file = self._state / "replay" / f"{what}-{Path(name).stem}.{suffix}"

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


_WHERE: Final[Mapping[str, Iterable[str]]] = {
    "back": (RUN, TASKS, TASK, COMPARE),
    "tasks": (RUN,),
    "compare": (RUNS,),
    "systems": (TASKS, TASK),
    "swap": (TASKS, TASK),
    "order": (TASKS,),
    "filter": (RUNS, TASKS),
    "plot": (RUN,),
    "gates": (RUNS, RUN),
    "other": (TASK,),
    "missed": (TASK,),
    "next": (TASK,),
    "previous": (TASK,),
    "report": (RUNS, RUN, TASKS, TASK),
    "rows": (RUNS, RUN, TASKS, TASK),
    "new": (RUNS, RUN),
}
