"""What curation keeps of records of any type: changes, steps, settled conflicts, drafts of entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final, Generic, Protocol, TypeVar

from workbench.curation import CURATION
from workbench.records.dataclass import dataclass
from workbench.records.ids import new_id

FOLLOWED: Final = ("import:", "export:")
"""How the names of faces begin that follow files: what they change is read from the files again."""

AUTOMATIC: Final = ("auto:", *FOLLOWED)
"""How the names of faces begin that act by themselves: no person's step, so none that undo takes back."""


class Record(Protocol):
    """A curated record; a frozen dataclass."""

    @property
    def id(self) -> str:
        """What tells it from every other record of its type that ever was."""
        ...

    @property
    def project_id(self) -> str | None:
        """The project it belongs to, None for the person's own in all projects."""
        ...


R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class RecordChange(Generic[R]):
    """One change of one record: `before` and `after` are None where it was not, or no longer, there.

    `successor` is the record that took the place of one that was removed. `machine` is the id of the machine
    of a team that it comes from, empty for this one.
    """

    at: str
    by: str
    record_id: str
    before: R | None
    after: R | None
    reason: str
    step: str
    successor: str = ""
    machine: str = ""

    @property
    def version(self) -> str:
        """What identifies the version of the record that the change made."""
        return f"{self.record_id}@{self.step}"


@dataclass(frozen=True, slots=True)
class SettledConflict:
    """A conflict that somebody settled, and how; `home` says in whose journal."""

    id: str
    left: str
    right: str
    action: str
    at: str
    by: str
    reason: str = ""
    home: bool = False
    machine: str = ""


@dataclass(slots=True)
class CurationStep(Generic[R]):
    """What one step changed: records, conflicts settled or opened again.

    `writes` are files that its words were written into at once; `machine` is as in `RecordChange`.
    """

    id: str
    at: str
    by: str
    title: str
    undoes: str = ""
    redoes: str = ""
    writes: tuple[str, ...] = ()
    changes: list[RecordChange[R]] = field(default_factory=list)
    resolved: list[SettledConflict] = field(default_factory=list)
    reopened: list[SettledConflict] = field(default_factory=list)
    machine: str = ""


@dataclass(frozen=True, slots=True)
class EntryDraft:
    """A journal entry to be written: into whose journal and which stream; `verbatim` with its secrets."""

    kind: str
    body: Mapping[str, Any]
    home: bool
    stream: str
    verbatim: bool = False


@dataclass(frozen=True, slots=True)
class StepDraft(Generic[R]):
    """The entries of one step. `records` are those that are there afterwards because of it."""

    title: str
    entries: tuple[EntryDraft, ...]
    records: tuple[R, ...] = ()


@dataclass(frozen=True, slots=True)
class WalkedStep:
    """A step that was undone or done again, and what it was called."""

    title: str

    @property
    def summary(self) -> str:
        """What was done, on one line."""
        return self.title


@dataclass(frozen=True, slots=True)
class StepMarks:
    """What every entry of a step carries: which step, what it is called, why, and what it takes back."""

    title: str
    reason: str = ""
    undoes: str = ""
    redoes: str = ""
    step: str = ""

    def body(self) -> dict[str, Any]:
        """Return them as a journal entry holds them."""
        values = {"step": self.step, "title": self.title, "reason": self.reason}
        values |= {"undoes": self.undoes, "redoes": self.redoes}
        return {name: value for name, value in values.items() if value}


def new_marks(title: str, reason: str = "", *, undoes: str = "", redoes: str = "") -> StepMarks:
    """Return the marks of a new step."""
    return StepMarks(title, reason, undoes, redoes, new_id())


@dataclass(frozen=True, slots=True)
class Settling:
    """What settling a conflict goes by: when, by whom and why, ids that are taken, how tokens are counted."""

    now: str
    by: str
    reason: str
    taken: Mapping[str, object]
    count: Callable[[str], int]


def combine(parts: Sequence[StepDraft[R]], *, title: str, reason: str = "") -> StepDraft[R]:
    """Return several steps as one, which is undone as one."""
    body = new_marks(title, reason).body()
    entries = (
        replace(draft, body={**draft.body, CURATION: body}) for part in parts for draft in part.entries
    )
    return StepDraft(title, tuple(entries), tuple(record for part in parts for record in part.records))
