"""The list of sessions: its columns, what a row shows, and by what rows are filtered and sorted.

Every state has a glyph of its own, so that the list can be read without colours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from textual.content import Content

from screens.filter_matching import Value
from screens.safe_text import shown
from screens.widgets.table import Column, ListRows
from workbench.lists.filters import Field, FieldKind
from workbench.records.episodes import Outcome
from workbench.sessions.episodes_fold import COMMITS, state_of

if TYPE_CHECKING:
    from workbench.records.episodes import SessionRow

OPEN: Final = "open"
COLUMNS: Final = (
    Column("when", "When", 11, priority=8),
    Column("source", "Source", 8, priority=5),
    Column("outcome", "", 1, priority=9),
    Column("task", "Task", least=22, priority=10),
    Column("reads", "Reads", 5, "right", priority=3),
    Column("edits", "Edits", 5, "right", priority=4),
    Column("took", "Took", 9, "right", priority=2),
)
FIELDS: Final = (
    Field("task", FieldKind.TEXT),
    Field("id", FieldKind.TEXT),
    Field("source", searched=False),
    Field("outcome", choices=("failed", "partial", "success", "unknown"), searched=False),
    Field("since", searched=False),
    Field("when", FieldKind.TIME),
    Field("file", searched=False),
    Field("open", FieldKind.YES_NO),
    Field("kind", searched=False),
    Field("reads", FieldKind.NUMBER),
    Field("edits", FieldKind.NUMBER),
)
"""The fields of the filter. `since` and `file` are resolved before rows are looked at: see `listing`."""

SOURCES: Final[Mapping[str, tuple[str, str]]] = {
    "claude_code": ("✻", "claude"),
    "claude_stream": ("≡", "stream"),
    "codex": ("◇", "codex"),
    COMMITS: ("○", "commit"),
}
"""Glyph and name of the sources that imports have; any other is who recorded a session while it ran."""

LIVE: Final = "●"
OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    Outcome.SUCCESS.value: ("✓", "bold $text-success"),
    Outcome.PARTIAL.value: ("◐", "bold $text-warning"),
    Outcome.FAILED.value: ("✗", "bold $text-error"),
    Outcome.UNKNOWN.value: ("·", "$text-muted"),
}
RUNNING: Final = ("▶", "bold $text-accent")
SORTS: Final[Mapping[str, Callable[[SessionRow], Any]]] = {
    "when": lambda row: -row.started_at,
    "outcome": lambda row: list(OUTCOMES).index(row.outcome) if row.outcome in OUTCOMES else 9,
    "task": lambda row: row.task_text.casefold()[:200],
    "source": lambda row: source_of(row.source)[1],
    "edits": lambda row: -row.edits,
    "reads": lambda row: -row.reads,
    "took": lambda row: -duration_of(row),
}
"""What sessions are sorted by, in the order that is cycled through; equal ones by time, newest first."""

DESCENDING: Final = frozenset({"when", "edits", "reads", "took"})
_TEXT: Final = 300
_YEAR: Final = 300 * 86_400


@dataclass(frozen=True, slots=True)
class SessionClock:
    """The time now, and after how many seconds a quiet session is over."""

    now: float
    timeout: float


def state(row: SessionRow, clock: SessionClock) -> str:
    """Return `open`, `ended` or `timed out`."""
    return state_of(row.ended_at is not None, row.closed_by, row.last_at, clock.now, clock.timeout)


def cells(row: SessionRow, clock: SessionClock) -> tuple[Content | str, ...]:
    """Return the cells of `COLUMNS`."""
    running = state(row, clock) == OPEN
    dim = "$text-muted" if row.source == COMMITS else ""
    glyph, style = RUNNING if running else OUTCOMES.get(row.outcome, ("?", ""))
    return (
        shown(when(row.started_at, clock.now), "$text-muted"),
        source(row.source),
        Content.styled(glyph, style),
        shown(head(row.task_text), dim, limit=_TEXT),
        _count(row.reads),
        _count(row.edits),
        took(row, clock),
    )


def took(row: SessionRow, clock: SessionClock) -> Content:
    """Return how long a session took, or how long an open one has been quiet."""
    if state(row, clock) == OPEN:
        return shown(f"{span(clock.now - row.last_at)} ago", "bold $text-accent")
    seconds = duration_of(row)
    return shown(span(seconds) if seconds else "·", "$text-muted")


def duration_of(row: SessionRow) -> int:
    """Return the seconds from a session's start to its end or its last word."""
    return max((row.ended_at or row.last_at) - row.started_at, 0)


