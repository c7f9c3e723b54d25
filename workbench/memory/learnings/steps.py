"""What a person or an agent changes about learnings, as steps that can be undone.

Functions here turn a wish ("this one is junk", "keep the left one") into drafts of journal entries, given the
ledger; nothing is written. A step is undone by appending its reverse, and only while the learnings it touched
are still as it left them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from workbench.curation import CURATION
from workbench.curation.records import StepMarks, new_marks
from workbench.errors import UsageError
from workbench.memory.learnings.bodies import essence, sound, to_body
from workbench.memory.learnings.kinds import CONTRADICTED, HIT, PUT, REMOVED, REOPENED, SETTLED
from workbench.memory.learnings.learningstore import Draft
from workbench.memory.learnings.ledger import Change, Ledger, Settled, Step
from workbench.records.learnings import FeatureLearning, LearningSource

SHORT: Final = 17
"""Characters of an id that are shown: `learning-` and eight digits tell those of a project apart."""

EDITABLE: Final = frozenset({"text", "reason", "task_id", "feature", "kind", "files", "scope"})


@dataclass(frozen=True, slots=True)
class Drafts:
    """The entries of one step. `learnings` are those it leaves, as they are put."""

    title: str
    entries: tuple[Draft, ...]
    learnings: tuple[FeatureLearning, ...] = ()


def learning_id(owner: str, feature: str, text: str, taken: Container[str]) -> str:
    """Return an id for a text that no learning ever had."""
    number = 0
    while True:
        key = "\0".join((owner, feature, " ".join(text.split()), str(number)))
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        if (identifier := f"learning-{digest[:20]}") not in taken:
            return identifier
        number += 1


def put(learning: FeatureLearning, told: StepMarks | None) -> Draft:
    """Draft that a learning is, from now on, as it is given."""
    body = to_body(learning) if told is None else {**to_body(learning), CURATION: told.body()}
    return Draft(PUT, body, learning.feature, is_home(learning))


def is_home(learning: FeatureLearning) -> bool:
    """Whether a learning is the person's own, in all projects."""
    return learning.project_id is None


def added(ledger: Ledger, learning: FeatureLearning, *, reason: str, now: str) -> Drafts:
    """Draft a new learning; its id is made here. Raises UsageError if it is unsound."""
    owner = learning.project_id or "home"
    taken = {*ledger.put, *(change.learning_id for change in ledger.changes)}
    identifier = learning_id(owner, learning.feature, learning.text, taken)
    made = sound(replace(learning, id=identifier, timestamp=learning.timestamp or now, updated_at=now))
    told = new_marks(f"add {identifier[:SHORT]}", reason)
    return Drafts(told.title, (put(made, told),), (made,))


def edited(
    ledger: Ledger, identifier: str, changes: Mapping[str, Any], *, reason: str, now: str, by_person: bool
) -> Drafts:
    """Draft new values of a learning's fields. What a person words is theirs, and reviewed.

    Raises: UsageError for an unknown learning or field, an unsound value, or if nothing would change.
    """
    before = known(ledger, identifier)
    unknown = sorted(set(changes) - EDITABLE)
    if unknown:
        fields = ", ".join(sorted(EDITABLE))
        raise UsageError(f"{', '.join(unknown)} cannot be edited", hint=f"Fields: {fields}.")
    after = replace(before, **changes)
    if after == before:
        raise UsageError(
            f"{identifier} is that way already", hint=f"workbench memory show {identifier[:SHORT]}"
        )
    after = replace(after, updated_at=now)
    if by_person and "text" in changes:
        source = max(before.source, LearningSource.HUMAN, key=lambda one: one.rank)
        after = replace(after, source=source, reviewed=True, reviewed_at=now)
    told = new_marks(f"edit {identifier[:SHORT]}", reason)
    return Drafts(told.title, (put(sound(after), told),), (after,))


def marked(
    ledger: Ledger,
    identifiers: Sequence[str],
    changes: Mapping[str, Any],
    *,
    verb: str,
    reason: str,
    now: str,
) -> Drafts:
    """Draft the same new values of several learnings: a review, a state. Raises UsageError as `edited`."""
    before = [known(ledger, identifier) for identifier in dict.fromkeys(identifiers)]
    afters = [replace(one, **changes) for one in before]
    for one, after in zip(before, afters, strict=True):
        if essence(one) == essence(after):
            raise UsageError(f"{one.id} is that way already", hint=f"workbench memory show {one.id[:SHORT]}")
    names = ", ".join(one.id[:SHORT] for one in before[:3])
    told = new_marks(f"{verb} {names}{f' and {len(before) - 3:,} more' if len(before) > 3 else ''}", reason)
    afters = [replace(after, updated_at=now) for after in afters]
    return Drafts(told.title, tuple(put(sound(after), told) for after in afters), tuple(afters))


def hit(learning: FeatureLearning, *, session_id: str, iteration: int | None, why: str) -> Draft:
    """Draft that a session found a learning out by itself."""
    return _note(HIT, learning, session_id, iteration, why)


def contradicted(learning: FeatureLearning, *, session_id: str, iteration: int | None, why: str) -> Draft:
    """Draft that an outcome spoke against a learning."""
    return _note(CONTRADICTED, learning, session_id, iteration, why)


