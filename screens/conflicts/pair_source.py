"""Where pairs come from and where decisions go: what the queue asks of each type of record.

Everything here is called from a job's thread. A source searches for pairs and has the tables say what it
found, judges a few again without a search, settles them with the sides as they were seen, and walks its own
steps back and forth.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from screens.conflicts.pair import PairChoice, PairSide, PairType, decision_of
from screens.curation.walking import last_step_words, walk_back
from screens.engine import AppEngine
from screens.jobs import Job
from workbench.curation.concurrency import writer
from workbench.curation.records import Record
from workbench.lists.conflicts import ConflictRow
from workbench.records.conflicts import ConflictKind

if TYPE_CHECKING:
    from workbench.curation.lazy import LazyDict
    from workbench.curation.ledger import Ledger
    from workbench.curation.records import CurationStep, SettledConflict
    from workbench.curation.service import CurationService
    from workbench.entry.project import OpenedProject

COMMANDS: Final[Mapping[PairType, str]] = {
    PairType.RULE: "rules",
    PairType.LEARNING: "memory",
    PairType.SEGMENT: "stash",
}
"""The group of commands that curates what a source has."""

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class PairSearch:
    """What a search looked through: how many records, and whether they are few enough for every change.

    `changed` is False where the list of conflicts said the same before.
    """

    count: int = 0
    few: bool = True
    notes: tuple[str, ...] = ()
    changed: bool = True


@dataclass(frozen=True, slots=True)
class WalkedPairs:
    """A step that was undone or done again: its title, the ids of what waits again, what it settled again."""

    title: str
    reopened: tuple[str, ...] = ()
    redone: tuple[SettledConflict, ...] = ()


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
    def search(self, engine: AppEngine, job: Job) -> PairSearch:
        """Search for pairs, and have the tables say what was found."""

    def refresh(self, engine: AppEngine) -> None:
        """Have the tables say what journals alone say of pairs, without a search."""

    @abstractmethod
    def hold_service(
        self, engine: AppEngine, job: Job, operation: str = ""
    ) -> AbstractContextManager[CurationService[Any, R]]:
        """Hold the service that curates the records; without an operation nothing is synced first."""

    @abstractmethod
    def record_of(self, side: PairSide) -> R:
        """Return the record of a side as it was when the pair was shown."""

    @abstractmethod
    def sides(self, lists: OpenedProject, numbers: Sequence[int]) -> Iterator[PairSide]:
        """Yield the records in the rows with some numbers as sides."""

    @abstractmethod
    def conflict(self, ledger: Any, left: R, right: R) -> ConflictRow | None:  # noqa: ANN401 - of its type
        """Return the conflict of two records, None if they are in none."""

    @abstractmethod
    def edits(self, curated: CurationService[Any, R]) -> list[ConflictRow]:
        """Return the concurrent edits of a team that nobody settled."""

    def outdated_files(self, curated: CurationService[Any, R], records: Sequence[R]) -> tuple[str, ...]:
        """Return the files of records that are out of date after a step."""
        return ()

    def judge_again(
        self, engine: AppEngine, job: Job, pairs: Iterable[ConflictRow], *, waiting: bool
    ) -> dict[str, str]:
        """Have the tables say what pairs with a changed side are now; return their new ids by old ones.

        Of those that are `waiting` by the tables the ones that are no conflict any more are gone afterwards;
        others wait again once their sides are back. Nothing is searched: of new words these pairs are found.
        """
        with self.hold_service(engine, job) as curated:
            ledger = curated.store.team_reader.ledger()
            edits = {row.id: row for row in self.edits(curated)}
        found, gone, heirs = list[ConflictRow](), list[str](), dict[str, str]()
        for pair in pairs:
            job.check()
            if pair.id in ledger.settled:
                continue
            now = edits.get(pair.id) or self._between(ledger, pair.left.id, pair.right.id)
            if now is None:
                gone += [pair.id] if waiting else []
            elif now.id not in ledger.settled:
                if now != replace(pair, state=now.state, settled=""):
                    found.append(now)
                if now.id != pair.id:
                    heirs[pair.id] = now.id
        if found or gone:
            engine.lists().conflicts.amend(self.of.value, found, gone)
        return heirs

    def settlers(self, engine: AppEngine, job: Job, pairs: Iterable[ConflictRow]) -> dict[str, str]:
        """Return of pairs that somebody settled by whom they were, and how."""
        with self.hold_service(engine, job) as curated:
            settled, names = curated.store.team_reader.ledger().settled, curated.store.names()
        return {
            pair.id: f"{writer(one.by, one.machine, names)}: {one.action.replace('_', ' ')}"
            for pair in pairs
            if (one := settled.get(pair.id)) is not None
        }

    def _between(self, ledger: Ledger[R], left: str, right: str) -> ConflictRow | None:
        one, other = ledger.current(left), ledger.current(right)
        if one is None or other is None or one.id == other.id:
            return None
        return self.conflict(ledger, one, other)

    def settle(self, engine: AppEngine, job: Job, choices: Sequence[PairChoice]) -> SettledPairs:
        """Carry choices out as one step. A single one that others overtook raises UsageError."""
        seen = {side.id: self.record_of(side) for side in _records(choices)}
        done, skipped = tuple(choices), tuple[str, ...]()
        with self.hold_service(engine, job, "curate") as curated:
            if len(choices) == 1:
                curated.resolve(decision_of(choices[0]), seen=seen.values())
            else:
                kept, skipped = curated.resolve_all([decision_of(one) for one in choices], seen=seen)
                ids = {decision.conflict for decision in kept}
                done = tuple(choice for choice in choices if choice.pair.id in ids)
            sides = [self.record_of(side) for side in _records(done)]
            return SettledPairs(done, skipped, self.outdated_files(curated, sides))

    def undo(self, engine: AppEngine, job: Job, step: str, *, began: str) -> WalkedPairs:
        """Undo the last step or `step`; pairs that it opened again are in the tables afterwards.

        Raises: as `walk_back`.
        """
        return self._walk(engine, job, "undo", partial(walk_back, step=step, began=began, settles=True))

    def redo(self, engine: AppEngine, job: Job) -> WalkedPairs:
        """Redo the last undone step."""
        return self._walk(
            engine, job, "redo", lambda curated: last_step_words(curated, curated.redo().summary)
        )

    def _walk(
        self, engine: AppEngine, job: Job, verb: str, walk: Callable[[CurationService[Any, R]], str]
    ) -> WalkedPairs:
        with self.hold_service(engine, job, verb) as curated:
            before = {row.id for row in self.edits(curated)}
            title = walk(curated)
            ledger = curated.store.team_reader.ledger()
            steps: LazyDict[CurationStep[R]] = ledger.steps
            step = steps[next(reversed(steps))]
            # A choice between versions that is taken back leaves new versions, which are another conflict.
            waiting = [row for row in self.edits(curated) if row.id not in before]
            pairs = (self._between(ledger, item.left, item.right) for item in step.reopened)
            waiting += [one for one in pairs if one is not None]
        conflicts = engine.lists().conflicts
        listed = conflicts.list_waiting()
        missing = [one for one in waiting if listed.find(one.id) is None]
        if missing:
            conflicts.amend(self.of.value, missing, ())
        return WalkedPairs(title, tuple(one.id for one in waiting), tuple(step.resolved))

    def walkable(self, engine: AppEngine, job: Job, *, back: bool) -> str:
        """Return when the step was done that `walk` is about, "" if there is none."""
        with self.hold_service(engine, job) as curated:
            ledger = curated.store.ledger()
        return walkable_at(ledger.steps, ledger.done, ledger.undone, back=back)


def _records(choices: Iterable[PairChoice]) -> Iterator[PairSide]:
    """Yield the sides that are records; a version of a team's that does not hold is none."""
    for choice in choices:
        concurrent = choice.pair.kind is ConflictKind.CONCURRENT
        yield from (side for side in choice.pair.sides if side.seen is not None or not concurrent)


def walkable_at(
    steps: LazyDict[CurationStep[R]], done: Sequence[str], undone: Sequence[str], *, back: bool
) -> str:
    """Return when the step to undo was done, or when the one to redo was undone; "" if there is none."""
    if back:
        return steps[done[-1]].at if done else ""
    last = undone[-1] if undone else None
    return max((step.at for step in steps.values() if step.undoes == last), default="")
