"""What curation keeps of records of any type: changes, steps, settled conflicts, drafts of journal entries.

A type of records is a `RecordType`: how its records are written into journals and read back, which of their
values somebody decides, and what settling a conflict does to them. Nothing else of curation knows a type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from workbench.curation import CURATION
from workbench.errors import ParseError, UsageError
from workbench.records.conflicts import Action
from workbench.records.dataclass import dataclass
from workbench.records.ids import new_id

if TYPE_CHECKING:
    from workbench.ports import Journal

FOLLOWED: Final = ("import:", "export:")
"""How the names of faces begin that follow files: what they change is read from the files again."""

AUTOMATIC: Final = ("auto:", *FOLLOWED)
"""How the names of faces begin that act by themselves: no person's step, so none that undo takes back."""

ADOPTED: Final = "auto:team:"
"""How the name of a face begins that takes over what another machine wrote (`store.team.replicas`)."""

AGENTS: Final = frozenset({"mcp"})
"""The faces by which agents act: what a person confirmed is not theirs to take out of force."""


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

    @property
    def of_another(self) -> bool:
        """Whether another machine of a team made it."""
        return bool(self.machine) or self.by.startswith(ADOPTED)


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
        names = ("step", "title", "reason", "undoes", "redoes")
        return {name: value for name in names if (value := getattr(self, name))}


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


