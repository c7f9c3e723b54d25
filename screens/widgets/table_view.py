"""How a table is drawn: a fixed header, a cursor kept in view, marks; only rows in view are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from textual.binding import BindingType
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from screens.commands import widget_bindings
from screens.safe_text import shown_lines
from screens.widgets.row_marks import RowMarks
from screens.widgets.table_rows import (
    CURSOR,
    CURSOR_BLURRED,
    GUTTER,
    MARK,
    RANGE,
    Column,
    NoRows,
    ParseStyle,
    Placed,
    Rows,
    cell,
    header_strip,
    line_strip,
    place_columns,
    row_strip,
    without_colours,
)


class CursorView(ScrollView, can_focus=True, inherit_bindings=False):
    """A scrolling view whose first line stays, with a cursor on one of the `count` lines below it."""

    ALLOW_SELECT = False

    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("table.view")

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
        """Redraw a row if it is in view."""
        y = index - self.scroll_offset.y + 1
        if 1 <= y <= self.page:
            self.refresh(Region(0, y, self.size.width, 1))

    def action_move(self, rows: int) -> None:
        """Move the cursor by some rows."""
        self.cursor += rows

    def action_page(self, pages: float) -> None:
        """Move the cursor by pages or a part of one, by a row at least."""
        rows = max(int(self.page * abs(pages)), 1)
        self.cursor += rows if pages > 0 else -rows

    def action_first(self) -> None:
        """Go to the first row."""
        self.cursor = 0

    def action_last(self) -> None:
        """Go to the last row."""
        self.cursor = self.count - 1


_MOST_KEPT: Final = 1_024


class DrawnTable(CursorView):
    """A table that shows rows, the cursor, marks and the sort column; what changes them is elsewhere."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "virtual-table--header",
        "virtual-table--cursor",
        "virtual-table--marked",
        "virtual-table--empty",
    }

    sort: reactive[tuple[str, bool] | None] = reactive(None)
    """Column the rows are sorted by and whether descending: shown only, rows come sorted."""
    busy: reactive[str] = reactive("")
    """What is going on, shown in the header, or in the body while there are no rows; "" if nothing is."""
    pan: reactive[int] = reactive(0)
    """Cells that the text of columns without a width is moved to the left by."""

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Rows | None = None,
        *,
        empty: Content | str = "Nothing here",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._columns = tuple(columns)
        self._rows: Rows = NoRows() if rows is None else rows
        self._empty = empty
        self._marks = RowMarks()
        self._placed: tuple[int, tuple[Placed, ...]] = (-1, ())
        self._cells: LRUCache[int, tuple[Content, ...]] = LRUCache(_MOST_KEPT)
        self._strips: LRUCache[tuple[int, bool, bool, bool], Strip] = LRUCache(_MOST_KEPT)
        self._posted: tuple[int, str | None] | None = None
        self.virtual_size = Size(0, len(self._rows) + 1)

    @property
    def rows(self) -> Rows:
        """Return the rows that are shown."""
        return self._rows

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return all columns, those that do not fit included."""
        return self._columns

    @property
    def visible_columns(self) -> tuple[str, ...]:
        """Return the ids of the columns that fit, from left to right."""
        return tuple(each.column.id for each in self.placed_columns())

    @property
    def count(self) -> int:
        """Return how many rows there are."""
        return len(self._rows)

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Show other columns of the same rows."""
        self._columns = tuple(columns)
        self.refresh_rows()

    def set_empty(self, empty: Content | str) -> None:
        """Set what is shown where there are no rows, one line or several."""
        self._empty = empty
        self.refresh()

    def refresh_rows(self) -> None:
        """Ask again for the rows in view: their cells have changed, their number and keys have not."""
        self.forget()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return line `y` of the widget: the header, a row, or what is shown in place of rows."""
        width = self.scrollable_content_region.width
        if y == 0:
            style = self.get_visual_style("virtual-table--header")
            gutter = f" {RANGE}" if self._marks.drawing else ""
            note = f"… {self.busy}" if self.busy and len(self._rows) else ""
            return header_strip(
                self.placed_columns(), self.sort, gutter=gutter, note=note, width=width, style=style
            )
        if not len(self._rows):
            return self._instead(y - 1, width)
        index = self.scroll_offset.y + y - 1
        if index >= len(self._rows):
            return Strip.blank(width, self.visual_style.rich_style)
        return self._row(index, width)

    def _row(self, index: int, width: int) -> Strip:
        placed = self.placed_columns()
        key = self._rows.key(index)
        under, marked, focused = index == self.cursor, key in self._marks.keys, self.has_focus
        state = (index, under, marked, focused)
        if (strip := self._strips.get(state)) is not None:
            return strip
        names = [f"virtual-table--{name}" for name, on in (("marked", marked), ("cursor", under)) if on]
        style = self._style(*names)
        parse: ParseStyle = self.app.stylesheet.parse_style
        strip = row_strip(
            self._contents(index),
            placed,
            gutter=((CURSOR if focused else CURSOR_BLURRED) if under else " ") + (MARK if marked else " "),
            width=width,
            pan=self.pan,
            styles=(style + Style(bold=True), style),
            parse=without_colours(parse) if under and focused else parse,
        )
        self._strips[state] = strip
        return strip

    def _style(self, *names: str) -> Style:
        """Return a component's style with `reverse`, which Textual leaves out of visual styles."""
        style = self.get_visual_style(*names)
        reverse = any(self.get_component_styles(name).text_style.reverse for name in names)
        return replace(style, reverse=True) if reverse else style

    def _contents(self, index: int) -> tuple[Content, ...]:
        contents = self._cells.get(index)
        if contents is None:
            contents = tuple(cell(each) for each in self._rows.cells(index))
            self._cells[index] = contents
        return contents

    def _instead(self, line: int, width: int) -> Strip:
        """Return a line of what is shown in place of rows: a blank one first, then the text, indented."""
        style = self.get_visual_style("virtual-table--empty")
        given = f"… {self.busy}" if self.busy else self._empty
        content = shown_lines(given) if isinstance(given, str) else given
        lines = [
            Content(""),
            *(part for each in content.split("\n") for part in each.wrap(max(width - 4, 1))),
        ]
        text = Content("  ") + lines[line] if line < len(lines) else Content("")
        return line_strip(text, width, style, self.app.stylesheet.parse_style)

    def placed_columns(self) -> tuple[Placed, ...]:
        """Return the columns that fit at the present width."""
        width = self.scrollable_content_region.width - GUTTER
        if self._placed[0] != width:
            self._placed = (width, tuple(place_columns(self._columns, width)))
            self._strips.clear()
        return self._placed[1]

    def forget(self) -> None:
        """Drop everything that was asked for or drawn."""
        self._placed = (-1, ())
        self._cells.clear()
        self._strips.clear()

    def notify_style_update(self) -> None:
        """Redraw all after the theme or the style changed."""
        self._strips.clear()
        super().notify_style_update()

    def watch_pan(self) -> None:
        """Redraw the rows after their text moved."""
        self._strips.clear()

    def overhang(self) -> int:
        """Return the cells by which the longest text in view exceeds its column."""
        first = self.scroll_offset.y
        shared = [each for each in self.placed_columns() if each.column.width is None]
        contents = [self._contents(index) for index in range(first, min(first + self.page, len(self._rows)))]
        return max(
            (
                row[each.number].cell_length - each.width
                for row in contents
                for each in shared
                if each.number < len(row)
            ),
            default=0,
        )