def source(name: str) -> Content:
    """Return a source as its glyph and name."""
    glyph, label = source_of(name)
    return Content.assemble((f"{glyph} ", "$text-secondary"), shown(label, "$text-muted", limit=20))


def source_of(name: str) -> tuple[str, str]:
    """Return the glyph and the name of a source."""
    return SOURCES.get(name, (LIVE, name or "live"))


def outcome(name: str) -> Content:
    """Return an outcome as its glyph and its word."""
    glyph, style = OUTCOMES.get(name, ("?", ""))
    return Content.assemble((f"{glyph} ", style), shown(name, style))


def head(task: str) -> str:
    """Return the first line of a task that says something."""
    lines = (line.strip() for line in task[:4_000].splitlines())
    return next((line for line in lines if line), "(no task)")


def when(at: float, now: float) -> str:
    """Return a time in local time: with the time of day if it is less than a year ago."""
    moment = local(at)
    if moment is None:
        return "?"
    return moment.strftime("%m-%d %H:%M" if 0 <= now - at < _YEAR else "%Y-%m-%d")


def exact(at: float) -> str:
    """Return a time to the second."""
    moment = local(at)
    return "?" if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S")


def local(at: float) -> datetime | None:
    """Return a time as local time, None for one that no calendar has."""
    try:
        return datetime.fromtimestamp(at)
    except (ValueError, OverflowError, OSError):
        return None


def span(seconds: float) -> str:
    """Return a length of time for people: `8s`, `12m`, `3h`, `2d`."""
    whole = max(int(seconds), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if whole >= size:
            more = whole % size * 60 // size if unit == "h" else 0
            return f"{whole // size}{unit}{f'{more:02}' if more else ''}"
    return f"{whole}s"


def _count(number: int) -> Content:
    return Content(f"{number:,}") if number else Content.styled("·", "$text-muted")


def session_rows(
    rows: Sequence[SessionRow], order: Sequence[int], clock: Callable[[], SessionClock]
) -> ListRows[SessionRow]:
    """Return sessions in an order of positions as rows; `clock` is asked whenever one is drawn."""
    return ListRows(rows, key=lambda row: row.session_id, cells=lambda row: cells(row, clock()), order=order)


class SessionRecord(Mapping[str, Value]):
    """A session as the filter sees it; a field is worked out when it is asked for."""

    __slots__ = ("_clock", "_row")

    def __init__(self, row: SessionRow, clock: SessionClock) -> None:
        self._row = row
        self._clock = clock

    def __getitem__(self, name: str) -> Value:
        return _VALUES[name](self._row, self._clock)

    def __iter__(self) -> Iterator[str]:
        return iter(_VALUES)

    def __len__(self) -> int:
        return len(_VALUES)


def _when(row: SessionRow, clock: SessionClock) -> str:
    moment = local(row.started_at)
    return "" if moment is None else moment.isoformat()


_VALUES: Final[Mapping[str, Callable[[SessionRow, SessionClock], Value]]] = {
    "task": lambda row, clock: row.task_text,
    "id": lambda row, clock: (row.session_id, row.parent_session),
    "source": lambda row, clock: (row.source, source_of(row.source)[1]),
    "outcome": lambda row, clock: row.outcome,
    "when": _when,
    "open": lambda row, clock: state(row, clock) == OPEN,
    "kind": lambda row, clock: row.query_type,
    "reads": lambda row, clock: row.reads,
    "edits": lambda row, clock: row.edits,
}
