"""What a person or an agent changes about rules, as steps that can be undone.

Functions here turn a wish ("disable this", "keep the left one") into drafts of journal entries, given the
ledger; nothing is written. A step is undone by appending its reverse, and only while the rules it touched are
still as it left them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import takewhile
from typing import Any, Final

from workbench.errors import UsageError
from workbench.records.ids import new_id
from workbench.records.rules import Rule
from workbench.rules.curation import CURATION
from workbench.rules.curation.bodies import problems, to_body
from workbench.rules.curation.ledger import (
    FORGOTTEN,
    PUT,
    REMOVED,
    REOPENED,
    RESOLVED,
    SYNCED,
    UNSTACKED,
    Change,
    FileState,
    Ledger,
    Settled,
    Step,
    Undo,
)
from workbench.rules.curation.versions import CONTENT, free_id, next_version
from workbench.text.redact import redact_values

MOST_PASSAGE: Final = 4_000
"""Characters of a file that are kept with what was written over them."""

EDITABLE: Final = frozenset(item.name for item in fields(Rule)) - {
    "id",
    "source",
    "replaces",
    "created_at",
    "updated_at",
    "metadata",
    "project_id",
    "token_cost",
    "usage_count",
    "last_used",
    "version",
    "provenance",
}
"""The fields of a rule that people decide; the others follow from what happens to it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A journal entry to be written; `home` says into whose journal."""

    kind: str
    body: Mapping[str, Any]
    home: bool


@dataclass(frozen=True, slots=True)
class Drafts:
    """The entries of one step. `rules` are those that hold afterwards because of it."""

    title: str
    entries: tuple[Draft, ...]
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Marks:
    """What every entry of a step carries: which step, what it is called, why, and what it takes back."""

    title: str
    reason: str = ""
    undoes: str = ""
    redoes: str = ""
    step: str = ""

    def body(self) -> dict[str, str]:
        """Return them as they stand in a journal entry."""
        told = {"step": self.step, "title": self.title, "reason": self.reason}
        told |= {"undoes": self.undoes, "redoes": self.redoes}
        return {name: value for name, value in told.items() if value}


def marks(title: str, reason: str = "", *, undoes: str = "", redoes: str = "") -> Marks:
    """Return the marks of a new step."""
    return Marks(title, reason, undoes, redoes, new_id())


def combined(parts: Sequence[Drafts], *, title: str, reason: str = "") -> Drafts:
    """Return several steps as one, which is undone as one."""
    told = marks(title, reason)
    entries = (
        Draft(draft.kind, {**draft.body, CURATION: told.body()}, draft.home)
        for part in parts
        for draft in part.entries
    )
    return Drafts(title, tuple(entries), tuple(rule for part in parts for rule in part.rules))


def put(rule: Rule, told: Marks) -> Draft:
    """Draft that a rule holds from now on, as it is given."""
    return Draft(PUT, {**to_body(rule), CURATION: told.body()}, is_home(rule))


def removed(rule: Rule, told: Marks, successor: str = "") -> Draft:
    """Draft that a rule holds no longer; `successor` is the rule in its place."""
    body = {"id": rule.id, CURATION: told.body()}
    return Draft(REMOVED, {**body, "successor": successor} if successor else body, is_home(rule))


def is_home(rule: Rule) -> bool:
    """Whether a rule is the person's own, in all projects."""
    return rule.project_id is None


Said = tuple[str, tuple[str, ...], str | None]


def said(rule: Rule) -> Said:
    """Return what two rules have in common that say the same in the same place."""
    return " ".join(rule.rule.split()).casefold(), rule.scope, rule.project_id


def already_said(ledger: Ledger) -> dict[Said, str]:
    """Return the id of a rule in force for everything that is said."""
    return {said(rule): rule.id for rule in ledger.live.values()}


def added(
    ledger: Ledger, rule: Rule, known: Mapping[Said, str], *, reason: str, now: str, title: str = ""
) -> Drafts:
    """Draft a new rule; its id is made here. `known` is `already_said` of the ledger.

    Raises: UsageError if it is unsound or already there.
    """
    there = known.get(said(rule))
    if there is not None:
        raise UsageError(f"that rule is already there: {there}", hint=f"workbench rules show {there[:13]}")
    file = "" if rule.provenance is None else rule.provenance.file
    identifier = free_id(rule.project_id or "home", file, rule.rule, ledger.versions)
    made = sound(replace(rule, id=identifier, created_at=now, updated_at=now))
    told = marks(title or f"add {identifier[:13]}", reason)
    return Drafts(told.title, (put(made, told),), (made,))


