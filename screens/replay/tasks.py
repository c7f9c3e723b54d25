"""The tasks of a run, filtered and in order: two systems compared on each, and all systems on one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.commands import pane_title
from screens.filter_matching import Record, filter_rows
from screens.replay.rankings import name
from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.bars import bar
from screens.widgets.filter import FilterBar
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.lists.filters import Field, FieldKind, Filter
from workbench.records.replay import TaskRow

if TYPE_CHECKING:
    from workbench.records.replay import ReplayRun, TaskRow

MEASURE: Final = "ndcg_at_10"
WON, LOST, SAME, FAULT = "▲", "▼", "=", "✗"
_CLOSE: Final = 0.0005
FIELDS: Final = (
    Field("task", FieldKind.TEXT),
    Field("file", FieldKind.TEXT),
    Field("id"),
    Field("kind"),
    Field("source", choices=("commit", "session")),
    Field("when", FieldKind.TIME),
    Field("gold", FieldKind.NUMBER),
    Field("left", FieldKind.NUMBER),
    Field("right", FieldKind.NUMBER),
    Field("change", FieldKind.NUMBER),
    Field("missed", FieldKind.NUMBER),
    Field("fault", FieldKind.YES_NO),
)
"""What a filter may name: `change:<0`, `missed:>=1`, `kind:bugfix`, `file:views.py`, `when:2026-05`."""


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task with what two systems made of it; None where a system did not do it."""

    number: int
    id: str
    head: str
    day: str
    at: int
    kind: str
    source: str
    gold: int
    missed: int
    left: float | None
    right: float | None
    fault: str

    @property
    def change(self) -> float | None:
        """How much better the right system is."""
        return None if self.left is None or self.right is None else self.right - self.left

    @property
    def mark(self) -> str:
        """The glyph of how the right system did."""
        if self.fault:
            return FAULT
        change = self.change
        if change is None or abs(change) < _CLOSE:
            return SAME
        return WON if change > 0 else LOST


def _change(line: TaskLine) -> float:
    return 0.0 if line.change is None else line.change


ORDERS: Final[dict[str, Callable[[TaskLine], tuple[float, ...]]]] = {
    "largest loss": lambda line: (line.change is None, _change(line)),
    "largest gain": lambda line: (line.change is None, -_change(line)),
    "worst": lambda line: (line.right is None, line.right or 0.0),
    "best": lambda line: (line.right is None, -(line.right or 0.0)),
    "newest": lambda line: (-line.at,),
    "oldest": lambda line: (line.at,),
    "as replayed": lambda line: (),
}
"""Orders by name, the usual one first; equal tasks stay as they were replayed."""


def task_lines(run: ReplayRun, left: str, right: str) -> tuple[TaskLine, ...]:
    """Return a line for each task, as they were replayed."""
    return tuple(_line(number, row, left, right) for number, row in enumerate(run.rows))


def arrange_tasks(
    lines: Sequence[TaskLine], rows: Sequence[TaskRow], wanted: Filter, order: str
) -> list[int]:
    """Return the places of the lines that a filter lets through, in an order."""
    places: Sequence[int] = range(len(lines))
    if wanted:
        *_, last = filter_rows(wanted, lambda at: record_of(lines[at], rows[at]), len(lines), fields=FIELDS)
        places = sorted(last.order or ())
    key = ORDERS.get(order, ORDERS["as replayed"])
    return sorted(places, key=lambda at: (key(lines[at]), at))


def record_of(line: TaskLine, row: TaskRow) -> Record:
    """Return a task's fields as a filter sees them."""
    return {
        "task": line.head,
        "file": row.truth,
        "id": (line.id, row.commit, row.session),
        "kind": line.kind,
        "source": line.source,
        "when": line.day,
        "gold": line.gold,
        "left": line.left,
        "right": line.right,
        "change": line.change,
        "missed": line.missed,
        "fault": bool(line.fault),
    }


def columns(left: str, right: str) -> tuple[Column, ...]:
    """Return the columns, headed by the systems that are compared."""
    return (
        Column("mark", "", "▲ the right one is better, ▼ worse, = as good, ✗ left out.", 1, priority=9),
        Column("task", "Task", "What was asked for.", share=1, least=20, priority=8),
        Column("day", "Begun", "The day it was begun.", 10, priority=3),
        Column("kind", "Kind", "What kind of task it is.", 8, priority=1),
        Column("gold", "Right", "Files that turned out to be right.", 5, "right", priority=4),
        Column("missed", "Missed", "Right files that are not among its first ten.", 6, "right", priority=2),
        Column("left", _short(left), "nDCG@10 of the system on the left.", 8, "right", priority=5),
        Column("right", _short(right), "nDCG@10 of the system on the right.", 8, "right", priority=6),
        Column("change", "Change", "How much the right one is above the left one.", 6, "right", priority=7),
    )


