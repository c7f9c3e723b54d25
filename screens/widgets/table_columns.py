"""Which columns of a table are shown at a width, and where: pure arithmetic over cells of the terminal.

Columns with a width keep it, the others share what is left by their weights. Where not all of them fit, the
ones with the lowest priority are left out, of equal ones the rightmost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

GAP: Final = 1
"""Cells between two columns."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `width` in cells, or None for a `share` of the rest that is at least `least` cells.

    Columns with a lower `priority` vanish first when the table is narrow.
    """

    id: str
    title: str
    width: int | None = None
    align: Literal["left", "right"] = "left"
    priority: int = 0
    share: int = 1
    least: int = 8

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


def place(columns: Sequence[Column], width: int) -> tuple[Placed, ...]:
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
