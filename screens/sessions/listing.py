"""The list of sessions: its columns, what a row shows, which are listed and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.safe_text import safe
from screens.widgets.table import Column
from screens.widgets.timeline import density, ends
from screens.widgets.window_rows import place_of, window_around
from workbench.entry.services.sessions import open_session_list, session_completeness
from workbench.lists.filters import Filter
from workbench.lists.sessions import SESSIONS, SOURCE_NAMES
from workbench.lists.tables import NOTHING, ListQuery
from workbench.records.episodes import Outcome
from workbench.sessions.episodes_fold import COMMITS, HOUR, state_of
from workbench.text.counts import plural

if TYPE_CHECKING:
    from screens.engine import AppEngine
    from screens.jobs import Job
    from workbench.ports import Int64
    from workbench.records.episodes import Completeness, SessionRow


OPEN: Final = "open"
COLUMNS: Final = (
    Column("when", "When", "When it began, in local time.", 11, priority=8),
    Column("source", "Source", "The agent, or commits of the history.", 8, priority=5),
    Column("outcome", "", "▶ open, ✓ success, ◐ partial, ✗ failed, · not known.", 1, priority=9),
    Column("task", "Task", "What was asked for first.", least=22, priority=10),
    Column("reads", "Reads", "Files it read.", 5, "right", priority=3),
    Column("edits", "Edits", "Files it edited.", 5, "right", priority=4),
    Column("took", "Took", "How long it took; how long an open one has been quiet.", 9, "right", priority=2),
)
SOURCES: Final[Mapping[str, str]] = {"claude_code": "✻", "claude_stream": "≡", "codex": "◇", COMMITS: "○"}
"""Glyphs of the sources that imports have; any other is who recorded a session while it ran."""

LIVE: Final = "●"
OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    Outcome.SUCCESS.value: ("✓", "bold $text-success"),
    Outcome.PARTIAL.value: ("◐", "bold $text-warning"),
    Outcome.FAILED.value: ("✗", "bold $text-error"),
    Outcome.UNKNOWN.value: ("·", "$text-muted"),
}
RUNNING: Final = ("▶", "bold $text-accent")
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
        safe(when(row.started_at, clock.now), "$text-muted"),
        source(row.source),
        Content.styled(glyph, style),
        safe(head(row.task_text), dim, limit=_TEXT),
        _count(row.reads),
        _count(row.edits),
        took(row, clock),
    )


def took(row: SessionRow, clock: SessionClock) -> Content:
    """Return how long a session took, or how long an open one has been quiet."""
    if state(row, clock) == OPEN:
        return safe(f"{span(clock.now - row.last_at)} ago", "bold $text-accent")
    seconds = duration_of(row)
    return safe(span(seconds) if seconds else "·", "$text-muted")


def duration_of(row: SessionRow) -> int:
    """Return the seconds from a session's start to its end or its last word."""
    return max((row.ended_at or row.last_at) - row.started_at, 0)


def source(name: str) -> Content:
    """Return a source as its glyph and name."""
    glyph, label = source_of(name)
    return Content.assemble((f"{glyph} ", "$text-secondary"), safe(label, "$text-muted", limit=20))


def source_of(name: str) -> tuple[str, str]:
    """Return the glyph and the name of a source."""
    return SOURCES.get(name, LIVE), SOURCE_NAMES.get(name, name or "live")


def outcome(name: str) -> Content:
    """Return an outcome as its glyph and its word."""
    glyph, style = OUTCOMES.get(name, ("?", ""))
    return Content.assemble((f"{glyph} ", style), safe(name, style))


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


CELLS: Final = 2_000
"""Stretches of time that sessions are counted in: several times what a terminal is wide."""


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """What the list shall show: a filter, whether commits too, and what it is sorted by."""

    filter: Filter = NOTHING
    commits: bool = False
    sort: str = "when"
    reverse: bool = False

    @property
    def list_query(self) -> ListQuery:
        """The query of the table; the usual order gives way to how well rows match."""
        if (self.sort, self.reverse) == ("when", False):
            return ListQuery(self.filter)
        return ListQuery(self.filter, (self.sort, (self.sort in SESSIONS.largest_first) is not self.reverse))


@dataclass(frozen=True, slots=True)
class SessionListing:
    """The numbers of sessions in order, out of how many, and the rows to begin with.

    `place` is where the cursor goes, None where its row is gone; `reached` whether that is its goal. `counts`
    says how many of them began in each stretch of time `between` two.
    """

    numbers: Int64
    total: int
    rows: Mapping[int, SessionRow]
    place: int | None
    reached: bool
    counts: tuple[int, ...]
    between: tuple[float, float]
    stories: Completeness
    clock: SessionClock


def list_sessions(
    engine: AppEngine, wanted: SessionQuery, goal: str, number: int | None, job: Job
) -> SessionListing:
    """Return what the list shows; the cursor goes to the session `goal`, else to the row with a number.

    Raises: WorkbenchError.
    """
    query = wanted.list_query
    timeout = engine.config.sessions.timeout_hours * HOUR
    place = engine.lists()
    stories = session_completeness(place)
    with open_session_list(place, commits=wanted.commits) as table:
        numbers = table.order(query).numbers
        job.check()
        total = table.order(ListQuery()).total if query.filter else len(numbers)
        times = table.times(query).tolist()
        sought = table.find(goal) if goal else None
        at = None if sought is None else place_of(numbers, sought)
        reached = at is not None
        if at is None and number is not None:
            at = place_of(numbers, number)
        job.check()
        rows = table.rows(window_around(numbers, at or 0))
    return SessionListing(
        numbers,
        total,
        rows,
        at,
        reached,
        tuple(density(times, CELLS)),
        ends(times),
        stories,
        SessionClock(place.clock.now(), timeout),
    )


def read_rows(engine: AppEngine, commits: bool, numbers: Sequence[int]) -> Mapping[int, SessionRow]:
    """Return sessions by the numbers of their rows. Raises: WorkbenchError."""
    with open_session_list(engine.lists(), commits=commits) as table:
        return table.rows(numbers)


def listing_headline(listing: SessionListing, *, commits: bool) -> str:
    """Return how many sessions there are, are open and complete, and whether `commits` are listed too."""
    stories = listing.stories
    parts = [plural(stories.ended + stories.open, "session")]
    parts += [f"▶ {stories.open:,} open"] if stories.open else []
    if stories.share is not None:
        parts.append(f"{stories.share:.0%} have a complete story")
    more = listing.total - stories.ended - stories.open
    if commits:
        parts.append(f"○ {plural(more, 'commit')} shown (V)" if more > 0 else "○ no commits known yet")
    else:
        parts.append("○ commits hidden (V)")
    return " · ".join(parts)