def cells(line: TaskLine) -> tuple[Content, ...]:
    """Return the cells of a task."""
    tone = {WON: "$text-success", LOST: "$text-error", FAULT: "bold $text-warning"}.get(
        line.mark, "$text-muted"
    )
    change = line.change
    return (
        Content.styled(line.mark, tone),
        safe(line.head or "(no text)", limit=400),
        safe(line.day, "$text-muted"),
        safe(line.kind, "$text-muted"),
        safe(str(line.gold)),
        safe(str(line.missed) if line.missed else "", "$text-warning"),
        safe(_figure(line.left)),
        safe(_figure(line.right)),
        safe("" if change is None else f"{change:+.2f}", tone),
    )


def _line(number: int, row: TaskRow, left: str, right: str) -> TaskLine:
    from workbench.replay.html_tasks import day, value_of

    last = row.systems.get(right)
    return TaskLine(
        number=number,
        id=row.id,
        head=row.head,
        day=day(row.at),
        at=row.at,
        kind=row.query_type,
        source=row.source,
        gold=len(row.truth),
        missed=0 if last is None else len(last.missed),
        left=value_of(row, left, MEASURE),
        right=value_of(row, right, MEASURE),
        fault=row.fault,
    )


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _short(system: str) -> str:
    return system if len(system) <= 8 else f"{system[:7]}…"


_FILES = 12
_BAR = 16


class TasksPanel(Vertical):
    """The tasks; the screen arranges them in a job and hands them over."""

    SCOPED_CSS: ClassVar[bool] = False  # what fits depends on classes of the screen
    DEFAULT_CSS = style_of("TasksPanel")

    @dataclass
    class Opened(Message):
        """A task was opened, by its number in the run."""

        number: int

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
            with VerticalScroll(id="tasks-side") as side:
                side.border_title = pane_title("Task", "next-pane")
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
    def _handle_filter(self, event: FilterBar.Changed) -> None:
        event.stop()
        self.filter = event.query
        self.post_message(self.Filtered())

    @on(VirtualTable.Highlighted)
    def _handle_highlight(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self._preview()

    @on(VirtualTable.Opened)
    def _handle_open(self, event: VirtualTable.Opened) -> None:
        event.stop()
        if (number := self.current) is not None:
            self.post_message(self.Opened(number))

    def _preview(self) -> None:
        number = self.current
        known = number is not None and number < len(self._rows)
        preview = task_preview(self._rows[number]) if known and number is not None else Content("")
        self.query_one("#task-preview", Static).update(preview)


def task_preview(row: TaskRow) -> Content:
    """Return each system's nDCG@10 on a task and the right files with their places."""
    lines = [safe(row.head or "(no text)", "bold", limit=400)]
    if row.fault:
        return Content("\n").join([*lines, safe(f"✗ not replayed: {row.fault}", "$text-warning")])
    longest = max((len(one) for one in row.systems), default=0)
    for system, did in row.systems.items():
        value = did.measures.get(MEASURE)
        figure = Content.styled(" –", "$text-muted")
        if value is not None:
            figure = Content.assemble((f" {value:.3f} ", "bold"), (bar(value, 1.0, _BAR), "$text-primary"))
        lines.append(Content.assemble(safe(system).truncate(min(longest, 26), pad=True), figure))
    lines.append(safe("gold files and their places, system by system", "$text-muted"))
    for path in row.truth[:_FILES]:
        places = " ".join(_rank(path, did.ranking) for did in row.systems.values())
        lines.append(
            Content.assemble(("★ ", "$text-success"), safe(f"{places:<{4 * len(row.systems)}} "), name(path))
        )
    if len(row.truth) > _FILES:
        lines.append(safe(f"and {len(row.truth) - _FILES:,} more", "$text-muted"))
    return Content("\n").join(lines)


def _rank(path: str, ranking: Sequence[str]) -> str:
    return f"{ranking.index(path) + 1:>3}" if path in ranking else "  –"
