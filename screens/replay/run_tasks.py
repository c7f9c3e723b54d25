"""The tasks of the run that is open: in which order they are listed, and the two systems they are seen by."""

from __future__ import annotations

from functools import partial
from typing import Final

from screens.jobs import Job
from screens.replay.actions import TASK, TASKS, ReplayActions
from screens.replay.run_panel import RunPanel
from screens.replay.task_panel import TaskPanel, TaskShown
from screens.replay.tasks import ORDERS, TaskLine, TasksPanel, arrange_tasks, task_lines
from screens.replay.work import OpenedRun

_ORDERS: Final = tuple(ORDERS)


class ReplayTasks(ReplayActions):
    """The commands about tasks. The screen shows a view and says where one is."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: tuple[TaskLine, ...] = ()

    def tell_place(self) -> None:
        """Show where one is above the view."""
        raise NotImplementedError

    @property
    def task_number(self) -> int | None:
        """The row of the task that was opened last, None without one."""
        return next((line.number for line in self.lines if line.id == self.place.task), None)

    def arrange_tasks(self, view: str = "") -> None:
        """Put the tasks in order in a job, then show a view."""
        opened, place = self.opened, self.place
        if opened is None:
            return
        wanted, order, systems = self.query_one(TasksPanel).bar.filter, place.order, place.systems

        def work(job: Job) -> tuple[tuple[TaskLine, ...], list[int]]:
            lines = task_lines(opened.run, *systems)
            job.check()
            return lines, arrange_tasks(lines, opened.run.rows, wanted, order)

        self.ask("Ordering tasks", work, partial(self._take_tasks, opened, view), group="order", quiet=True)

    def _take_tasks(
        self, opened: OpenedRun, wanted: str, found: tuple[tuple[TaskLine, ...], list[int]]
    ) -> None:
        if opened is not self.opened:
            return
        self.lines, order = found
        panel = self.query_one(TasksPanel)
        keep = self.task_number
        panel.show(opened.run.rows, self.lines, order, self.place.systems, keep)
        view = wanted or self.place.view
        if view == TASK and keep is not None:
            self._show_task(keep)
        if wanted:
            self.show_view(wanted if wanted != TASK or keep is not None else TASKS)
        else:
            self.tell_place()

    def on_tasks_panel_filtered(self, message: TasksPanel.Filtered) -> None:
        """Filter the tasks."""
        self.arrange_tasks()

    def on_tasks_panel_opened(self, message: TasksPanel.Opened) -> None:
        """Open a task."""
        self._show_task(message.number)
        self.show_view(TASK)

    def on_run_panel_system_opened(self, message: RunPanel.SystemOpened) -> None:
        """List the tasks with this system on the right."""
        left, right = self.place.systems
        if message.system not in (left, right):
            self.place.systems = (left, message.system)
        self.arrange_tasks(TASKS)

    def _show_task(self, number: int) -> None:
        assert self.opened is not None
        row = self.opened.run.rows[number]
        self.place.task = row.id
        budget = self.opened.run.settings.get("budget")
        again = self.place.weighed.get(self.opened.name, {})
        given = TaskShown(row, self.place.systems, budget if isinstance(budget, int) else None, again)
        self.query_one(TaskPanel).show(given)
        self.query_one(TasksPanel).table.select_key(str(number))

    def action_tasks(self) -> None:
        """List the tasks."""
        self.arrange_tasks(TASKS)

    def action_order(self) -> None:
        """Order the tasks otherwise."""
        at = _ORDERS.index(self.place.order)
        self.place.order = _ORDERS[(at + 1) % len(_ORDERS)]
        self.arrange_tasks()
        self.say(f"ordered: {self.place.order}")

    def action_other(self) -> None:
        """Go to the other ranking."""
        self.query_one(TaskPanel).other_side()

    def action_missed(self) -> None:
        """Go to the next missed file."""
        if not self.query_one(TaskPanel).next_missed():
            self.say("this system missed no gold file")

    def action_step(self, step: int) -> None:
        """Go to the next task or the one before."""
        order = self.query_one(TasksPanel).order
        number = self.task_number
        at = order.index(number) + step if number in order else 0
        if 0 <= at < len(order):
            self._show_task(order[at])
            self.tell_place()
        else:
            self.say("there is no other task in this direction")

    def action_swap(self) -> None:
        """Swap the two systems."""
        left, right = self.place.systems
        self._use((right, left))

    def action_systems(self) -> None:
        """Choose both systems, one after the other."""
        if self.opened is None:
            return
        from screens.widgets.dialogs import Choose, DialogChoice

        names = [one.system for one in self.opened.run.systems]
        choices = [DialogChoice(name, name) for name in names]

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
        self.arrange_tasks()
