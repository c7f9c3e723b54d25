"""The journals of a record type folded: what is there, what was, and who changed what and why.

Nothing is deleted: a record that is no longer there stays here for replays and histories, and undoing a step
appends its reverse, so that the journals alone say what holds. Within a stream the order of lines is the
order of events, also where a writer's clock went back; streams of several journals are merged by their
entries' ids (see `folding`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Generic, TypeVar

from workbench.curation import CURATION
from workbench.curation.lazy import LazyDict, LazyList
from workbench.curation.records import (
    AUTOMATIC,
    CurationStep,
    EntryDraft,
    R,
    RecordChange,
    RecordType,
    SettledConflict,
    StepMarks,
)
from workbench.errors import ParseError, UnknownRecord, UsageError
from workbench.ports import Entry
from workbench.records.dataclass import dataclass


@dataclass(slots=True)
class Ledger(Generic[R]):
    """The fold of the journals of a record type.

    `records` are those that are there, by id, and `versions` every one that ever was, as it last was.
    `successors` maps a record to the one that took its place. `done` and `undone` are stacks of curation
    steps of this machine, and `walks` the steps that undid one or did it again, in order. `skipped` are
    sentences about entries that cannot be read.

    In a team (see `concurrency`) `heads` are, by slot, the numbers of the changes that made the versions of a
    record of which no later change had seen the other, the one that holds last; `slots` has those of first
    versions that have another slot than their id, `parted` the numbers of the two sides of settled conflicts;
    `parents` are, by slot and step (`SLOT@STEP`), the steps of the versions that its writer had seen.
    `forks` are pairs of records that took the place of the same one, by that one's id. `shared` says whether
    another machine wrote any of it. `lasting` is the `progress` that nothing that arrives can come before, ()
    where that is all, and `refolds` how often its reader had folded entries again when it was read.
    """

    type: RecordType[R]
    records: LazyDict[R] = field(default_factory=LazyDict)
    versions: LazyDict[R] = field(default_factory=LazyDict)
    successors: dict[str, str] = field(default_factory=dict)
    settled: dict[str, SettledConflict] = field(default_factory=dict)
    changes: LazyList[RecordChange[R]] = field(default_factory=LazyList)
    steps: LazyDict[CurationStep[R]] = field(default_factory=LazyDict)
    done: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)
    walks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    heads: dict[str, tuple[int, ...]] = field(default_factory=dict)
    slots: dict[str, str] = field(default_factory=dict)
    parted: dict[str, tuple[int, ...]] = field(default_factory=dict)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    forks: dict[str, tuple[str, str]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    shared: bool = False
    lasting: tuple[int, ...] = field(default=(), compare=False)
    refolds: int = field(default=0, compare=False)
    _own: set[str] = field(default_factory=set, compare=False)  # steps that no other ledger shares
    _last: dict[str, int] = field(default_factory=dict, compare=False)  # changes, by record, as far as
    _looked: int = field(default=0, compare=False)  # so many of those that were added

    @property
    def progress(self) -> tuple[int, ...]:
        """How many changes there are of each sort, those of records first; they are only ever added."""
        return (len(self.changes),)

    @property
    def begun(self) -> tuple[int, ...]:
        """How many of these were saved by an earlier fold."""
        return (self.changes.begun,)

    def ids_since(self, progress: tuple[int, ...]) -> set[str]:
        """Return the ids of records that changes after the first so many are about."""
        return {name for one in self.changes[progress[0] :] for name in (one.record_id, one.successor)}

    def newest(self, progress: tuple[int, ...]) -> tuple[str, ...]:
        """Return what tells the last of the first so many changes of each sort."""
        last = self.changes[progress[0] - 1] if 0 < progress[0] <= len(self.changes) else None
        return ("" if last is None else f"{last.step} {last.record_id}",)

    def find(self, identifier: str) -> R | None:
        """Return the record of an id as it is shown, with what is counted of it, or None."""
        return self.records.get(identifier)

    def current(self, identifier: str) -> R | None:
        """Return the record that an id leads to now: itself, its successor, or None."""
        seen: set[str] = set()
        while identifier not in self.records:
            seen.add(identifier)
            identifier = self.successors.get(identifier, "")
            if not identifier or identifier in seen:  # damaged journals may go round
                return None
        return self.records[identifier]

    def in_order(self, identifiers: Collection[str]) -> list[str]:
        """Return ids of records in the order in which they came."""
        if len(identifiers) < 2:
            return [*identifiers]
        return [identifier for identifier in self.records if identifier in identifiers]

    def slot(self, identifier: str) -> str:
        """Return what the versions of a record have in common, whatever became of its words."""
        known = self.versions.get(identifier)
        root = identifier if known is None else self.type.root(known)
        return self.slots.get(root, root)

    def last_change(self, identifier: str) -> RecordChange[R] | None:
        """Return the last change of a record, None for an unknown one."""
        number = self._last_number(identifier)
        return None if number is None else self.changes[number]

    def _last_number(self, identifier: str) -> int | None:
        added, begun = self.changes.added, self.changes.begun
        for number in range(self._looked, len(added)):
            self._last[added[number].record_id] = begun + number
        self._looked = len(added)
        found = self._last.get(identifier)
        return self.versions.places.get(identifier) if found is None else found

    def require(self, identifier: str) -> R:
        """Return the record of an id. Raises: UnknownRecord, naming the one in its place if there is one."""
        record = self.records.get(identifier)
        if record is not None:
            return record
        kind, now = self.type, self.current(identifier)
        if now is not None:
            raise UnknownRecord(
                f"{identifier} was superseded by {now.id}",
                hint=f"workbench {kind.group} history {kind.short(now.id)}",
            )
        known = "is no longer in force" if identifier in self.versions else "is not known"
        raise UnknownRecord(
            f"{identifier} {known}", hint=f"`workbench {kind.group} list` shows all there are."
        )

    def take(self, entry: Entry, home: bool = False) -> None:
        """Bring one more entry into the ledger; `home` says whether it is of the home's journal."""
        kind = self.type
        self.shared = self.shared or bool(entry.machine)
        if self.shared:
            from workbench.curation.ownership import in_own_step  # where a team is used

            entry = in_own_step(self, entry)
        body = entry.body
        if entry.kind == kind.put:
            try:
                record = kind.from_body(body)
            except ParseError as error:
                self.skipped.append(error.message)
                return
            self._put(entry, record)
        elif entry.kind == kind.removed:
            self._remove(entry, str(body.get("id", "")), str(body.get("successor") or ""))
        elif entry.kind == kind.settled:
            self._settle(entry, home)
        elif entry.kind == kind.reopened:
            self._reopen(entry, str(body.get("id", "")))
        elif entry.kind in kind.facts:
            self.take_fact(entry, home)

    def take_fact(self, entry: Entry, home: bool) -> None:
        """Bring in an entry of one of the kinds that the type alone knows."""

    def undo_facts(
        self, step: CurationStep[R], restored: Collection[str], marks: StepMarks
    ) -> list[EntryDraft]:
        """Draft what undoing a step takes back besides records; `restored` are ids that come back by it."""
        return []

    def redo_facts(self, step: CurationStep[R], marks: StepMarks) -> list[EntryDraft]:
        """Draft what doing a step again brings besides records."""
        return []

    def combine(self, held: R, other: R, base: R | None) -> R:
        """Return what two versions of a record that were written apart say together; both go on from `base`.

        Raises: UsageError for a type of which somebody has to write that.
        """
        raise UsageError("a third version needs its words", hint="--text 'the words that hold'")

    def base_of(self, slot: str, step: str, other: str) -> R | None:
        """Return the last version of a slot that those of two steps go on from, as far as it is known.

        Neither is the other's: a choice that was taken back had seen both.
        """
        ours = {*self._line(slot, step)} - {step, other}
        common = next((one for one in self._line(slot, other) if one in ours), "")
        changes = self.steps[common].changes if common in self.steps else []
        made = (change.after for change in reversed(changes) if self.slot(change.record_id) == slot)
        return next((one for one in made if one is not None), None)

    def _line(self, slot: str, step: str) -> Iterator[str]:
        """Yield the step of a version and those of the versions before it, the nearest first."""
        found, todo = {step}, deque([step])
        while todo:
            yield (step := todo.popleft())
            todo += [one for one in self.parents.get(f"{slot}@{step}", ()) if one not in found]
            found.update(todo)

    def fork(self: L) -> L:
        """Return a ledger that says the same; what is brought into either changes nothing in the other."""
        self._own = set()
        copied = {
            name: getattr(self, name).copy()
            for name in self.__dataclass_fields__
            if isinstance(getattr(self, name), (dict, list, set, LazyDict, LazyList))
        }
        return replace(self, **copied)

    def step_of(self, entry: Entry) -> CurationStep[R]:
        """Return the step an entry belongs to, new or under way; a new one takes its place on the stacks."""
        marks = _marks(entry)
        identifier = str(marks.get("step") or entry.id)
        known = self.steps.get(identifier)
        if known is not None:
            return self._own_step(known)
        undoes, redoes = (self._walked_step(entry, str(marks.get(name, ""))) for name in ("undoes", "redoes"))
        writes = marks.get("writes")
        files = tuple(map(str, writes)) if isinstance(writes, list) else ()
        title = str(marks.get("title", ""))
        step: CurationStep[R] = CurationStep(
            identifier, entry.at, entry.by, title, undoes, redoes, files, machine=entry.machine
        )
        self.steps[identifier] = step
        self._own.add(identifier)
        for walked in filter(None, (undoes, redoes)):
            self.walks[walked] = (*self.walks.get(walked, ()), identifier)
        if undoes and undoes in self.done:
            self.done.remove(undoes)
            self.undone.append(undoes)
        elif redoes and redoes in self.undone:
            self.undone.remove(redoes)
            self.done.append(redoes)
        elif not (undoes or redoes or entry.machine or entry.by.startswith(AUTOMATIC)):
            self.done.append(identifier)
            self.undone.clear()
        return step

    def _walked_step(self, entry: Entry, identifier: str) -> str:
        """Return the id of a step that an entry takes back or repeats, "" for one of another machine."""
        known = self.steps.get(identifier)
        return "" if known is not None and known.machine != entry.machine else identifier

    def _own_step(self, step: CurationStep[R]) -> CurationStep[R]:
        if step.id not in self._own:
            step = replace(
                step, changes=[*step.changes], resolved=[*step.resolved], reopened=[*step.reopened]
            )
            self.steps[step.id] = step
            self._own.add(step.id)
        return step

    def _put(self, entry: Entry, record: R) -> None:
        before, replaced = self.records.get(record.id), self.type.replaced_ids(record)
        step, mark = self.step_of(entry), self._team_mark(entry, (record.id, *replaced), record)
        for old in replaced:
            gone = self.records.pop(old, None)
            if gone is None and self.shared:
                self._fork(old, record.id)
            self.successors[old] = record.id
            if gone is not None:
                self._record(entry, step, old, gone, None)
        self.successors.pop(record.id, None)
        self.records[record.id] = record
        self.versions[record.id] = record
        if mark is not None:
            self._displace(entry, step, mark, record.id)
        self._record(entry, step, record.id, before, record)
        if mark is not None:
            self._lead(step, mark, record.id, record)

    def _remove(self, entry: Entry, identifier: str, successor: str) -> None:
        mark = self._team_mark(entry, (identifier,), None)
        gone = self.records.pop(identifier, None)
        if gone is None and mark is None:
            return
        if gone is not None and successor:
            self.successors[identifier] = successor
        step = self.step_of(entry)
        if mark is not None:
            self._displace(entry, step, mark, identifier)
        self._record(entry, step, identifier, gone, None, successor)
        if mark is not None:
            self._lead(step, mark, identifier, None)

    def _team_mark(self, entry: Entry, names: Sequence[str], after: R | None) -> _TeamMark | None:
        """Return what an entry makes a version of, and what its writer had seen, None where nobody asks.

        `names` are the record and those that it replaces. An entry without marks, from before the team or of
        an older program, had seen what its own machine wrote; what acts by itself counts as having seen all.
        """
        seen = _marks(entry).get("seen")
        if isinstance(seen, list):
            mark = _TeamMark(str(_marks(entry).get("slot") or names[0]), frozenset(map(str, seen)))
            if mark.seen:
                self._begin_slot(entry, mark, names, after)
            return mark
        if not self.shared or entry.by.startswith(AUTOMATIC):
            return None
        known = self._first_known(names)
        slot = Ledger.slot(self, known) if known else ""  # by what the entries say, not this machine's files
        self._begin_slot(entry, _TeamMark(slot, frozenset()), names, after)
        heads = [self.changes[number] for number in self.heads.get(slot, ())]
        step = str(_marks(entry).get("step") or entry.id)
        if not heads or any(head.step == step for head in heads):
            return None  # its step put another version in its place
        return _TeamMark(slot, frozenset(head.step for head in heads if self._is_of(entry.machine, head)))

    def _begin_slot(self, entry: Entry, mark: _TeamMark, names: Sequence[str], after: R | None) -> None:
        """Let a slot without heads have the version that holds, where the writer of an entry saw another."""
        if not self.shared or self.heads.get(mark.slot):
            return
        known = self._first_known(names)
        now = self.current(known) if known else None
        number = self._last_number(known if now is None else now.id) if known else None
        if number is None:
            return
        last = self.changes[number]
        if not (
            last.step in mark.seen
            or last.by.startswith(AUTOMATIC)
            or self._is_of(entry.machine, last)
            or self.type.same_content(last.after, after)
        ):
            self.heads[mark.slot] = (number,)

    def _first_known(self, names: Sequence[str]) -> str:
        """Return the first id of which there is a version, or one in its place; "" for none."""
        return next((name for name in names if name in self.versions or name in self.successors), "")

    def _is_of(self, machine: str, change: RecordChange[R]) -> bool:
        """Whether a machine wrote a change: of directories that were copied each has the same entries."""
        return change.machine == machine or any(
            change.machine == machine for change in self.steps[change.step].changes
        )

    def _fork(self, old: str, successor: str) -> None:
        """Note that a record takes the place of one in whose place another one is."""
        there = self.successors.get(old, successor)
        if there != successor and self.current(there) is not None:
            self.forks.setdefault(old, (there, successor))

    def _displace(self, entry: Entry, step: CurationStep[R], mark: _TeamMark, identifier: str) -> None:
        """Take the version of a slot that held so far out of use, also where the writer had not seen it."""
        heads = self.heads.get(mark.slot)
        held = "" if not heads else self.changes[heads[-1]].record_id
        gone = self.records.pop(held, None) if held != identifier else None
        if gone is not None:
            self.successors[held] = identifier
            self._record(entry, step, held, gone, None)

    def _lead(self, step: CurationStep[R], mark: _TeamMark, identifier: str, after: R | None) -> None:
        """Let the last change make the version of a slot that holds; those it had not seen stay open."""
        heads = self.heads.get(mark.slot, ())
        changes = [self.changes[number] for number in heads]
        known = [change.after for change in changes if change.step in mark.seen or change.step == step.id]
        same = self.type.same_content
        unseen = [
            number
            for number, change in zip(heads, changes, strict=True)
            if change.step not in mark.seen and change.step != step.id
            if not any(same(change.after, other) for other in (*known, after))
        ]
        self.heads[mark.slot] = (*unseen, len(self.changes) - 1)
        self.parents[f"{mark.slot}@{step.id}"] = tuple(sorted(mark.seen))
        root = identifier if after is None else self.type.root(after)
        if mark.slot != root:
            self.slots[root] = mark.slot

    def _settle(self, entry: Entry, home: bool) -> None:
        identifier, left, right, action = (
            str(entry.body.get(name, "")) for name in ("id", "left", "right", "action")
        )
        facts = (entry.at, entry.by, reason_of(entry), home, entry.machine)
        settled = SettledConflict(identifier, left, right, action, *facts)
        self.settled[identifier] = settled
        self.step_of(entry).resolved.append(settled)
        marks = _marks(entry)
        if isinstance(marks.get("seen"), list):
            heads = self.heads.get(str(marks.get("slot") or identifier), ())
            sides = tuple(number for number in heads if self.changes[number].version in (left, right))
            if len(sides) == 2:
                self.parted[identifier] = sides

    def _reopen(self, entry: Entry, identifier: str) -> None:
        step = self.step_of(entry)
        reopened = self.settled.pop(identifier, None)
        if reopened is not None:
            step.reopened.append(reopened)
        sides = self.parted.get(identifier, ())
        if sides:
            slot = self.slot(self.changes[sides[0]].record_id)
            heads, same = self.heads.get(slot, ()), self.type.same_content
            now = [self.changes[number].after for number in heads]
            apart = [one for one in sides if not any(same(self.changes[one].after, other) for other in now)]
            self.heads[slot] = (*apart, *heads)

    def _record(
        self,
        entry: Entry,
        step: CurationStep[R],
        identifier: str,
        before: R | None,
        after: R | None,
        successor: str = "",
    ) -> None:
        facts = (reason_of(entry), step.id, successor, entry.machine)
        change = RecordChange(entry.at, entry.by, identifier, before, after, *facts)
        self.changes.append(change)
        step.changes.append(change)


L = TypeVar("L", bound=Ledger[Any])


@dataclass(frozen=True, slots=True)
class _TeamMark:
    """What an entry of a team says besides: of which slot it makes a version, and the steps it had seen."""

    slot: str
    seen: frozenset[str]


def reason_of(entry: Entry) -> str:
    """Return why an entry was written, as its step has it, or its body where it is of no step."""
    return str((_marks(entry) or entry.body).get("reason") or "")


def _marks(entry: Entry) -> Mapping[str, Any]:
    marks = entry.body.get(CURATION)
    return marks if isinstance(marks, Mapping) else {}
