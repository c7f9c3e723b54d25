"""What differs between two versions of a rule, field by field and word by word, and the story of a rule.

For people who look at a change before or after it is made: `rules edit`, `rules history` and the screens show
the same differences. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from workbench.curation.records import RecordChange
from workbench.records.rules import Rule
from workbench.rules.curation.curator import lineage
from workbench.rules.curation.ledger import RuleLedger
from workbench.rules.curation.ruletype import UNTOLD, to_body
from workbench.rules.curation.versions import past_ids
from workbench.text.word_diff import Piece, word_pieces

_PROSE: Final = frozenset({"rule", "action_text", "condition_text", "name"})


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field's values before and after, as plain values; `pieces` are those of a changed text."""

    name: str
    before: Any
    after: Any
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribedChange:
    """One change in the story of a rule. `what` is added, restored, reworded, changed, removed or moved.

    `before` is the version it came from, of another id where the rule was reworded.
    """

    what: str
    change: RecordChange[Rule]
    title: str
    before: Rule | None
    after: Rule | None
    fields: tuple[FieldChange, ...]


def changed_fields(before: Rule, after: Rule) -> tuple[FieldChange, ...]:
    """Return the fields that somebody changed, the text first, the others in the order of the record."""
    old, new = to_body(before), to_body(after)
    names = [field.name for field in fields(Rule) if field.name not in UNTOLD | {"version"}]
    names.sort(key=lambda name: name != "rule")
    found = []
    for name in names:
        has_moved = name == "project_id" and old[name] and new[name]  # the directory, not the rule
        if has_moved or _shown_value(name, old) == _shown_value(name, new):
            continue
        pieces = word_pieces(old[name], new[name]) if name in _PROSE else ()
        found.append(FieldChange(name, _plain(old[name]), _plain(new[name]), pieces))
    derived = {"name", "action_text"} if any(one.name == "rule" for one in found) else set()
    return tuple(one for one in found if one.name not in derived)


def story(ledger: RuleLedger, identifier: str) -> tuple[DescribedChange, ...]:
    """Return every change of a rule and its earlier versions, oldest first; files moving its lines are not.

    Raises: UsageError for an unknown id.
    """
    versions = {*lineage(ledger, identifier), *_later(ledger, identifier)}
    mine = [change for change in ledger.changes if change.record_id in versions]
    return tuple(entry for entry in describe_changes(ledger, mine) if entry.what != "moved")


def _later(ledger: RuleLedger, identifier: str) -> list[str]:
    """Return every version that came of a rule, those that were undone or removed since as well."""
    return [other.id for other in ledger.versions.values() if identifier in past_ids(other)]


def describe_changes(ledger: RuleLedger, changes: Sequence[RecordChange[Rule]]) -> list[DescribedChange]:
    """Describe changes one by one: a rule superseded by another version is described with that one."""
    came = {(change.step, change.record_id) for change in changes if change.after is not None}
    replaced = {
        (change.step, old) for change in changes if change.after is not None for old in change.after.replaces
    }
    return [
        describe_change(ledger, change)
        for change in changes
        if change.after is not None
        or ((change.step, change.record_id) not in replaced and (change.step, change.successor) not in came)
    ]


def describe_change(ledger: RuleLedger, change: RecordChange[Rule]) -> DescribedChange:
    """Return a change with what came before it and what differs."""
    before, after = change.before, change.after
    if before is None and after is not None:
        before = next((ledger.versions[old] for old in after.replaces if old in ledger.versions), None)
    differing = () if before is None or after is None else changed_fields(before, after)
    step = ledger.steps[change.step]
    what = _what(before, after, differing)
    if what == "added" and (step.undoes or step.redoes):
        what = "restored"
    return DescribedChange(what, change, step.title, before, after, differing)


def _what(before: Rule | None, after: Rule | None, differing: Sequence[FieldChange]) -> str:
    if after is None:
        return "removed"
    if before is None:
        return "added"
    if before.id != after.id:
        return "reworded"
    decided = [one for one in differing if one.name != "provenance"]
    return "changed" if decided else "moved"


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _shown_value(name: str, body: dict[str, Any]) -> object:
    """Return what of a field counts: a rule that moved within its file is where it was."""
    value = body[name]
    if name == "provenance" and isinstance(value, dict):
        return {key: item for key, item in value.items() if key not in ("line", "end_line", "names")}
    return value
