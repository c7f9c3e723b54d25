"""Two runs compared: what changed by system and measure, and the tasks that changed most."""

from __future__ import annotations

from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.replay.comparison import (
    CHANGE_COLUMNS,
    TASK_COLUMNS,
    Compared,
    change_cells,
    task_cells,
)
from screens.safe_text import shown
from screens.widgets.table import ListRows, VirtualTable


class ComparePanel(Vertical):
    """A comparison; enter on a measure lists the tasks by it, on a task opens it in the later run."""

    DEFAULT_CSS = """
    ComparePanel {
        & #compare-head { height: auto; max-height: 4; padding: 0 1; color: $text-muted; }
        & #changes { height: 1fr; }
        & #changed-head { height: 1; padding: 0 1; text-style: bold; }
        & #changed { height: 1fr; }
    }
    """

    class TaskOpened(Message):
        """A task is to be looked at in the later run."""

        def __init__(self, run: str, task: str) -> None:
            super().__init__()
            self.run, self.task_id = run, task

    class MeasureOpened(Message):
        """The tasks shall be those of another system and measure."""

        def __init__(self, system: str, measure: str) -> None:
            super().__init__()
            self.system, self.measure = system, measure

    def __init__(self) -> None:
        super().__init__(id="compare")
        self.found: Compared | None = None

    def compose(self) -> ComposeResult:
        """Lay out the head, the measures and the tasks."""
        yield Static(id="compare-head", markup=False)
        yield VirtualTable(CHANGE_COLUMNS, empty="No system was measured on a common task.", id="changes")
        yield Static(id="changed-head", markup=False)
        yield VirtualTable(TASK_COLUMNS, empty="No task changed.", id="changed")

    @property
    def table(self) -> VirtualTable:
        """The measures."""
        return self.query_one("#changes", VirtualTable)

    def show(self, found: Compared) -> None:
        """Show a comparison."""
        self.found = found
        self.query_one("#compare-head", Static).update(
            Content("\n").join([shown(line) for line in found.head])
        )
        keys = [f"{one.system}\n{one.measure}" for one in found.changes]
        places = list(range(len(keys)))
        table = self.table
        wanted = f"{found.system}\n{found.measure}"
        table.set_rows(
            ListRows(places, key=lambda at: keys[at], cells=lambda at: change_cells(found.changes[at])),
            wanted,
        )
        title = f"Tasks that changed: {found.system}, {found.measure} ({len(found.tasks):,})"
        self.query_one("#changed-head", Static).update(shown(title))
        drawn = partial(task_cells, less_is_better=found.less_is_better)
        self.query_one("#changed", VirtualTable).set_rows(
            ListRows(found.tasks, key=lambda one: one.id, cells=drawn)
        )

    @on(VirtualTable.Opened, "#changes")
    def _measure(self, event: VirtualTable.Opened) -> None:
        event.stop()
        system, _, measure = event.key.partition("\n")
        self.post_message(self.MeasureOpened(system, measure))

    @on(VirtualTable.Opened, "#changed")
    def _opened(self, event: VirtualTable.Opened) -> None:
        event.stop()
        if self.found is not None:
            self.post_message(self.TaskOpened(self.found.after, event.key))
