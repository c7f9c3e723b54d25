"""The tasks of a run: two systems on each, filtered and in order; beside it what all systems made of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.filtering import Filter
from screens.replay.sides import name
from screens.replay.tasks import FIELDS, MEASURE, TaskLine, cells, columns
from screens.safe_text import shown
from screens.widgets.bars import bar
from screens.widgets.filter import FilterBar
from screens.widgets.table import ListRows, VirtualTable
from workbench.records.replay import TaskRow

_FILES = 12
_BAR = 16


class TasksPanel(Vertical):
    """The tasks; the screen arranges them in a job and hands them over."""

    SCOPED_CSS: ClassVar[bool] = False  # what fits depends on classes of the screen
    DEFAULT_CSS = """
    TasksPanel {
        & #tasks-parts { height: 1fr; }
        & #tasks-table { width: 2fr; height: 1fr; }
        & #tasks-side { width: 1fr; height: 1fr; padding: 0 1; border-left: solid $panel; }
        & #tasks-side { scrollbar-size-vertical: 1; }
        & #tasks-side:focus { border-left: heavy $accent; }
        & #task-preview { height: auto; }
    }
    .-narrow TasksPanel, .-normal TasksPanel {
        & #tasks-parts { layout: vertical; }
        & #tasks-table { width: 1fr; }
        & #tasks-side { width: 1fr; height: auto; max-height: 40%; border-left: none; }
        & #tasks-side { border-top: solid $panel; }
        & #tasks-side:focus { border-left: none; border-top: heavy $accent; }
    }
    """

    class Opened(Message):
        """A task was opened, by its number in the run."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    class Filtered(Message):
        """Another filter is wanted."""

    def __init__(self) -> None:
        super().__init__(id="tasks")
        self._rows: Sequence[TaskRow] = ()
        self.filter = Filter()
        self.order: list[int] = []

    def compose(self) -> ComposeResult:
        """Lay out the filter, the list, and what is under the cursor."""
        yield FilterBar(FIELDS, id="tasks-filter")
        with Horizontal(id="tasks-parts"):
            yield VirtualTable(columns("", ""), empty="No task matches the filter.", id="tasks-table")
            with VerticalScroll(id="tasks-side"):
                yield Static(id="task-preview", markup=False)

    @property
    def table(self) -> VirtualTable:
        """The table of tasks."""
        return self.query_one("#tasks-table", VirtualTable)

    @property
    def bar(self) -> FilterBar:
        """The filter."""
        return self.query_one(FilterBar)

    @property
    def current(self) -> int | None:
        """The number of the task under the cursor."""
        key = self.table.cursor_key
        return None if key is None else int(key)

    def show(
        self,
        rows: Sequence[TaskRow],
        lines: Sequence[TaskLine],
        order: list[int],
        systems: tuple[str, str],
        keep: int | None = None,
    ) -> None:
        """Show tasks of a run at the places of `order`; the cursor goes to, or stays on, `keep`."""
        self._rows, self.order = rows, order
        kept = self.current if keep is None else keep
        table = self.table
        table.set_columns(columns(*systems))
        found = ListRows(lines, key=lambda one: str(one.number), cells=cells, order=order)
        table.set_rows(found, None if kept is None else str(kept))
        self.bar.show_count(len(order), len(lines))
        self._preview()

    @on(FilterBar.Changed)
    def _filtered(self, event: FilterBar.Changed) -> None:
        event.stop()
        self.filter = event.query
        self.post_message(self.Filtered())

    @on(VirtualTable.Highlighted)
    def _highlighted(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self._preview()

    @on(VirtualTable.Opened)
    def _opened(self, event: VirtualTable.Opened) -> None:
        event.stop()
        if (number := self.current) is not None:
            self.post_message(self.Opened(number))

    def _preview(self) -> None:
        number = self.current
        known = number is not None and number < len(self._rows)
        told = task_preview(self._rows[number]) if known and number is not None else Content("")
        self.query_one("#task-preview", Static).update(told)


def task_preview(row: TaskRow) -> Content:
    """Return each system's nDCG@10 on a task and the right files with their places."""
    lines = [shown(row.head or "(no text)", "bold", limit=400)]
    if row.fault:
        return Content("\n").join([*lines, shown(f"✗ not replayed: {row.fault}", "$text-warning")])
    longest = max((len(one) for one in row.systems), default=0)
    for system, did in row.systems.items():
        value = did.measures.get(MEASURE)
        told = Content.styled(" –", "$text-muted")
        if value is not None:
            told = Content.assemble((f" {value:.3f} ", "bold"), (bar(value, 1.0, _BAR), "$text-primary"))
        lines.append(Content.assemble(shown(system).truncate(min(longest, 26), pad=True), told))
    lines.append(shown("gold files and their places, system by system", "$text-muted"))
    for path in row.truth[:_FILES]:
        places = " ".join(_place(path, did.ranking) for did in row.systems.values())
        lines.append(
            Content.assemble(("★ ", "$text-success"), shown(f"{places:<{4 * len(row.systems)}} "), name(path))
        )
    if len(row.truth) > _FILES:
        lines.append(shown(f"and {len(row.truth) - _FILES:,} more", "$text-muted"))
    return Content("\n").join(lines)


def _place(path: str, ranking: Sequence[str]) -> str:
    return f"{ranking.index(path) + 1:>3}" if path in ranking else "  –"
