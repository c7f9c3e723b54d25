"""When things happened, as one line of blocks: a cell is a stretch of time, its height how much happened.

Below it a mark is where the selected one is, both ends have their times, and between them is the scale: how
much the highest block is, in how long. plotext draws charts with axes; one line of a list is drawn here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from textual.content import Content
from textual.widget import Widget

from screens.safe_text import safe
from screens.themes import style_of
from workbench.text.charts import time_text
from workbench.text.counts import plural

_HEIGHTS: Final = " ▁▂▃▄▅▆▇█"
_MARK: Final = "▲"


def density(times: Sequence[float], width: int) -> list[int]:
    """Return how many of the times, in seconds, fall into each of `width` equal stretches of them."""
    counts = [0] * max(width, 0)
    between = ends(times)
    for at in times if counts else ():
        if math.isfinite(at):
            counts[cell_of(at, between, width)] += 1
    return counts


def regroup(counts: Sequence[int], width: int) -> list[int]:
    """Return the counts of fewer cells: each takes those of the cells that begin in its stretch."""
    wide = [0] * max(width, 0)
    for place, count in enumerate(counts if wide else ()):
        wide[place * width // len(counts)] += count
    return wide


def cell_of(at: float, between: tuple[float, float], width: int) -> int:
    """Return the cell of a time between two others; times beyond them are in the cells at the ends."""
    low, high = between
    if high <= low:
        return 0
    return min(max(int((at - low) / (high - low) * width), 0), width - 1)


def ends(times: Sequence[float]) -> tuple[float, float]:
    """Return the first and the last of the times that are numbers, zeros if there are none."""
    finite = [at for at in times if math.isfinite(at)]
    return (min(finite), max(finite)) if finite else (0.0, 0.0)


def blocks(counts: Sequence[int]) -> str:
    """Return a block for each count, the highest for the most; what is not nothing is seen."""
    most = max(counts, default=0)
    top = len(_HEIGHTS) - 1
    return "".join(_HEIGHTS[max(round(count / most * top), 1) if count else 0] for count in counts)


class TimelineBar(Widget):
    """Times as blocks, over a line with the ends and a mark for the selected time."""

    DEFAULT_CSS = style_of("TimelineBar")

    def __init__(
        self,
        times: Sequence[float] = (),
        *,
        selected: float | None = None,
        noun: str = "time",
        empty: str = "Nothing happened yet.",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._times = tuple(times)
        self._counts: tuple[int, ...] = ()
        self._ends = ends(self._times)
        self._selected = selected
        self._noun = noun
        self._empty = empty

    def show(self, times: Sequence[float], *, selected: float | None = None) -> None:
        """Show other times, in seconds since 1970."""
        self._times, self._counts = tuple(times), ()
        self._ends = ends(self._times)
        self._selected = selected
        self.refresh()

    def show_counts(
        self, counts: Sequence[int], between: tuple[float, float], *, selected: float | None = None
    ) -> None:
        """Show what `density` made of very many times elsewhere, in many more cells than are shown."""
        self._times, self._counts = (), tuple(counts)
        self._ends = between
        self._selected = selected
        self.refresh()

    def select(self, at: float | None) -> None:
        """Mark another time."""
        self._selected = at
        self.refresh()

    def render(self) -> Content:
        """Return the blocks and the line below them."""
        width = self.content_size.width
        if not (self._times or any(self._counts)) or width <= 0:
            return safe(self._empty, "$text-muted italic")
        counts = regroup(self._counts, width) if self._counts else density(self._times, width)
        return Content("\n").join([Content.styled(blocks(counts), "$text-primary"), self._below(counts)])

    def _below(self, counts: Sequence[int]) -> Content:
        (low, high), width = self._ends, len(counts)
        first, last = time_text(low, high - low), time_text(high, high - low)
        scale = f"{_HEIGHTS[-1]} {plural(max(counts), self._noun)} in {_stretch((high - low) / width)}"
        place = None
        if self._selected is not None and math.isfinite(self._selected):
            place = cell_of(self._selected, (low, high), width)
        labels = (first, "", "") if low == high else (first, scale, last)
        text = Content.styled(label_line(labels, width, place), "$text-muted")
        if place is None:
            return text
        return Content.assemble(text[:place], (_MARK, "bold $text-warning"), text[place + 1 :])


def label_line(labels: tuple[str, str, str], width: int, mark: int | None) -> str:
    """Return a line with a label at the left end, between, and at the right end; none is in the cell `mark`.

    The labels of the ends move aside for the mark; the one between is left out where it has no room.
    """
    first, between, last = labels
    place = width if mark is None else mark
    start = 0 if place >= len(first) else place + 1
    stop = width if place < width - len(last) or mark is None else place
    line = f"{' ' * start}{first}"[:width].ljust(width)
    if stop - len(last) > start + len(first):
        line = f"{line[: stop - len(last)]}{last}".ljust(width)
    gaps = [(start + len(first), stop - len(last))]
    if gaps[0][0] <= place < gaps[0][1]:
        gaps += [(gaps[0][0], place), (place + 1, gaps[0][1])]
    for low, high in gaps:
        at = low + (high - low - len(between)) // 2
        if len(between) + 4 <= high - low and not at - 1 <= place <= at + len(between):
            return f"{line[:at]}{between}{line[at + len(between) :]}"
    return line


def _stretch(seconds: float) -> str:
    """Return a length of time in its largest unit: `2 days`, `6 h`, `15 min`, `1 s`."""
    if seconds >= 86_400:
        return plural(round(seconds / 86_400), "day")
    if seconds >= 3_600:
        return f"{seconds / 3_600:.0f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{max(seconds, 1):.0f} s"
