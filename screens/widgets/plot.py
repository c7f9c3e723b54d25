"""Lines, points and bars over numbers or times, drawn by plotext in the colours of the theme.

plotext draws without colours; each series has a glyph of its own, and the glyphs are what gets coloured. So a
plot says the same without colours, and the legend is read off the glyphs. Values that are no finite numbers
are gaps. The figure belongs to the whole process: plots are drawn in the app's thread only.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias

from textual.content import Content, Span
from textual.widget import Widget

from screens.safe_text import shown
from screens.themes import style_of
from workbench.text.counts import draw_figure, new_figure

Kind: TypeAlias = Literal["line", "bar", "scatter"]

LEAST_WIDTH: Final = 24
LEAST_HEIGHT: Final = 5
"""Cells below which a plot would be all axes."""

_GLYPHS: Final = "●▲■◆×○△□"
_BARS: Final = "█▒░▓"
_STYLES: Final = ("$text-primary", "$text-warning", "$text-success", "$text-accent", "$text-error", "$text")
_LARGEST: Final = 1e15  # beyond, neither the arithmetic of the axes nor their labels hold
_MINUTES, _DAY, _MONTHS = 600, 86_400, 240 * 86_400
_EARLIEST, _LATEST = -62_135_596_800, 253_402_300_799  # the years 1 to 9999

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    """One set of points; `x` may be seconds since 1970 (see `Plot`), `glyph` is chosen where it is empty."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    kind: Kind = "line"
    glyph: str = ""


def glyphs(series: Sequence[Series]) -> list[str]:
    """Return a glyph for each series: its own, or the first of its kind that no other one has."""
    taken = {one.glyph for one in series}
    found = []
    for one in series:
        glyph = one.glyph
        if not glyph:
            choices = _BARS if one.kind == "bar" else _GLYPHS
            glyph = next((choice for choice in choices if choice not in taken), choices[0])
            taken.add(glyph)
        found.append(glyph)
    return found


