"""Charts over numbers or times, drawn by plotext in the colours of the theme.

plotext draws without colours; each series has a glyph of its own, and the glyphs are what gets coloured. So a
chart says the same without colours, and the legend is read off the glyphs. Values that are no finite numbers
are gaps. The product's own series has the same colour in every chart and is drawn over the others. The figure
belongs to the whole process: charts are drawn in the app's thread only.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias

from textual.content import Content, Span
from textual.widget import Widget

from screens.safe_text import safe
from screens.themes import style_of
from workbench.text.charts import draw_figure, new_figure, number_text, round_ticks, time_ticks
from workbench.text.counts import shorten_middle
from workbench.text.sanitize import visible_line

Kind: TypeAlias = Literal["line", "bar", "scatter"]

LEAST_WIDTH: Final = 24
LEAST_HEIGHT: Final = 5
"""Cells below which a chart would be all axes."""

OWN: Final = "$text-primary"
"""The colour of the product's own figures, in every chart and table."""
OWN_GLYPH: Final = "●"

_GLYPHS: Final = "○▲■◆×△□"
_BARS: Final = "█▒░▓"
_STYLES: Final = ("$text-secondary", "$text-warning", "$text-success", "$text-error", "$text", "$text-muted")
_LARGEST: Final = 1e15  # beyond, neither the arithmetic of the axes nor their labels hold
_HEAD: Final = 2  # lines of a title, and of a legend
_NAME: Final = 32
_LABEL: Final = 28

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    """One set of points; `glyph` is chosen where it is empty. `own` says that it is the product's own."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    kind: Kind = "line"
    glyph: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """What a chart shows. Its title is a sentence: what there is to see.

    `times`: x is seconds since 1970, labelled in local time. `between` is what x ranges over, else the points
    say so; y begins at zero and reaches `top` at least. With `rows` y counts rows from the bottom, 1 first,
    each labelled, the topmost label first, and no legend is needed.
    """

    title: str = ""
    series: tuple[Series, ...] = ()
    x_label: str = ""
    y_label: str = ""
    times: bool = False
    between: Point | None = None
    top: float = 0.0
    rows: tuple[str, ...] = ()
    empty: str = "Nothing to plot yet."


def glyphs(series: Sequence[Series]) -> list[str]:
    """Return a glyph for each series: its own, or the first of its kind that no other one has."""
    taken = {one.glyph for one in series}
    found = []
    for one in series:
        glyph = one.glyph
        if not glyph:
            choices = _BARS if one.kind == "bar" else OWN_GLYPH + _GLYPHS if one.own else _GLYPHS
            glyph = next((choice for choice in choices if choice not in taken), choices[0])
            taken.add(glyph)
        found.append(glyph)
    return found


def styles(series: Sequence[Series]) -> list[str]:
    """Return a colour for each series: that of the product for its own ones, the others' by their names."""
    others = list(dict.fromkeys(one.name for one in series if not one.own))
    return [OWN if one.own else _STYLES[others.index(one.name) % len(_STYLES)] for one in series]


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


def plotext_is_loaded() -> bool:
    """Whether charts can be drawn without importing anything."""
    # The last name that the package defines: while it is being imported it has none.
    return hasattr(sys.modules.get("plotext"), "doc")


def plot_lines(chart: Chart, width: int, height: int) -> str:
    """Return axes and points as lines of text without colours, '' if nothing can be drawn."""
    parts = [runs(one.x, one.y) for one in chart.series]
    points = [point for part in parts for run in part for point in run]
    if not points:
        return ""
    if chart.rows:
        height = min(height, len(chart.rows) + 1)
    figure = new_figure(width, height, color=False)
    drawn = zip(chart.series, glyphs(chart.series), parts, strict=True)
    for one, glyph, part in sorted(drawn, key=lambda each: each[0].own):
        for run in part:
            _draw(figure, one.kind, glyph, thin_points(run, width if one.kind == "bar" else width * 4))
    _x_axis(figure, chart, [x for x, _ in points], width)
    _y_axis(figure, chart, [y for _, y in points], width, height)
    return draw_figure(figure, color=False)


