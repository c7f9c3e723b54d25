"""A measure of all systems as points with whiskers: how far each may be off, at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from textual.content import Content
from textual.widget import Widget

from screens.safe_text import shown

POINT, LINE, LOW, HIGH = "●", "─", "├", "┤"
_NAME_MOST: Final = 26
_LEAST: Final = 10


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95 % interval; `best` is marked."""

    name: str
    value: float
    low: float
    high: float
    best: bool = False


def whisker(one: Interval, low: float, high: float, width: int) -> str:
    """Return exactly `width` cells: the interval on a scale from `low` to `high`, its value a point."""

    def place(value: float) -> int:
        share = (value - low) / (high - low) if high > low else 0.0
        return min(max(round(share * (width - 1)), 0), width - 1)

    cells = [" "] * width
    start, end = place(one.low), place(one.high)
    cells[start : end + 1] = LINE * (end + 1 - start)
    if end > start:
        cells[start], cells[end] = LOW, HIGH
    cells[place(one.value)] = POINT
    return "".join(cells)


def interval_lines(rows: Sequence[Interval], width: int, *, digits: int = 3) -> list[Content]:
    """Return a line for each system and one for the scale, at most `width` cells."""
    if not rows:
        return []
    low, high = 0.0, max(1.0, *(one.high for one in rows)) if digits else max(one.high for one in rows)
    figures = [f"{one.value:,.{digits}f}" for one in rows]
    longest = max(map(len, figures)) + 1
    names = min(max(len(one.name) for one in rows), _NAME_MOST, max(width - longest - _LEAST - 2, 6))
    room = width - names - longest - 2
    lines = []
    for one, figure in zip(rows, figures, strict=True):
        drawn = whisker(one, low, high, room) if room >= _LEAST else ""
        lines.append(
            Content.assemble(
                shown(one.name).truncate(names, ellipsis=True, pad=True),
                (f" {figure:>{longest - 1}}", "bold"),
                ("★" if one.best else " ", "$text-accent"),
                (f" {drawn}", "$text-primary"),
            )
        )
    if room >= _LEAST:
        ends = f"{low:g}", f"{high:,.{0 if high >= 10 else 1}f}"
        scale = ends[0] + ends[1].rjust(room - len(ends[0]))
        lines.append(shown(" " * (width - room) + scale, "$text-muted"))
    return lines


class Intervals(Widget):
    """A measure of all systems with 95 % intervals."""

    DEFAULT_CSS = """
    Intervals { width: 1fr; height: 1fr; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._title = ""
        self._rows: tuple[Interval, ...] = ()
        self._digits = 3

    def show(self, title: str, rows: Sequence[Interval], digits: int = 3) -> None:
        """Show a measure."""
        self._title, self._rows, self._digits = title, tuple(rows), digits
        self.refresh()

    def render(self) -> Content:
        """Return the title and the lines."""
        if not self._rows:
            return shown("No intervals: no task was measured.", "$text-muted italic")
        head = Content.assemble(shown(self._title, "bold"), ("  mean and 95 % interval", "$text-muted"))
        lines = interval_lines(self._rows, self.content_size.width, digits=self._digits)
        return Content("\n").join([head, *lines])
