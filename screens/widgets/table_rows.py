"""What a table is made of: rows asked for one at a time, columns that fit a width, and strips of cells.

Columns with a width keep it, the others share what is left by their weights. Where not all of them fit, the
ones with the lowest priority are left out, of equal ones the rightmost.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, Literal, Protocol, TypeVar, runtime_checkable

from textual.content import Content, Span
from textual.strip import Strip
from textual.style import Style

from screens.safe_text import safe
from workbench.text.counts import split_path

T = TypeVar("T")


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
class LateRows(Protocol):
    """Rows of which some are not there yet: their key is "" until they are, and no call waits for them."""

    def follow(self, arrived: Callable[[], None]) -> None:
        """Call `arrived` from now on whenever rows came that were not there."""
        ...

    def expect(self, index: int, step: int) -> None:
        """Prepare for rows around `index` to be drawn, more of them in the direction of `step`."""
        ...

    def name_rows(self, first: int, last: int, then: Callable[[Sequence[str]], None]) -> None:
        """Hand over the keys of the rows from `first` to `last`, "" for gone ones, once all are known."""
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


class ListRows(Generic[T]):
    """Rows made of things in a list, all of them or those at the positions of `order`, in that order.

    `order` is what filtering or sorting ends in; `key` and `cells` are asked about one thing at a time.
    """

    def __init__(
        self,
        things: Sequence[T],
        *,
        key: Callable[[T], str],
        cells: Callable[[T], Sequence[Content | str]],
        order: Sequence[int] | None = None,
    ) -> None:
        self._things = things
        self._key = key
        self._cells = cells
        self._order = order
        self._places: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self._things if self._order is None else self._order)

    def thing(self, index: int) -> T:
        """Return the thing a row is made of."""
        return self._things[index if self._order is None else self._order[index]]

    def cells(self, index: int) -> Sequence[Content | str]:
        """Return a row's cells."""
        return self._cells(self.thing(index))

    def key(self, index: int) -> str:
        """Return a row's key."""
        return self._key(self.thing(index))

    def find(self, key: str) -> int | None:
        """Return the index of the row with this key."""
        if self._places is None:
            self._places = {self.key(index): index for index in range(len(self))}
        return self._places.get(key)


def find_row(rows: Rows, key: str, near: int) -> int | None:
    """Return the index of the row with this key; `near` is looked at first, as most rows stay in place."""
    if 0 <= near < len(rows) and rows.key(near) == key:
        return near
    if isinstance(rows, FindableRows):
        return rows.find(key)
    return next((index for index in range(len(rows)) if rows.key(index) == key), None)


GAP: Final = 1
"""Cells between two columns."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `width` in cells, or None for a `share` of the rest that is at least `least` cells.

    `about` says what is in it, over its heading and in the help; columns of one glyph have no other heading.
    Columns with a lower `priority` vanish first when the table is narrow. A `path` is cut in the middle.
    """

    id: str
    title: str
    about: str
    width: int | None = None
    align: Literal["left", "right"] = "left"
    priority: int = 0
    share: int = 1
    least: int = 8
    path: bool = False

    @property
    def minimum(self) -> int:
        """Return the cells below which the column is not shown."""
        return self.least if self.width is None else self.width


@dataclass(frozen=True, slots=True)
class Placed:
    """A column that is shown: `number` among all columns, first cell `x`, `width` in cells."""

    column: Column
    number: int
    x: int
    width: int


def place_columns(columns: Sequence[Column], width: int) -> tuple[Placed, ...]:
    """Return the columns that fit into `width` cells, from left to right, not overlapping.

    The most important column is always there, cut to the width if it must be; without any cells none is.
    """
    if width <= 0:
        return ()
    kept = _fitting(columns, width)
    rest = width - sum(columns[number].minimum for number in kept) - GAP * (len(kept) - 1)
    extra = _shares([columns[number] for number in kept], max(rest, 0))
    placed, x = [], 0
    for number, more in zip(kept, extra, strict=True):
        column = columns[number]
        cells = min(column.minimum + more, width)
        placed.append(Placed(column, number, x, cells))
        x += cells + GAP
    return tuple(placed)


def column_at(placed: Sequence[Placed], x: int) -> Column | None:
    """Return the column that has cell `x`, counting the gap after it as its own."""
    return next((each.column for each in placed if each.x <= x < each.x + each.width + GAP), None)


def _fitting(columns: Sequence[Column], width: int) -> list[int]:
    kept = list(range(len(columns)))
    need = sum(column.minimum + GAP for column in columns) - GAP
    for number in sorted(kept, key=lambda number: (columns[number].priority, -number)):
        if need <= width or len(kept) == 1:
            break
        kept.remove(number)
        need -= columns[number].minimum + GAP
    return kept


def _shares(columns: Sequence[Column], rest: int) -> list[int]:
    """Divide `rest` cells among the columns without a width so that nothing is left over."""
    total = sum(column.share for column in columns if column.width is None)
    given, seen, shares = 0, 0, []
    for column in columns:
        if column.width is None:
            seen += column.share
        upto = rest * seen // total if total else 0
        shares.append(upto - given)
        given = upto
    return shares


