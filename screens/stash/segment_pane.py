"""The pane beside the list: a segment whole, where it is from, what is linked with it, why it came back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.curation.record_pane import RecordPast, moment
from screens.learnings.learning_list import days
from screens.rules.rule_text import labelled
from screens.safe_text import joined, shown, shown_lines
from screens.stash.segment_list import EXPIRED, PROTECTED, TYPES, short_id
from screens.stash.segment_work import Reference, SegmentStory
from screens.widgets.bars import bar
from workbench.lists.segments import SegmentRow
from workbench.text.counts import counted

if TYPE_CHECKING:
    from workbench.records.segments import FoundSegment

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
    parts += [labelled(name, value, width=width) for name, value in facts(row)]
    parts += list(_references(story.references))
    parts += list(_PAST.lines(story.changes, width))
    return Content("\n").join(parts)


def _head(row: SegmentRow) -> Content:
    one = row.segment
    word, style = TYPES[one.type]
    parts = [
        Content.styled(word, style or "bold"),
        Content(counted(one.tokens, "token")),
        Content(days(row.age)),
    ]
    if one.protected:
        parts.append(Content.styled(f"{PROTECTED} protected", "bold $text-success"))
    if row.expired:
        parts.append(Content.styled(f"{EXPIRED} expired", "bold $text-warning"))
    return Content("  ").join(parts)


def _score(found: FoundSegment, width: int) -> Iterator[Content]:
    """Tell why a segment came back, and what its score is made of as bars."""
    yield from shown(found.why, "bold").wrap(max(width, 20))
    yield labelled("score", f"{found.score:.2f}: similarity, age and stash age, weighted", width=width)
    three = (("similarity", found.similarity), ("age", found.temporal), ("stash age", found.recency))
    parts = sorted((one for one in found.parts.items() if one[1]), key=lambda one: (-one[1], one[0]))
    for name, value in (*three, *((f"· {name}", value) for name, value in parts)):
        yield joined(
            (f"{name:<{_NAME}} ", "$text-muted"),
            (bar(value, 1.0, _BAR), "$text-success"),
            (f" {value:.2f}", ""),
        )


def facts(row: SegmentRow) -> list[tuple[str, str]]:
    """Return what is known of a segment by name, what is empty left out."""
    one = row.segment
    used = f"found {counted(row.shown, 'time')}, merged {counted(row.merged, 'time')}"
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
        return joined(indent, (f"{one.segment_id}  is not in the stash", "$text-warning"))
    word, style = TYPES[one.row.segment.type]
    text = "see above" if one.again else " ".join(one.row.segment.text.split())
    return joined(
        indent, (f"{short_id(one.segment_id)}  ", "$text-muted"), (f"{word}  ", style), shown(text, limit=200)
    )
