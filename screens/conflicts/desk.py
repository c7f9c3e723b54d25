"""The pairs of a sitting: which wait, which were put off, decided here, or overtaken by somebody else.

What a scan or a look brings is taken in without losing where the person is: a pair that somebody else settled
stays to be seen, one whose side was changed is marked so that it is read again before it is decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from screens.conflicts.pair import Pair


class State(StrEnum):
    """How a pair stands."""

    OPEN = "open"
    LATER = "later"  # put off by this sitting
    CHANGED = "changed"  # a side is not as it was shown before
    SETTLING = "settling"  # decided, and on its way to the journal
    ELSEWHERE = "settled elsewhere"
    GONE = "gone"  # no conflict any more


WAITING: Final = (State.OPEN, State.LATER, State.CHANGED)


@dataclass(frozen=True, slots=True)
class Item:
    """A pair and how it stands; `told` says in a sentence why."""

    pair: Pair
    state: State = State.OPEN
    told: str = ""

    @property
    def waits(self) -> bool:
        """Whether it can be decided."""
        return self.state in WAITING


@dataclass(frozen=True, slots=True)
class Scan:
    """What the engine said about the pairs.

    `pairs` are those that are open, surest first, of `count` rules or learnings. Of pairs known before:
    `settled` {id: who settled it and how}, `changed` ids that now say something else, `heirs` {id: the id it
    has now that a side got new words}. `step` is the newest step of curation. `reopened` are pairs that
    undoing in an app brought back since the last time, `redone` those that redoing settled again.
    """

    pairs: tuple[Pair, ...] = ()
    count: int = 0
    settled: Mapping[str, str] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    heirs: Mapping[str, str] = field(default_factory=dict)
    step: str = ""
    reopened: tuple[str, ...] = ()
    redone: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Desk:
    """The pairs by id. `settled` are those decided in this sitting, `touched` the sides that it changed."""

    items: dict[str, Item] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)

    @property
    def waiting(self) -> int:
        """How many pairs wait for a decision."""
        return sum(item.waits for item in self.items.values())

    @property
    def progress(self) -> tuple[int, int]:
        """How many were settled in this sitting, and of how many."""
        under_way = sum(item.state is State.SETTLING for item in self.items.values())
        done = len(self.settled) + under_way
        return done, done + self.waiting

    def pairs(self) -> tuple[Pair, ...]:
        """Return the pairs that a scan is to be compared with."""
        return tuple(item.pair for item in self.items.values() if item.waits)

    def begin(self, identifiers: Iterable[str]) -> None:
        """Note that pairs were decided and are being settled."""
        self._set(identifiers, State.SETTLING, "")

    def finish(self, identifiers: Iterable[str]) -> None:
        """Note that pairs are settled."""
        for identifier in identifiers:
            pair = self.items.pop(identifier).pair
            self.settled.add(identifier)
            self.touched.update(side.id for side in pair.sides)

    def restore(self, identifiers: Iterable[str], told: str) -> None:
        """Note that pairs could not be settled, and why: they wait as before."""
        self._set(identifiers, State.OPEN, told)

    def put_off(self, identifier: str) -> None:
        """Let a pair wait until the others are decided."""
        self._set([identifier], State.LATER, "")

    def clear(self) -> None:
        """Forget the pairs that there is nothing to decide about any more."""
        self.items = {
            identifier: item
            for identifier, item in self.items.items()
            if item.waits or item.state is State.SETTLING
        }

    def take(self, scan: Scan) -> None:
        """Take in what the engine said."""
        before = self.items
        olds = {new: old for old, new in scan.heirs.items()}
        self.items = {}
        for pair in scan.pairs:
            old = before.get(pair.id) or before.get(olds.get(pair.id, ""))
            self.settled.discard(pair.id)
            self.items[pair.id] = self._taken(pair, old, scan)
        for identifier, item in before.items():
            if identifier in self.items or identifier in scan.heirs:
                continue
            kept = self._vanished(item, scan)
            if kept is not None:
                self.items[identifier] = kept

    def _taken(self, pair: Pair, old: Item | None, scan: Scan) -> Item:
        if old is None:
            return Item(pair)
        if old.state is State.SETTLING and old.pair.id == pair.id:
            return old
        if (pair.id in scan.changed or pair.id != old.pair.id) and not self._ours(old.pair):
            return Item(pair, State.CHANGED, _CHANGED)
        state = old.state if old.waits else State.OPEN
        return Item(pair, state, old.told if old.waits else "")

    def _vanished(self, item: Item, scan: Scan) -> Item | None:
        if not item.waits:
            return item
        if item.pair.id in scan.redone:
            self.settled.add(item.pair.id)
            self.touched.update(side.id for side in item.pair.sides)
            return None
        by = scan.settled.get(item.pair.id)
        if by is not None:
            return replace(item, state=State.ELSEWHERE, told=f"Settled meanwhile by {by}.")
        return None if self._ours(item.pair) else replace(item, state=State.GONE, told=_GONE)

    def _ours(self, pair: Pair) -> bool:
        return any(side.id in self.touched for side in pair.sides)

    def _set(self, identifiers: Iterable[str], state: State, told: str) -> None:
        for identifier in identifiers:
            self.items[identifier] = replace(self.items[identifier], state=state, told=told)


_CHANGED: Final = "A side was changed meanwhile: read it again, then decide."
_GONE: Final = "No conflict any more: a side was changed or taken out meanwhile."


def combined(scans: Iterable[Scan]) -> Scan:
    """Return what several sources said as one; the steps of each are kept apart by the caller."""
    told = list(scans)
    return Scan(
        pairs=tuple(pair for scan in told for pair in scan.pairs),
        count=sum(scan.count for scan in told),
        settled={key: value for scan in told for key, value in scan.settled.items()},
        changed=frozenset().union(*(scan.changed for scan in told)),
        heirs={key: value for scan in told for key, value in scan.heirs.items()},
        reopened=tuple(one for scan in told for one in scan.reopened),
        redone=frozenset().union(*(scan.redone for scan in told)),
        notes=tuple(note for scan in told for note in scan.notes),
    )
