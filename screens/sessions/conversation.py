"""A page of a transcript as lines of a terminal, and the widget to read it in: a cursor, folding, its ends.

Lines are laid out in a job's thread, because a page can hold a megabyte of words; everything is literal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from screens.commands import widget_bindings
from screens.safe_text import safe
from screens.themes import style_of
from workbench.sessions.conversation import AGENT, CALL, NOTE, RESULT, THOUGHT, USER, Turn
from workbench.text.sanitize import visible

MOST_LINES: Final = 400
"""Lines of a turn that are shown."""

_HEAD: Final = 300
_TAB: Final = 4
_SPEAKERS: Final = {
    USER: ("❯ you", "bold $text-accent"),
    AGENT: ("● agent", "bold $text-primary"),
}
_FOLDED: Final = {
    THOUGHT: ("∴", "thought", "italic $text-muted"),
    CALL: ("⚙", "", "$text-secondary"),
    RESULT: ("↳", "", "$text-muted"),
    NOTE: ("#", "", "italic $text-muted"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the terminal, and the number of the turn it is of."""

    turn: int
    text: Content


def lay_out_turns(
    turns: Sequence[Turn], unfolded: Collection[int], width: int, check: Callable[[], None] = lambda: None
) -> list[Row]:
    """Return the lines of turns in `width` cells; `unfolded` are numbers of turns shown in full."""
    rows: list[Row] = []
    for number, turn in enumerate(turns):
        check()
        rows += (Row(number, text) for text in turn_lines(turn, number in unfolded, width))
    return rows


def turn_lines(turn: Turn, unfolded: bool, width: int) -> Iterator[Content]:
    """Yield the lines of a turn."""
    if turn.role in _SPEAKERS:
        yield Content("")
        yield _speaker(turn, width)
        yield from _body(turn, width, "")
        return
    yield _summary(turn, unfolded)
    if unfolded:
        yield from _body(turn, width - 4, "    ")


def foldable(turn: Turn) -> bool:
    """Whether a turn is shown in one line until it is asked for."""
    return turn.role in _FOLDED


def _speaker(turn: Turn, width: int) -> Content:
    label, style = _SPEAKERS[turn.role]
    more = f" ({turn.head})" if turn.head else ""
    time = f" {time_of_day(turn.at)}" if turn.at else ""
    rule = "─" * max(width - len(label) - len(more) - len(time) - 2, 0)
    return Content.assemble(
        (label, style), safe(more, "$text-muted"), " ", (rule, "$text-muted"), safe(time, "$text-muted")
    )


def _summary(turn: Turn, unfolded: bool) -> Content:
    glyph, label, style = _FOLDED[turn.role]
    sign = "▾" if unfolded else "▸"
    head = " ".join(part for part in (label, turn.head) if part)
    first = next((line.strip().expandtabs(1) for line in turn.text[:2_000].splitlines() if line.strip()), "")
    lines = turn.text.count("\n") + 1 if turn.text else 0
    first_line = "" if turn.role == CALL or unfolded else first
    size = f"{lines:,} lines" if turn.role == RESULT and lines > 1 else ""
    failed = Content.styled("✗ failed ", "bold $text-error") if turn.failed else Content("")
    texts = [part for part in (head, size, first_line) if part] or [turn.role]
    parts = [safe(text, style, limit=_HEAD) for text in texts]
    return Content.assemble(
        (f"  {sign} {glyph} ", style), failed, Content.styled(" · ", "$text-muted").join(parts)
    )


def _body(turn: Turn, width: int, indent: str) -> Iterator[Content]:
    count = 0
    style = "" if turn.role in _SPEAKERS else "$text-muted"
    for line in visible(turn.text).replace("\r", "").split("\n"):
        for part in wrap_line(line.expandtabs(_TAB), max(width, 10)):
            count += 1
            if count > MOST_LINES:
                yield safe(f"{indent}…(more lines are not shown)", "italic $text-muted")
                return
            yield safe(f"{indent}{part}", style)
    if turn.cut:
        yield safe(f"{indent}…({turn.cut:,} bytes are left out)", "italic $text-muted")


