"""A table of any number of rows that asks only for the rows it draws, after toolong's line-rendering log.

Rows come from an object that gives the cells of one row at a time; each visible row is one strip, and strips
are kept. What a row is (under the cursor, marked, sorted by) shows in glyphs, never in colour alone. Cursor
and marks belong to rows by their keys, so they survive sorting, filtering and reloading.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message

from screens.commands import widget_bindings
from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.table_rows import (
    GUTTER,
    Column,
    FindableRows,
    LateRows,
    ListRows,
    NoRows,
    Rows,
    column_at,
    find_row,
)
from screens.widgets.table_view import DrawnTable

__all__ = ["Column", "FindableRows", "LateRows", "ListRows", "NoRows", "Rows", "VirtualTable"]

PAN: Final = 8
"""Cells that one step to the side moves."""


class VirtualTable(DrawnTable, can_focus=True):
    """A table with a fixed header, a cursor row, marks, sort indicator, empty text and a busy note."""

    HELP = """
    Move with the arrows or `j` `k`, by half pages with `ctrl+d` `ctrl+u`, to the ends with `g` `G`.
    `space` marks a row, `v` marks all rows the cursor moves over until `v` again (`escape` takes it back),
    `*` marks all or inverts the marks, `escape` takes all marks off. `h` `l` move long text to the side.
    """

    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("table")

    DEFAULT_CSS = style_of("VirtualTable")

    @dataclass
    class TableMessage(Message):
        """What a table posts."""

        table: VirtualTable

        @property
        def control(self) -> VirtualTable:
            """Return the table, for `@on` with a selector."""
            return self.table

    @dataclass
    class Highlighted(TableMessage):
        """The cursor is on another row: its index and key, or -1 and None where there are no rows.

        A row that is not there yet has no key: once it is, this is posted again.
        """

        index: int
        key: str | None

    @dataclass
    class Opened(TableMessage):
        """A row was opened with enter or a double click."""

        index: int
        key: str

    @dataclass
    class MarksChanged(TableMessage):
        """Other rows are marked than before; `count` of them."""

        count: int

        @property
        def keys(self) -> frozenset[str]:
            """Return the keys that are marked now."""
            return self.table.marks

    @dataclass
    class SortRequested(TableMessage):
        """The header of a column was clicked."""

        column_id: str

    # -- what a screen asks and sets

    @property
    def cursor_key(self) -> str | None:
        """Return the key of the row under the cursor, None where there is none or it is not there yet."""
        return (self._rows.key(self.cursor) or None) if len(self._rows) else None

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

    def set_rows(self, rows: Rows, keep: str | None = None, *, place: int | None = None) -> None:
        """Show other rows. The cursor goes to the row with the key `keep`, which stays where it is in view.

        `place` is where that row is, if that is known. Without either the cursor goes to the first row; where
        there is no such row it keeps its place. Marks stay, also those of rows that are not among these; a
        range that is being drawn ends.
        """
        before = self.cursor
        offset = before - self.scroll_offset.y
        self._marks.stop(keep=True)
        self._rows = rows
        if isinstance(rows, LateRows):
            rows.follow(partial(self._draw_arrivals, rows))
        self.forget()
        self.pan = 0
        self.virtual_size = Size(0, len(rows) + 1)
        found = find_row(rows, keep, before) if place is None and keep is not None else place
        stays = keep is not None or place is not None
        index = self.validate_cursor(before if found is None else found) if stays else 0
        self.set_reactive(VirtualTable.cursor, index)
        if self.is_mounted:
            self.scroll_to(y=index - offset if stays else 0, animate=False, force=True)
            self.show_cursor()
            self._post_highlight()
        self.refresh()

    def set_marks(self, keys: Iterable[str]) -> None:
        """Mark exactly the rows with these keys."""
        before, wanted = (self._marks.keys, self._marks.drawing), set(keys)
        self._marks.clear()
        self._marks.keys = wanted
        if before != (wanted, False):  # who hears of it may say so, over what was just said
            self._marks_changed()

    def keep_marks(self, known: Container[str]) -> None:
        """Take the marks off rows that are not known any more, after rows were removed."""
        if self._marks.keep(known):
            self._marks_changed()

    def select_key(self, key: str) -> bool:
        """Move the cursor to the row with this key; return whether there is one."""
        index = find_row(self._rows, key, self.cursor)
        if index is not None:
            self.cursor = index
        return index is not None

    # -- the cursor

    def watch_cursor(self, before: int, after: int) -> None:
        """Draw a range up to the cursor and post where it is."""
        if self._marks.drawing:
            self._stretch(after)
        if isinstance(self._rows, LateRows):
            self._rows.expect(after, after - before)
        super().watch_cursor(before, after)
        if self.is_mounted:
            self._post_highlight()

    def on_mount(self) -> None:
        """Post which row is under the cursor first."""
        self.show_cursor()
        self._post_highlight()

    def _post_highlight(self) -> None:
        now = (self.cursor, self.cursor_key) if len(self._rows) else (-1, None)
        if now != self._posted:
            self._posted = now
            self.post_message(self.Highlighted(self, *now))

    def _draw_arrivals(self, rows: Rows) -> None:
        """Draw rows that came; the one under the cursor may be among them."""
        if rows is self._rows and self.is_mounted:
            self.refresh_rows()
            self._post_highlight()

    def _name_rows(self, first: int, last: int, then: Callable[[Sequence[str]], None]) -> None:
        """Hand the keys of rows over, now if they are all there."""

        def marked(keys: Sequence[str]) -> None:
            then(keys)
            self._marks_changed()

        if isinstance(self._rows, LateRows):
            self._rows.name_rows(first, last, marked)
        else:
            marked([self._rows.key(index) for index in range(first, last + 1)])

    def _stretch(self, index: int) -> None:
        """Draw the range up to a row."""
        drawn = self._marks.range
        assert drawn is not None
        first, last = self._marks.stretch(index)
        self._name_rows(first, last, partial(self._marks.fill, drawn, first))

    def _marks_changed(self) -> None:
        self.post_message(self.MarksChanged(self, len(self._marks.keys)))
        self.refresh()
        self.refresh_bindings()

    # -- actions

    def action_pan_left(self) -> None:
        """Move long text back; without any moved the key is left to the screen."""
        if not self.pan:
            raise SkipAction
        self.pan = max(self.pan - PAN, 0)

    def action_pan_right(self) -> None:
        """Move long text on; where nothing is cut off the key is left to the screen."""
        if self.pan >= self.overhang():
            raise SkipAction
        self.pan += PAN

    def action_open(self) -> None:
        """Post that the row under the cursor is opened."""
        if (key := self.cursor_key) is None:
            raise SkipAction
        self.post_message(self.Opened(self, self.cursor, key))

    def action_mark(self) -> None:
        """Mark the row, or take its mark off, and go to the next one; ends a range that is being drawn."""
        if not len(self._rows):
            return
        if self._marks.drawing:
            self._marks.stop(keep=True)
            self._marks_changed()
        else:
            self._toggle(self.cursor)
        self.cursor += 1

    def _toggle(self, index: int) -> None:
        self._name_rows(index, index, lambda keys: self._marks.toggle(keys[0]))

    def action_range(self) -> None:
        """Start marking all rows the cursor moves over, or end it."""
        if self._marks.drawing:
            self._marks.stop(keep=True)
            self._marks_changed()
        elif len(self._rows):
            self._marks.start(self.cursor)
            self._stretch(self.cursor)

    def action_invert(self) -> None:
        """Mark all rows, or those that are not marked instead of those that are."""
        self._marks.stop(keep=True)
        if len(self._rows):
            self._name_rows(0, len(self._rows) - 1, self._marks.invert)

    def action_clear(self) -> None:
        """Take back a range being drawn, else all marks."""
        if self._marks.drawing:
            self._marks.stop(keep=False)
        else:
            self._marks.clear()
        self._marks_changed()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the key that takes marks off to the screen where nothing is marked."""
        return action != "clear" or bool(self._marks.keys) or self._marks.drawing

    # -- the mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Say what is in the column whose heading the mouse is over."""
        offset = event.get_content_offset(self)
        column = None
        if offset is not None and offset.y == 0:
            column = column_at(self.placed_columns(), offset.x - GUTTER)
        about = safe(column.about) if column else None
        if about != self.tooltip:
            self.tooltip = about

    def on_click(self, event: events.Click) -> None:
        """Sort by a header; go to a row, mark it by its gutter or with ctrl, up to it with shift, open it."""
        offset = event.get_content_offset(self)
        if offset is None or offset.x >= self.scrollable_content_region.width:
            return
        event.stop()
        if offset.y == 0:
            column = column_at(self.placed_columns(), offset.x - GUTTER)
            if column is not None and offset.x >= GUTTER:
                self.post_message(self.SortRequested(self, column.id))
            return
        index = self.scroll_offset.y + offset.y - 1
        if index < len(self._rows):
            self._handle_click(index, event, in_gutter=offset.x < GUTTER)

    def _handle_click(self, index: int, event: events.Click, *, in_gutter: bool) -> None:
        if event.shift:
            self._marks.stop(keep=True)
            self._marks.start(self.cursor)
            if index == self.cursor:
                self._stretch(index)
            self.cursor = index
            self._marks.stop(keep=True)
        elif event.ctrl or in_gutter:
            self.cursor = index
            self._toggle(index)
        else:
            self.cursor = index
            if event.chain == 2:
                self.action_open()
