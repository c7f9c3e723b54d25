"""Changes of one record that two machines of a team made without having seen each other's.

An entry that a person's step writes in a team says of which record it makes a version (the slot: the id of
the first version) and which steps made the versions that its writer had seen. A fold with a change whose
writer had not seen the version that held keeps both: the later one by the common order holds, and the pair is
a conflict until a person chooses. An entry without such marks, from before the team or of an older program,
had seen what its own machine wrote; what a program does by itself counts as having seen all.

A record that took the place of several, as a merge does, and another one that took the place of one of these
are both in force: a fork, which is a conflict of two records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Generic

from workbench.curation import CURATION
from workbench.curation.records import (
    AUTOMATIC,
    EntryDraft,
    R,
    RecordChange,
    RecordType,
    StepDraft,
    StepMarks,
    new_marks,
)
from workbench.errors import UsageError
from workbench.records.conflicts import Action, Evidence, Suggestion, conflict_id
from workbench.records.dataclass import dataclass
from workbench.records.ids import bind_step

if TYPE_CHECKING:
    from workbench.curation.conflicts import ConflictDecision
    from workbench.curation.ledger import Ledger

SEEN: Final = "seen"
SLOT: Final = "slot"
REMOVED: Final = "(removed)"
"""What a version says that was removed, where its words are shown."""

ADVICE: Final = Suggestion(Action.KEEP_LEFT, "The version in force is the later one; read both.")


@dataclass(frozen=True, slots=True)
class ConcurrentEdit(Generic[R]):
    """Two versions of a record whose writers had not seen each other's: `left` holds, `right` does not.

    A version that is None was removed. `base` is the last version that both go on from, if that is known.
    """

    id: str
    slot: str
    left: RecordChange[R]
    right: RecordChange[R]
    base: R | None = None

    @property
    def record(self) -> R:
        """A version that is not removed; there is one, because two removals say the same."""
        found = self.left.after or self.right.after
        assert found is not None
        return found


def concurrent_edits(ledger: Ledger[R]) -> tuple[ConcurrentEdit[R], ...]:
    """Return the concurrent edits that nobody has settled, newest first."""
    found = []
    for slot, numbers in ledger.heads.items():
        left = ledger.changes[numbers[-1]] if len(numbers) > 1 else None
        for right in (ledger.changes[number] for number in numbers[:-1]):
            assert left is not None
            base = ledger.base_of(slot, left.step, right.step)
            found.append(ConcurrentEdit(conflict_id(left.version, right.version), slot, left, right, base))
    return tuple(sorted(found, key=lambda one: (one.left.at, one.id), reverse=True))


def edit_sides(kind: RecordType[R], edit: ConcurrentEdit[R]) -> tuple[R, R]:
    """Return both versions to be shown; the one that holds has its id, others that of their version."""

    def side(change: RecordChange[R], *, holds: bool) -> R:
        if change.after is None:
            return kind.rename(edit.record, change.version, REMOVED)
        return change.after if holds else kind.rename(change.after, change.version)

    return side(edit.left, holds=True), side(edit.right, holds=False)


def machine_name(machine: str, names: Mapping[str, str]) -> str:
    """Return what people call a machine of a team, "" being this one."""
    return names.get(machine) or (f"machine {machine[-8:]}" if machine else "this machine")


def writer(by: str, machine: str, names: Mapping[str, str]) -> str:
    """Return who wrote a change: by which face, and in a team on which machine.

    What acts by itself says so; on this machine it has no member's name.
    """
    own = not machine and ("" not in names or by.startswith(AUTOMATIC))
    return by if own else f"{by} on {machine_name(machine, names)}"


def sign_changes(changes: Iterable[RecordChange[R]], names: Mapping[str, str]) -> tuple[RecordChange[R], ...]:
    """Return changes that say by whom they are, with the team's machine."""
    return tuple(replace(change, by=writer(change.by, change.machine, names)) for change in changes)


def edit_notes(
    kind: RecordType[R], edit: ConcurrentEdit[R], names: Mapping[str, str]
) -> tuple[str, tuple[Evidence, ...]]:
    """Return in a sentence what clashes, and as evidence who wrote each version, from what, and what differs.

    The first two are of the left and the right version.
    """
    one, other = (machine_name(change.machine, names) for change in (edit.left, edit.right))
    notes = [change_note("in force", edit.left, names), change_note("not in force", edit.right, names)]
    if words := _base_words(kind, edit):
        notes.append(Evidence("base", 1.0, words))
    if besides := _differences(kind, edit):
        notes.append(Evidence("differs", 1.0, besides))
    return f"Changed on {one} and on {other}, neither having seen the other's change.", tuple(notes)


