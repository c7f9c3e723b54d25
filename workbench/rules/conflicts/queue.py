"""The conflicts that wait for a person: found among the rules in force, kept, and settled in the journal.

What was found is kept with a stamp of each rule, so that only pairs with a changed rule are compared again.
A settled conflict stays settled while both of its rules keep their words: new words make new ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from workbench.curation.concurrency import (
    ADVICE,
    change_note,
    concurrent_edits,
    edit_notes,
    edit_sides,
    is_version,
    version_place,
)
from workbench.curation.records import SettledConflict
from workbench.errors import StoreError, UsageError
from workbench.lists.conflicts import ConflictRow, ConflictSide
from workbench.records.conflicts import (
    Action,
    Conflict,
    ConflictKind,
    Evidence,
    Suggestion,
    conflict_id,
)
from workbench.records.rules import Rule, past_ids, rule_file
from workbench.rules.conflicts.detection import find_conflicts
from workbench.rules.conflicts.findings import Findings, Stamp, read_findings, stamp_of, write_findings
from workbench.rules.curation.ledger import RuleLedger
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.descriptions import origin
from workbench.suggest import did_you_mean

if TYPE_CHECKING:
    from workbench.ports import Float32, Neighbours

MAX_TEXT: Final = 600

FORKED: Final = (
    "One merged what the other one edited, neither having seen the other's change. Both are in force."
)
BOTH: Final = Suggestion(Action.KEEP_BOTH, "Both are in force; read both.")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Meaning:
    """How texts are compared by meaning: the model's name, its vectors of texts, an index over vectors."""

    model: str
    embed: Callable[[Sequence[str]], Float32]
    index: Callable[[Float32], Neighbours]


@dataclass(frozen=True, slots=True)
class Queue:
    """Conflicts that wait, surest first, and those that were settled. `notes` say what was missing."""

    open: tuple[Conflict, ...]
    settled: tuple[SettledConflict, ...]
    notes: tuple[str, ...] = ()


def conflict_queue(
    store: RuleStore,
    rules: Sequence[Rule],
    ledger: RuleLedger,
    meaning: Meaning | None = None,
    *,
    progress: Progress | None = None,
) -> Queue:
    """Return the conflicts among rules; without `meaning` they are compared by their words alone.

    Meaning finds little that words do not (`python -m bench.conflicts`) and takes embedding every rule.
    """
    notes: list[str] = []
    stamps = {rule.id: stamp_of(rule) for rule in rules}
    model = "" if meaning is None else meaning.model
    kept = read_findings(store, model)
    changed = None if kept is None else _find_changed(kept.stamps, stamps)
    if kept is not None and changed == set():
        found = kept.conflicts
    else:
        vectors = index = None
        if meaning is not None and rules:
            vectors = meaning.embed([(rule.action_text or rule.rule)[:MAX_TEXT] or "." for rule in rules])
            index = meaning.index(vectors)
        fresh = find_conflicts(rules, vectors, index, changed=changed, progress=progress)
        found = _join(kept, fresh, changed, stamps)
        try:
            write_findings(store, Findings(model, stamps, found), rules)
        except StoreError as error:
            notes.append(f"conflicts are not kept for the next run: {error.message}")
    waiting = tuple(conflict for conflict in found if conflict.id not in ledger.settled)
    settled = sorted(ledger.settled.values(), key=lambda item: (item.at, item.id), reverse=True)
    return Queue(waiting, tuple(settled), tuple(notes))


def with_edits(
    queue: Queue, rules: Mapping[str, Rule], ledger: RuleLedger, names: Mapping[str, str]
) -> tuple[Queue, dict[str, Rule]]:
    """Return a queue that begins with the concurrent edits of a team, and the rules with their versions."""
    found: list[Conflict] = []
    known = dict(rules)
    for edit in concurrent_edits(ledger):
        left, right = edit_sides(ledger.type, edit)
        why, evidence = edit_notes(ledger.type, edit, names)
        known |= {left.id: rules.get(left.id, left), right.id: right}
        found.append(_concurrent(edit.id, left, right, why, evidence))
    for identifier, left, right in open_forks(ledger):
        changes = [ledger.last_change(one.id) for one in (left, right)]
        evidence = tuple(change_note("in force", change, names) for change in changes if change is not None)
        known |= {one.id: rules.get(one.id, one) for one in (left, right)}
        found.append(replace(_concurrent(identifier, left, right, FORKED, evidence), suggestion=BOTH))
    return replace(queue, open=(*found, *queue.open)), known


