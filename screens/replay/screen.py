"""Replays: runs, their figures, their tasks, one task with both rankings, and two runs compared.

The screen only wires: panels show one thing each and say what was opened, `asking` has the jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import ScreenResume
from textual.widgets import ContentSwitcher, Static

from screens.commands import bindings
from screens.jobs import Failure
from screens.replay import work
from screens.replay.actions import COMPARE, RUN, RUNS, TASK, TASKS
from screens.replay.comparison import ComparePanel
from screens.replay.rankings import LEGEND
from screens.replay.run_panel import RunPanel
from screens.replay.run_tasks import ReplayTasks
from screens.replay.runs import RunsPanel
from screens.replay.task_panel import TaskPanel
from screens.replay.tasks import ORDERS, TasksPanel
from screens.replay.work import ListedRuns, OpenedRun
from screens.safe_text import safe, shown_lines
from screens.sitting import text_of, texts_of
from screens.themes import style_of
from screens.widgets.filter import FilterBar
from screens.widgets.table import VirtualTable
from workbench.records.replay import BASELINE
from workbench.text.counts import plural

_UP: Final = {RUN: RUNS, TASKS: RUN, TASK: TASKS, COMPARE: RUNS}


class ReplayScreen(ReplayTasks):
    """What would have been shown for past tasks, and was it right."""

    section: ClassVar[str] = "replay"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("replay")]
    DEFAULT_CSS = style_of("ReplayScreen")

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
        reading = partial(work.list_runs, self.engine.root)
        self.ask("Reading runs", reading, self._take_runs, failed=self._not_listed)

    def remember(self) -> Mapping[str, Any]:
        """Return the run, the task, the systems, the order and the filter."""
        place = self.place
        return {
            "view": place.view if place.view != COMPARE else RUNS,
            "run": place.run,
            "task": place.task,
            "systems": list(place.systems),
            "order": place.order,
            "filter": self.query_one("#tasks-filter", FilterBar).text,
            "runs_filter": self.query_one("#runs-filter", FilterBar).text,
            "plot": self.query_one(RunPanel).view,
        }

    def recall(self, kept: Mapping[str, Any]) -> None:
        """Go back to where it was left; what is not there any more is left out."""
        place = self.place
        place.view = text_of(kept, "view", RUNS, (*_UP, RUNS))
        place.run, place.task = text_of(kept, "run"), text_of(kept, "task")
        place.order = text_of(kept, "order", next(iter(ORDERS)), ORDERS)
        if len(systems := texts_of(kept, "systems")) == 2:
            place.systems = (systems[0], systems[1])
        self.query_one(RunPanel).set_view(text_of(kept, "plot"))
        self.query_one(TasksPanel).bar.set_text(text_of(kept, "filter"))
        self.query_one("#runs-filter", FilterBar).set_text(text_of(kept, "runs_filter"))

    def available(self, command_id: str) -> bool | None:
        """Offer what makes sense in the view."""
        view = self.place.view
        if command_id == "replay.back" and view == RUNS:
            in_pane = self.focused is not None and not isinstance(self.focused, VirtualTable)
            return in_pane or bool(self.applied_filters())
        where = _WHERE.get(command_id.partition(".")[2])
        return where is None or view in where

    def on_screen_resume(self, event: ScreenResume) -> None:
        """List what other processes have kept meanwhile, and have the focus where it is seen."""
        self.stale = self.stale or self.is_mounted
        super().on_screen_resume(event)
        if self.is_mounted and self.state is not None:
            if self.focused is None or not self.focused.is_on_screen:
                self._focus(self.place.view)
            self.show_benchmark()

    # Runs.

    def _take_runs(self, found: ListedRuns) -> None:
        self.state = found.state
        panel = self.query_one(RunsPanel)
        there = bool(panel.lines) and self.place.view == RUNS  # the cursor is where the user put it
        panel.show(found.runs, found.no_past, None if there else self.place.run or None)
        known = {line.name for line in found.runs}
        if self.place.view in (RUN, TASKS, TASK) and self.opened is None and self.place.run in known:
            self.open_run(self.place.run, self.place.view)
        elif self.opened is None:
            self.show_view(RUNS)

    def _not_listed(self, failure: Failure) -> None:
        panel = self.query_one(RunsPanel)
        if not panel.lines:
            panel.table.set_empty(shown_lines(f"! {failure.message}\n{failure.hint}", "$text-muted"))
        self.say(f"runs cannot be read: {failure.message}")

    def on_runs_panel_opened(self, message: RunsPanel.Opened) -> None:
        """Open a run."""
        if message.line.fault:
            self.bench.report(message.line.fault, severity="warning")
        else:
            self.open_run(message.line.name, RUN)

    def open_run(self, name: str, view: str) -> None:
        """Load a run and show it in a view."""
        assert self.state is not None
        self.query_one(RunsPanel).table.busy = "Reading the run …"
        self.ask(
            "Reading the run",
            partial(work.open_run, self.state, name),
            partial(self._run_opened, view=view),
            group="run",
            failed=self._not_opened,
            stopped=self._not_busy,
        )

    def _not_busy(self) -> None:
        self.query_one(RunsPanel).table.busy = ""

    def _not_opened(self, failure: Failure) -> None:
        self._not_busy()
        self.bench.report(f"{failure.message}\n{failure.hint}".strip(), severity="error")
        self.show_view(RUNS)

    def _run_opened(self, opened: OpenedRun, view: str) -> None:
        self._not_busy()
        place = self.place
        if opened.name != place.run:
            place.task = ""
        self.opened, place.run = opened, opened.name
        names = [one.system for one in opened.run.systems]
        left, right = place.systems
        if left not in names or right not in names:
            first = BASELINE if BASELINE in names else next(iter(names), "")
            place.systems = (first, opened.counterpart or first)
        self.query_one(RunsPanel).table.select_key(opened.name)
        self.query_one(RunPanel).show(opened, place.gates.get(opened.name), place.systems[1])
        self.bench.log_action(["runs", "show", opened.name], plural(len(opened.run.rows), "task"))
        self.arrange_tasks(view)

    # Going about.

    def show_view(self, view: str) -> None:
        """Show a view and give it the focus."""
        self.place.view = view
        self.query_one("#views", ContentSwitcher).current = view
        self.tell_place()
        if self.is_current:
            self._focus(view)
        self.say(LEGEND if view == TASK else "")
        self.refresh_bindings()

    def _focus(self, view: str) -> None:
        self._list_of(view).focus()

    def _list_of(self, view: str) -> VirtualTable:
        task = self.query_one(TaskPanel)
        return {
            RUNS: self.query_one(RunsPanel).table,
            RUN: self.query_one(RunPanel).systems,
            TASKS: self.query_one(TasksPanel).table,
            TASK: task.table(task.focused_side),
            COMPARE: self.query_one(ComparePanel).table,
        }[view]

    def tell_place(self) -> None:
        """Show where one is above the view."""
        place, parts = self.place, ["Runs"]
        if place.view == COMPARE:
            parts.append("Compare")
        elif place.view != RUNS and self.opened is not None:
            parts.append(f"{self.opened.run.project} {self.opened.run.id[:8]}")
            if place.view in (TASKS, TASK):
                parts.append(f"Tasks, {place.order}: {place.systems[0]} | {place.systems[1]}")
        if place.view == TASK:
            order = self.query_one(TasksPanel).order
            number = self.task_number
            if number in order:
                parts.append(f"{order.index(number) + 1:,} of {len(order):,}")
        self.query_one("#crumbs", Static).update(safe(" › ".join(parts), "bold"))

    def action_back(self) -> None:
        """Go back to the list; from there take the filter off, or go up one step."""
        view = self.place.view
        if not self._list_of(view).has_focus:
            self._focus(view)
        elif not self.clear_filter() and view in _UP:
            self.show_view(_UP[view])

    def action_open(self) -> None:
        """Open what is under the cursor."""
        focused = self.focused
        if focused is not None and hasattr(focused, "action_open"):
            focused.action_open()

    def action_filter(self) -> None:
        """Filter what is listed."""
        self.query_one(f"#{self.place.view}-filter", FilterBar).open()

    def action_plot(self, step: int) -> None:
        """Show the next plot, or the one before."""
        self.say(f"shown: {self.query_one(RunPanel).turn_view(step)}")


_WHERE: Final[Mapping[str, Iterable[str]]] = {
    "tasks": (RUN,),
    "compare": (RUNS,),
    "systems": (TASKS, TASK),
    "swap": (TASKS, TASK),
    "order": (TASKS,),
    "filter": (RUNS, TASKS),
    "plot": (RUN,),
    "previous-plot": (RUN,),
    "gates": (RUNS, RUN),
    "other": (TASK,),
    "missed": (TASK,),
    "weigh": (TASK,),
    "next": (TASK,),
    "previous": (TASK,),
    "report": (RUNS, RUN, TASKS, TASK),
    "rows": (RUNS, RUN, TASKS, TASK),
    "new": (RUNS, RUN),
}
