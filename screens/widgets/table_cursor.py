"""A view of lines below a header with a cursor line, moved by arrows and vim keys, always kept in view."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.reactive import reactive
from textual.scroll_view import ScrollView


class CursorView(ScrollView, can_focus=True, inherit_bindings=False):
    """A scrolling view whose first line stays, with a cursor on one of the `count` lines below it."""

    ALLOW_SELECT = False

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "cursor_down", "Down", id="table.down", show=False, tooltip="Next row"),
        Binding("up,k", "cursor_up", "Up", id="table.up", show=False, tooltip="The row before"),
        Binding(
            "pagedown", "page_down", "Page down", id="table.page-down", show=False, tooltip="A page down"
        ),
        Binding("pageup", "page_up", "Page up", id="table.page-up", show=False, tooltip="A page up"),
        Binding(
            "ctrl+d", "half_down", "Half down", id="table.half-down", show=False, tooltip="Half a page down"
        ),
        Binding("ctrl+u", "half_up", "Half up", id="table.half-up", show=False, tooltip="Half a page up"),
        Binding("home,g", "first", "First", id="table.first", show=False, tooltip="Go to the first row"),
        Binding("end,G", "last", "Last", id="table.last", show=False, tooltip="Go to the last row"),
    ]

    cursor: reactive[int] = reactive(0, repaint=False, init=False)
    """Index of the row under the cursor; 0 without rows."""

    @property
    def count(self) -> int:
        """Return how many rows there are."""
        raise NotImplementedError

    @property
    def page(self) -> int:
        """Return how many rows are in view, at least 1."""
        return max(self.scrollable_content_region.height - 1, 1)

    def validate_cursor(self, cursor: int) -> int:
        """Keep the cursor on a row."""
        return max(min(cursor, self.count - 1), 0)

    def watch_cursor(self, before: int, after: int) -> None:
        """Bring the cursor into view and draw the two rows concerned."""
        if self.is_mounted:
            self.show_cursor()
            self.refresh_row(before)
            self.refresh_row(after)

    def on_resize(self) -> None:
        """Keep the cursor in view when there is less room."""
        self.show_cursor()

    def on_focus(self) -> None:
        """Draw the cursor as that of the focused widget."""
        self.refresh_row(self.cursor)

    def on_blur(self) -> None:
        """Draw the cursor as that of a widget without focus."""
        self.refresh_row(self.cursor)

    def show_cursor(self) -> None:
        """Scroll by as little as brings the cursor into view."""
        top = self.scroll_offset.y
        wanted = min(max(top, self.cursor - self.page + 1), self.cursor)
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, force=True)

    def refresh_row(self, index: int) -> None:
        """Draw a row anew if it is in view."""
        y = index - self.scroll_offset.y + 1
        if 1 <= y <= self.page:
            self.refresh(Region(0, y, self.size.width, 1))

    def action_cursor_down(self) -> None:
        """Go to the next row."""
        self.cursor += 1

    def action_cursor_up(self) -> None:
        """Go to the row before."""
        self.cursor -= 1

    def action_page_down(self) -> None:
        """Go a page down."""
        self.cursor += self.page

    def action_page_up(self) -> None:
        """Go a page up."""
        self.cursor -= self.page

    def action_half_down(self) -> None:
        """Go half a page down."""
        self.cursor += max(self.page // 2, 1)

    def action_half_up(self) -> None:
        """Go half a page up."""
        self.cursor -= max(self.page // 2, 1)

    def action_first(self) -> None:
        """Go to the first row."""
        self.cursor = 0

    def action_last(self) -> None:
        """Go to the last row."""
        self.cursor = self.count - 1
