"""Follows references between segments, breadth first and in both directions [rag §7]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from workbench.records.dataclass import dataclass
from workbench.stash.stashstore import StashLedger, StashStore

Links = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]
"""Ids to, for each, those it is linked with."""


class ReferenceDirection(StrEnum):
    """Which way references are followed."""

    TO = "to"  # from a segment to those it refers to
    FROM = "from"  # to those that refer to it
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class ReachedSegment:
    """A segment so many references away from where a walk began; `via` is the one before it on the way."""

    segment_id: str
    hops: int
    via: str


def follow_references(start: str, links: Links, max_hops: int) -> tuple[ReachedSegment, ...]:
    """Return what is at most `max_hops` references away, the nearest first, each once; cycles end.

    `links` is asked once a hop, with all that was reached by the one before.
    """
    reached: dict[str, ReachedSegment] = {start: ReachedSegment(start, 0, "")}
    edge = [start]
    for hops in range(1, max_hops + 1):
        found = links(edge)
        further = [(other, one) for one in edge for other in found.get(one, ()) if other not in reached]
        for other, one in further:
            reached.setdefault(other, ReachedSegment(other, hops, one))
        edge = list(dict.fromkeys(other for other, _ in further))
        if not edge:
            break
    return tuple(list(reached.values())[1:])


def stash_links(store: StashStore, direction: ReferenceDirection = ReferenceDirection.BOTH) -> Links:
    """Return the links between segments that are there; a reference to another one leads nowhere.

    Following them raises StoreError.
    """

    def links(identifiers: Sequence[str]) -> Mapping[str, Sequence[str]]:
        referring = {} if direction is ReferenceDirection.TO else store.referring(identifiers)

        def read(ledger: StashLedger) -> dict[str, list[str]]:
            there = ledger.records
            onward = direction is not ReferenceDirection.FROM
            found = {}
            for one in identifiers:
                own = there[one].references if onward and one in there else ()
                found[one] = [other for other in (*own, *referring.get(one, ())) if other in there]
            return found

        return store.reader.read(read)

    return links
