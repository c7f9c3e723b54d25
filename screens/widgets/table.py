"""A table of any number of rows that asks only for the rows it draws, after toolong's line-rendering log.

Rows come from an object that gives the cells of one row at a time; each visible row is one strip, and strips
are kept. What a row is (under the cursor, marked, sorted by) shows in glyphs, never in colour alone. Cursor
and marks belong to rows by their keys, so they survive sorting, filtering and reloading.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import ClassVar, Final, Protocol, runtime_checkable

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from screens.safe_text import shown_lines
from screens.widgets.table_cells import (
    CURSOR,
    CURSOR_BLURRED,
    GUTTER,
    MARK,
    RANGE,
    ParseStyle,
    cell,
    header_strip,
    line_strip,
    row_strip,
    without_colours,
)
from screens.widgets.table_columns import Column, Placed, column_at, place
from screens.widgets.table_marks import Marks

__all__ = ["Column", "FindableRows", "NoRows", "Rows", "VirtualTable"]

PAN: Final = 8
"""Cells that one step to the side moves."""

_KEPT: Final = 1_024


class Rows(Protocol):
    """Rows in the order they are shown. A table calls `cells` for rows it draws and for no others."""

    def __len__(self) -> int:
        """Return how many rows there are, at once."""
        ...

    def cells(self, index: int) -> Sequence[Content | str]:
        """Return a row's cells, one for each column; strings are data."""
        ...

    def key(self, index: int) -> str:
        """Return what the row is known by wherever it moves; no two rows share it."""
        ...


@runtime_checkable
class FindableRows(Protocol):
    """Rows that know where a key is, so that a table need not look through all of them."""

    def find(self, key: str) -> int | None:
        """Return the index of the row with this key."""
        ...


class NoRows:
    """No rows at all."""

    def __len__(self) -> int:
        return 0

    def cells(self, index: int) -> Sequence[Content | str]:
        """Raise IndexError."""
        raise IndexError(index)

    def key(self, index: int) -> str:
        """Raise IndexError."""
        raise IndexError(index)


