"""Steps of curation as drafts of journal entries, given the ledger; nothing is written.

A step is undone by appending its reverse, and only while the records it touched are still as it left them:
of a record that was there before and after, while the fields that the step decided are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Final

from workbench.curation import CURATION
from workbench.curation.ledger import Ledger
from workbench.curation.records import (
    FOLLOWED,
    CurationStep,
    EntryDraft,
    R,
    RecordChange,
    RecordType,
    SettledConflict,
    StepDraft,
    StepMarks,
    new_marks,
)
from workbench.errors import UnknownRecord, UsageError

_NAMED: Final = 3  # records in the title of a step


class BuiltUpon(UsageError):
    """A step whose records were changed since; `older` is the step before it, None if there is none."""

    def __init__(self, message: str, hint: str, older: CurationStep[Any] | None) -> None:
        super().__init__(message, hint=hint)
        self.older = "" if older is None else older.id
        self.older_title = "" if older is None else older.title


def draft_addition(ledger: Ledger[R], record: R, *, reason: str, now: str, title: str = "") -> StepDraft[R]:
    """Draft a new record, whose id is made here. Raises: UsageError if it is invalid."""
    kind = ledger.type
    made = kind.require_valid(kind.create(record, now=now, taken=ledger.versions))
    marks = new_marks(title or f"add {kind.short(made.id)}", reason)
    return StepDraft(marks.title, (kind.put_draft(made, marks),), (made,))


def draft_edit(
    ledger: Ledger[R],
    identifier: str,
    changes: Mapping[str, Any],
    *,
    reason: str,
    now: str,
    title: str = "",
) -> StepDraft[R]:
    """Draft new values of a record's fields.

    Raises: UsageError for an unknown record or field, an invalid value, or if nothing would change.
    """
    kind, before = ledger.type, ledger.require(identifier)
    unknown = sorted(set(changes) - kind.editable - kind.derived)
    if unknown:
        raise UsageError(
            f"{', '.join(unknown)} cannot be edited", hint=f"Fields: {', '.join(sorted(kind.editable))}."
        )
    after: R = replace(before, **changes)  # type: ignore[type-var]
    if after == before:
        raise nothing_to_change(kind, identifier)
    marks = new_marks(title or f"edit {kind.short(before.id)}", reason)
    after = kind.require_valid(kind.revise(before, after, reason=reason, now=now, taken=ledger.versions))
    return StepDraft(marks.title, (kind.put_draft(after, marks),), (after,))


def draft_same_changes(
    ledger: Ledger[R],
    identifiers: Iterable[str],
    changes: Mapping[str, Any],
    *,
    verb: str,
    reason: str,
    stamps: Mapping[str, str] = MappingProxyType({}),
) -> StepDraft[R]:
    """Draft the same new values of several records: a review, a state; `stamps` say when it was.

    Raises: UsageError for an unknown record, or one that nothing would change of.
    """
    kind = ledger.type
    before = [ledger.require(identifier) for identifier in dict.fromkeys(identifiers)]
    afters: list[R] = [replace(one, **changes) for one in before]  # type: ignore[type-var]
    for one, after in zip(before, afters, strict=True):
        if kind.essence(one) == kind.essence(after):
            raise nothing_to_change(kind, one.id)
    marks = new_marks(f"{verb} {some_names(kind, before)}", reason)
    afters = [kind.require_valid(replace(after, **stamps)) for after in afters]  # type: ignore[type-var]
    return StepDraft(marks.title, tuple(kind.put_draft(one, marks) for one in afters), tuple(afters))


def some_names(kind: RecordType[R], records: Sequence[R]) -> str:
    """Return the first ids of records and how many more there are."""
    names = ", ".join(kind.short(record.id) for record in records[:_NAMED])
    return f"{names} and {len(records) - _NAMED:,} more" if len(records) > _NAMED else names


def draft_removal(ledger: Ledger[R], identifiers: Sequence[str], *, reason: str) -> StepDraft[R]:
    """Draft that records are there no longer. Raises: UsageError for an unknown one."""
    kind, found = ledger.type, [ledger.require(identifier) for identifier in identifiers]
    marks = new_marks(f"remove {', '.join(kind.short(record.id) for record in found)}", reason)
    return StepDraft(marks.title, tuple(kind.removed_draft(record, marks) for record in found))


def nothing_to_change(kind: RecordType[Any], identifier: str) -> UsageError:
    """Return the error of a change that changes nothing."""
    short = kind.short(identifier)
    return UsageError(
        f"nothing to change: {identifier} is like that already", hint=f"workbench {kind.group} show {short}"
    )


def draft_undo(ledger: Ledger[R], identifier: str = "") -> StepDraft[R]:
    """Draft the reverse of the last step, or of the one whose id begins so.

    That of another machine's step is a step like any other: it is undone in its turn, and not done again.
    Raises: UsageError if there is none; BuiltUpon if its records were changed since.
    """
    kind, step = ledger.type, _step_to_undo(ledger, identifier)
    net = _net_changes(_latest_changes(ledger, step))
    for record_id, (before, after) in net.items():
        _check_untouched(ledger, record_id, before, after, step)
    marks = new_marks(f"undo: {step.title or step.id}", undoes="" if step.of_another else step.id)
    restored = {
        record_id: _put_back(kind, before, after, ledger.records.get(record_id))
        for record_id, (before, after) in net.items()
        if before is not None
    }
    entries = [kind.put_draft(record, marks) for record in restored.values()]
    for before, after in net.values():
        if before is None and after is not None:
            back = next((old for old in kind.replaced_ids(after) if old in restored), "")
            entries.append(kind.removed_draft(after, marks, back))
    entries += ledger.undo_facts(step, set(restored) - set(ledger.records), marks)
    entries += [_conflict_draft(ledger, kind.reopened, item, marks) for item in step.resolved]
    entries += [_conflict_draft(ledger, kind.settled, item, marks) for item in step.reopened]
    return StepDraft(marks.title, tuple(entries), tuple(restored.values()))


def draft_redo(ledger: Ledger[R]) -> StepDraft[R]:
    """Draft the last undone step again. Raises: UsageError if there is none; BuiltUpon as `draft_undo`."""
    if not ledger.undone:
        raise UsageError("there is nothing to redo", hint="Redo follows an undo.")
    kind, step = ledger.type, ledger.steps[ledger.undone[-1]]
    net = _net_changes(step.changes)
    for identifier, (before, after) in net.items():
        _check_untouched(ledger, identifier, after, before, step)
    marks = new_marks(f"redo: {step.title}", redoes=step.id)
    records = tuple(after for _, after in net.values() if after is not None)
    entries = [kind.put_draft(record, marks) for record in records]
    replaced = {old for record in records for old in kind.replaced_ids(record)}
    successors = {change.record_id: change.successor for change in step.changes}
    for identifier, (before, after) in net.items():
        if after is None and before is not None and identifier not in replaced:
            entries.append(kind.removed_draft(before, marks, successors[identifier]))
    entries += [_conflict_draft(ledger, kind.settled, item, marks) for item in step.resolved]
    entries += [_conflict_draft(ledger, kind.reopened, item, marks) for item in step.reopened]
    entries += ledger.redo_facts(step, marks)
    return StepDraft(marks.title, tuple(entries), records)


def _net_changes(changes: Iterable[RecordChange[R]]) -> dict[str, tuple[R | None, R | None]]:
    """Return {record id: (before, after)} of a step as a whole."""
    net: dict[str, tuple[R | None, R | None]] = {}
    for change in changes:
        first = net[change.record_id][0] if change.record_id in net else change.before
        net[change.record_id] = (first, change.after)
    return net


def _latest_changes(ledger: Ledger[R], step: CurationStep[R]) -> list[RecordChange[R]]:
    """Return the changes that brought a step about most recently: a redo may have made them again."""
    walks = (ledger.steps[identifier] for identifier in reversed(ledger.walks.get(step.id, ())))
    return next((walk.changes for walk in walks if walk.redoes == step.id), step.changes)


def _step_to_undo(ledger: Ledger[R], identifier: str) -> CurationStep[R]:
    group = ledger.type.group
    if not ledger.done and not identifier:
        raise UsageError("there is nothing to undo", hint=f"`workbench {group} history` lists what was done.")
    found = next((one for one in reversed(ledger.done) if one.startswith(identifier)), None)
    if found is None:
        theirs = (step for step in reversed(ledger.steps.values()) if step.of_another)
        found = next((one.id for one in theirs if one.id.startswith(identifier)), None)
    if found is None:
        raise UnknownRecord(
            f"there is no step {identifier} to undo", hint=f"`workbench {group} undo --list` has their ids."
        )
    return ledger.steps[found]


def _check_untouched(
    ledger: Ledger[R], identifier: str, other: R | None, expected: R | None, step: CurationStep[R]
) -> None:
    """Raise BuiltUpon if a record is not as a step left it; `other` is how it is on the step's other side.

    Of a record that was there before and after only the fields count that the step decided. What files say
    of it is read from them again and is no reason.
    """
    kind = ledger.type
    since = _differing(kind, expected, ledger.records.get(identifier))
    if since == frozenset():
        return
    if since is not None:
        decided = _differing(kind, other, expected)
        if not since & decided if decided is not None else _only_followed(ledger, identifier, step):
            return
    last = next(change for change in reversed(ledger.changes) if change.record_id == identifier)
    below = ledger.done.index(step.id) if step.id in ledger.done else 0
    older = ledger.steps[ledger.done[below - 1]] if below else None
    hint = f"`workbench {kind.group} history {kind.short(identifier)}` shows how; edit it instead."
    if older is not None:
        hint += f" `workbench {kind.group} undo {older.id}` undoes the step before it: {older.title}"
    raise BuiltUpon(
        f"{identifier} was changed since {step.title!r}: {last.reason or 'changed'} "
        f"({last.by}, {last.at[:16]})",
        hint,
        older,
    )


def _only_followed(ledger: Ledger[R], identifier: str, step: CurationStep[R]) -> bool:
    """Whether all that changed a record since a step came with its files."""
    own = {step.id, *ledger.walks.get(step.id, ())}
    changes = (change for change in reversed(ledger.changes) if change.record_id == identifier)
    return all(
        change.by.startswith(FOLLOWED) for change in takewhile(lambda change: change.step not in own, changes)
    )


def _differing(kind: RecordType[R], first: R | None, second: R | None) -> frozenset[str] | None:
    """Return the fields that differ; None where one of the two is not there."""
    if first is None or second is None:
        return frozenset() if first is second else None
    one, two = kind.essence(first), kind.essence(second)
    names = [item.name for item in fields(one)]  # type: ignore[arg-type]
    return frozenset(name for name in names if getattr(one, name) != getattr(two, name))


def _put_back(kind: RecordType[R], before: R, after: R | None, now: R | None) -> R:
    """Return a record as it was before a step, with what was read or decided of other fields since."""
    if after is None or now is None or not _differing(kind, after, now):
        return before
    changed = _differing(kind, before, after) or frozenset()
    return replace(now, **{name: getattr(before, name) for name in {*changed, *kind.stamps}})  # type: ignore[type-var]


def _conflict_draft(ledger: Ledger[R], kind: str, item: SettledConflict, marks: StepMarks) -> EntryDraft:
    found = (ledger.versions.get(identifier) for identifier in (item.left, item.right))
    record = next((record for record in found if record is not None), None)
    body = {"id": item.id, "left": item.left, "right": item.right, "action": item.action}
    return EntryDraft(kind, {**body, CURATION: marks.body()}, item.home, ledger.type.stream(record))
