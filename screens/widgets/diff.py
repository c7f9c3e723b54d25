"""Two texts side by side with the differing words marked, and versions as lines that came and went.

Words that differ are bold and underlined besides their colour; lines have `+` and `-` in a gutter. Texts are
made safe before they are compared, so that what is marked is what is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content, Span
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Static

from screens.commands import widget_bindings
from screens.safe_text import MAX_LINE, safe, shown_lines
from screens.themes import style_of
from workbench.text.counts import plural
from workbench.text.sanitize import safe_lines
from workbench.text.word_diff import line_pieces, word_spans

LineKind: TypeAlias = Literal["same", "old", "new", "gap"]

LEFT_STYLE: Final = "bold underline $text-error"
RIGHT_STYLE: Final = "bold underline $text-success"

_CONTEXT: Final = 3
_MOST_LINES: Final = 1_000
_MOST_LINES_BESIDE: Final = 500
_MOST_MARKS: Final = 200
_GLYPHS: Final = {"same": " ", "old": "-", "new": "+", "gap": "⋯"}
_STYLES: Final = {"same": "", "old": "$text-error", "new": "$text-success", "gap": "$text-muted"}
_SIDE_BY_SIDE: Final = 60


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a unified diff; `old` and `new` are its numbers in both texts, from 1, or 0."""

    kind: LineKind
    text: str
    old: int = 0
    new: int = 0


def mark_words(left: str, right: str) -> tuple[Content, Content]:
    """Return two texts, safe to show, with the words marked that the other one lacks."""
    one, other = shown_lines(left, lines=_MOST_LINES_BESIDE), shown_lines(right, lines=_MOST_LINES_BESIDE)
    spans, others = word_spans(one.plain, other.plain)
    return one.add_spans(_marks(spans, LEFT_STYLE)), other.add_spans(_marks(others, RIGHT_STYLE))


def unify_lines(before: str, after: str, *, context: int = _CONTEXT) -> tuple[DiffLine, ...]:
    """Return the lines that came and went with `context` lines around them, a gap for what lies between.

    Texts without a difference give no lines. The end of a last line does not count.
    """
    lines: list[DiffLine] = []
    old = new = 0
    for kind, text in line_pieces("\n".join([*safe_lines(before), ""]), "\n".join([*safe_lines(after), ""])):
        for line in text.split("\n")[:-1]:
            old += kind != "new"
            new += kind != "old"
            if kind == "same":
                lines.append(DiffLine("same", line, old, new))
            else:
                lines.append(DiffLine("old", line, old) if kind == "old" else DiffLine("new", line, 0, new))
    return _near_changes(lines, context)


def unified_content(lines: Sequence[DiffLine]) -> Content:
    """Return a unified diff with numbers and `+` and `-` in its gutter."""
    digits = len(str(max((max(line.old, line.new) for line in lines), default=0)))
    shown_part = [_gutter_line(line, digits) for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        shown_part.append(safe(f"…(+{plural(len(lines) - _MOST_LINES, 'line')})", "$text-muted"))
    return Content("\n").join(shown_part)


class ReadingPane(VerticalScroll):
    """A text to scroll through, by vim's keys as well."""

    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("pane")


class WordDiff(Widget):
    """Two texts with their titles, side by side from `beside` cells on, else one below the other."""

    DEFAULT_CSS = style_of("WordDiff")

    def __init__(
        self,
        left: str = "",
        right: str = "",
        *,
        left_title: str = "left",
        right_title: str = "right",
        beside: int = _SIDE_BY_SIDE,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._texts = left, right
        self._titles = left_title, right_title
        self._beside = beside

    def compose(self) -> ComposeResult:
        """Lay out the two sides."""
        for side in ("left", "right"):
            with ReadingPane(id=f"diff-{side}"):
                yield Static()

    def on_mount(self) -> None:
        """Fill both sides."""
        self._fill()

    def on_resize(self, event: Resize) -> None:
        """Put the sides below each other where they would be too narrow."""
        self.set_class(event.size.width < self._beside, "-stacked")

    def show(self, left: str, right: str, *, left_title: str = "left", right_title: str = "right") -> None:
        """Show another pair, from its beginning."""
        self._texts, self._titles = (left, right), (left_title, right_title)
        if self.is_mounted:
            self._fill()

    def _fill(self) -> None:
        content: Content
        for side, content, title in zip(
            ("left", "right"), mark_words(*self._texts), self._titles, strict=True
        ):
            pane = self.query_one(f"#diff-{side}", ReadingPane)
            pane.border_title = safe(title)
            pane.query_one(Static).update(content)
            pane.scroll_home(animate=False)


def _marks(spans: Sequence[tuple[int, int]], style: str) -> list[Span]:
    """Return spans with a style; of very many the last ones as one: a line is drawn by way of them all."""
    if len(spans) > _MOST_MARKS:
        spans = [*spans[: _MOST_MARKS - 1], (spans[_MOST_MARKS - 1][0], spans[-1][1])]
    return [Span(start, end, style) for start, end in spans]


def _near_changes(lines: Sequence[DiffLine], context: int) -> tuple[DiffLine, ...]:
    changes = [place for place, line in enumerate(lines) if line.kind != "same"]
    near = sorted({at for place in changes for at in range(place - context, place + context + 1)})
    kept: list[DiffLine] = []
    last = -1
    for place in near:
        if not 0 <= place < len(lines):
            continue
        if place > last + 1:
            kept.append(DiffLine("gap", f"{place - last - 1:,} unchanged"))
        kept.append(lines[place])
        last = place
    rest = len(lines) - last - 1
    if kept and rest:
        kept.append(DiffLine("gap", f"{rest:,} unchanged"))
    return tuple(kept)


def _gutter_line(line: DiffLine, digits: int) -> Content:
    numbers = " ".join(f"{number or '':>{digits}}" for number in (line.old, line.new))
    text = safe(line.text.replace("\t", "    "), _STYLES[line.kind], limit=MAX_LINE)
    bold = "bold " if line.kind in ("old", "new") else ""
    glyph = (f" {_GLYPHS[line.kind]} ", f"{bold}{_STYLES[line.kind]}".strip())
    return Content.assemble((numbers, "$text-muted"), glyph, text)