def wrap_line(line: str, width: int) -> Iterator[str]:
    """Yield a line in parts of at most `width` cells, broken at spaces where there are any."""
    while not _fits(line, width):
        end = width if line.isascii() else _cells(line, width)
        space = line.rfind(" ", end // 2, end + 1)
        cut = space if space > 0 else end
        yield line[:cut].rstrip()
        line = line[cut:].lstrip(" ") if space > 0 else line[cut:]
    yield line


def _fits(line: str, width: int) -> bool:
    if len(line) * 2 <= width or (len(line) <= width and line.isascii()):
        return True
    return len(line) <= width and Content(line).cell_length <= width


def _cells(line: str, width: int) -> int:
    """Return how many characters of a line fill at most `width` cells, at least one."""
    low, high = 1, width
    while low < high:
        middle = (low + high + 1) // 2
        if Content(line[:middle]).cell_length <= width:
            low = middle
        else:
            high = middle - 1
    return low


def time_of_day(at: str) -> str:
    """Return the time of day of an ISO time in local time, "" if it is invalid."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(at).astimezone().strftime("%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return ""


GUTTER = 2


class ConversationView(ScrollView, can_focus=True):
    """Lines of turns. It knows one page; what lies before and after it is asked for by messages."""

    DEFAULT_CSS = style_of("ConversationView")
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("conversation")

    @dataclass
    class Edge(Message):
        """The cursor was to go beyond the page: `step` 1 after its end, -1 before its beginning."""

        step: int

    @dataclass
    class Moved(Message):
        """The cursor is on another turn."""

        turn: Turn | None

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._turns: tuple[Turn, ...] = ()
        self._rows: list[Row] = []
        self._unfolded: set[int] = set()
        self._cursor = 0
        self._message = Content("")

    @property
    def turn(self) -> Turn | None:
        """The turn under the cursor."""
        return self._turns[self._rows[self._cursor].turn] if self._rows else None

    @property
    def text_width(self) -> int:
        """Cells a line has."""
        return max(self.scrollable_content_region.width - GUTTER - 1, 20)

    @property
    def unfolded(self) -> frozenset[int]:
        """Numbers of the turns that are shown in full."""
        return frozenset(self._unfolded)

    @property
    def lines(self) -> Sequence[str]:
        """The lines of the page."""
        return [row.text.plain for row in self._rows]

    def show(self, turns: Sequence[Turn], rows: list[Row], *, at: int = 0, top: int | None = None) -> None:
        """Show a page with the cursor on the first line of turn `at`; -1 is the page's last line."""
        self._turns, self._rows = tuple(turns), rows
        self._unfolded = set()
        self.virtual_size = Size(0, len(rows))
        self._cursor = len(rows) - 1 if at < 0 else self._first_row(at)
        self._cursor = max(self._cursor, 0)
        self.scroll_to(y=self._cursor if top is None else top, animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved(self.turn))

    def lay_out(self, rows: list[Row]) -> None:
        """Take the lines of the same turns in another width."""
        turn = self._rows[self._cursor].turn if self._rows else 0
        self._rows = rows
        self.virtual_size = Size(0, len(rows))
        self._to(self._first_row(turn))

    def say(self, text: str) -> None:
        """Show a sentence in place of a page."""
        self._turns, self._rows = (), []
        self._message = safe(text, "$text-muted italic")
        self.virtual_size = Size(0, 0)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one line of the view."""
        width = self.size.width
        base = self.visual_style.rich_style
        place = y + self.scroll_offset.y
        if not self._rows:
            lines = self._message.fold(max(width - 4, 10)) if self._message.plain else []
            text = lines[y - 1] if 0 < y <= len(lines) else Content("")
            return _strip(Content.assemble("  ", text), self.visual_style).crop_extend(0, width, base)
        if place >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[place]
        here = place == self._cursor
        same = row.turn == self._rows[self._cursor].turn
        sign = ">" if here and self.has_focus else "▏" if same else " "
        style = self.visual_style + Style(bold=True) if here else self.visual_style
        line = Content.assemble((sign, "bold $text-accent"), " ", row.text)
        return _strip(line, style).crop_extend(0, width, base)

    def action_move(self, lines: int) -> None:
        """Move the cursor; beyond the page is asked for."""
        place = self._cursor + lines
        last = len(self._rows) - 1
        if place > last and self._cursor == last:
            self.post_message(self.Edge(1))
        elif place < 0 and self._cursor == 0:
            self.post_message(self.Edge(-1))
        else:
            self._to(place)

    def action_page(self, pages: int) -> None:
        """Move by what is in view."""
        self.action_move(pages * max(self.scrollable_content_region.height - 2, 1))

    def action_fold(self) -> None:
        """Show all of the turn under the cursor, or one line of it."""
        turn = self.turn
        if turn is None or not foldable(turn):
            return
        number = self._rows[self._cursor].turn
        self._unfolded ^= {number}
        start = end = self._first_row(number)
        while end < len(self._rows) and self._rows[end].turn == number:
            end += 1
        lines = turn_lines(turn, number in self._unfolded, self.text_width)
        self._rows[start:end] = [Row(number, line) for line in lines]
        self.virtual_size = Size(0, len(self._rows))
        self._to(start)

    def action_fold_all(self) -> None:
        """Fold all that is shown in full."""
        for number in sorted(self._unfolded):
            self._cursor = self._first_row(number)
            self.action_fold()

    def goto(self, turn: int) -> None:
        """Go to a turn of this page and put it at the top."""
        self._to(self._first_row(turn))
        self.scroll_to(y=self._cursor, animate=False, force=True)

    def _first_row(self, turn: int) -> int:
        """Return the first line of a turn that says something: the one above a speaker is empty."""
        found = (place for place, row in enumerate(self._rows) if row.turn >= turn and row.text.plain)
        return next(found, max(len(self._rows) - 1, 0))

    def _to(self, place: int) -> None:
        self._cursor = min(max(place, 0), max(len(self._rows) - 1, 0))
        self.scroll_to_region(Region(0, self._cursor, 1, 1), animate=False, force=True, x_axis=False)
        self.refresh()
        self.post_message(self.Moved(self.turn))


def _strip(content: Content, style: Style) -> Strip:
    return Strip(content.render_segments(style))
