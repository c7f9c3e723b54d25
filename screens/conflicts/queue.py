"""What a sitting did to the queue of pairs: which it decided, put off, or has seen change or go.

The tables say which pairs wait; this is laid over them. A pair that somebody else settled stays to be seen
until the next search; one whose side was changed is marked, so that it is read again before it is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from screens.conflicts.pair import PairSide, PairType, RecordPair, pair_of
from screens.conflicts.pair_source import PairSource
from screens.engine import AppEngine
from screens.jobs import Job
from workbench.lists.conflicts import ConflictOverlay, ConflictRow, WaitingConflicts
from workbench.lists.tables import ListTable, row_number

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.ports import Int64


class PairState(StrEnum):
    """Whether a pair waits, and why not."""

    OPEN = "open"
    LATER = "later"  # put off by this sitting
    CHANGED = "changed"  # a side is not as it was shown before
    ELSEWHERE = "elsewhere"  # settled by somebody else
    GONE = "gone"  # no conflict any more


WAITING: Final = (PairState.OPEN, PairState.LATER, PairState.CHANGED)

_CHANGED: Final = "A side was changed meanwhile: read it again, then decide."
_GONE: Final = "No conflict any more: a side was changed or taken out meanwhile."


@dataclass(frozen=True, slots=True)
class QueuedPair:
    """A pair and its state; `reason` says in a sentence why."""

    pair: RecordPair
    state: PairState = PairState.OPEN
    reason: str = ""

    @property
    def id(self) -> str:
        """The pair's id."""
        return self.pair.id

    @property
    def waits(self) -> bool:
        """Whether it can be decided."""
        return self.state in WAITING


@dataclass(frozen=True, slots=True)
class PairLook:
    """What the tables say of the pairs at one moment.

    `waiting` are those that wait. Of those that waited the last time `kept` do not any more, `changed` say
    something else; both without what the sides that this sitting changed led to. `heirs` are the ids that
    pairs have now that a side got new words. `confirmed` are those that this sitting had settled before.
    `settlers` say of those that somebody settled by whom, and how.
    """

    waiting: WaitingConflicts
    kept: tuple[ConflictRow, ...] = ()
    changed: tuple[ConflictRow, ...] = ()
    heirs: Mapping[str, str] = field(default_factory=dict)
    confirmed: frozenset[str] = frozenset()
    settlers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class PairQueue:
    """What this sitting did to pairs, by id.

    `settling` are on their way to the journal, `unread` are in it since the tables were read, `settled` are
    all that were decided here; `touched` are the records on their sides. `drafts` are texts of merges that
    were refused, `reasons` say why a pair could not be settled, `settlers` by whom one was.
    """

    settling: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    settled: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    drafts: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    settlers: dict[str, str] = field(default_factory=dict)
    seen: WaitingConflicts | None = None

    @property
    def away(self) -> set[str]:
        """What is decided, whether the tables say so yet or not."""
        return self.settling | self.unread

    @property
    def waiting(self) -> int:
        """How many pairs wait."""
        if self.seen is None:
            return 0
        return len(self.seen.numbers) - len(_among(self.seen.numbers, self.away))

    @property
    def progress(self) -> tuple[int, int]:
        """How many were settled in this sitting, here or by somebody else, and of how many."""
        done = len(self.settled | self.settling | (self.kept & self.settlers.keys()))
        return done, done + self.waiting

    @property
    def overlay(self) -> ConflictOverlay:
        """What is laid over the list."""
        return ConflictOverlay(
            *map(_numbers, (self.away, self.later - self.changed, self.changed, self.kept))
        )

    def to_queued(self, row: ConflictRow, pair: RecordPair) -> QueuedPair:
        """Return a row as it is shown."""
        state = PairState.ELSEWHERE if self._is_settled_elsewhere(row) else PairState(row.state)
        reasons = {
            PairState.CHANGED: _CHANGED,
            PairState.GONE: _GONE,
            PairState.ELSEWHERE: f"Settled meanwhile by {self.settlers.get(row.id, row.settled)}.",
        }
        return QueuedPair(pair, state, reasons.get(state) or self.reasons.get(row.id, ""))

    def _is_settled_elsewhere(self, row: ConflictRow) -> bool:
        """Whether a ledger says that somebody settled a pair; of segments the tables do not."""
        return row.state == PairState.GONE and row.id in self.settlers

    def begin(self, identifiers: Iterable[str]) -> None:
        """Note that pairs were decided and are being settled."""
        self.settling |= set(identifiers)

    def finish(self, pairs: Iterable[RecordPair]) -> None:
        """Note that pairs are settled."""
        for pair in pairs:
            self.settling.discard(pair.id)
            self.unread.add(pair.id)
            self.settled.add(pair.id)
            self.touched.update(side.id for side in pair.sides)

    def finish_again(self, identifier: str, sides: Iterable[str]) -> None:
        """Note that a pair that was settled here is settled again, with the records on its sides."""
        self.settled.add(identifier)
        self.kept.discard(identifier)
        self.touched |= set(sides)

    def restore(self, identifiers: Iterable[str], reason: str) -> None:
        """Note that pairs could not be settled, and why: they wait as before."""
        for identifier in identifiers:
            self.settling.discard(identifier)
            self.reasons[identifier] = reason

    def take_in(self, look: PairLook) -> None:
        """Take over what the tables say; what was decided since they were read stays decided."""
        self.seen = look.waiting
        self.unread -= look.confirmed
        self.settled -= _among(look.waiting.numbers, self.settled - self.away)
        self.changed.update(row.id for row in look.changed if not self.is_ours(row))
        self.kept -= _among(look.waiting.numbers, self.kept)
        self.kept.update(row.id for row in look.kept if not self.is_ours(row))
        self.settlers |= look.settlers
        self.drafts = {look.heirs.get(one, one): text for one, text in self.drafts.items()}

    def is_ours(self, row: ConflictRow) -> bool:
        """Whether this sitting changed a side of a pair."""
        return row.id in self.away or not self.touched.isdisjoint((row.left.id, row.right.id))


