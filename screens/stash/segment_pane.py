"""The pane beside the list: a segment whole, where it is from, what is linked with it, why it came back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from screens.learnings.learning_list import days
from screens.rules.rule_text import labelled
from screens.safe_text import joined, shown, shown_lines
from screens.stash.segment_list import EXPIRED, PROTECTED, TYPES, short_id
from screens.stash.segment_work import Reference, SegmentStory
from screens.widgets.bars import bar
from screens.widgets.diff import ReadingPane
from workbench.lists.segments import SegmentRow
from workbench.text.counts import counted

if TYPE_CHECKING:
    from workbench.curation.records import RecordChange
    from workbench.records.segments import ContextSegment, FoundSegment

_MARGIN: Final = 5  # cells of padding, border and scrollbar
_NAME: Final = 12
_BAR: Final = 16
_LINES: Final = 2_000
_MOST: Final = 40  # changes that are shown
_CHANGED: Final = ("topic", "type", "source", "session_id", "references", "expires_at", "protected")


def story_content(story: SegmentStory, found: FoundSegment | None = None, *, width: int = 80) -> Content:
    """Return a segment whole, why a search found it first; values are wrapped at `width` cells."""
    row = story.row
    parts = [_head(row), Content("")]
    if found is not None:
        parts += [*_score(found, width), Content("")]
    parts += [shown_lines(story.text, lines=_LINES), Content("")]
    parts += [labelled(name, value, width=width) for name, value in facts(row)]
    parts += list(_references(story.references))
    parts += list(_past(story.changes, width))
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
        ("created", _moment(one.timestamp)),
        ("stashed", _moment(one.stashed_at)),
        ("expires", _moment(one.expires_at or "") or ("never" if one.protected else "")),
        ("used", used if row.shown or row.merged else ""),
        ("embedded", one.embedding_model),
        *sorted(one.metadata.items()),
        ("id", one.id),
    ]
    return [(name, value) for name, value in found if value]


def _moment(at: str) -> str:
    return at[:16].replace("T", " ")


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


def _past(changes: tuple[RecordChange[ContextSegment], ...], width: int) -> Iterator[Content]:
    if not changes:
        return
    yield Content("")
    yield Content.styled("what was done to it", "bold $text-muted")
    for change in changes[: -_MOST - 1 : -1]:
        what = ", ".join(_changed(change))
        line = joined(
            (f"  {_moment(change.at)}  ", "$text-muted"),
            (f"{change.by}  ", "$text-secondary"),
            (what, ""),
            (f"  {change.reason}" if change.reason else "", "$text-muted"),
        )
        first, *more = line.wrap(max(width, 20))
        yield first
        yield from (Content("    ") + part for part in more)


def _changed(change: RecordChange[ContextSegment]) -> Iterator[str]:
    before, after = change.before, change.after
    if before is None or after is None:
        yield "stashed" if before is None else "removed"
        return
    for name in _CHANGED:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield f"{name.removesuffix('_id').replace('_', ' ')}: {_plain(old)} → {_plain(new)}"


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value else "none"


class SegmentPane(ReadingPane):
    """Shows what it is given and asks for nothing itself."""

    DEFAULT_CSS = """
    SegmentPane {
        padding: 0 1;
        & > Static { height: auto; }
        &:focus { background-tint: $foreground 4%; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.story: SegmentStory | None = None
        self.found: FoundSegment | None = None

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        yield Static(shown(""))

    def show(self, story: SegmentStory | None, found: FoundSegment | None = None) -> None:
        """Show a segment, or that there is none; `found` says why a search has it."""
        before, self.story, self.found = self.story, story, found
        self._draw()
        if before is None or story is None or before.segment.id != story.segment.id:
            self.scroll_home(animate=False)

    def on_resize(self) -> None:
        """Wrap at the new width."""
        self._draw()

    def _draw(self) -> None:
        room = max(self.size.width - _MARGIN, 20)
        content = (
            shown("Move to a segment to read it here.", "$text-muted italic")
            if self.story is None
            else story_content(self.story, self.found, width=room)
        )
        self.query_one(Static).update(content)
