"""The kinds of journal entries that tell of learnings, beside the iterations in a feature's stream.

Every plan asks `has_memory`: nothing else is imported where nothing was ever learned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from workbench.ports import Journal

STREAMS: Final = "memory/"
"""How the names of features' streams begin (`workbench.memory.journal.PREFIX`)."""

PUT: Final = "learning.put"
REMOVED: Final = "learning.removed"
HIT: Final = "learning.hit"
CONTRADICTED: Final = "learning.contradicted"
SETTLED: Final = "learning.settled"
REOPENED: Final = "learning.reopened"
SAID: Final = "correction.said"
KINDS: Final = frozenset({PUT, REMOVED, HIT, CONTRADICTED, SETTLED, REOPENED, SAID})


def has_memory(journal: Journal) -> bool:
    """Whether a journal holds the memory of any feature; its streams' names say so, nothing is read."""
    return any(stream.startswith(STREAMS) for stream in journal.streams())