class Plot(Widget):
    """A chart under its title and its legend; an empty one says so."""

    DEFAULT_CSS = style_of("Plot")

    def __init__(
        self, chart: Chart | None = None, *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.chart = chart or Chart()
        self._ready = plotext_is_loaded()

    def on_mount(self) -> None:
        """Load plotext beside the app: that takes longer than the app may freeze."""
        if not self._ready:
            self.run_worker(self._load(), group="plotext", exclusive=True)

    async def _load(self) -> None:
        await asyncio.to_thread(import_module, "plotext")
        self._ready = True
        self.refresh()

    def show(self, chart: Chart) -> None:
        """Show another chart."""
        self.chart = chart
        self.refresh()

    def render(self) -> Content:
        """Return the title, the legend, the chart, and what x is."""
        width, height, chart = self.content_size.width, self.content_size.height, self.chart
        head = [*_wrap_title(safe(chart.title, "bold"), width), *legend(chart, width)]
        foot = [safe(chart.x_label, "$text-muted").truncate(width, ellipsis=True).center(width)]
        foot = foot if chart.x_label else []
        if not self._ready:
            return Content("\n").join(head)
        rows = height - len(head) - len(foot)
        if width < LEAST_WIDTH or rows < LEAST_HEIGHT:
            return Content("\n").join([*head, safe("no room for a chart", "$text-muted italic")])
        body = plot_lines(chart, width, rows)
        if not body:
            return Content("\n").join([*head, safe(chart.empty, "$text-muted italic")])
        return Content("\n").join([*head, _color_series(chart.series, body), *foot])


def legend(chart: Chart, width: int) -> list[Content]:
    """Return what y is and the glyph of each series with its name, all of them, in lines of `width` cells."""
    label = [safe(chart.y_label, "$text-muted")] if chart.y_label else []
    if len(chart.series) < 2 or chart.rows:
        return [one.truncate(width, ellipsis=True) for one in label]
    limit = _NAME
    while True:
        names = [
            Content.assemble((glyph, style), " ", safe(shorten_middle(visible_line(one.name), limit)))
            for one, glyph, style in zip(
                chart.series, glyphs(chart.series), styles(chart.series), strict=True
            )
        ]
        lines = _lines([*label, *names], width)
        if len(lines) <= _HEAD or limit <= LEAST_HEIGHT:
            return lines
        limit -= 1


def _lines(parts: Sequence[Content], width: int) -> list[Content]:
    """Return parts two cells apart in as many lines as they need."""
    lines: list[Content] = []
    for part in parts:
        if lines and lines[-1].cell_length + 2 + part.cell_length <= width:
            lines[-1] = lines[-1] + Content("  ") + part
        else:
            lines.append(part.truncate(width, ellipsis=True))
    return lines


def _wrap_title(title: Content, width: int) -> list[Content]:
    if not title.plain:
        return []
    first, *rest = title.wrap(max(width, 1))
    return [first, *(Content(" ").join(rest).truncate(width, ellipsis=True) for _ in rest[:1])]


def _color_series(series: Sequence[Series], body: str) -> Content:
    style_by_glyph = dict(zip(glyphs(series), styles(series), strict=True))
    spans: list[Span] = []
    for at, character in enumerate(body):
        style = style_by_glyph.get(character)
        if style is None:
            continue
        if spans and spans[-1].end == at and spans[-1].style == style:
            spans[-1] = Span(spans[-1].start, at + 1, style)
        else:
            spans.append(Span(at, at + 1, style))
    return Content(body, spans)


def _draw(figure: Any, kind: Kind, glyph: str, run: Sequence[Point]) -> None:  # noqa: ANN401 - plotext
    x, y = [point[0] for point in run], [point[1] for point in run]
    if kind == "bar":
        figure.draw(figure.bar(x, y, marker=glyph))
        return
    signal = figure.signal(x, y, marker=glyph)
    if kind == "line":
        signal.lines()
    figure.draw(signal)


def _x_axis(figure: Any, chart: Chart, values: Sequence[float], width: int) -> None:  # noqa: ANN401 - plotext
    low, high = chart.between or (min(values), max(values))
    most = max(min(width // 12, 8), 3)
    if chart.times:
        places, labels = time_ticks(low, high, most)
        low, high = (low - 30, high + 30) if low == high else (low, high)
    else:
        places = round_ticks(low, high, most)
        labels = list(map(number_text, places))
        low, high = places[0], places[-1]
    if any(one.kind == "bar" for one in chart.series):
        gaps = sorted(set(values))
        step = min((after - before for before, after in pairwise(gaps)), default=1.0)
        low, high = min(low, gaps[0] - step / 2), max(high, gaps[-1] + step / 2)
    figure.ruler("x").lim(low, high)
    figure.ruler("x").ticks(places, labels)


def _y_axis(
    figure: Any,  # noqa: ANN401 - plotext has no types
    chart: Chart,
    values: Sequence[float],
    width: int,
    height: int,
) -> None:
    if chart.rows:
        count, limit = len(chart.rows), min(_LABEL, width // 2)
        seen = min(count, height - 1)
        labels = [f"{shorten_middle(visible_line(row), limit)} " for row in chart.rows[:seen]]
        labels = [f"{label:<{max(map(len, labels))}}" for label in labels]
        figure.axes(False)
        figure.ruler("y").lim(count - seen + 0.5, count + 0.5)
        figure.ruler("y").ticks(list(range(count, count - seen, -1)), labels)
        return
    places = round_ticks(min(values), max(*values, chart.top), max(min(height // 2, 6), 3))
    figure.ruler("y").lim(places[0], places[-1])
    figure.ruler("y").ticks(places, [number_text(place) for place in places])
