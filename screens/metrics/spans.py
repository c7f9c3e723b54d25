"""The stretches of time the metrics can look at, and how finely each is divided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Span:
    """A time to look back: its name as `workbench stats --since` takes it, and both lengths in seconds."""

    name: str
    seconds: int
    step: int


SPANS: Final = (
    Span("15m", 900, 15),
    Span("1h", 3_600, 60),
    Span("6h", 6 * 3_600, 300),
    Span("24h", 24 * 3_600, 900),
    Span("7d", 7 * 86_400, 6 * 3_600),
    Span("30d", 30 * 86_400, 86_400),
    Span("90d", 90 * 86_400, 2 * 86_400),
)
DEFAULT: Final = 3


def span_named(name: object) -> int:
    """Return the place of a span by its name, that of a day for one there is not."""
    return next((place for place, span in enumerate(SPANS) if span.name == name), DEFAULT)