class RecordType(Generic[R]):
    """A type of curated records. What raises NotImplementedError is each type's own; the rest has defaults.

    `record` is their class; `noun` and `group` name it in messages and in `workbench GROUP …`, with `shown`
    characters of an id. `put`, `removed`, `settled` and `reopened` are its kinds of journal entries, `facts`
    those of other entries that its ledger folds. `editable` are fields that people decide, `derived` those
    that follow and may be given as well; `stamps` say when they were decided; `words` is
    the field that says what a record says; `one_stream` is the stream that holds all, if there is one.
    """

    record: type[R]
    noun: str
    group: str
    shown: int
    put: str
    removed: str
    settled: str
    reopened: str
    facts: frozenset[str] = frozenset()
    editable: frozenset[str]
    derived: frozenset[str] = frozenset()
    stamps: frozenset[str] = frozenset()
    words: str = "text"
    one_stream: str = ""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of journal entries that its ledger folds."""
        return self.facts | {self.put, self.removed, self.settled, self.reopened}

    def streams(self, journal: Journal) -> Sequence[str]:
        """Return the streams of a journal that hold its entries. Raises: StoreError."""
        return (self.one_stream,)

    def stream(self, record: R | None) -> str:
        """Return the stream that a record belongs into; None where only its conflict is known."""
        return self.one_stream

    def to_body(self, record: R) -> dict[str, Any]:
        """Return a record as a journal body: plain values only, one key per field."""
        import msgspec

        body: dict[str, Any] = msgspec.to_builtins(record)
        return body

    def from_body(self, body: Mapping[str, Any]) -> R:
        """Return the record of a journal body. Keys that this version doesn't know are ignored.

        Raises: ParseError if a field is missing, of a wrong type or out of range; it names the field.
        """
        import msgspec

        from workbench.records.conversion import convert

        label = f"{self.noun} {str(body.get('id', '?'))[:80]!r}"
        hint = f"Correct the field or remove the {self.noun}."
        try:
            record: R = convert(dict(body), self.record)
        except msgspec.ValidationError as error:
            raise ParseError(f"{label}: {error}", hint=hint) from error
        for problem in self.problems(record):
            raise ParseError(f"{label}: {problem}", hint=hint)
        return record

    def problems(self, record: R) -> tuple[str, ...]:
        """Return what is wrong with a record's values, one sentence each; empty for a good one."""
        return ()

    def is_home(self, record: R) -> bool:
        """Whether a record is the person's own, in all projects."""
        return record.project_id is None

    def is_verbatim(self, record: R) -> bool:
        """Whether a record says what a file of the user's says, and is written as it is."""
        return False

    def in_use(self, record: R) -> bool:
        """Whether a record that is there holds; the others are kept and can be brought back."""
        return True

    def is_confirmed(self, record: R) -> bool:
        """Whether a person confirmed a record, so that no agent takes it out of force."""
        return False

    def usable(self, record: R) -> R:
        """Return the record. Raises: UsageError for one that is out of use, with what became of it."""
        return record

    def replaced_ids(self, record: R) -> Sequence[str]:
        """Return the ids of records that this one takes the place of when it is put."""
        return ()

    def record_ids(self, body: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the id of the record of a journal body, and of those that it takes the place of."""
        return (str(body.get("id", "")),)

    def root(self, record: R) -> str:
        """Return the id that the first version of a record had."""
        return record.id

    def rename(self, record: R, identifier: str, words: str = "") -> R:
        """Return a version of a record under another id, and with other words if any are given."""
        given = {"id": identifier, **({self.words: words} if words else {})}
        return replace(record, **given)  # type: ignore[type-var]

    def is_marked(self, draft: EntryDraft) -> bool:
        """Whether an entry says in a team what its writer had seen; not where it can have seen nothing."""
        return draft.kind in (self.put, self.removed)

    def same_content(self, one: R | None, other: R | None) -> bool:
        """Whether people decided the same of two versions; None is one that was removed."""
        if one is None or other is None:
            return one is other
        return self.decisions_of(one) == self.decisions_of(other)

    def essence(self, record: R) -> R:
        """Return a record without what is no change of it: times, and what is counted or read elsewhere."""
        return record

    def decisions_of(self, record: R) -> object:
        """Return what people decide of a record, to be compared with how they saw it."""
        return self.essence(record)

    def create(self, record: R, *, now: str, taken: Mapping[str, object]) -> R:
        """Return a new record with an id that none of `taken` has, and its times."""
        raise NotImplementedError

    def revise(self, before: R, after: R, *, reason: str, now: str, taken: Mapping[str, object]) -> R:
        """Return a record with new values as it is kept; `taken` are the ids of all records."""
        return after

    def keep_settled(self, record: R, settling: Settling) -> R:
        """Return a record that a settled conflict leaves."""
        return record

    def drop_settled(self, record: R, action: Action, successor: str, settling: Settling) -> R | None:
        """Return a record that a settled conflict takes out of use, None to remove it."""
        return None

    def merge_settled(self, left: R, right: R, text: str, settling: Settling) -> R:
        """Return the record that says both, under the words of `text`, the left one's if that is empty.

        It has the left one's id, or names both as replaced.
        """
        raise NotImplementedError

    def narrow_settled(self, record: R, scope: Sequence[str], settling: Settling) -> R:
        """Return a record limited to a scope. Raises: UsageError without one."""
        raise NotImplementedError

    def superseding(self, old: R, new: R, settling: Settling) -> R:
        """Return `new` as it takes the place of `old`."""
        return self.keep_settled(new, settling)

    def require_valid(self, record: R) -> R:
        """Return the record. Raises: UsageError if its values are invalid."""
        if found := self.problems(record):
            raise UsageError(f"the {self.noun} is not sound: {'; '.join(found)}", hint="Correct the values.")
        return record

    def short(self, identifier: str) -> str:
        """Return as much of an id as is shown."""
        return identifier[: self.shown]

    def put_draft(self, record: R, marks: StepMarks | None) -> EntryDraft:
        """Draft that a record is, from now on, as it is given."""
        body = self.to_body(record)
        if marks is not None:
            body[CURATION] = marks.body()
        home, verbatim = self.is_home(record), self.is_verbatim(record)
        return EntryDraft(self.put, body, home, self.stream(record), verbatim)

    def removed_draft(self, record: R, marks: StepMarks, successor: str = "") -> EntryDraft:
        """Draft that a record is there no longer; `successor` is the one in its place."""
        body: dict[str, Any] = {"id": record.id, CURATION: marks.body()}
        if successor:
            body["successor"] = successor
        return EntryDraft(self.removed, body, self.is_home(record), self.stream(record))

    def settled_draft(self, left: R, right: R, conflict: str, action: str, marks: StepMarks) -> EntryDraft:
        """Draft that a conflict is settled, in the project's journal unless both records are the person's."""
        body = {"id": conflict, "left": left.id, "right": right.id, "action": action, CURATION: marks.body()}
        return EntryDraft(self.settled, body, self.is_home(left) and self.is_home(right), self.stream(left))


def combine(parts: Sequence[StepDraft[R]], *, title: str, reason: str = "") -> StepDraft[R]:
    """Return several steps as one, which is undone as one."""
    body = new_marks(title, reason).body()
    entries = (
        replace(draft, body={**draft.body, CURATION: body}) for part in parts for draft in part.entries
    )
    return StepDraft(title, tuple(entries), tuple(record for part in parts for record in part.records))