def open_forks(ledger: RuleLedger) -> list[tuple[str, Rule, Rule]]:
    """Return the pairs in force of which one merged a rule that the other one is a later version of.

    Each with the id of the conflict, which stays while they are edited; settled ones are left out.
    """
    found = {}
    for pair in ledger.forks.values():
        identifier, sides = conflict_id(*pair), [ledger.current(one) for one in pair]
        left, right = (
            side if side is not None and side.enabled and made in (side.id, *past_ids(side)) else None
            for made, side in zip(pair, sides, strict=True)
        )
        if left is not None and right is not None and left.id != right.id:
            found[identifier] = (identifier, left, right)
    return [found[one] for one in sorted(found) if one not in ledger.settled]


def _concurrent(
    identifier: str, left: Rule, right: Rule, why: str, evidence: tuple[Evidence, ...]
) -> Conflict:
    words = (frozenset(left.rule.split()), frozenset(right.rule.split()))
    mine, theirs = (tuple(sorted(one - other)) for one, other in (words, words[::-1]))
    facts = (evidence, mine, theirs, why, replace(ADVICE, keep=left.id))
    return Conflict(identifier, ConflictKind.CONCURRENT, left.id, right.id, 1.0, *facts)


def conflict_rows(conflicts: Iterable[Conflict], rules: Mapping[str, Rule]) -> list[ConflictRow]:
    """Return conflicts of rules, by id, as the rows of a list."""
    return [
        ConflictRow(
            conflict.id,
            "rule",
            conflict.kind,
            conflict.score,
            *_sides(conflict, rules),
            conflict.why,
            conflict.evidence,
            conflict.suggestion,
            (*rules[conflict.left].scope, *rules[conflict.right].scope),
            max(rules[conflict.left].updated_at, rules[conflict.right].updated_at),
        )
        for conflict in conflicts
    ]


def _sides(conflict: Conflict, rules: Mapping[str, Rule]) -> tuple[ConflictSide, ConflictSide]:
    """Return both sides; versions of one rule are told apart by where they were written."""
    found = (rules[conflict.left], rules[conflict.right])
    places = [origin(rule) for rule in found]
    if is_version(conflict.right):
        places = [version_place(note) for note in conflict.evidence[:2]]
    left, right = (
        ConflictSide(rule.id, rule.rule, place, rule_file(rule))
        for rule, place in zip(found, places, strict=True)
    )
    return left, right


def find_in_queue(queue: Queue, identifier: str) -> Conflict:
    """Return the open conflict whose id begins with the text given. Raises UsageError for none or several."""
    wanted = identifier if identifier.startswith("conflict-") else f"conflict-{identifier}"
    found = [conflict for conflict in queue.open if conflict.id.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{len(found)} conflicts begin with {identifier}", hint="Give more digits.")
    for settled in queue.settled:
        if settled.id.startswith(wanted):
            raise UsageError(
                f"{settled.id[:17]} was settled on {settled.at[:10]}: {settled.action}",
                hint="`workbench rules undo --list` has the id of its step, for `workbench rules undo STEP`.",
            )
    known = [conflict.id[:17] for conflict in queue.open]
    hint = did_you_mean(wanted, known, "`workbench rules conflicts list` shows all of them.")
    raise UsageError(f"there is no conflict {identifier}", hint=hint)


def _find_changed(before: Mapping[str, Stamp], now: Mapping[str, Stamp]) -> set[str]:
    """Return the rules whose pairs have to be compared again."""
    changed = {identifier for identifier, stamp in now.items() if before.get(identifier) != stamp}
    # One of several equal texts is compared for all of them, and which one may be another now.
    texts = {before[identifier][0] for identifier in before.keys() - now.keys()}
    texts |= {now[identifier][0] for identifier in changed}
    return changed | {identifier for identifier, (text, _) in now.items() if text in texts}


def _join(
    kept: Findings | None,
    fresh: Sequence[Conflict],
    changed: set[str] | None,
    stamps: Mapping[str, Stamp],
) -> tuple[Conflict, ...]:
    if kept is None or changed is None:
        return tuple(fresh)
    stale = changed | (kept.stamps.keys() - stamps.keys())
    old = [item for item in kept.conflicts if item.left not in stale and item.right not in stale]
    return tuple(sorted((*old, *fresh), key=lambda item: (-item.score, item.id)))
