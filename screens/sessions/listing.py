"""Which sessions are listed and in which order: read from their table in a job's thread, rows by windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from screens.sessions.rows import SessionClock
from screens.widgets.timeline import density, ends
from screens.widgets.window_rows import place_of, window_around
from workbench.entry.services.sessions import open_session_list, session_completeness
from workbench.lists.filters import Filter
from workbench.lists.sessions import SESSIONS
from workbench.lists.tables import NOTHING, ListQuery
from workbench.sessions.episodes_fold import HOUR
from workbench.text.counts import counted

if TYPE_CHECKING:
    from screens.engine import AppEngine
    from screens.jobs import Job
    from workbench.ports import Int64
    from workbench.records.episodes import Completeness, SessionRow

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
    parts = [counted(stories.ended + stories.open, "session")]
    parts += [f"▶ {stories.open:,} open"] if stories.open else []
    if stories.share is not None:
        parts.append(f"{stories.share:.0%} have a complete story")
    more = listing.total - stories.ended - stories.open
    if commits:
        parts.append(f"○ {counted(more, 'commit')} shown (V)" if more > 0 else "○ no commits known yet")
    else:
        parts.append("○ commits hidden (V)")
    return " · ".join(parts)
