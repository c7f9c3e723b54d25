"""The queue as a list: its columns, and pairs as cells."""

from __future__ import annotations

from typing import Final

from textual.content import Content

from screens.conflicts.pair import PairSide
from screens.conflicts.pair_panel import KINDS, OF, STATES
from screens.conflicts.queue import QueuedPair
from screens.safe_text import shown
from screens.widgets.table import Column

_TEXT: Final = 400  # characters of a side that a row may show

COLUMNS: Final = (
    Column("state", "", 1, priority=9),
    Column("glyph", "", 1, priority=9),
    Column("kind", "Kind", 13, priority=3),
    Column("surest", "Sure", 6, align="right", priority=4),
    Column("of", "", 1, priority=2),
    Column("file", "Left", priority=8, least=16),
    Column("right", "Right", priority=7, least=16),
    Column("action", "Suggested", 12, priority=1),
)
"""A column that the list can be sorted by has the name of that order."""


def pair_cells(item: QueuedPair) -> tuple[Content, ...]:
    """Return state, kind, certainty, both texts shortened, and what is suggested."""
    pair = item.pair
    glyph, style = KINDS[pair.kind]
    faint = "" if item.waits else "$text-muted"
    return (
        Content.styled(*STATES[item.state]),
        Content.styled(glyph, style),
        Content.styled(pair.kind.value, faint),
        Content.styled(f"{pair.score:.2f}", faint),
        Content.styled(OF[pair.of], "$text-muted"),
        _line(pair.left, faint),
        _line(pair.right, faint),
        Content.styled(pair.suggestion.action.value.replace("_", " "), "$text-muted"),
    )


def _line(side: PairSide, style: str) -> Content:
    return shown(" ".join(side.text[:_TEXT].split()), style)
