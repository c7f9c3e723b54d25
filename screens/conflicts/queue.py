"""The queue of pairs: which wait, which were put off, decided here, or overtaken by somebody else.

A pair that somebody else settled stays to be seen; one whose side was changed is marked, so that it is read
again before it is decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from screens.conflicts.pair import RecordPair


class PairState(StrEnum):
    """Whether a pair waits, and why not."""

    OPEN = "open"
    LATER = "later"  # put off by this sitting
    CHANGED = "changed"  # a side is not as it was shown before
    SETTLING = "settling"  # decided, and on its way to the journal
    ELSEWHERE = "settled elsewhere"
    GONE = "gone"  # no conflict any more
    ALONG = "along"  # settled along with another pair of this sitting; comes back with it


WAITING: Final = (PairState.OPEN, PairState.LATER, PairState.CHANGED)

LISTED: Final = (*WAITING, PairState.ELSEWHERE, PairState.GONE)


@dataclass(frozen=True, slots=True)
class QueuedPair:
    """A pair and its state; `reason` says in a sentence why."""

    pair: RecordPair
    state: PairState = PairState.OPEN
    reason: str = ""

    @property
    def waits(self) -> bool:
        """Whether it can be decided."""
        return self.state in WAITING


@dataclass(frozen=True, slots=True)
class PairScan:
    """What the engine reports of the pairs.

    `pairs` are those that are open, surest first, of `count` rules or learnings. Of pairs known before:
    `settled` {id: who settled it and how}, `changed` ids that now say something else, `heirs` {id: the id it
    has now that a side got new words}. `step` is the newest step of curation. `reopened` are pairs that
    undoing in an app brought back since the last time, `redone` those that redoing settled again.
    """

    pairs: tuple[RecordPair, ...] = ()
    count: int = 0
    settled: Mapping[str, str] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    heirs: Mapping[str, str] = field(default_factory=dict)
    step: str = ""
    reopened: tuple[str, ...] = ()
    redone: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def taken(before: Mapping[str, QueuedPair], touched: Set[str], scan: PairScan) -> dict[str, QueuedPair]:
    """Return the pairs after a scan; `touched` are the sides that this sitting changed.

    Pairs that were settled by somebody else, or are no pairs any more, stay to be seen until the next search.
    """
    olds = {new: old for old, new in scan.heirs.items()}
    items: dict[str, QueuedPair] = {}
    for pair in scan.pairs:
        old = before.get(olds.get(pair.id, "")) or before.get(pair.id)
        items[pair.id] = QueuedPair(pair) if old is None else _again(pair, old, touched, scan)
    for identifier, item in before.items():
        if identifier not in items and identifier not in scan.heirs:
            kept = _vanished(item, touched, scan)
            if kept is not None:
                items[identifier] = kept
    return items


def _again(pair: RecordPair, old: QueuedPair, touched: Set[str], scan: PairScan) -> QueuedPair:
    if old.state is PairState.SETTLING and old.pair.id == pair.id:
        return old
    if (pair.id in scan.changed or pair.id != old.pair.id) and not _ours(old.pair, touched):
        return QueuedPair(pair, PairState.CHANGED, _CHANGED)
    return QueuedPair(pair, old.state, old.reason) if old.waits else QueuedPair(pair)


def _vanished(item: QueuedPair, touched: Set[str], scan: PairScan) -> QueuedPair | None:
    if item.pair.id in scan.redone:
        return None
    if not item.waits:
        return item
    if _ours(item.pair, touched):
        return replace(item, state=PairState.ALONG)
    by = scan.settled.get(item.pair.id)
    if by is None:
        return replace(item, state=PairState.GONE, reason=_GONE)
    return replace(item, state=PairState.ELSEWHERE, reason=f"Settled meanwhile by {by}.")


def _ours(pair: RecordPair, touched: Set[str]) -> bool:
    return any(side.id in touched for side in pair.sides)


@dataclass(slots=True)
class PairQueue:
    """The pairs by id. `settled` are those decided in this sitting, `touched` the sides that it changed.

    `drafts` are texts of merges that were refused. While the engine is asked, decisions go on: what was done
    since `ask` is done again to what it says.
    """

    items: dict[str, QueuedPair] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    waiting: int = 0
    settling: int = 0
    drafts: dict[str, str] = field(default_factory=dict)
    _since: dict[str, QueuedPair | None] = field(default_factory=dict)

    @property
    def progress(self) -> tuple[int, int]:
        """How many were settled in this sitting, and of how many."""
        done = len(self.settled) + self.settling
        return done, done + self.waiting

    def begin(self, identifiers: Iterable[str]) -> None:
        """Note that pairs were decided and are being settled."""
        self._set(identifiers, PairState.SETTLING, "")

    def finish(self, identifiers: Iterable[str]) -> None:
        """Note that pairs are settled."""
        for identifier in identifiers:
            pair = self.items[identifier].pair
            self._put(identifier, None)
            self.settled.add(identifier)
            self.touched.update(side.id for side in pair.sides)

    def restore(self, identifiers: Iterable[str], reason: str) -> None:
        """Note that pairs could not be settled, and why: they wait as before."""
        self._set(identifiers, PairState.OPEN, reason)

    def put_off(self, identifier: str) -> None:
        """Let a pair wait until the others are decided."""
        self._set([identifier], PairState.LATER, "")

    def clear(self) -> None:
        """Forget the pairs that others settled; those settled along with one of ours may come back."""
        for identifier, item in list(self.items.items()):
            if item.state in (PairState.ELSEWHERE, PairState.GONE):
                self._put(identifier, None)

    def ask(self) -> tuple[dict[str, QueuedPair], frozenset[str]]:
        """Return the pairs and the sides touched, for `taken`; what happens from now on is kept."""
        self._since.clear()
        return dict(self.items), frozenset(self.touched)

    def adopt(self, items: dict[str, QueuedPair], scan: PairScan, counts: tuple[int, int]) -> None:
        """Take over the pairs of `taken`, decisions made since `ask` aside; `counts` is `count(items)`."""
        for identifier in scan.redone & self.items.keys():
            self.settled.add(identifier)
            self.touched.update(side.id for side in self.items[identifier].pair.sides)
        self.drafts = {scan.heirs.get(one, one): text for one, text in self.drafts.items()}
        since, self._since = self._since, {}
        self.items = items
        self.waiting, self.settling = counts
        for identifier, item in since.items():
            if identifier in items or (item is not None and item.state is PairState.SETTLING):
                self._put(identifier, item)
        self.settled -= items.keys()

    def _set(self, identifiers: Iterable[str], state: PairState, reason: str) -> None:
        items, since = self.items, self._since
        for identifier in identifiers:
            before = items[identifier]
            self.waiting += (state in WAITING) - before.waits
            self.settling += (state is PairState.SETTLING) - (before.state is PairState.SETTLING)
            items[identifier] = since[identifier] = QueuedPair(before.pair, state, reason)

    def _put(self, identifier: str, item: QueuedPair | None) -> None:
        before = self.items.get(identifier)
        for one, step in ((before, -1), (item, 1)):
            if one is not None:
                self.waiting += step * one.waits
                self.settling += step * (one.state is PairState.SETTLING)
        if item is None:
            self.items.pop(identifier, None)
        else:
            self.items[identifier] = item
        self._since[identifier] = item


def count(items: Mapping[str, QueuedPair]) -> tuple[int, int]:
    """Return how many pairs wait, and how many are on their way to the journal."""
    waiting = sum(item.waits for item in items.values())
    return waiting, sum(item.state is PairState.SETTLING for item in items.values())


_CHANGED: Final = "A side was changed meanwhile: read it again, then decide."
_GONE: Final = "No conflict any more: a side was changed or taken out meanwhile."


def combined(scans: Iterable[PairScan]) -> PairScan:
    """Return the scans of several sources as one; the steps of each are kept apart by the caller."""
    parts = list(scans)
    return PairScan(
        pairs=tuple(pair for scan in parts for pair in scan.pairs),
        count=sum(scan.count for scan in parts),
        settled={key: value for scan in parts for key, value in scan.settled.items()},
        changed=frozenset().union(*(scan.changed for scan in parts)),
        heirs={key: value for scan in parts for key, value in scan.heirs.items()},
        reopened=tuple(one for scan in parts for one in scan.reopened),
        redone=frozenset().union(*(scan.redone for scan in parts)),
        notes=tuple(note for scan in parts for note in scan.notes),
    )
