"""The list of stashed segments: words of their types, and rows as cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from textual.content import Content

from screens.learnings.learning_list import days
from screens.safe_text import shown
from screens.widgets.table import Column
from workbench.lists.segments import SegmentRow
from workbench.records.segments import FoundSegment, SegmentType
from workbench.stash.citation import short_session

TYPES: Final[Mapping[SegmentType, tuple[str, str]]] = {
    SegmentType.MESSAGE: ("message", ""),
    SegmentType.CODE_BLOCK: ("code", "$text-accent"),
    SegmentType.FILE_CONTENT: ("file", "$text-accent"),
    SegmentType.ERROR_LOG: ("error", "$text-error"),
    SegmentType.DEBUG_OUTPUT: ("output", "$text-muted"),
    SegmentType.TASK_STATE: ("task", "$text-warning"),
    SegmentType.DECISION: ("decision", "bold $text-success"),
    SegmentType.RESEARCH: ("research", "$text-secondary"),
}
"""What each type is called in a column, and its style."""

PROTECTED: Final = "◆"
EXPIRED: Final = "◷"

EVEN: Final = 0.5
"""The similarity at which a segment is as likely relevant as not."""

_TEXT: Final = 400  # characters of a segment that a row makes Content of
_DATE: Final = 10

COLUMNS: Final = (
    Column("state", "", "◆ protected, ◷ expired.", 1, priority=95),
    Column("type", "Type", "What kind of text it is.", 8, priority=80),
    Column("text", "Segment", "How the segment begins.", priority=100, share=3, least=28),
    Column("topic", "Topic", "What it is about.", 12, priority=45),
    Column("session", "Session", "The session it is from.", 12, priority=30),
    Column("newest", "Age", "How long ago it was put aside.", 5, align="right", priority=70),
    Column("tokens", "Tokens", "Tokens it takes when it is brought back.", 6, align="right", priority=65),
    Column("expires", "Expires", "The day from which it is no longer offered.", 10, priority=55),
    Column("merged", "Merged", "How many segments were merged into it.", 6, align="right", priority=50),
    Column("source", "Source", "The file or the command it came from.", 24, priority=20, path=True),
    Column("id", "Id", "The beginning of its id.", 8, priority=10),
)

_SCORE: Final = Column(
    "score", "Score", "How well it matches what was searched for, from 0 to 1.", 7, align="right", priority=98
)


def columns(*, scored: bool) -> tuple[Column, ...]:
    """Return the columns, with that of scores where segments were searched."""
    return (_SCORE, *COLUMNS) if scored else COLUMNS


def scored_cells(row: SegmentRow, found: FoundSegment | None) -> tuple[Content | str, ...]:
    """Return the cells of a segment that was found; below even odds its score is dim."""
    score = "" if found is None else f"{found.score:.2f}"
    likely = found is not None and found.similarity >= EVEN
    return (Content.styled(score, "" if likely else "$text-muted"), *segment_cells(row))


def segment_cells(row: SegmentRow) -> tuple[Content | str, ...]:
    """Return the cells of `COLUMNS`; what expired is dim besides its glyph."""
    one = row.segment
    dim = "$text-muted" if row.expired else ""
    word, style = TYPES[one.type]
    return (
        state_glyph(row),
        Content.styled(word, dim or style),
        shown(" ".join(one.text.split()), dim, limit=_TEXT),
        shown(one.topic or "", "$text-primary", limit=_TEXT),
        shown(short_session(one.session_id), "$text-muted"),
        Content.styled(days(row.age), "$text-muted"),
        Content.styled(f"{one.tokens:,}", dim),
        Content.styled((one.expires_at or "")[:_DATE], "$text-warning" if row.expired else "$text-muted"),
        Content.styled(f"{row.merged:,}" if row.merged else "·", "" if row.merged else "$text-muted"),
        shown(one.source, "$text-muted", limit=_TEXT),
        shown(short_id(one.id), "$text-muted"),
    )


def state_glyph(row: SegmentRow) -> Content:
    """Return what marks a segment that is protected or over."""
    if row.segment.protected:
        return Content.styled(PROTECTED, "bold $text-success")
    return Content.styled(EXPIRED, "$text-warning") if row.expired else Content("")


def short_id(identifier: str) -> str:
    """Return as much of an id as a row shows."""
    return identifier.removeprefix("seg-")[:8]
