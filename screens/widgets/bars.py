"""Bars of block characters: what each feature adds to a score or takes from it.

A feature is a name, a bar that grows from an axis to the right or, for less than zero, to the left, and the
number with its sign: three ways to show the same, of which two need no colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from textual.content import Content
from textual.widget import Widget

from screens.safe_text import safe
from screens.themes import style_of

Order: TypeAlias = Literal["magnitude", "given"]

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_NAME_MOST: Final = 28
_NUMBER: Final = 9
_LEAST_BAR: Final = 4


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a feature adds to a score; `note` is shown dimmed after its name."""

    name: str
    value: float
    note: str = ""


def bar(value: float, scale: float, width: int) -> str:
    """Return a bar of exactly `width` cells, full at `scale`.

    Values of zero and more grow from the left in eighths of a cell, those below from the right in halves
    (there are no other blocks that do). What is not a number or has no scale is blank; beyond it is full.
    """
    if width <= 0:
        return ""
    if math.isnan(value) or math.isnan(scale) or scale <= 0 or value == 0:
        return " " * width
    share = 1.0 if math.isinf(value) else min(abs(value) / scale, 1.0)
    if value > 0:
        eighths = max(round(share * width * 8), 1)
        full, rest = divmod(eighths, 8)
        return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)
    full, half = divmod(max(round(share * width * 2), 1), 2)
    return ("▐" * half + "█" * full).rjust(width)


def order_rows(rows: Sequence[Contribution], order: Order) -> list[Contribution]:
    """Return rows as given, or the largest first whatever their sign, by name where they are equal."""
    if order == "given":
        return list(rows)
    return sorted(rows, key=lambda row: (-_magnitude(row.value), row.name))


def bar_lines(rows: Sequence[Contribution], width: int, *, total: float | None = None) -> list[Content]:
    """Return a line for each row, at most `width` cells, and one for the total if there is one."""
    if not rows:
        return []
    longest = max(max(len(_label(row)) for row in rows), len("total"))
    names = min(longest, _NAME_MOST, max(width - _NUMBER - _LEAST_BAR - 2, len("total")))
    room = width - names - _NUMBER - 2
    scale = max((_magnitude(row.value) for row in rows), default=0.0)
    signed = any(row.value < 0 for row in rows)
    lines = [_line(row, names, room, scale, signed=signed) for row in rows]
    if total is not None:
        gap = " " * max(room, 0)
        lines.append(Content.assemble((f"{'total':<{names}} {gap} {_number(total)}", "bold")))
    return lines


class FeatureBars(Widget):
    """Contributions of features to one score, with a total; an empty one says what it would show."""

    DEFAULT_CSS = style_of("FeatureBars")

    def __init__(
        self,
        rows: Sequence[Contribution] = (),
        *,
        total: float | None = None,
        order: Order = "magnitude",
        empty: str = "No features.",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._rows = order_rows(rows, order)
        self._total = total
        self._order: Order = order
        self._empty = empty

    @property
    def rows(self) -> tuple[Contribution, ...]:
        """The rows in the order they are shown."""
        return tuple(self._rows)

    def show(self, rows: Sequence[Contribution], *, total: float | None = None) -> None:
        """Show other rows."""
        self._rows = order_rows(rows, self._order)
        self._total = total
        self.refresh(layout=True)

    def render(self) -> Content:
        """Return the rows, the total last."""
        if not self._rows:
            return safe(self._empty, "$text-muted italic")
        return Content("\n").join(bar_lines(self._rows, self.content_size.width, total=self._total))

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """Return a line for each row and the total."""
        return max(len(self._rows) + (self._total is not None and bool(self._rows)), 1)


def _line(row: Contribution, names: int, room: int, scale: float, *, signed: bool) -> Content:
    name = safe(row.name)
    if row.note:
        name = Content.assemble(name, " ", safe(row.note, "$text-muted"))
    name = name.truncate(names, ellipsis=True, pad=True)
    style = "$text-error" if row.value < 0 else "$text-success"
    return Content.assemble(name, " ", (_bar(row.value, scale, room, signed), style), " ", _number(row.value))


def _bar(value: float, scale: float, room: int, signed: bool) -> str:
    if room < _LEAST_BAR:
        return " " * max(room, 0)
    if not signed:
        return bar(value, scale, room)
    left = (room - 1) // 2
    right = left  # the same room on both sides, so that lengths compare
    below = bar(min(value, 0.0), scale, left)
    above = bar(max(value, 0.0), scale, right)
    return f"{below}│{above}".ljust(room)


def _label(row: Contribution) -> str:
    return f"{row.name} {row.note}" if row.note else row.name


def _number(value: float) -> str:
    if math.isnan(value):
        return f"{'?':>{_NUMBER}}"
    if math.isinf(value) or abs(value) >= 1000:
        return f"{value:>+{_NUMBER}.1e}"
    return f"{value:>+{_NUMBER}.3f}"


def _magnitude(value: float) -> float:
    return abs(value) if math.isfinite(value) else 0.0


@dataclass(frozen=True, slots=True)
class Portion:
    """Tokens used by one kind of knowledge."""

    kind: str
    tokens: int
