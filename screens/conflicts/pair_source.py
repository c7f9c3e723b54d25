"""Where pairs come from and where decisions go: what the queue asks of rules and of learnings.

Everything here is called from a job's thread. A source finds its pairs, settles them with the sides as they
were seen, and walks its own steps back and forth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from screens.conflicts.pair import PairChoice, PairType, RecordPair
from screens.conflicts.queue import PairScan
from screens.engine import BY, AppEngine
from screens.jobs import Job

COMMANDS: Final[Mapping[PairType, str]] = {PairType.RULE: "rules", PairType.LEARNING: "memory"}
"""The group of commands that curates what a source has."""


@dataclass(frozen=True, slots=True)
class PairQuestion:
    """What a source is asked: the pairs known, the newest step then, and whether to search anew."""

    known: tuple[RecordPair, ...] = ()
    since: str = ""
    whole: bool = True


@dataclass(frozen=True, slots=True)
class SettledPairs:
    """What came of choices: those that were carried out, why others were not, files that are out of date."""

    done: tuple[PairChoice, ...]
    skipped: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


class PairSource(Protocol):
    """Pairs of one kind. All methods raise WorkbenchError."""

    of: PairType

    def scan(self, engine: AppEngine, job: Job, asked: PairQuestion) -> PairScan:
        """Return the pairs that wait and what became of those known."""
        ...

    def settle(self, engine: AppEngine, job: Job, choices: Sequence[PairChoice]) -> SettledPairs:
        """Carry choices out as one step. A single one that others overtook raises UsageError."""
        ...

    def walk(self, engine: AppEngine, job: Job, *, back: bool) -> str:
        """Undo, or redo, the last step and return its title."""
        ...

    def walkable(self, engine: AppEngine, job: Job, *, back: bool) -> str:
        """Return when the step was done that `walk` is about, "" if there is none."""
        ...


class Step(Protocol):
    """A step of curation, as the ledgers of rules and of learnings have it."""

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def at(self) -> str: ...  # noqa: D102
    @property
    def by(self) -> str: ...  # noqa: D102
    @property
    def undoes(self) -> str: ...  # noqa: D102
    @property
    def redoes(self) -> str: ...  # noqa: D102
    @property
    def resolved(self) -> Sequence[Settlement]: ...  # noqa: D102
    @property
    def reopened(self) -> Sequence[Settlement]: ...  # noqa: D102


class Settlement(Protocol):
    """A conflict that was settled, or opened again."""

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def left(self) -> str: ...  # noqa: D102
    @property
    def right(self) -> str: ...  # noqa: D102


StepT = TypeVar("StepT", bound=Step)


def newest(steps: dict[str, StepT]) -> str:
    """Return the id of the newest step, "" without any."""
    return next(reversed(steps), "") if steps else ""


def reopened_since(steps: dict[str, StepT], since: str) -> list[Settlement]:
    """Return the conflicts that undoing in an app opened again after the step `since`, in order."""
    walked = [step for step in _after(steps, since) if step.undoes and step.by == BY]
    return [item for step in walked for item in step.reopened]


def redone_since(steps: dict[str, StepT], since: str) -> frozenset[str]:
    """Return the ids of conflicts that redoing in an app settled again after the step `since`."""
    walked = [step for step in _after(steps, since) if step.redoes and step.by == BY]
    return frozenset(item.id for step in walked for item in step.resolved)


def _after(steps: dict[str, StepT], since: str) -> list[StepT]:
    """Return the steps after one, in order; none where that one is not known."""
    found: list[StepT] = []
    for step in reversed(steps.values()):
        if step.id == since:
            return found[::-1]
        found.append(step)
    return []


def walkable_at(steps: dict[str, StepT], done: Sequence[str], undone: Sequence[str], *, back: bool) -> str:
    """Return when the step to undo was done, or when the one to redo was undone; "" if there is none."""
    if back:
        return steps[done[-1]].at if done else ""
    last = undone[-1] if undone else None
    return max((step.at for step in steps.values() if step.undoes == last), default="")