ParseStyle = Callable[[str | Style], Style]

CURSOR: Final = "❯"
CURSOR_BLURRED: Final = "›"
MARK: Final = "●"
RANGE: Final = "v"
ASCENDING: Final = "▲"
DESCENDING: Final = "▼"
GUTTER: Final = 3
"""Cells left of the columns: the cursor's glyph, the mark's glyph, a space."""

_ONE_LINE: Final = {ord("\n"): "\u240a", ord("\t"): "\u2409", ord("\r"): "\u240d"}
_MAX_CELL: Final = 1_000


def cell(data: Content | str) -> Content:
    """Return what a cell shows, on one line: strings are data, contents were made of data before."""
    if isinstance(data, str):
        return safe(data, limit=_MAX_CELL)
    if any(character in data.plain for character in "\n\t\r"):
        return Content(data.plain.translate(_ONE_LINE), list(data.spans))
    return data


def fit(content: Content, width: int, *, right: bool = False, pan: int = 0) -> Content:
    """Return content cut or padded to `width` cells; what is cut shows an ellipsis where it is missing.

    `pan` cells are left out at the start. Half of a wide character that does not fit leaves a space.
    """
    if pan:
        content = _after(content, pan)
    if right and content.cell_length < width:
        content = content.pad_left(width - content.cell_length)
    return content.truncate(width, ellipsis=True, pad=True)


def row_strip(
    cells: Sequence[Content],
    placed: Sequence[Placed],
    *,
    gutter: str,
    width: int,
    pan: int,
    styles: tuple[Style, Style],
    parse: ParseStyle,
) -> Strip:
    """Return the strip of a row, `width` cells wide. `styles` are those of the gutter and of the row.

    `pan` moves the text of the columns that share the width.
    """
    mark_style, style = styles
    text = gutter.ljust(GUTTER)
    spans = [Span(0, len(text), mark_style)]
    x = 0
    for each in placed:
        content = cells[each.number] if each.number < len(cells) else Content("")
        shift = pan if each.column.width is None else 0
        if each.column.path and not shift and content.cell_length > each.width:
            head, tail = split_path(content.plain, each.width)
            content = content[:head] + Content("…") + content[len(content) - tail :]
        content = fit(content, each.width, right=each.column.align == "right", pan=shift)
        text += " " * (each.x - x)
        start = len(text)
        spans += [Span(start + span.start, start + span.end, parse(span.style)) for span in content.spans]
        text += content.plain
        x = each.x + each.width
    return _strip(Content(text, spans, strip_control_codes=False), width, style)


def header_strip(
    placed: Sequence[Placed],
    sort: tuple[str, bool] | None,
    *,
    gutter: str,
    note: str,
    width: int,
    style: Style,
) -> Strip:
    """Return the header; a `note` on what is going on is written over its right end."""
    text, x = gutter.ljust(GUTTER), 0
    for each in placed:
        text += " " * (each.x - x) + _title(each, sort).plain
        x = each.x + each.width
    content = Content(text)
    if note and width > GUTTER:
        end = safe(f" {note}", limit=_MAX_CELL).truncate(width - GUTTER, ellipsis=True)
        content = fit(content, width - end.cell_length) + end
    return _strip(content, width, style)


def line_strip(content: Content, width: int, style: Style, parse: ParseStyle) -> Strip:
    """Return the strip of a line that is no row, `width` cells wide."""
    spans = [Span(span.start, span.end, parse(span.style)) for span in content.spans]
    return _strip(Content(content.plain, spans), width, style)


def without_colours(parse: ParseStyle) -> ParseStyle:
    """Return a parser of styles that keeps attributes only, for rows whose own colours must stay legible."""

    def attributes(style: str | Style) -> Style:
        return replace(parse(style), foreground=None, background=None)

    return attributes


def _title(each: Placed, sort: tuple[str, bool] | None) -> Content:
    """Return a header's cell; the sorted column's title has a triangle, which is never cut off."""
    title = safe(each.column.title, limit=_MAX_CELL)
    if sort is not None and sort[0] == each.column.id:
        sign = DESCENDING if sort[1] else ASCENDING
        title = title.truncate(max(each.width - 2, 0), ellipsis=True) + f" {sign}"
        title = title if title.cell_length <= each.width else Content(sign)
    return fit(title, each.width, right=each.column.align == "right")


def _strip(content: Content, width: int, style: Style) -> Strip:
    return Strip(content.render_segments(style)).adjust_cell_length(width, style.rich_style)


def _after(content: Content, pan: int) -> Content:
    """Return what comes after the first `pan` cells, an ellipsis in place of the first of it."""
    text = content.plain
    position = bisect_left(range(len(text) + 1), pan + 1, key=lambda end: Content(text[:end]).cell_length)
    return Content("…") + content[position:] if text else content