def settled(
    left: FeatureLearning, right: FeatureLearning, conflict: str, action: str, told: StepMarks
) -> Draft:
    """Draft that a conflict is settled, in the project's journal unless both are the person's."""
    body = {"id": conflict, "left": left.id, "right": right.id, "action": action, CURATION: told.body()}
    return Draft(SETTLED, body, left.feature, is_home(left) and is_home(right))


def undone(ledger: Ledger) -> Drafts:
    """Draft the reverse of the last step. Raises UsageError if there is none or it was built upon."""
    if not ledger.done:
        raise UsageError("there is nothing to undo", hint="`workbench memory history` lists what was done.")
    step = ledger.steps[ledger.done[-1]]
    net = _net(_latest(ledger, step))
    for identifier, (_, after) in net.items():
        _unchanged(ledger, identifier, after, step)
    told = new_marks(f"undo: {step.title}", undoes=step.id)
    entries = [_restored(before, after, told) for before, after in net.values()]
    entries += [_as_draft(ledger, REOPENED, item, told) for item in step.resolved]
    entries += [_as_draft(ledger, SETTLED, item, told) for item in step.reopened]
    return Drafts(told.title, tuple(entries), tuple(before for before, _ in net.values() if before))


def redone(ledger: Ledger) -> Drafts:
    """Draft the last undone step again. Raises UsageError if there is none or it was built upon."""
    if not ledger.undone:
        raise UsageError("there is nothing to redo", hint="Redo follows an undo.")
    step = ledger.steps[ledger.undone[-1]]
    net = _net(step.changes)
    for identifier, (before, _) in net.items():
        _unchanged(ledger, identifier, before, step)
    told = new_marks(f"redo: {step.title}", redoes=step.id)
    entries = [_restored(after, before, told) for before, after in net.values()]
    entries += [_as_draft(ledger, SETTLED, item, told) for item in step.resolved]
    entries += [_as_draft(ledger, REOPENED, item, told) for item in step.reopened]
    return Drafts(told.title, tuple(entries), tuple(after for _, after in net.values() if after))


def known(ledger: Ledger, identifier: str) -> FeatureLearning:
    """Return a learning as it was put last, live or not. Raises UsageError for an unknown one."""
    found = ledger.put.get(identifier)
    if found is None:
        raise UsageError(
            f"{identifier} is not known", hint="`workbench memory list --all` shows all of them."
        )
    return found


def in_use(ledger: Ledger, identifier: str) -> FeatureLearning:
    """Return a live learning. Raises UsageError, saying what became of one that is not."""
    found = known(ledger, identifier)
    if found.live:
        return found
    now = f", see {found.successor[:SHORT]}" if found.successor else ""
    raise UsageError(
        f"{identifier} is {found.state.value}{now}",
        hint=f"`workbench memory restore {identifier[:SHORT]}` brings it back.",
    )


def _note(kind: str, learning: FeatureLearning, session_id: str, iteration: int | None, why: str) -> Draft:
    body = {"id": learning.id, "session_id": session_id, "iteration": iteration, "why": why}
    return Draft(kind, body, learning.feature, is_home(learning))


def _restored(wanted: FeatureLearning | None, present: FeatureLearning | None, told: StepMarks) -> Draft:
    """Draft that a learning is as before, or after, a step. One of the two is there."""
    if wanted is not None:
        return put(wanted, told)
    assert present is not None
    return Draft(REMOVED, {"id": present.id, CURATION: told.body()}, present.feature, is_home(present))


def _net(changes: Iterable[Change]) -> dict[str, tuple[FeatureLearning | None, FeatureLearning | None]]:
    """Return {learning id: (before, after)} of a step as a whole."""
    net: dict[str, tuple[FeatureLearning | None, FeatureLearning | None]] = {}
    for change in changes:
        first = net[change.learning_id][0] if change.learning_id in net else change.before
        net[change.learning_id] = (first, change.after)
    return net


def _latest(ledger: Ledger, step: Step) -> list[Change]:
    """Return the changes that brought a step about most recently: a redo may have made them again."""
    again = [other for other in ledger.steps.values() if other.redoes == step.id]
    return again[-1].changes if again else step.changes


def _unchanged(ledger: Ledger, identifier: str, expected: FeatureLearning | None, step: Step) -> None:
    """Raise UsageError if a learning is not as a step left it."""
    now = ledger.put.get(identifier)
    if essence(now) == essence(expected):
        return
    last = next(change for change in reversed(ledger.changes) if change.learning_id == identifier)
    raise UsageError(
        f"{identifier} was changed since {step.title!r}: {last.reason or 'changed'} "
        f"({last.by}, {last.at[:16]})",
        hint=f"`workbench memory history {identifier[:SHORT]}` shows how; edit it instead.",
    )


def _as_draft(ledger: Ledger, kind: str, item: Settled, told: StepMarks) -> Draft:
    left, right = ledger.put.get(item.left), ledger.put.get(item.right)
    both = [one for one in (left, right) if one is not None]
    body = {"id": item.id, "left": item.left, "right": item.right, "action": item.action}
    return Draft(
        kind,
        {**body, CURATION: told.body()},
        both[0].feature if both else "general",
        bool(both) and all(is_home(one) for one in both),
    )
