"""The widget that shows a page of a transcript: a cursor line, folding, and a word when its ends are left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from screens.safe_text import shown
from screens.sessions.conversation_rows import Row, foldable, turn_lines
from workbench.sessions.conversation import Turn

GUTTER = 2


class ConversationView(ScrollView, can_focus=True):
    """Lines of turns. It knows one page; what lies before and after it is asked for by messages."""

    DEFAULT_CSS = """
    ConversationView { height: 1fr; width: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="conversation.up", tooltip="A line up"),
        Binding("down,j", "move(1)", "Down", show=False, id="conversation.down", tooltip="A line down"),
        Binding(
            "pageup,ctrl+u", "page(-1)", "Page up", show=False, id="conversation.page_up", tooltip="A page up"
        ),
        Binding(
            "pagedown,ctrl+d",
            "page(1)",
            "Page down",
            show=False,
            id="conversation.page_down",
            tooltip="A page down",
        ),
        Binding(
            "enter,space,right,left,l,h",
            "fold",
            "Fold",
            show=False,
            id="conversation.fold",
            tooltip="Show or fold away what a tool was given and gave",
        ),
        Binding(
            "f", "fold_all", "Fold all", show=False, id="conversation.fold_all", tooltip="Show or fold all"
        ),
    ]

    class Edge(Message):
        """The cursor was to go beyond the page: `step` 1 after its end, -1 before its beginning."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Moved(Message):
        """The cursor is on another turn."""

        def __init__(self, turn: Turn | None) -> None:
            super().__init__()
            self.turn = turn

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._turns: tuple[Turn, ...] = ()
        self._rows: list[Row] = []
        self._unfolded: set[int] = set()
        self._cursor = 0
        self._said = Content("")

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
        self._said = shown(text, "$text-muted italic")
        self.virtual_size = Size(0, 0)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one line of the view."""
        width = self.size.width
        base = self.visual_style.rich_style
        place = y + self.scroll_offset.y
        if not self._rows:
            said = self._said.fold(max(width - 4, 10)) if self._said.plain else []
            text = said[y - 1] if 0 < y <= len(said) else Content("")
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