def edited(
    ledger: Ledger, identifier: str, changes: Mapping[str, Any], *, reason: str, now: str, title: str = ""
) -> Drafts:
    """Draft new values of a rule's fields: a new version if its content changes, else in place [rules].

    `changes` may hold `token_cost` with `rule`. Raises UsageError for an unknown rule or field, an unsound
    value, or if nothing would change.
    """
    before = in_force(ledger, identifier)
    unknown = sorted(set(changes) - EDITABLE - {"token_cost", "metadata"})
    if unknown:
        raise UsageError(
            f"{', '.join(unknown)} cannot be edited", hint=f"Fields: {', '.join(sorted(EDITABLE))}."
        )
    after = replace(before, **changes)
    if after == before:
        raise UsageError(f"{identifier} is that way already", hint=f"workbench rules show {identifier[:13]}")
    told = marks(title or f"edit {before.id[:13]}", reason)
    if any(getattr(after, name) != getattr(before, name) for name in CONTENT):
        file = "" if before.provenance is None else before.provenance.file
        fresh = free_id(before.project_id or "home", file, after.rule, ledger.versions)
        after = next_version(before, replace(after, id=fresh), reason=reason or "edited", now=now)
    else:
        after = replace(after, updated_at=now)
    return Drafts(told.title, (put(sound(after), told),), (after,))


def dropped(ledger: Ledger, identifiers: Sequence[str], *, reason: str) -> Drafts:
    """Draft that rules hold no longer. Raises UsageError for an unknown one."""
    rules = [in_force(ledger, identifier) for identifier in identifiers]
    told = marks(f"remove {', '.join(rule.id[:13] for rule in rules)}", reason)
    return Drafts(told.title, tuple(removed(rule, told) for rule in rules))


def settled(left: Rule, right: Rule, conflict: str, action: str, told: Marks) -> Draft:
    """Draft that a conflict is settled, into the project's journal unless both rules are the person's."""
    body = {"id": conflict, "left": left.id, "right": right.id, "action": action, CURATION: told.body()}
    return Draft(RESOLVED, body, is_home(left) and is_home(right))


class BuiltUpon(UsageError):
    """A step whose rules were changed since; `older` is the step before it, None if there is none."""

    def __init__(self, message: str, hint: str, older: Step | None) -> None:
        super().__init__(message, hint=hint)
        self.older = "" if older is None else older.id
        self.older_title = "" if older is None else older.title


def undone(ledger: Ledger, identifier: str = "") -> Drafts:
    """Draft the reverse of the last step, or of the one whose id begins so.

    Raises: UsageError if there is none; BuiltUpon if its rules were changed since.
    """
    step = _done(ledger, identifier)
    net = _net(_latest(ledger, step))
    for rule_id, (before, after) in net.items():
        _unchanged(ledger, rule_id, before, after, step)
    told = marks(f"undo: {step.title}", undoes=step.id)
    restored = {
        rule_id: _put_back(before, after, ledger.live.get(rule_id))
        for rule_id, (before, after) in net.items()
        if before is not None
    }
    entries = [put(rule, told) for rule in restored.values()]
    for before, after in net.values():
        if before is None and after is not None:
            back = next((old for old in after.replaces if old in restored), "")
            entries.append(removed(after, told, back))
    entries += _given_back(ledger, step, set(restored) - set(ledger.live), told)
    entries += _reversed_settlements(step, told)
    entries += [_file_as(before, after, told) for before, after in reversed(step.files)]
    return Drafts(told.title, tuple(entries), tuple(restored.values()))


def redone(ledger: Ledger) -> Drafts:
    """Draft the last undone step again. Raises UsageError if there is none or it was built upon."""
    if not ledger.undone:
        raise UsageError("there is nothing to redo", hint="Redo follows an undo.")
    step = ledger.steps[ledger.undone[-1]]
    net = _net(step.changes)
    for identifier, (before, after) in net.items():
        _unchanged(ledger, identifier, after, before, step)
    told = marks(f"redo: {step.title}", redoes=step.id)
    entries = [put(after, told) for _, after in net.values() if after is not None]
    replaced = {old for _, after in net.values() if after is not None for old in after.replaces}
    successors = {change.rule_id: change.successor for change in step.changes}
    for identifier, (before, after) in net.items():
        if after is None and before is not None and identifier not in replaced:
            entries.append(removed(before, told, successors[identifier]))
    entries += [_as_draft(RESOLVED, item, told) for item in step.resolved]
    entries += [_as_draft(REOPENED, item, told) for item in step.reopened]
    entries += [_file_as(after, before, told) for before, after in step.files]
    rules = tuple(after for _, after in net.values() if after is not None)
    return Drafts(told.title, tuple(entries), rules)


