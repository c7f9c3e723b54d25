"""Where pairs come from and where decisions go: what the queue asks of each type of record.

Everything here is called from a job's thread. A source finds its pairs, settles them with the sides as they
were seen, and walks its own steps back and forth.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from screens.conflicts.pair import PairChoice, PairSide, PairType, RecordPair, decision_of
from screens.conflicts.queue import PairScan
from screens.engine import BY, AppEngine
from screens.jobs import Job
from workbench.curation.records import Record
from workbench.records.conflicts import conflict_id

if TYPE_CHECKING:
    from workbench.curation.lazy import LazyDict
    from workbench.curation.ledger import Ledger
    from workbench.curation.records import CurationStep, SettledConflict
    from workbench.curation.service import CurationService

COMMANDS: Final[Mapping[PairType, str]] = {PairType.RULE: "rules", PairType.LEARNING: "memory"}
"""The group of commands that curates what a source has."""

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class PairQuestion:
    """What a source is asked: the pairs known, the newest step then, and whether to search again."""

    known: tuple[RecordPair, ...] = ()
    since: str = ""
    whole: bool = True


@dataclass(frozen=True, slots=True)
class SettledPairs:
    """What came of choices: those that were carried out, why others were not, files that are out of date."""

    done: tuple[PairChoice, ...]
    skipped: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


class PairSource(ABC, Generic[R]):
    """Pairs of one type of record. All methods raise WorkbenchError."""

    of: ClassVar[PairType]

    @abstractmethod
    def scan(self, engine: AppEngine, job: Job, asked: PairQuestion) -> PairScan:
        """Return the pairs that wait and what became of those known."""

    @abstractmethod
    def held(
        self, engine: AppEngine, job: Job, operation: str = ""
    ) -> AbstractContextManager[CurationService[Any, R]]:
        """Hold the service that curates the records; without an operation nothing is synced first."""

    @abstractmethod
    def seen(self, side: PairSide) -> R:
        """Return the record of a side as it was when the pair was shown."""

    def outdated(self, curated: CurationService[Any, R], records: Sequence[R]) -> tuple[str, ...]:
        """Return the files of records that are out of date after a step."""
        return ()

    def settle(self, engine: AppEngine, job: Job, choices: Sequence[PairChoice]) -> SettledPairs:
        """Carry choices out as one step. A single one that others overtook raises UsageError."""
        seen = {side.id: self.seen(side) for choice in choices for side in choice.pair.sides}
        done, skipped = tuple(choices), tuple[str, ...]()
        with self.held(engine, job, "curate") as curated:
            if len(choices) == 1:
                curated.resolve(decision_of(choices[0]), seen=seen.values())
            else:
                kept, skipped = curated.resolve_all([decision_of(one) for one in choices], seen=seen)
                ids = {decision.conflict for decision in kept}
                done = tuple(choice for choice in choices if choice.pair.id in ids)
            sides = [self.seen(side) for choice in done for side in choice.pair.sides]
            return SettledPairs(done, skipped, self.outdated(curated, sides))

    def walk(self, engine: AppEngine, job: Job, *, back: bool) -> str:
        """Undo, or redo, the last step and return its title."""
        with self.held(engine, job, "undo" if back else "redo") as curated:
            return (curated.undo() if back else curated.redo()).summary

    def walkable(self, engine: AppEngine, job: Job, *, back: bool) -> str:
        """Return when the step was done that `walk` is about, "" if there is none."""
        with self.held(engine, job) as curated:
            ledger = curated.store.ledger()
        return walkable_at(ledger.steps, ledger.done, ledger.undone, back=back)

    def compare(
        self,
        ledger: Ledger[R],
        asked: PairQuestion,
        pairs: tuple[RecordPair, ...],
        count: int,
        notes: tuple[str, ...] = (),
    ) -> PairScan:
        """Return the pairs that nobody settled, with what became of those known before."""
        pairs = tuple(pair for pair in pairs if pair.id not in ledger.settled)
        fresh = {pair.id: pair for pair in pairs}
        settled, changed, heirs = dict[str, str](), set[str](), dict[str, str]()
        for old in asked.known:
            now = fresh.get(old.id)
            if now is not None:
                both = zip(old.sides, now.sides, strict=True)
                if any(not self.is_same(ledger, side, self.seen(other)) for side, other in both):
                    changed.add(old.id)
            elif (done := ledger.settled.get(old.id)) is not None:
                settled[old.id] = f"{done.by}: {done.action.replace('_', ' ')}"
            else:
                sides = [ledger.current(side.id) for side in old.sides]
                heir = conflict_id(*(side.id for side in sides if side)) if all(sides) else ""
                heirs |= {old.id: heir} if heir in fresh else {}
        steps = ledger.steps
        return PairScan(
            pairs,
            count,
            settled,
            frozenset(changed),
            heirs,
            step=next(reversed(steps), "") if steps else "",
            reopened=tuple(item.id for item in reopened_since(steps, asked.since) if item.id in fresh),
            redone=redone_since(steps, asked.since),
            notes=notes,
        )

    def is_same(self, ledger: Ledger[R], side: PairSide, record: R | None) -> bool:
        """Whether what people decide of a record is as it was seen."""
        seen = self.seen(side)
        if record is None or seen == record:
            return record is not None
        return seen.id == record.id and ledger.type.decided(seen) == ledger.type.decided(record)


def reopened_since(steps: LazyDict[CurationStep[R]], since: str) -> list[SettledConflict]:
    """Return the conflicts that undoing in an app opened again after the step `since`, in order."""
    walked = [step for step in _after(steps, since) if step.undoes and step.by == BY]
    return [item for step in walked for item in step.reopened]


def redone_since(steps: LazyDict[CurationStep[R]], since: str) -> frozenset[str]:
    """Return the ids of conflicts that redoing in an app settled again after the step `since`."""
    walked = [step for step in _after(steps, since) if step.redoes and step.by == BY]
    return frozenset(item.id for step in walked for item in step.resolved)


def _after(steps: LazyDict[CurationStep[R]], since: str) -> list[CurationStep[R]]:
    """Return the steps after one, in order; none where that one is not known."""
    found: list[CurationStep[R]] = []
    for step in reversed(steps.values()):
        if step.id == since:
            return found[::-1]
        found.append(step)
    return []


def walkable_at(
    steps: LazyDict[CurationStep[R]], done: Sequence[str], undone: Sequence[str], *, back: bool
) -> str:
    """Return when the step to undo was done, or when the one to redo was undone; "" if there is none."""
    if back:
        return steps[done[-1]].at if done else ""
    last = undone[-1] if undone else None
    return max((step.at for step in steps.values() if step.undoes == last), default="")
