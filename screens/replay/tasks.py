"""The tasks of a run as a list: two systems compared on each, filtered and put in order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.filter_matching import Record, filter_rows
from screens.filtering import Field, Filter, Kind
from screens.safe_text import shown
from screens.widgets.table import Column

if TYPE_CHECKING:
    from workbench.records.replay import ReplayRun, TaskRow

MEASURE: Final = "ndcg_at_10"
WON, LOST, SAME, FAULT = "▲", "▼", "=", "✗"
_CLOSE: Final = 0.0005
FIELDS: Final = (
    Field("task", Kind.TEXT),
    Field("file", Kind.TEXT),
    Field("id"),
    Field("kind"),
    Field("source", choices=("commit", "session")),
    Field("when", Kind.TIME),
    Field("gold", Kind.NUMBER),
    Field("left", Kind.NUMBER),
    Field("right", Kind.NUMBER),
    Field("change", Kind.NUMBER),
    Field("missed", Kind.NUMBER),
    Field("fault", Kind.YES_NO),
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


def arranged(lines: Sequence[TaskLine], rows: Sequence[TaskRow], wanted: Filter, order: str) -> list[int]:
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
        Column("mark", "", 1, priority=9),
        Column("task", "Task", share=1, least=20, priority=8),
        Column("day", "Begun", 10, priority=3),
        Column("kind", "Kind", 8, priority=1),
        Column("gold", "Gold", 4, "right", priority=4),
        Column("missed", "Miss", 4, "right", priority=2),
        Column("left", _short(left), 8, "right", priority=5),
        Column("right", _short(right), 8, "right", priority=6),
        Column("change", "Change", 6, "right", priority=7),
    )


def cells(line: TaskLine) -> tuple[Content, ...]:
    """Return the cells of a task."""
    tone = {WON: "$text-success", LOST: "$text-error", FAULT: "bold $text-warning"}.get(
        line.mark, "$text-muted"
    )
    change = line.change
    return (
        Content.styled(line.mark, tone),
        shown(line.head or "(no text)", limit=400),
        shown(line.day, "$text-muted"),
        shown(line.kind, "$text-muted"),
        shown(str(line.gold)),
        shown(str(line.missed) if line.missed else "", "$text-warning"),
        shown(_figure(line.left)),
        shown(_figure(line.right)),
        shown("" if change is None else f"{change:+.2f}", tone),
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
