"""The kinds of journal entries that tell of learnings, beside the iterations in a feature's stream."""

from __future__ import annotations

from typing import Final

PUT: Final = "learning.put"
REMOVED: Final = "learning.removed"
HIT: Final = "learning.hit"
CONTRADICTED: Final = "learning.contradicted"
SETTLED: Final = "learning.settled"
REOPENED: Final = "learning.reopened"
KINDS: Final = frozenset({PUT, REMOVED, HIT, CONTRADICTED, SETTLED, REOPENED})
