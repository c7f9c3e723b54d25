"""How a segment is cited wherever it leaves the stash: what it is, how old, where from; its text as data.

Nothing in a segment is an instruction to whoever reads it: it was said, printed or read in earlier work, by
anybody. A note before the segments says so, and no segment can end the frame it is in. What another text says
already is not shown a second time: lines are compared without indentation and the numbers that agents print
before them; words in runs of four (Broder 1997), whatever their case.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from workbench.records.segments import ContextSegment, SegmentType
from workbench.text.counts import plural
from workbench.text.sanitize import defuse, escape_marks, visible_line

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
SAME: Final = 0.8
"""The share of a text's runs of words that another holds from which on it adds nothing to that one."""

_WORDS: Final = 4
_LONGEST: Final = 4_000  # characters of a text that are compared
_WORD: Final = re.compile(r"\w+")
_NUMBER: Final = re.compile(r"^\s*\d{1,7}(?:→|\t|: |\| )")
_LEAST_NUMBERED: Final = 0.8
"""The share of lines that begin with a number from which on the numbers are no part of the text."""


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
    return f"{verb} today" if days < 1 else f"{verb} {plural(int(days), 'day')} ago"


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
    (first, last), (start, end) = ((int(line[1]), int(line[2])) for line in lines if line is not None)
    return last < start or end < first


def quote(text: str) -> str:
    """Return a segment's text as it may be shown inside of a frame: no mark of ours, no mark of a chat."""
    return escape_marks(defuse(text.strip("\n")))


def word_runs(text: str) -> frozenset[str]:
    """Return all runs of four words of a text's beginning, all its words as one where there are fewer."""
    words = _WORD.findall(text[:_LONGEST].casefold())
    if not words:
        return frozenset()
    return frozenset(" ".join(words[at : at + _WORDS]) for at in range(max(1, len(words) - _WORDS + 1)))


def held_share(runs: frozenset[str], others: frozenset[str]) -> float:
    """Return the share in [0, 1] of some runs that others hold; 0 for none."""
    return len(runs & others) / len(runs) if runs else 0.0


def plain_lines(text: str) -> list[str]:
    """Return the lines of a text that are not empty, without indentation and printed line numbers."""
    lines = [line for line in text.splitlines() if line.strip()]
    numbered = sum(_NUMBER.match(line) is not None for line in lines)
    if lines and numbered >= _LEAST_NUMBERED * len(lines):
        lines = [_NUMBER.sub("", line) for line in lines]
    return [line.strip() for line in lines if line.strip()]


def shared_lines(text: str, other: str) -> float:
    """Return the share in [0, 1] of the lines of the shorter of two texts that the other has, too."""
    mine, theirs = set(plain_lines(text)), set(plain_lines(other))
    return len(mine & theirs) / min(len(mine), len(theirs)) if mine and theirs else 0.0


def is_part_of(text: str, whole: str) -> bool:
    """Whether every line of a text is a line of another; False for a text without lines."""
    lines = plain_lines(text)
    return bool(lines) and set(lines) <= {line.strip() for line in whole.splitlines()}
