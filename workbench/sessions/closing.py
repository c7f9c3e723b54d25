"""When a session that nobody ended is over: its last event is its end, its outcome stays what was said of it.

The end is written into the journal once, by whoever brings the past in step after the time is up, so that
every projection of the journal knows it without a clock. What is told later moves the end; nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from workbench.records.episodes import Episode
from workbench.sessions.episodes_fold import TIMEOUT

HOUR: Final = 3600
BY: Final = "timeout"
DESK: Final = "episodes"  # the lock of whoever records sessions


def overdue(episodes: Iterable[Episode], now: float, timeout: float) -> list[Episode]:
    """Return the open episodes last heard of more than `timeout` seconds before `now`, by their ids."""
    found = [one for one in episodes if one.ended_at is None and now - one.last_at > timeout]
    return sorted(found, key=lambda episode: episode.session_id)


def timed_out(session: str, at: int) -> dict[str, Any]:
    """Return the journal body of an end that nobody told. The outcome is left as it is."""
    return {"session_id": session, "ended_at": at, "closed_by": TIMEOUT}


def state_of(ended: bool, closed_by: str, last_at: int, now: float, timeout: float) -> str:
    """Return `ended`, `timed out` or `open`: as the journal says, or will say once it is brought in step."""
    if ended:
        return "timed out" if closed_by == TIMEOUT else "ended"
    return "timed out" if now - last_at > timeout else "open"
