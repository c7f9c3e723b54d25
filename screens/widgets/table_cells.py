"""How a row of a table becomes a strip of exactly so many cells: alignment, ellipsis, panning, styles."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from textual.content import Content, Span
from textual.strip import Strip
from textual.style import Style

from screens.safe_text import shown
from screens.widgets.table_columns import Placed

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
        return shown(data, limit=_MAX_CELL)
    if any(character in data.plain for character in "\n\t\r"):
        return Content(data.plain.translate(_ONE_LINE), list(data.spans))
    return data


def fitted(content: Content, width: int, *, right: bool = False, pan: int = 0) -> Content:
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
        content = fitted(content, each.width, right=each.column.align == "right", pan=shift)
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
        end = shown(f" {note}", limit=_MAX_CELL).truncate(width - GUTTER, ellipsis=True)
        content = fitted(content, width - end.cell_length) + end
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
    title = shown(each.column.title, limit=_MAX_CELL)
    if sort is not None and sort[0] == each.column.id:
        sign = DESCENDING if sort[1] else ASCENDING
        title = title.truncate(max(each.width - 2, 0), ellipsis=True) + f" {sign}"
        title = title if title.cell_length <= each.width else Content(sign)
    return fitted(title, each.width, right=each.column.align == "right")


def _strip(content: Content, width: int, style: Style) -> Strip:
    return Strip(content.render_segments(style)).adjust_cell_length(width, style.rich_style)


def _after(content: Content, pan: int) -> Content:
    """Return what comes after the first `pan` cells, an ellipsis in place of the first of it."""
    text = content.plain
    position = bisect_left(range(len(text) + 1), pan + 1, key=lambda end: Content(text[:end]).cell_length)
    return Content("…") + content[position:] if text else content