def synced(state: FileState, told: Marks) -> Draft:
    """Draft how a file stands."""
    anchors = [
        {"rule_id": at.rule_id, "line": at.line, "end_line": at.end_line, "digest": at.digest}
        for at in state.anchors
    ]
    body = {
        "file": state.file,
        "format": state.format,
        "digest": state.digest,
        "named": state.named,
        "anchors": anchors,
        CURATION: told.body(),
    }
    return Draft(SYNCED, body, state.home)


def with_undo(draft: Draft, undo: Undo | None) -> Draft:
    """Return the draft of how a file stands with what puts back the bytes that were written over.

    Only short passages without secrets are kept; otherwise lines are put back by their words.
    """
    if undo is None or draft.kind != SYNCED or draft.body["digest"] != undo.digest:
        return draft
    try:
        passage = undo.data.decode("utf-8")
    except UnicodeDecodeError:
        return draft
    if len(passage) > MOST_PASSAGE or redact_values(passage) != passage:
        return draft
    told = {"offset": undo.offset, "length": undo.length, "passage": passage}
    return replace(draft, body={**draft.body, "undo": told})


def forgotten(state: FileState, told: Marks) -> Draft:
    """Draft that nothing more is known of a file."""
    return Draft(FORGOTTEN, {"file": state.file, CURATION: told.body()}, state.home)


def in_force(ledger: Ledger, identifier: str) -> Rule:
    """Return a rule in force. Raises UsageError, naming the rule in its place if it gave way to one."""
    rule = ledger.live.get(identifier)
    if rule is not None:
        return rule
    now = ledger.standing(identifier)
    if now is not None:
        raise UsageError(f"{identifier} gave way to {now.id}", hint=f"workbench rules history {now.id[:13]}")
    known = "is no longer in force" if identifier in ledger.versions else "is not known"
    raise UsageError(f"{identifier} {known}", hint="`workbench rules list` shows the rules in force.")


def sound(rule: Rule) -> Rule:
    """Return the rule. Raises UsageError if its values are unsound."""
    found = problems(rule)
    if found:
        raise UsageError(f"the rule is not sound: {'; '.join(found)}", hint="Correct the values.")
    return rule


def _net(changes: Iterable[Change]) -> dict[str, tuple[Rule | None, Rule | None]]:
    """Return {rule id: (before, after)} of a step as a whole."""
    net: dict[str, tuple[Rule | None, Rule | None]] = {}
    for change in changes:
        first = net[change.rule_id][0] if change.rule_id in net else change.before
        net[change.rule_id] = (first, change.after)
    return net


def _latest(ledger: Ledger, step: Step) -> list[Change]:
    """Return the changes that brought a step about most recently: a redo may have made them again."""
    again = [other for other in ledger.steps.values() if other.redoes == step.id]
    return again[-1].changes if again else step.changes


def _done(ledger: Ledger, identifier: str) -> Step:
    """Return the step to be undone. Raises UsageError if there is none."""
    if not ledger.done:
        raise UsageError("there is nothing to undo", hint="`workbench rules history` lists what was done.")
    found = [one for one in reversed(ledger.done) if one.startswith(identifier)]
    if not found:
        raise UsageError(
            f"there is no step {identifier} to undo", hint="`workbench rules undo --list` has their ids."
        )
    return ledger.steps[found[0]]


def _unchanged(
    ledger: Ledger, identifier: str, other: Rule | None, expected: Rule | None, step: Step
) -> None:
    """Raise BuiltUpon if a rule is not as a step left it; `other` is how it is on the step's other side.

    Of a rule that was there before and after only the fields count that the step decided. What files say
    beside a rule's words is read again and is no reason.
    """
    since = _differing(expected, ledger.live.get(identifier))
    if since == frozenset():
        return
    if since is not None:
        decided = _differing(other, expected)
        if not since & decided if decided is not None else _only_read(ledger, identifier, step):
            return
    last = next(change for change in reversed(ledger.changes) if change.rule_id == identifier)
    below = ledger.done.index(step.id) if step.id in ledger.done else 0
    older = ledger.steps[ledger.done[below - 1]] if below else None
    hint = f"`workbench rules history {identifier[:13]}` shows how; edit it instead."
    if older is not None:
        hint += f" `workbench rules undo {older.id}` undoes the step before it: {older.title}"
    raise BuiltUpon(
        f"{identifier} was changed since {step.title!r}: {last.reason or 'changed'} "
        f"({last.by}, {last.at[:16]})",
        hint,
        older,
    )


