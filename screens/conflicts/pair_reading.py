"""What jobs read of the pairs: which wait and what became of those seen before, and rows with both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from screens.conflicts.pair import PairSide, PairType, pair_of
from screens.conflicts.pair_source import PairSource
from screens.conflicts.queue import PairLook, QueuedPair
from screens.engine import AppEngine
from screens.jobs import Job
from workbench.lists.conflicts import ConflictOverlay, ConflictRow, WaitingConflicts
from workbench.lists.tables import ListTable, row_number

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.ports import Int64

    Queued = Callable[[ConflictRow, Any], QueuedPair]

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
    conflicts = engine.lists().conflicts

    def read() -> tuple[WaitingConflicts, Mapping[int, ConflictRow]]:
        waiting = conflicts.waiting()
        numbers = () if seen.waiting is None else tuple(differences(seen.waiting, waiting).tolist())
        rows = conflicts.listed(ConflictOverlay(kept=numbers)).rows(numbers) if numbers else {}
        return waiting, rows

    now, rows = conflicts.listed().snapshot(read)
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
        changed |= conflicts.listed().rows(list(words))
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
    lists: OpenedProject, sources: Sources, table: ListTable[Any], numbers: Sequence[int], queued: Queued
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
