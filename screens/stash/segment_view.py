"""How a stashed segment is shown: as a row of the list, and whole in the pane beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.curation.record_pane import RecordPast, moment
from screens.learnings.learning_view import days
from screens.rules.rule_view import label_value
from screens.safe_text import join_parts, safe, shown_lines
from screens.stash.segment_work import Reference, SegmentStory
from screens.widgets.bars import bar
from screens.widgets.table import Column
from workbench.lists.segments import SegmentRow
from workbench.records.segments import FoundSegment, SegmentType
from workbench.stash.citation import short_session
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.records.segments import FoundSegment


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
        safe(" ".join(one.text.split()), dim, limit=_TEXT),
        safe(one.topic or "", "$text-primary", limit=_TEXT),
        safe(short_session(one.session_id), "$text-muted"),
        Content.styled(days(row.age), "$text-muted"),
        Content.styled(f"{one.tokens:,}", dim),
        Content.styled((one.expires_at or "")[:_DATE], "$text-warning" if row.expired else "$text-muted"),
        Content.styled(f"{row.merged:,}" if row.merged else "·", "" if row.merged else "$text-muted"),
        safe(one.source, "$text-muted", limit=_TEXT),
        safe(short_id(one.id), "$text-muted"),
    )


def state_glyph(row: SegmentRow) -> Content:
    """Return what marks a segment that is protected or over."""
    if row.segment.protected:
        return Content.styled(PROTECTED, "bold $text-success")
    return Content.styled(EXPIRED, "$text-warning") if row.expired else Content("")


def short_id(identifier: str) -> str:
    """Return as much of an id as a row shows."""
    return identifier.removeprefix("seg-")[:8]


_NAME: Final = 12
_BAR: Final = 16
_LINES: Final = 2_000
_PAST: Final = RecordPast(
    "stashed",
    "removed",
    ("topic", "type", "source", "session_id", "references", "expires_at", "protected"),
)


def story_content(story: SegmentStory, found: FoundSegment | None = None, width: int = 80) -> Content:
    """Return a segment whole, why a search found it first; values are wrapped at `width` cells."""
    row = story.row
    parts = [_head(row), Content("")]
    if found is not None:
        parts += [*_score(found, width), Content("")]
    parts += [shown_lines(story.text, lines=_LINES), Content("")]
    parts += [label_value(name, value, width=width) for name, value in facts(row)]
    parts += list(_references(story.references))
    parts += list(_PAST.lines(story.changes, width))
    return Content("\n").join(parts)


def _head(row: SegmentRow) -> Content:
    one = row.segment
    word, style = TYPES[one.type]
    parts = [
        Content.styled(word, style or "bold"),
        Content(plural(one.tokens, "token")),
        Content(days(row.age)),
    ]
    if one.protected:
        parts.append(Content.styled(f"{PROTECTED} protected", "bold $text-success"))
    if row.expired:
        parts.append(Content.styled(f"{EXPIRED} expired", "bold $text-warning"))
    return Content("  ").join(parts)


def _score(found: FoundSegment, width: int) -> Iterator[Content]:
    """Tell why a segment came back, and what its score is made of as bars."""
    yield from safe(found.why, "bold").wrap(max(width, 20))
    yield label_value("score", f"{found.score:.2f}: similarity, age and stash age, weighted", width=width)
    three = (("similarity", found.similarity), ("age", found.temporal), ("stash age", found.recency))
    parts = sorted((one for one in found.parts.items() if one[1]), key=lambda one: (-one[1], one[0]))
    for name, value in (*three, *((f"· {name}", value) for name, value in parts)):
        yield join_parts(
            (f"{name:<{_NAME}} ", "$text-muted"),
            (bar(value, 1.0, _BAR), "$text-success"),
            (f" {value:.2f}", ""),
        )


def facts(row: SegmentRow) -> list[tuple[str, str]]:
    """Return what is known of a segment by name, what is empty left out."""
    one = row.segment
    used = f"found {plural(row.shown, 'time')}, merged {plural(row.merged, 'time')}"
    found = [
        ("from", one.source),
        ("session", one.session_id),
        ("topic", one.topic or ""),
        ("created", moment(one.timestamp)),
        ("stashed", moment(one.stashed_at)),
        ("expires", moment(one.expires_at or "") or ("never" if one.protected else "")),
        ("used", used if row.shown or row.merged else ""),
        ("embedded", one.embedding_model),
        *sorted(one.metadata.items()),
        ("id", one.id),
    ]
    return [(name, value) for name, value in found if value]


def _references(references: tuple[Reference, ...]) -> Iterator[Content]:
    """Tell the tree of references: what it refers to, then what refers to it."""
    for forward, title in ((True, "refers to"), (False, "is referred to by")):
        mine = [one for one in references if one.forward is forward]
        if not mine:
            continue
        yield Content("")
        yield Content.styled(title, "bold $text-muted")
        yield from (_reference(one) for one in mine)


def _reference(one: Reference) -> Content:
    indent = ("  " * one.depth, "")
    if one.row is None:
        return join_parts(indent, (f"{one.segment_id}  is not in the stash", "$text-warning"))
    word, style = TYPES[one.row.segment.type]
    text = "see above" if one.again else " ".join(one.row.segment.text.split())
    return join_parts(
        indent, (f"{short_id(one.segment_id)}  ", "$text-muted"), (f"{word}  ", style), safe(text, limit=200)
    )
