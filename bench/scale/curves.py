"""Curves of growth as SVG: both axes logarithmic, so that what is linear has the slope of the dashed line.

Colours are of middle brightness and there is no background: pictures are as readable on black as on white.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

COLOURS: Final = ("#2f81f7", "#d9730d", "#3fa45b", "#a371f7", "#d64161", "#12999e", "#b08800", "#8b7266")
INK: Final = "#818b98"

WIDTH: Final = 300
HEIGHT: Final = 280
LEFT, RIGHT, TOP, BOTTOM = 50, 145, 34, 34
BESIDE: Final = 2
BETWEEN: Final = 14
"""Pixels at least between two labels at the ends of curves."""

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves by name; `unit` is that of the values, `across` what is counted from left to right."""

    title: str
    unit: str
    across: str
    curves: Mapping[str, Points]


def draw(charts: Sequence[Chart]) -> str:
    """Return charts as one SVG, two side by side."""
    width, height = (WIDTH + RIGHT) * BESIDE, HEIGHT * math.ceil(len(charts) / BESIDE)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="ui-sans-serif, system-ui, sans-serif" font-size="11" fill="{INK}">'
    ]
    for number, chart in enumerate(charts):
        row, column = divmod(number, BESIDE)
        x, y = column * (WIDTH + RIGHT), row * HEIGHT
        parts.append(f'<g transform="translate({x} {y})">{_panel(chart)}</g>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(chart: Chart) -> str:
    points = [point for curve in chart.curves.values() for point in curve]
    (left, right), (low, high) = (_decades([point[axis] for point in points]) for axis in (0, 1))

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - left) / (right - left)
        up = (math.log10(y) - low) / (high - low)
        return LEFT + across * (WIDTH - LEFT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text x="{LEFT}" y="16" font-size="13" font-weight="600">{escape(chart.title)}</text>']
    for decade in range(low, high + 1):
        _, y = place(10**left, 10**decade)
        parts.append(_line((LEFT, y), (WIDTH, y), 'stroke-opacity="0.25"'))
        label = f"{_number(10.0**decade)} {chart.unit}" if decade == high else _number(10.0**decade)
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for decade in range(left, right + 1):
        x, _ = place(10**decade, 10**low)
        where = f'x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle"'
        parts.append(f"<text {where}>{_number(10.0**decade)}</text>")
    parts.append(f'<text x="{WIDTH}" y="{HEIGHT - 4}" text-anchor="end">{escape(chart.across)}</text>')
    span = min(right - left, high - low)
    parts.append(_line(place(10**left, 10**low), place(10 ** (left + span), 10 ** (low + span)), _DASHED))
    ends = []
    for colour, (name, curve) in zip(COLOURS, chart.curves.items(), strict=False):
        places = [place(*point) for point in curve]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in places]
        ends.append((places[-1][1], name, colour))
    return "".join((*parts, *_labels(ends)))


_DASHED: Final = 'stroke-dasharray="4 5" stroke-opacity="0.6"'


def _labels(ends: Sequence[tuple[float, str, str]]) -> list[str]:
    """Return the names of curves beside their ends, the upper first, none over another."""
    labels, above = [], 0.0
    for y, name, colour in sorted(ends):
        above = max(y, above + BETWEEN)
        labels.append(f'<text x="{WIDTH + 8}" y="{above + 4:.1f}" fill="{colour}">{escape(name)}</text>')
    return labels


def _line(start: tuple[float, float], end: tuple[float, float], more: str) -> str:
    (left, top), (right, bottom) = start, end
    return f'<line x1="{left:.1f}" y1="{top:.1f}" x2="{right:.1f}" y2="{bottom:.1f}" stroke="{INK}" {more}/>'


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten around values, at least one apart."""
    least = math.floor(math.log10(min(values)) + 1e-9)
    return least, max(least + 1, math.ceil(math.log10(max(values)) - 1e-9))


def _number(value: float) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
