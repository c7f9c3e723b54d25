"""A file or a snippet to read, in a panel or over a screen: line numbers, highlighting, marks, a cursor.

Only the lines on screen are ever drawn, and highlighting is done for stretches of lines when they come into
view, so a file of a hundred thousand lines opens as fast as one of ten. What begins in one stretch and ends
in another, a long comment say, may lose its colour there.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from pathlib import PurePath
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.widgets import Static

from screens.commands import widget_bindings
from screens.modal import Modal
from screens.safe_text import MAX_LINE, safe
from screens.themes import style_of
from screens.widgets.dialogs import DIALOG_CSS, CopyRequested
from workbench.text.sanitize import safe_lines

MOST_CHARACTERS: Final = 1_000_000
"""Characters of a text that are read; the number of those left out is in a last line."""

_STRETCH: Final = 100
_STRETCH_CHARACTERS: Final = 40_000  # stretches with more are minified or data: highlighting them takes long
_BINARY_HEAD: Final = 8_192
_TAB: Final = 4
_MEASURED: Final = 64
_BESIDE: Final = 8  # cells of numbers, marks and scrollbar beside prose
_FURTHER: Final = 2  # cells that the rest of a line is further in
_LEAST: Final = 20


def text_lines(text: str | bytes) -> list[str]:
    """Return the lines of a file that are safe to show, one line that says so for a binary file."""
    if isinstance(text, bytes):
        if b"\0" in text[:_BINARY_HEAD]:
            return [f"binary file, {len(text):,} bytes"]
        text = text.decode("utf-8", "replace")
    rest = len(text) - MOST_CHARACTERS
    lines = safe_lines(text[:MOST_CHARACTERS])
    return [*lines, f"…(+{rest:,} characters)"] if rest > 0 else lines


def language_of(path: str) -> str:
    """Return the name pygments has for the language of a file by its name, '' if it has none."""
    from pygments.lexers import find_lexer_class_for_filename  # type: ignore[import-untyped]

    lexer = find_lexer_class_for_filename(PurePath(path).name) if path else None
    return lexer.aliases[0] if lexer is not None and lexer.aliases else ""


class CodeView(ScrollView, can_focus=True):
    """A text with line numbers; moves by arrows and vim's keys, and jumps to any line."""

    DEFAULT_CSS = style_of("CodeView")
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("code")

    def __init__(
        self,
        text: str | bytes = "",
        *,
        path: str = "",
        first_line: int = 1,
        marks: Sequence[tuple[int, int]] = (),
        empty: str = "Nothing to show.",
        wraps: bool = False,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Make the view; one that `wraps` breaks its lines where they end, whose numbers are not a file's."""
        super().__init__(id=id, classes=classes)
        self._empty = empty
        self._prose = text if wraps else ""
        self._stretches: LRUCache[int, list[Content]] = LRUCache(32)
        self._set(text, path, first_line, marks)

    @property
    def cursor_line(self) -> int:
        """The number of the line with the cursor."""
        return self._first + self._cursor

    @property
    def line_count(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def show(
        self,
        text: str | bytes,
        *,
        path: str = "",
        first_line: int = 1,
        marks: Sequence[tuple[int, int]] = (),
        numbers: Sequence[int] = (),
    ) -> None:
        """Show another text from its beginning; `marks` are ranges of line numbers, both ends included.

        `numbers` are written before the lines in place of their own: those of an excerpt's file, 0 for none.
        """
        self._set(text, path, first_line, marks, numbers)
        self.virtual_size = self._extent()
        self.scroll_to(0, 0, animate=False)
        self.refresh()

    def on_mount(self) -> None:
        """Take the size of the text."""
        self.virtual_size = self._extent()

    def on_resize(self) -> None:
        """Break the lines of prose for another width."""
        if self._prose:
            width = self.size.width - _BESIDE
            self.show("\n".join(part for line in text_lines(self._prose) for part in _wrap(line, width)))

    def goto(self, line: int) -> None:
        """Put the cursor on a line, the nearest if there is none of that number, and bring it into view."""
        self._cursor = min(max(line - self._first, 0), max(len(self._lines) - 1, 0))
        height = self.scrollable_content_region.height
        if not self.scroll_offset.y <= self._cursor < self.scroll_offset.y + height:
            self.scroll_to(y=max(self._cursor - height // 3, 0), animate=False, force=True)
        self.refresh()

    def action_move(self, lines: int) -> None:
        """Move the cursor, and the view with it at its edges."""
        self._cursor = min(max(self._cursor + lines, 0), max(len(self._lines) - 1, 0))
        self.scroll_to_region(
            Region(self.scroll_offset.x, self._cursor, 1, 1), animate=False, force=True, x_axis=False
        )
        self.refresh()

    def action_shift(self, columns: int) -> None:
        """Scroll sideways."""
        self.scroll_relative(x=columns, animate=False)

    def action_page(self, pages: int) -> None:
        """Move by what is in view."""
        self.action_move(pages * max(self.scrollable_content_region.height - 1, 1))

    def action_first(self) -> None:
        """Go to the first line."""
        self.action_move(-len(self._lines))

    def action_last(self) -> None:
        """Go to the last line."""
        self.action_move(len(self._lines))

    def action_next_mark(self, step: int) -> None:
        """Go to the beginning of the next marked range or the one before; stops at the last and the first."""
        starts = sorted({start for start, _ in self._marks})
        if step > 0:
            found = [start for start in starts if start > self.cursor_line][:1]
        else:
            found = [start for start in starts if start < self.cursor_line][-1:]
        if found:
            self.goto(found[0])

    def render_line(self, y: int) -> Strip:
        """Return one line of the view: number, mark, text."""
        width = self.size.width
        base = self.visual_style.rich_style
        place = y + self.scroll_offset.y
        if not self._lines and y == 0:
            empty = _strip(safe(self._empty, "$text-muted italic"), self.visual_style)
            return empty.extend_cell_length(width, base)
        if place >= len(self._lines):
            return Strip.blank(width, base)
        number = self._first + place
        at_cursor = place == self._cursor
        marked = any(start <= number <= end for start, end in self._marks)
        label = self._number_at(place)
        gutter = Content.assemble(
            (f"{label:>{self._digits}}", "bold" if at_cursor else "$text-muted"),
            ("▌" if marked else " ", "bold $text-warning"),
            (">" if at_cursor and self.has_focus else " ", "bold"),
        )
        style = self.visual_style + Style(bold=True) if marked else self.visual_style
        text = _strip(self._line(place), style)
        room = max(width - gutter.cell_length, 0)
        left = self.scroll_offset.x
        body = text.crop_extend(left, left + room, base)
        line = Strip.join([_strip(gutter, self.visual_style), body])
        return line.crop_extend(0, width, base)

    def _number_at(self, place: int) -> str:
        if place >= len(self._numbers):
            return str(self._first + place) if not self._numbers else ""
        return str(self._numbers[place] or "")

    def _set(
        self,
        text: str | bytes,
        path: str,
        first_line: int,
        marks: Sequence[tuple[int, int]],
        numbers: Sequence[int] = (),
    ) -> None:
        self._lines = text_lines(text)
        self._language = language_of(path)
        self._first = first_line
        self._marks = tuple(marks)
        self._numbers = tuple(numbers)
        self._cursor = 0
        self._digits = max(len(str(max((first_line + len(self._lines), *self._numbers)))), 2)
        self._stretches.clear()

    def _extent(self) -> Size:
        # Exact widths of all lines would take longer than showing them.
        longest = max(map(_cells, nlargest(_MEASURED, self._lines, key=len)), default=0)
        return Size(longest + self._digits + 2, len(self._lines))

    def _line(self, place: int) -> Content:
        number, offset = divmod(place, _STRETCH)
        found = self._stretches.get(number)
        if found is None:
            found = self._stretch(number)
            self._stretches[number] = found
        return found[offset]

    def _stretch(self, number: int) -> list[Content]:
        lines = [
            safe(line.replace("\t", " " * _TAB))
            for line in self._lines[number * _STRETCH : (number + 1) * _STRETCH]
        ]
        gaps = {place for place, line in enumerate(lines) if self._is_gap(number * _STRETCH + place)}
        text = "\n".join("" if place in gaps else line.plain for place, line in enumerate(lines))
        lines = [line.stylize("$text-muted") if place in gaps else line for place, line in enumerate(lines)]
        if not self._language or len(text) > _STRETCH_CHARACTERS:
            return lines
        from textual.highlight import highlight

        colored = highlight(text, language=self._language).split("\n", allow_blank=True)
        # A lexer that adds or takes lines would shift the numbers.
        if [line.plain for line in colored[: len(lines)]] != text.split("\n"):
            return lines
        return [lines[place] if place in gaps else line for place, line in enumerate(colored[: len(lines)])]

    def _is_gap(self, place: int) -> bool:
        """Whether a line is a mark between two ranges of an excerpt, and none of its file."""
        return place < len(self._numbers) and not self._numbers[place]


def _wrap(line: str, width: int) -> list[str]:
    """Return a line of prose on lines of a width; what goes on is further in."""
    text = line.lstrip(" ")
    indent = len(line) - len(text)
    first, *rest = Content(text).wrap(max(width - indent - _FURTHER, _LEAST)) or [Content("")]
    return [f"{'':{indent}}{first.plain}", *(f"{'':{indent + _FURTHER}}{part.plain}" for part in rest)]


def _cells(line: str) -> int:
    """Return how wide a line is drawn."""
    wide = min(len(line), MAX_LINE) if line.isascii() else Content(line[:MAX_LINE]).cell_length
    return wide + line.count("\t", 0, MAX_LINE) * (_TAB - 1)


def _strip(content: Content, style: Style) -> Strip:
    return Strip(content.render_segments(style))


class Details(Modal[None]):
    """A text to scroll through; `y` copies the whole of it as it is, not as it is shown."""

    DEFAULT_CSS = f"""Details {{
        {DIALOG_CSS}
        & > .dialog {{ width: 96; height: 80%; }}
        & CodeView {{ height: 1fr; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("details")

    def __init__(self, title: str, text: str, *, path: str = "", lines: tuple[int, int] = (0, 0)) -> None:
        """Make the dialog; `lines`, from 1 and inclusive, are marked and brought into view."""
        super().__init__()
        self._title = title
        self._text = text
        self._path = path
        self._lines = lines

    def compose(self) -> ComposeResult:
        """Lay out the text above the keys."""
        dialog = Vertical(classes="dialog")
        dialog.border_title = safe(self._title)
        with dialog:
            marks = [self._lines] if self._lines[0] else ()
            yield CodeView(self._text, path=self._path, marks=marks, wraps=not self._path)
            yield Static(safe("y copies, escape closes"), classes="dialog-hint")

    def on_mount(self) -> None:
        """Go to the lines it was opened for."""
        if self._lines[0]:
            code = self.query_one(CodeView)
            self.call_after_refresh(code.goto, self._lines[0])

    def action_close(self) -> None:
        """Go back to the screen."""
        self.dismiss(None)

    def action_copy(self) -> None:
        """Ask the app for a copy."""
        self.post_message(CopyRequested(self._text, self._title))
