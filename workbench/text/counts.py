"""Counts as people read them, `1 file` and `2,000 files`, and the one figure that plots are drawn into.

plotext draws into a figure that all share, so plots are made from one thread only, one after the other. It is
imported when there is something to draw.
"""

from __future__ import annotations

from typing import Any


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, in the plural unless it is one; `plural` is for those that take no s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def tenths(chance: float) -> str:
    """Return a probability in tenths, never as certain or impossible: `in 8 of 10`."""
    count = round(chance * 10)
    return f"{'in fewer than 1' if count < 1 else 'in more than 9' if count > 9 else f'in {count}'} of 10"


def shorten_middle(text: str, width: int) -> str:
    """Return a text in at most `width` characters, beginning and end in view: `words of…in its path`."""
    if len(text) <= width:
        return text
    end = max((width - 1) * 2 // 3, 1)
    return f"{text[: max(width - 1 - end, 0)]}…{text[-end:]}"


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
