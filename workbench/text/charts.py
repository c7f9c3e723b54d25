"""The one figure that charts are drawn into by plotext, and round ticks for numbers and times of its axes.

plotext draws into a figure that all share, so charts are made from one thread only, one after the other. It
is imported when there is something to draw.
"""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from typing import Any, Final

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_CLOCK: Final = (
    *(1, 2, 5, 10, 15, 30),
    *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR for step in (1, 2, 3, 6, 12)),
)
_DAYS: Final = (1, 2, 7, 14)
_MONTHS: Final = (1, 2, 3, 6, 12, 24, 60, 120, 600, 1_200, 12_000, 120_000)
_LONG: Final = 240 * _DAY
_EARLIEST, _LATEST = -62_135_424_000.0, 253_402_128_000.0  # a day or two within the years 1 to 9999
_MIDNIGHT: Final = time()
_LEAST: Final = 1e-9  # what is smaller is drawn as zero


def new_figure(width: int, height: int, *, color: bool) -> Any:  # noqa: ANN401 - plotext has no types
    """Return the figure, empty, `width` x `height` cells whatever the terminal has."""
    import plotext

    figure = plotext.figure
    figure.clear()
    plotext.terminal.limit(False, False)
    figure.plot_size(width, height)
    figure.theme("simple" if color else "colorless")
    return figure


def draw_figure(figure: Any, *, color: bool) -> str:  # noqa: ANN401 - plotext has no types
    """Return the lines of a figure without blanks at their ends."""
    lines: str = figure.build().string(colorless=not color)
    return "\n".join(line.rstrip() for line in lines.rstrip("\n").splitlines())


def color_glyph(glyph: str, color: str) -> Any:  # noqa: ANN401 - plotext has no types
    """Return what a series or a bar is drawn with where there are colours."""
    import plotext

    return plotext.colorize(glyph, color)


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most `most` (3 or more) multiples of 1, 2 or 5 × 10ⁿ: zero, and around both."""
    low, high = min(low, 0.0), max(high, 0.0)
    if high - low < _LEAST:
        high = 1.0
    power = math.floor(math.log10((high - low) / (most - 1)))
    for step in (factor * 10.0 ** (power + more) for more in (0, 1, 2) for factor in (1, 2, 5)):
        first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
        if last - first < most:
            return [round(number * step, max(1 - power, 0)) for number in range(first, last + 1)]
    raise AssertionError(most)


def time_ticks(low: float, high: float, most: int) -> tuple[list[float], list[str]]:
    """Return at most `most` round times between two, in seconds since 1970, with labels in local time.

    A day's first hour is labelled by its date. Where there is no round time in between it is `low` alone.
    """
    start, end = _local(low), _local(high)
    room = (high - low) / max(most - 1, 1)
    if room <= _CLOCK[-1]:
        step = timedelta(seconds=next(one for one in _CLOCK if one >= room))
        midnight = datetime.combine(start.date(), _MIDNIGHT)
        at = midnight + step * math.ceil((start - midnight) / step)
        clock = "%H:%M:%S" if step < timedelta(minutes=1) else "%H:%M"
        found = []
        while at <= end:
            found.append((at, at.strftime("%m-%d" if at.time() == _MIDNIGHT else clock)))
            at += step
    elif room <= _DAYS[-1] * _DAY:
        days = next(day for day in _DAYS if day * _DAY >= room)
        first = start.date().toordinal() + (start.time() != _MIDNIGHT)
        found = [
            (datetime.combine(date.fromordinal(day), _MIDNIGHT), f"{date.fromordinal(day):%m-%d}")
            for day in range(math.ceil(first / days) * days, end.date().toordinal() + 1, days)
        ]
    else:
        months = next((month for month in _MONTHS if month * 30.5 * _DAY >= room), _MONTHS[-1])
        first = start.year * 12 + start.month - (start.day == 1)
        found = [
            (datetime(month // 12, month % 12 + 1, 1), f"{month // 12:04}-{month % 12 + 1:02}")
            for month in range(math.ceil(first / months) * months, end.year * 12 + end.month, months)
        ]
    return (
        ([at.timestamp() for at, _ in found], [label for _, label in found])
        if found
        else ([low], [time_text(low, high - low)])
    )


def time_text(at: float, span: float) -> str:
    """Return a local time as finely as times within `span` seconds differ."""
    for limit, pattern in ((600, "%H:%M:%S"), (_DAY, "%H:%M"), (3 * _DAY, "%m-%d %H:%M"), (_LONG, "%m-%d")):
        if span < limit:
            return _local(at).strftime(pattern)
    return f"{_local(at).year:04}-{_local(at).month:02}"


def number_text(value: float) -> str:
    """Return a number of an axis in at most seven characters or so."""
    if value == 0:
        return "0"
    size = abs(value)
    for limit, mark in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit:
            return f"{value / (1e3 if mark == 'k' else limit):.4g}{mark}"
    return f"{value:.4g}" if size >= 1e-3 else f"{value:.1e}"


def _local(at: float) -> datetime:
    """Return a time of the local clock, as near as a date can be to one beyond the years 1 to 9999."""
    return datetime.fromtimestamp(min(max(at, _EARLIEST), _LATEST))