def _only_read(ledger: Ledger, identifier: str, step: Step) -> bool:
    """Whether all that changed a rule since a step came with its files."""
    own = {step.id, *(other.id for other in ledger.steps.values() if step.id in (other.redoes, other.undoes))}
    changes = (change for change in reversed(ledger.changes) if change.rule_id == identifier)
    return all(change.by in UNSTACKED for change in takewhile(lambda change: change.step not in own, changes))


def _differing(first: Rule | None, second: Rule | None) -> frozenset[str] | None:
    """Return the fields that differ; None where one of the two is not there."""
    one, two = _essence(first), _essence(second)
    if one is None or two is None:
        return frozenset() if one is two else None
    return frozenset(item.name for item in fields(Rule) if getattr(one, item.name) != getattr(two, item.name))


def _given_back(ledger: Ledger, step: Step, restored: Collection[str], told: Marks) -> list[Draft]:
    """Draft that lines of files are a restored rule's again, not those of the rule that took its place.

    What they say by now stays known, so that the old words wait to be written.
    """
    heirs: dict[str, list[str]] = {}
    for change in step.changes:
        if change.after is not None:
            heirs.setdefault(change.rule_id, []).extend(change.after.replaces)
        elif change.successor:
            heirs.setdefault(change.successor, []).append(change.rule_id)
    drafts = []
    for state in ledger.files.values():
        anchors = list(state.anchors)
        for heir, olds in heirs.items():
            mine = frozenset(old for old in olds if old in restored)
            there = [at for at, anchor in enumerate(anchors) if anchor.rule_id == heir and anchor.line]
            for at, old in zip(there, _owners(ledger, state.file, mine, heir, len(there)), strict=False):
                anchors[at] = replace(anchors[at], rule_id=old)
        if tuple(anchors) != state.anchors:
            drafts.append(synced(replace(state, anchors=tuple(anchors)), told))
    return drafts


def _owners(ledger: Ledger, file: str, olds: Collection[str], heir: str, count: int) -> list[str]:
    """Return whose the lines of a rule in a file were before it took the place of others, in their order."""
    for step in reversed(ledger.steps.values()) if olds and count else ():
        for change in reversed(step.files):
            for state in reversed(change):
                if state is None or state.file != file:
                    continue
                owners = [one.rule_id for one in state.anchors if one.rule_id in olds or one.rule_id == heir]
                if any(one in olds for one in owners):
                    lines_of_heir = owners.count(heir)
                    return owners if len(owners) == count or not lines_of_heir else []
    return []


def _put_back(before: Rule, after: Rule | None, now: Rule | None) -> Rule:
    """Return a rule as it was before a step, with what files said of it since."""
    if after is None or now is None or not _differing(after, now):
        return before
    changed = _differing(before, after) or frozenset()
    return replace(now, **{name: getattr(before, name) for name in changed}, updated_at=before.updated_at)


def _essence(rule: Rule | None) -> Rule | None:
    """Return what of a rule counts as a change of it: not its lines, its times, or what a file says of it."""
    if rule is None:
        return None
    return replace(rule, updated_at="", provenance=None, metadata={}, usage_count=0, last_used=None)


def _file_as(wanted: FileState | None, present: FileState | None, told: Marks) -> Draft:
    """Draft that a file is known as before, or after, a step. One of the two states is there."""
    if wanted is not None:
        return synced(wanted, told)
    assert present is not None
    return forgotten(present, told)


def _reversed_settlements(step: Step, told: Marks) -> list[Draft]:
    return [
        *(_as_draft(REOPENED, item, told) for item in step.resolved),
        *(_as_draft(RESOLVED, item, told) for item in step.reopened),
    ]


def _as_draft(kind: str, item: Settled, told: Marks) -> Draft:
    body = {"id": item.id, "left": item.left, "right": item.right, "action": item.action}
    return Draft(kind, {**body, CURATION: told.body()}, item.home)