def change_note(name: str, change: RecordChange[Any], names: Mapping[str, str]) -> Evidence:
    """Return on which machine a version of a record was made, by what, when and why."""
    done = "removed" if change.after is None else "written"
    why = f": {change.reason}" if change.reason else ""
    where, when = machine_name(change.machine, names), change.at[:16].replace("T", " ")
    return Evidence(name, 1.0, f"{where}, {done} by {change.by}, {when} UTC{why}")


def is_version(identifier: str) -> bool:
    """Whether the right side of a conflict is a version of the left one's record, and no record itself."""
    return "@" in identifier


def version_place(note: Evidence) -> str:
    """Return where a version is from, of the first or second note of `edit_notes`."""
    return f"{note.test} · {note.detail}"


def _base_words(kind: RecordType[R], edit: ConcurrentEdit[R]) -> str:
    """Return what a record said before both, empty where that is not known or what both say."""
    said = [getattr(one, kind.words, "") for one in (edit.base, edit.left.after, edit.right.after)]
    return str(said[0]) if said.count(said[0]) < len(said) else ""


def _differences(kind: RecordType[R], edit: ConcurrentEdit[R]) -> str:
    """Return what people decided otherwise besides the words: `priority 50 | 80 (base 50)`.

    Of a record that one side removed it is what the other one changed: `priority 80 (base 50)`.
    """
    sides = [one for one in (edit.left.after, edit.right.after) if one is not None]
    base = [edit.base] if edit.base is not None else []
    found = []
    for name in sorted((kind.editable | {"state"}) - {kind.words, "name", "action_text"}):
        values = [plain_value(getattr(side, name, None)) for side in (*sides, *base)]
        if len(set(values if len(sides) == 1 else values[:2])) > 1:
            before = f" (base {values[-1]})" if base else ""
            found.append(f"{name.replace('_', ' ')} {' | '.join(values[: len(sides)])}{before}")
    return "; ".join(found)


def plain_value(value: object) -> str:
    """Return what people decided of a field, as it is shown."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (", ".join(map(str, value)) if isinstance(value, tuple) else str(value or "")) or "none"


def bind_drafts(drafts: Sequence[EntryDraft], machine: str) -> list[EntryDraft]:
    """Return drafts whose step is a machine's: nobody else can write into it."""
    bound = []
    for draft in drafts:
        marks = draft.body.get(CURATION)
        if isinstance(marks, Mapping) and marks.get("step"):
            marks = {**marks, "step": bind_step(str(marks["step"]), machine)}
            draft = replace(draft, body={**draft.body, CURATION: marks})
        bound.append(draft)
    return bound


def mark_drafts(ledger: Ledger[Any], drafts: Sequence[EntryDraft]) -> list[EntryDraft]:
    """Return drafts of a person's step with the marks of a team; `ledger` is as it was before the step."""
    kind = ledger.type
    slots = {
        at: _slot(ledger, kind.record_ids(draft.body))
        for at, draft in enumerate(drafts)
        if draft.kind == kind.put and not draft.home and kind.is_marked(draft)
    }
    put = set(slots.values())
    again = _settled_again(ledger, drafts)
    marked = []
    for at, draft in enumerate(drafts):
        body = draft.body
        marks = body.get(CURATION) or {}
        if draft.home or not kind.is_marked(draft) or SEEN in marks:
            marked.append(draft)
            continue
        slot = slots.get(at) or ledger.slot(str(body.get("id", "")))
        if draft.kind == kind.removed and slot in put:
            marked.append(draft)  # the step puts another version in its place
            continue
        seen = [*_last_steps(ledger, slot, kind.record_ids(body) if at in slots else (body["id"],))]
        seen += again.get(slot, ())
        mine = {**marks, SEEN: list(dict.fromkeys(seen)), SLOT: slot}
        marked.append(replace(draft, body={**body, CURATION: mine}))
    return marked