class VirtualTable(ScrollView, can_focus=True):
    """A table with a fixed header, a cursor row, marks, sort indicator, empty text and a busy note."""

    ALLOW_SELECT = False

    HELP = """
    Move with the arrows or `j` `k`, by half pages with `ctrl+d` `ctrl+u`, to the ends with `g` `G`.
    `space` marks a row, `v` marks all rows the cursor moves over until `v` again (`escape` takes it back),
    `*` marks all or inverts the marks, `escape` takes all marks off. `h` `l` move long text to the side.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "cursor_down", "Down", id="table.down", show=False, tooltip="Go to the next row"),
        Binding("up,k", "cursor_up", "Up", id="table.up", show=False, tooltip="Go to the row before"),
        Binding(
            "pagedown", "page_down", "Page down", id="table.page-down", show=False, tooltip="Go a page down"
        ),
        Binding("pageup", "page_up", "Page up", id="table.page-up", show=False, tooltip="Go a page up"),
        Binding(
            "ctrl+d", "half_down", "Half down", id="table.half-down", show=False, tooltip="Half a page down"
        ),
        Binding("ctrl+u", "half_up", "Half up", id="table.half-up", show=False, tooltip="Half a page up"),
        Binding("home,g", "first", "First", id="table.first", show=False, tooltip="Go to the first row"),
        Binding("end,G", "last", "Last", id="table.last", show=False, tooltip="Go to the last row"),
        Binding("left,h", "pan_left", "Left", id="table.left", show=False, tooltip="Move long text back"),
        Binding("right,l", "pan_right", "Right", id="table.right", show=False, tooltip="Move long text on"),
        Binding("enter", "open", "Open", id="table.open", show=False, tooltip="Open the row"),
        Binding("space", "mark", "Mark", id="table.mark", show=False, tooltip="Mark the row and go on"),
        Binding("v", "range", "Mark range", id="table.range", show=False, tooltip="Mark rows while moving"),
        Binding(
            "*", "invert", "Mark all", id="table.invert", show=False, tooltip="Mark all rows, or the others"
        ),
        Binding("escape", "clear", "Clear marks", id="table.clear", show=False, tooltip="Take marks off"),
    ]

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "virtual-table--header",
        "virtual-table--cursor",
        "virtual-table--marked",
        "virtual-table--empty",
    }

    DEFAULT_CSS = """
    VirtualTable {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        background: $surface;
        color: $foreground;
        & > .virtual-table--header { color: $foreground; text-style: bold underline; }
        & > .virtual-table--cursor { text-style: underline; }
        & > .virtual-table--marked { text-style: bold; }
        &:focus > .virtual-table--cursor {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: $block-cursor-text-style;
        }
        &:ansi > .virtual-table--cursor { text-style: underline; }
        &:ansi:focus > .virtual-table--cursor { text-style: reverse; }
    }
    """

    cursor: reactive[int] = reactive(0, repaint=False, init=False)
    """Index of the row under the cursor; 0 without rows."""
    sort: reactive[tuple[str, bool] | None] = reactive(None)
    """Column the rows are sorted by and whether descending: shown only, rows come sorted."""
    busy: reactive[str] = reactive("")
    """What is going on, shown in the header, or in the body while there are no rows; "" if nothing is."""
    pan: reactive[int] = reactive(0)
    """Cells that the text of columns without a width is moved to the left by."""

    class Highlighted(Message):
        """The cursor is on another row: its index and key, or -1 and None where there are no rows."""

        def __init__(self, table: VirtualTable, index: int, key: str | None) -> None:
            super().__init__()
            self.table, self.index, self.key = table, index, key

        @property
        def control(self) -> VirtualTable:
            """Return the table, for `@on` with a selector."""
            return self.table

    class Opened(Message):
        """A row was opened with enter or a double click."""

        def __init__(self, table: VirtualTable, index: int, key: str) -> None:
            super().__init__()
            self.table, self.index, self.key = table, index, key

        @property
        def control(self) -> VirtualTable:
            """Return the table, for `@on` with a selector."""
            return self.table

    class MarksChanged(Message):
        """Other rows are marked than before; `count` of them."""

        def __init__(self, table: VirtualTable, count: int) -> None:
            super().__init__()
            self.table, self.count = table, count

        @property
        def keys(self) -> frozenset[str]:
            """Return the keys that are marked now."""
            return self.table.marks

        @property
        def control(self) -> VirtualTable:
            """Return the table, for `@on` with a selector."""
            return self.table

    class SortRequested(Message):
        """The header of a column was clicked."""

        def __init__(self, table: VirtualTable, column_id: str) -> None:
            super().__init__()
            self.table, self.column_id = table, column_id

        @property
        def control(self) -> VirtualTable:
            """Return the table, for `@on` with a selector."""
            return self.table

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
        self._marks = Marks()
        self._placed: tuple[int, tuple[Placed, ...]] = (-1, ())
        self._cells: LRUCache[int, tuple[Content, ...]] = LRUCache(_KEPT)
        self._strips: LRUCache[tuple[int, bool, bool, bool], Strip] = LRUCache(_KEPT)
        self._told: tuple[int, str | None] | None = None
        self.virtual_size = Size(0, len(self._rows) + 1)

    # -- what a screen asks and sets

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
        return tuple(each.column.id for each in self._layout())

    @property
    def cursor_key(self) -> str | None:
        """Return the key of the row under the cursor."""
        return self._rows.key(self.cursor) if len(self._rows) else None

    @property
    def marks(self) -> frozenset[str]:
        """Return the keys of all marked rows, rows that a filter hides included."""
        return frozenset(self._marks.keys)

    @property
    def mark_count(self) -> int:
        """Return how many rows are marked, rows that a filter hides included."""
        return len(self._marks.keys)

    @property
    def marking_range(self) -> bool:
        """Whether moving the cursor marks rows."""
        return self._marks.drawing

    @property
    def chosen(self) -> tuple[str, ...]:
        """Return what a command is for: the marked keys, sorted, or else the one under the cursor, if any."""
        if self._marks.keys:
            return tuple(sorted(self._marks.keys))
        key = self.cursor_key
        return () if key is None else (key,)

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Show other columns of the same rows."""
        self._columns = tuple(columns)
        self.refresh_rows()

    def set_empty(self, empty: Content | str) -> None:
        """Set what is shown where there are no rows, one line or several."""
        self._empty = empty
        self.refresh()

    def set_rows(self, rows: Rows, keep: str | None = None) -> None:
        """Show other rows. The cursor goes to the row with the key `keep`, which stays where it is in view.

        Without `keep` it goes to the first row; where there is no such row it stays at its place. Marks stay,
        also those of rows that are not among these; a range that is being drawn ends.
        """
        before = self.cursor
        offset = before - self.scroll_offset.y
        self._marks.stop(keep=True)
        self._rows = rows
        self._forget()
        self.pan = 0
        self.virtual_size = Size(0, len(rows) + 1)
        index = 0 if keep is None else self._find(keep, before)
        self.set_reactive(VirtualTable.cursor, index)
        if self.is_mounted:
            self.scroll_to(y=index - offset if keep is not None else 0, animate=False, force=True)
            self._show_cursor()
            self._tell()
        self.refresh()

    def refresh_rows(self) -> None:
        """Ask again for the rows in view: their cells have changed, their number and keys have not."""
        self._forget()
        self.refresh()

    def set_marks(self, keys: Iterable[str]) -> None:
        """Mark exactly the rows with these keys."""
        self._marks.clear()
        self._marks.keys = set(keys)
        self._marks_changed()

    def keep_marks(self, known: Container[str]) -> None:
        """Take the marks off rows that are not known any more, after rows were removed."""
        if self._marks.keep(known):
            self._marks_changed()

    def select_key(self, key: str) -> bool:
        """Move the cursor to the row with this key; return whether there is one."""
        index = self._find(key, -1)
        if index < 0:
            return False
        self.cursor = index
        return True

    # -- drawing

    def render_line(self, y: int) -> Strip:
        """Return line `y` of the widget: the header, a row, or what is shown in place of rows."""
        width = self.scrollable_content_region.width
        if y == 0:
            style = self.get_visual_style("virtual-table--header")
            gutter = f" {RANGE}" if self._marks.drawing else ""
            note = f"… {self.busy}" if self.busy and len(self._rows) else ""
            return header_strip(self._layout(), self.sort, gutter=gutter, note=note, width=width, style=style)
        if not len(self._rows):
            return self._instead(y - 1, width)
        index = self.scroll_offset.y + y - 1
        if index >= len(self._rows):
            return Strip.blank(width, self.visual_style.rich_style)
        return self._row(index, width)

    def _row(self, index: int, width: int) -> Strip:
        placed = self._layout()
        key = self._rows.key(index)
        under, marked, focused = index == self.cursor, key in self._marks.keys, self.has_focus
        state = (index, under, marked, focused)
        if (strip := self._strips.get(state)) is not None:
            return strip
        names = [f"virtual-table--{name}" for name, on in (("marked", marked), ("cursor", under)) if on]
        style = self.get_visual_style(*names)
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

    def _layout(self) -> tuple[Placed, ...]:
        width = self.scrollable_content_region.width - GUTTER
        if self._placed[0] != width:
            self._placed = (width, tuple(place(self._columns, width)))
            self._strips.clear()
        return self._placed[1]

    def _forget(self) -> None:
        self._placed = (-1, ())
        self._cells.clear()
        self._strips.clear()

    def notify_style_update(self) -> None:
        """Draw all anew after the theme or the style changed."""
        self._strips.clear()
        super().notify_style_update()

    # -- the cursor

    def validate_cursor(self, cursor: int) -> int:
        """Keep the cursor on a row."""
        return max(min(cursor, len(self._rows) - 1), 0)

    def watch_cursor(self, before: int, after: int) -> None:
        """Draw the two rows concerned, bring the cursor into view, tell of it."""
        if self._marks.stretch(after, self._rows.key):
            self._marks_changed()
        if not self.is_mounted:
            return
        self._show_cursor()
        for index in (before, after):
            self._refresh_row(index)
        self._tell()

    def watch_pan(self) -> None:
        """Draw the rows anew after their text moved."""
        self._strips.clear()

    def on_mount(self) -> None:
        """Tell which row is under the cursor first."""
        self._show_cursor()
        self._tell()

    def on_resize(self) -> None:
        """Keep the cursor in view when the table becomes smaller."""
        self._show_cursor()

    def on_focus(self) -> None:
        """Draw the cursor as that of the focused table."""
        self._refresh_row(self.cursor)

    def on_blur(self) -> None:
        """Draw the cursor as that of a table that has no focus."""
        self._refresh_row(self.cursor)

    @property
    def page(self) -> int:
        """Return how many rows are in view, at least 1."""
        return max(self.scrollable_content_region.height - 1, 1)

    def _show_cursor(self) -> None:
        top = self.scroll_offset.y
        wanted = min(max(top, self.cursor - self.page + 1), self.cursor)
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, force=True)

    def _refresh_row(self, index: int) -> None:
        y = index - self.scroll_offset.y + 1
        if 1 <= y <= self.page:
            self.refresh(Region(0, y, self.size.width, 1))

    def _tell(self) -> None:
        now = (self.cursor, self.cursor_key) if len(self._rows) else (-1, None)
        if now != self._told:
            self._told = now
            self.post_message(self.Highlighted(self, *now))

    def _find(self, key: str, otherwise: int) -> int:
        rows = self._rows
        if 0 <= otherwise < len(rows) and rows.key(otherwise) == key:
            return otherwise
        found: int | None
        if isinstance(rows, FindableRows):
            found = rows.find(key)
        else:
            found = next((index for index in range(len(rows)) if rows.key(index) == key), None)
        return min(otherwise, max(len(rows) - 1, 0)) if found is None else found

    def _marks_changed(self) -> None:
        self.post_message(self.MarksChanged(self, len(self._marks.keys)))
        self.refresh()

    # -- actions

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
        self.cursor = len(self._rows) - 1

    def action_pan_left(self) -> None:
        """Move long text back; without any moved the key is left to the screen."""
        if not self.pan:
            raise SkipAction
        self.pan = max(self.pan - PAN, 0)

    def action_pan_right(self) -> None:
        """Move long text on; where nothing is cut off the key is left to the screen."""
        if self.pan >= self._overhang():
            raise SkipAction
        self.pan += PAN

    def _overhang(self) -> int:
        """Return the cells by which the longest text in view exceeds its column."""
        first = self.scroll_offset.y
        shared = [each for each in self._layout() if each.column.width is None]
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

    def action_open(self) -> None:
        """Tell that the row under the cursor is opened."""
        if (key := self.cursor_key) is None:
            raise SkipAction
        self.post_message(self.Opened(self, self.cursor, key))

    def action_mark(self) -> None:
        """Mark the row, or take its mark off, and go to the next one; ends a range that is being drawn."""
        if (key := self.cursor_key) is None:
            return
        if self._marks.drawing:
            self._marks.stop(keep=True)
        else:
            self._marks.toggle(key)
        self._marks_changed()
        self.cursor += 1

    def action_range(self) -> None:
        """Start marking all rows the cursor moves over, or end it."""
        if self._marks.drawing:
            self._marks.stop(keep=True)
        elif len(self._rows):
            self._marks.start(self.cursor, self._rows.key)
        self._marks_changed()

    def action_invert(self) -> None:
        """Mark all rows, or those that are not marked instead of those that are."""
        self._marks.stop(keep=True)
        self._marks.invert(self._rows.key(index) for index in range(len(self._rows)))
        self._marks_changed()

    def action_clear(self) -> None:
        """Take back a range being drawn, else all marks; without any the key is left to the screen."""
        if self._marks.drawing:
            self._marks.stop(keep=False)
        elif self._marks.keys:
            self._marks.clear()
        else:
            raise SkipAction
        self._marks_changed()

    # -- the mouse

    def on_click(self, event: events.Click) -> None:
        """Sort by a header; go to a row, mark it by its gutter or with ctrl, up to it with shift, open it."""
        offset = event.get_content_offset(self)
        if offset is None or offset.x >= self.scrollable_content_region.width:
            return
        event.stop()
        if offset.y == 0:
            column = column_at(self._layout(), offset.x - GUTTER)
            if column is not None and offset.x >= GUTTER:
                self.post_message(self.SortRequested(self, column.id))
            return
        index = self.scroll_offset.y + offset.y - 1
        if index < len(self._rows):
            self._clicked(index, event, in_gutter=offset.x < GUTTER)

    def _clicked(self, index: int, event: events.Click, *, in_gutter: bool) -> None:
        if event.shift:
            self._marks.stop(keep=True)
            self._marks.start(self.cursor, self._rows.key)
            self.cursor = index
            self._marks.stop(keep=True)
            self._marks_changed()
        elif event.ctrl or in_gutter:
            self.cursor = index
            self._marks.toggle(self._rows.key(index))
            self._marks_changed()
        else:
            self.cursor = index
            if event.chain == 2:
                self.action_open()