def runs(x: Sequence[float], y: Sequence[float]) -> list[list[Point]]:
    """Return the points as runs that are not interrupted by a value that cannot be drawn."""
    parts: list[list[Point]] = [[]]
    for point in zip(x, y, strict=False):
        if all(math.isfinite(value) and abs(value) <= _LARGEST for value in point):
            parts[-1].append(point)
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def thin_points(points: Sequence[Point], most: int) -> list[Point]:
    """Return about `most` points at most with the same outline: of each stretch its extremes and ends."""
    if len(points) <= most:
        return list(points)
    count = max(most // 4, 1)
    kept = []
    for number in range(count):
        start, end = number * len(points) // count, (number + 1) * len(points) // count
        part = range(start, end)
        low = min(part, key=lambda at: points[at][1])
        high = max(part, key=lambda at: points[at][1])
        kept += [points[at] for at in sorted({start, low, high, end - 1})]
    return kept


def time_labels(low: float, high: float, count: int) -> tuple[list[float], list[str]]:
    """Return places between two times, in seconds since 1970, and their labels in UTC."""
    span = high - low
    if span < _MINUTES:
        pattern = "%H:%M:%S"
    elif span < _DAY:
        pattern = "%H:%M"
    elif span < 3 * _DAY:
        pattern = "%m-%d %H:%M"
    else:
        pattern = "%m-%d" if span < _MONTHS else "%Y-%m"
    places = [low + span * number / max(count - 1, 1) for number in range(count if span else 1)]
    return places, [
        datetime.fromtimestamp(min(max(place, _EARLIEST), _LATEST), UTC).strftime(pattern) for place in places
    ]


def number_text(value: float) -> str:
    """Return a number of an axis in at most seven characters or so."""
    if value == 0:
        return "0"
    size = abs(value)
    for limit, mark in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit:
            return f"{value / (1e3 if mark == 'k' else limit):.4g}{mark}"
    return f"{value:.4g}" if size >= 1e-3 else f"{value:.1e}"


def plotext_is_loaded() -> bool:
    """Whether plots can be drawn without importing anything."""
    # The last name that the package defines: while it is being imported it has none.
    return hasattr(sys.modules.get("plotext"), "doc")


def plot_lines(series: Sequence[Series], width: int, height: int, *, times: bool = False) -> str:
    """Return axes and points as lines of text without colours, '' if nothing can be drawn."""
    parts = [runs(one.x, one.y) for one in series]
    points = [point for part in parts for run in part for point in run]
    if not points:
        return ""
    figure = new_figure(width, height, color=False)
    for one, glyph, part in zip(series, glyphs(series), parts, strict=True):
        for run in part:
            _draw(figure, one.kind, glyph, thin_points(run, width if one.kind == "bar" else width * 4))
    _axes(figure, series, points, width, height, times)
    return draw_figure(figure, color=False)


class Plot(Widget):
    """A plot of some series with its title, its legend and its axes; an empty one says so.

    `times`: x is seconds since 1970 and labelled as times, in UTC. `y_unit` follows the title, as in
    "latency (ms)".
    """

    DEFAULT_CSS = style_of("Plot")

    def __init__(  # noqa: PLR0913 - choices, by keyword
        self,
        series: Sequence[Series] = (),
        *,
        title: str = "",
        x_label: str = "",
        y_label: str = "",
        y_unit: str = "",
        times: bool = False,
        empty: str = "Nothing to plot yet.",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._series = tuple(series)
        self._title = title
        self._x_label, self._y_label, self._y_unit = x_label, y_label, y_unit
        self._times = times
        self._empty = empty
        self._ready = plotext_is_loaded()

    def on_mount(self) -> None:
        """Load plotext beside the app: that takes longer than the app may freeze."""
        if not self._ready:
            self.run_worker(self._load(), group="plotext", exclusive=True)

    async def _load(self) -> None:
        await asyncio.to_thread(import_module, "plotext")
        self._ready = True
        self.refresh()

    @property
    def series(self) -> tuple[Series, ...]:
        """What is plotted."""
        return self._series

    def show(self, series: Sequence[Series], *, title: str | None = None) -> None:
        """Plot other series."""
        self._series = tuple(series)
        if title is not None:
            self._title = title
        self.refresh()

    def render(self) -> Content:
        """Return the title with the legend, the plot, and what x is."""
        width, height = self.content_size.width, self.content_size.height
        head = self._head().truncate(width, ellipsis=True)
        foot = shown(self._x_label, "$text-muted") if self._x_label else None
        rows = height - 1 - (foot is not None)
        if width < LEAST_WIDTH or rows < LEAST_HEIGHT:
            return Content("\n").join([head, shown("no room for a plot", "$text-muted italic")])
        if not self._ready:
            return head
        body = plot_lines(self._series, width, rows, times=self._times)
        if not body:
            return Content("\n").join([head, shown(self._empty, "$text-muted italic")])
        parts = [head, self._colored(body)]
        if foot is not None:
            parts.append(foot.truncate(width, ellipsis=True).center(width))
        return Content("\n").join(parts)

    def _head(self) -> Content:
        what = self._title or self._y_label
        if self._title and self._y_label:
            what = f"{self._title}: {self._y_label}"
        title = shown(f"{what} ({self._y_unit})" if self._y_unit else what, "bold")
        if len(self._series) < 2:
            return title
        legend = [
            Content.assemble((glyph, _style(place)), " ", shown(one.name, limit=40))
            for place, (one, glyph) in enumerate(zip(self._series, glyphs(self._series), strict=True))
        ]
        return Content("  ").join([title, *legend] if what else legend)

    def _colored(self, body: str) -> Content:
        styles = {glyph: _style(place) for place, glyph in enumerate(glyphs(self._series))}
        spans: list[Span] = []
        for at, character in enumerate(body):
            style = styles.get(character)
            if style is None:
                continue
            if spans and spans[-1].end == at and spans[-1].style == style:
                spans[-1] = Span(spans[-1].start, at + 1, style)
            else:
                spans.append(Span(at, at + 1, style))
        return Content(body, spans)


def _style(place: int) -> str:
    return _STYLES[place % len(_STYLES)]


def _draw(figure: Any, kind: Kind, glyph: str, run: Sequence[Point]) -> None:  # noqa: ANN401 - plotext
    x, y = [point[0] for point in run], [point[1] for point in run]
    if kind == "bar":
        figure.draw(figure.bar(x, y, marker=glyph))
        return
    signal = figure.signal(x, y, marker=glyph)
    if kind == "line":
        signal.lines()
    figure.draw(signal)


def _axes(
    figure: Any,  # noqa: ANN401 - plotext has no types
    series: Sequence[Series],
    points: Sequence[Point],
    width: int,
    height: int,
    times: bool,
) -> None:
    bars = any(one.kind == "bar" for one in series)
    low, high = _range([x for x, _ in points])
    if bars:
        gaps = sorted({x for x, _ in points})
        step = min((b - a for a, b in pairwise(gaps)), default=1.0)
        low, high = low - step / 2, high + step / 2
    count = max(min(width // 16, 8), 2)
    if times:
        places, labels = time_labels(min(x for x, _ in points), max(x for x, _ in points), count)
    else:
        places = [low + (high - low) * number / (count - 1) for number in range(count)]
        labels = [number_text(place) for place in places]
    figure.ruler("x").lim(low, high)
    figure.ruler("x").ticks(places, labels)
    bottom, top = _range([y for _, y in points] + ([0.0] if bars else []))
    rows = max(min(height // 3, 6), 2)
    heights = [bottom + (top - bottom) * number / (rows - 1) for number in range(rows)]
    figure.ruler("y").lim(bottom, top)
    figure.ruler("y").ticks(heights, [number_text(place) for place in heights])


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return the least and the largest value, apart even where all are the same."""
    low, high = min(values), max(values)
    least = max(abs(low), abs(high)) * 1e-9 or 1e-9
    if high - low > least:
        return low, high
    apart = max(abs(low) * 0.1, 1.0)
    return (low, low + apart) if low == 0 else (low - apart, high + apart)