def _last_steps(ledger: Ledger[Any], slot: str, identifiers: Sequence[str]) -> list[str]:
    """Return the step that made the version of a slot which holds; none for a new record."""
    heads = ledger.heads.get(slot, ())[-1:]
    changes = [ledger.changes[number] for number in heads]
    changes = changes or [one for one in map(ledger.last_change, identifiers) if one is not None][:1]
    return [change.step for change in changes]


def _slot(ledger: Ledger[Any], identifiers: Sequence[str]) -> str:
    """Return the slot of a record that takes the place of others: that of the first of them."""
    own, *replaced = identifiers
    return ledger.slot(own if own in ledger.versions or not replaced else replaced[0])


def _settled_again(ledger: Ledger[Any], drafts: Sequence[EntryDraft]) -> dict[str, list[str]]:
    """Return, by slot, the steps of both sides of concurrent edits that a step settles as it did before."""
    found: dict[str, list[str]] = {}
    for draft in drafts:
        if draft.kind == ledger.type.settled:
            for number in ledger.parted.get(str(draft.body.get("id", "")), ()):
                change = ledger.changes[number]
                found.setdefault(ledger.slot(change.record_id), []).append(change.step)
    return found


def find_edit(ledger: Ledger[R], conflict: str) -> ConcurrentEdit[R] | None:
    """Return the concurrent edit that a conflict is, None if it is one of two records."""
    return next((edit for edit in concurrent_edits(ledger) if edit.id == conflict), None)


def draft_choice(
    ledger: Ledger[R],
    edit: ConcurrentEdit[R],
    decision: ConflictDecision,
    changes: Mapping[str, Any],
    *,
    now: str,
    step: StepMarks | None = None,
) -> StepDraft[R]:
    """Draft which version of a record holds: `left`, `right`, or with `merge` a third one with `changes`.

    It is a step of its own or part of the given one. Raises: UsageError for what makes no sense here.
    """
    kind, action = ledger.type, decision.action
    if action in _REFUSED:
        raise UsageError(
            f"{action.value.replace('_', '-')} is for two records: {_REFUSED[action]}",
            hint="keep-left keeps the one in force, keep-right takes the other, merge --text writes a third.",
        )
    title = f"{action.value.replace('_', ' ')} of concurrent edits: {kind.short(edit.record.id)}"
    marks = replace(step or new_marks(title), reason=decision.reason or "concurrent edits")
    after = (edit.right if action is Action.KEEP_RIGHT else edit.left).after
    if action is Action.MERGE:
        after = _third(ledger, edit, changes, marks.reason, now)
    elif action is Action.KEEP_LEFT and after is not None:
        after = ledger.records.get(after.id, after)
    team = {CURATION: {**marks.body(), SEEN: [edit.left.step, edit.right.step], SLOT: edit.slot}}
    sides = {"id": edit.id, "left": edit.left.version, "right": edit.right.version, "action": action.value}
    settled = EntryDraft(kind.settled, {**sides, **team}, home=False, stream=kind.stream(edit.record))
    if after is None:
        held = ledger.records.get(edit.left.record_id) or edit.record
        removed = kind.removed_draft(held, marks)
        return StepDraft(marks.title, (settled, replace(removed, body={**removed.body, **team})))
    put = kind.put_draft(kind.require_valid(after), marks)
    return StepDraft(marks.title, (settled, replace(put, body={**put.body, **team})), (after,))


_REFUSED: Final = {
    Action.KEEP_BOTH: "two versions of one record cannot both hold",
    Action.NARROW_SCOPE: "a version of a record is not narrowed against another one",
    Action.SUPERSEDE: "versions of one record do not supersede each other",
}


def _third(
    ledger: Ledger[R], edit: ConcurrentEdit[R], changes: Mapping[str, Any], reason: str, now: str
) -> R:
    """Return a third version. Raises: UsageError without its words, or if those of the type stay."""
    kind, left, right = ledger.type, edit.left.after, edit.right.after
    used = (one for one in (left, right) if one is not None and kind.in_use(one))
    before = next(used, edit.record)
    if not changes and left is not None and right is not None:
        return ledger.combine(left, right, edit.base)
    if not changes:
        raise UsageError("a third version needs its words", hint="--text 'the words that hold'")
    if not changes.keys() <= kind.editable | kind.derived:
        raise UsageError(f"the words of a {kind.noun} stay", hint="--action keep-left or keep-right")
    after: R = replace(before, **changes)  # type: ignore[type-var]
    return kind.revise(before, after, reason=reason, now=now, taken=ledger.versions)
