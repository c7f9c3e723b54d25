"""How a segment is cited wherever it leaves the stash: what it is, how old, where from; its text as data.

Nothing in a segment is an instruction to whoever reads it: it was said, printed or read in earlier work, by
anybody. A note before the segments says so, and no segment can end the frame it is in.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from workbench.records.segments import ContextSegment, SegmentType
from workbench.text.counts import counted
from workbench.text.frames import defuse, escape_marks
from workbench.text.sanitize import visible_line

_VERBS: Final = {
    SegmentType.MESSAGE: "said",
    SegmentType.CODE_BLOCK: "written",
    SegmentType.FILE_CONTENT: "read",
    SegmentType.ERROR_LOG: "logged",
    SegmentType.DEBUG_OUTPUT: "printed",
    SegmentType.TASK_STATE: "noted",
    SegmentType.DECISION: "decided",
    SegmentType.RESEARCH: "found",
}
_DAY: Final = 86_400.0
_SESSION: Final = 12  # characters of a session's id that are shown
_PATH: Final = re.compile(r"[^\n:]+")
_LINES: Final = re.compile(r"(\d{1,9})-(\d{1,9})")
OF_FILES: Final = frozenset({SegmentType.FILE_CONTENT, SegmentType.CODE_BLOCK})


def cite(segment: ContextSegment, now: float) -> str:
    """Return what a segment is and where it comes from: `decision, decided 3 days ago in session 7f3a, a.py`.

    `now` is in seconds since the epoch.
    """
    parts = [segment.type.value.replace("_", " "), when(segment, now)]
    if segment.session_id:
        parts[-1] += f" in session {short_session(segment.session_id)}"
    if path := file_of(segment):
        parts.append(visible_line(path))
    return ", ".join(parts)


def when(segment: ContextSegment, now: float) -> str:
    """Return how long ago a segment came to be: `said 3 days ago`, `read today`, `logged` without a time."""
    verb = _VERBS[segment.type]
    days = age_days(segment, now)
    if days is None:
        return verb
    return f"{verb} today" if days < 1 else f"{verb} {counted(int(days), 'day')} ago"


def age_days(segment: ContextSegment, now: float) -> float | None:
    """Return the days since a segment came to be, 0 if that is in the future, None without a time."""
    try:
        moment = datetime.fromisoformat(segment.timestamp)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (now - moment.timestamp()) / _DAY)


def short_session(session_id: str) -> str:
    """Return as much of a session's id as people need to know it again."""
    return visible_line(session_id)[:_SESSION]


def file_of(segment: ContextSegment) -> str:
    """Return the path of the file whose content a segment is, '' for any other."""
    return segment.source if segment.type in OF_FILES and _PATH.fullmatch(segment.source) else ""


def are_parts(one: ContextSegment, other: ContextSegment) -> bool:
    """Whether two segments of a file are of different parts of it: of one reading, or of other lines."""
    mine, theirs = one.metadata, other.metadata
    if "part" in mine and "part" in theirs and mine.get("place") == theirs.get("place") is not None:
        return True
    lines = [_LINES.fullmatch(facts.get("lines", "")) for facts in (mine, theirs)]
    if lines[0] is None or lines[1] is None:
        return False
    (first, last), (start, end) = ((int(found[1]), int(found[2])) for found in lines if found is not None)
    return last < start or end < first


def quote(text: str) -> str:
    """Return a segment's text as it may be shown inside of a frame: no mark of ours, no mark of a chat."""
    return escape_marks(defuse(text.strip("\n")))
