"""The list of sessions: its columns and what a row shows.

Every state has a glyph of its own, so that the list can be read without colours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.safe_text import shown
from screens.widgets.table import Column
from workbench.lists.sessions import SOURCE_NAMES
from workbench.records.episodes import Outcome
from workbench.sessions.episodes_fold import COMMITS, state_of

if TYPE_CHECKING:
    from workbench.records.episodes import SessionRow

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
    return SOURCES.get(name, LIVE), SOURCE_NAMES.get(name, name or "live")


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
