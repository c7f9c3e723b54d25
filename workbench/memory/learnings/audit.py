"""The junk in a memory, by kind, and what of it may go by itself.

Pruning is conservative, for what is old and unseen may be what keeps an error from coming back (F35): only
what was learned automatically, never reviewed and seen in a single session long ago goes. It can be undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workbench.comparison.candidates import find_duplicates
from workbench.comparison.verdicts import TextVerdict
from workbench.memory.learnings.confidence import stale_days
from workbench.memory.learnings.echoes import Injections, is_echo
from workbench.memory.learnings.ledger import LearningLedger
from workbench.memory.learnings.pairs import Finder
from workbench.memory.learnings.review import STALE_DAYS, conflicts_of
from workbench.memory.learnings.texts import too_vague
from workbench.records.learnings import FeatureLearning, LearningKind, LearningSource
from workbench.text.redact import find_secrets

PRUNE_DAYS: Final = 60.0


class JunkKind(StrEnum):
    """What is wrong with a learning."""

    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    STALE = "stale"
    ECHO = "echo"  # the workbench itself had told it before
    VAGUE = "vague"
    SECRET = "secret"


@dataclass(frozen=True, slots=True)
class Junk:
    """A learning that looks like junk, and why; `other` is the id of the one it repeats or contradicts."""

    kind: JunkKind
    learning: FeatureLearning
    why: str
    other: str = ""


@dataclass(frozen=True, slots=True)
class Audit:
    """What looks like junk among `total` live learnings, and which of it pruning would take out."""

    total: int
    junk: tuple[Junk, ...]
    prunable: tuple[FeatureLearning, ...]

    def counts(self) -> dict[str, int]:
        """Return how many there are of each kind, every kind named."""
        return {kind.value: sum(one.kind is kind for one in self.junk) for kind in JunkKind}


def audit(
    ledger: LearningLedger, injections: Injections, now: float, find: Finder = find_duplicates
) -> Audit:
    """Return the junk by kind, ties by id, and what pruning would take out."""
    live = ledger.live()
    found = [*_collisions(ledger, find)]
    for one in live:
        found += _faults(one, injections, now)
    order = tuple(JunkKind)
    found.sort(key=lambda one: (order.index(one.kind), one.learning.id, one.other))
    return Audit(len(live), tuple(found), prunable(ledger, now))


def prunable(ledger: LearningLedger, now: float, days: float | None = None) -> tuple[FeatureLearning, ...]:
    """Return what may go (F35): automatic, unreviewed, seen once, not heard of for `days` (default 60)."""
    least = PRUNE_DAYS if days is None else days
    return tuple(
        one
        for one in ledger.live()
        if one.source is LearningSource.AUTO
        and not one.reviewed
        and one.hit_count == 1
        and stale_days(one, now) >= least
    )


def _collisions(ledger: LearningLedger, find: Finder) -> Iterator[Junk]:
    for pair in conflicts_of(ledger, find):
        kind = JunkKind.CONTRADICTION if pair.verdict is TextVerdict.CONFLICT else JunkKind.DUPLICATE
        yield Junk(kind, pair.right, "; ".join(one.detail for one in pair.evidence[:2]), pair.left.id)


def _faults(one: FeatureLearning, injections: Injections, now: float) -> Iterator[Junk]:
    days = stale_days(one, now)
    if days >= STALE_DAYS:
        yield Junk(JunkKind.STALE, one, f"nothing new was learned of it for {days} days")
    written = one.source in (LearningSource.AUTO, LearningSource.AGENT) and not one.reviewed
    if written and is_echo(one.text, injections.prints_before(one.timestamp)):
        yield Junk(JunkKind.ECHO, one, "the workbench had injected it before it was learned")
    # What a user says of how things are done needs no names: "do not add comments".
    reason = "" if one.kind is LearningKind.CORRECTION else too_vague(one.text)
    if written and reason:
        yield Junk(JunkKind.VAGUE, one, reason)
    if find_secrets(one.text):
        yield Junk(JunkKind.SECRET, one, "it holds a secret")
