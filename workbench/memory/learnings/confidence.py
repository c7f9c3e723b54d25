"""How far a learning is trusted: what it starts with, what speaks for it, what spoke against it.

Every session that found it out by itself takes away a part of the doubt. Outcomes against it are weighed
with the sessions for it: the first one halves the trust in what was found out once. A person's review sets it
right again: what spoke against it before counts no more.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from workbench.records.learnings import FeatureLearning

REVIEWED: Final = 0.8
DOUBT_LEFT: Final = 0.85
MOST_HITS: Final = 5
LOST: Final = 0.25
"""Below this a learning is not given to anyone until somebody reviewed it."""

_DAY: Final = 86_400.0


def confidence_of(learning: FeatureLearning, hits: int, contradictions: int) -> float:
    """Return the confidence in [0, 1] after further hits, and contradictions since the last review."""
    start = max(learning.confidence, REVIEWED) if learning.reviewed else learning.confidence
    supported = 1.0 - (1.0 - start) * DOUBT_LEFT ** min(hits, MOST_HITS)
    return round(supported * (1 + hits) / (1 + hits + contradictions), 4)


def stale_days(learning: FeatureLearning, now: float) -> int:
    """Return how many whole days ago a learning was last found out, reviewed or changed."""
    last = max(learning.timestamp, learning.last_hit, learning.reviewed_at)
    try:
        at = datetime.fromisoformat(last)
    except ValueError:
        return 0
    return max(0, int((now - at.replace(tzinfo=at.tzinfo or UTC).timestamp()) // _DAY))