def _numbers(identifiers: Iterable[str]) -> tuple[int, ...]:
    return tuple(map(row_number, sorted(identifiers)))


def _among(numbers: Int64, identifiers: Iterable[str]) -> set[str]:
    """Return the ids whose numbers are among some that ascend."""
    if not len(numbers):
        return set()
    wanted = {one: row_number(one) for one in identifiers}
    places = numbers.searchsorted(list(wanted.values())).tolist()
    last = len(numbers) - 1
    return {
        one
        for (one, number), at in zip(wanted.items(), places, strict=True)
        if numbers[min(at, last)] == number
    }


Sources = Mapping[PairType, PairSource[Any]]


@dataclass(frozen=True, slots=True)
class PairsSeen:
    """What a sitting knew of the pairs when it asked: which waited, which it had settled by then."""

    waiting: WaitingConflicts | None
    settled: frozenset[str] = frozenset()


def look(engine: AppEngine, sources: Sources, seen: PairsSeen, job: Job) -> PairLook:
    """Return which pairs wait now, and what became of those that did before. Raises: WorkbenchError.

    Of pairs that wait no more since a side got new words the tables say afterwards what they are now.
    """
    for source in sources.values():
        source.refresh(engine)
    conflicts = engine.lists().conflicts

    def read() -> tuple[WaitingConflicts, Mapping[int, ConflictRow]]:
        waiting = conflicts.waiting()
        numbers = () if seen.waiting is None else tuple(differences(seen.waiting, waiting).tolist())
        rows = conflicts.list_waiting(ConflictOverlay(kept=numbers)).rows(numbers) if numbers else {}
        return waiting, rows

    now, rows = conflicts.list_waiting().snapshot(read)
    if not rows:
        return PairLook(now, confirmed=seen.settled)
    heirs: dict[str, str] = {}
    there = set(now.numbers.tolist())
    if gone := [row for number, row in rows.items() if number not in there and row.id not in seen.settled]:
        heirs = judge_again(engine, sources, gone, False, job)
        now = conflicts.waiting()
        there = set(now.numbers.tolist())
    heirs = {old: new for old, new in heirs.items() if row_number(new) in there}
    words = {row_number(new): new for new in heirs.values()}
    changed = {number: row for number, row in rows.items() if number in there}
    if words:
        changed |= conflicts.list_waiting().rows(list(words))
    kept = [row for number, row in rows.items() if number not in there and row.id not in heirs]
    settlers = {
        pair: who
        for of, source in sources.items()
        if (mine := [row for row in kept if row.of == of])
        for pair, who in source.settlers(engine, job, mine).items()
    }
    return PairLook(now, tuple(kept), tuple(changed.values()), heirs, seen.settled, settlers)


def judge_again(
    engine: AppEngine, sources: Sources, rows: Sequence[ConflictRow], waiting: bool, job: Job
) -> dict[str, str]:
    """Have the tables say what pairs with a changed side are now, as `PairSource.judge_again`."""
    heirs: dict[str, str] = {}
    for of, source in sources.items():
        if mine := [row for row in rows if row.of == of]:
            heirs |= source.judge_again(engine, job, mine, waiting=waiting)
    return heirs


def differences(before: WaitingConflicts, now: WaitingConflicts) -> Int64:
    """Return the numbers, int64 [n] ascending, of those that wait no more or have other marks."""
    import numpy as np

    places = np.searchsorted(now.numbers, before.numbers)
    places[places == len(now.numbers)] = 0
    if not len(now.numbers):
        return before.numbers
    same = (now.numbers[places] == before.numbers) & (now.marks[places] == before.marks)
    found: Int64 = before.numbers[~same]
    return found


def read_pairs(
    lists: OpenedProject,
    sources: Sources,
    table: ListTable[Any],
    numbers: Sequence[int],
    queued: Callable[[ConflictRow, RecordPair], QueuedPair],
) -> dict[int, QueuedPair]:
    """Return pairs by the numbers of their rows, with the records on both sides as they are now."""
    rows: Mapping[int, ConflictRow] = table.rows(numbers)
    sides: dict[PairType, dict[str, PairSide]] = {}
    for of, source in sources.items():
        wanted = {row_number(one) for row in rows.values() if row.of == of for one in side_ids(row)}
        sides[of] = {side.id: side for side in source.sides(lists, sorted(wanted))} if wanted else {}
    return {number: queued(row, pair_of(row, sides[PairType(row.of)])) for number, row in rows.items()}


def side_ids(row: ConflictRow) -> Iterable[str]:
    """Return the ids of the records on both sides."""
    return row.left.id, row.right.id
