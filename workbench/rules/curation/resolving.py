"""How a conflict between two rules is settled, as one step: keep one or both, merge, narrow, supersede."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from workbench.errors import UsageError
from workbench.records.conflicts import Action
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import Ledger
from workbench.rules.curation.steps import Draft, Drafts, Marks, in_force, marks, put, removed, settled, sound
from workbench.rules.curation.versions import free_id, next_version


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided about a conflict of the rules `left` and `right`.

    `text` is the wording of a merge, empty for the left one's. `keep` is the rule that takes the other's
    place with `supersede`, and the one that keeps its scope while the other is narrowed to `scope`; the right
    one if empty.
    """

    conflict: str
    left: str
    right: str
    action: Action
    reason: str = ""
    text: str = ""
    scope: tuple[str, ...] = ()
    keep: str = ""


def resolved(
    ledger: Ledger, decision: Decision, *, now: str, count: Callable[[str], int], step: Marks | None = None
) -> Drafts:
    """Draft the settlement of a conflict, as a step of its own or as part of the given one.

    Raises: UsageError if a rule is no longer in force, or what the action needs is missing.
    """
    left, right = in_force(ledger, decision.left), in_force(ledger, decision.right)
    title = f"{decision.action.value.replace('_', ' ')}: {left.id[:13]}, {right.id[:13]}"
    told = replace(step or marks(title), reason=decision.reason or f"conflict {decision.conflict[:17]}")
    work = _Work(ledger, decision, left, right, told, now, count)
    entries, rules = _ACTIONS[decision.action](work)
    entries.append(settled(left, right, decision.conflict, decision.action.value, told))
    return Drafts(told.title, tuple(entries), tuple(rules))


@dataclass(frozen=True, slots=True)
class _Work:
    ledger: Ledger
    decision: Decision
    left: Rule
    right: Rule
    told: Marks
    now: str
    count: Callable[[str], int]

    def ordered(self) -> tuple[Rule, Rule]:
        """Return the rule that gives way and the one that is kept."""
        if self.decision.keep and self.decision.keep == self.left.id:
            return self.right, self.left
        return self.left, self.right


Outcome = tuple[list[Draft], list[Rule]]


def _keep_left(work: _Work) -> Outcome:
    return [removed(work.right, work.told)], [work.left]


def _keep_right(work: _Work) -> Outcome:
    return [removed(work.left, work.told)], [work.right]


def _keep_both(work: _Work) -> Outcome:
    return [], [work.left, work.right]


def _merge(work: _Work) -> Outcome:
    """One rule in the place of both; where the wording is the left one's, that rule stays what it is."""
    left, right = work.left, work.right
    text = work.decision.text.strip() or left.rule
    if text == left.rule:
        return [removed(right, work.told, left.id)], [left]
    file = "" if left.provenance is None else left.provenance.file
    identifier = free_id(left.project_id or "home", file, text, work.ledger.versions)
    words = replace(left, id=identifier, rule=text, action_text=text, token_cost=work.count(text))
    merged = next_version(left, words, reason=work.told.reason, now=work.now)
    merged = sound(replace(merged, replaces=(left.id, right.id)))
    return [put(merged, work.told)], [merged]


def _narrow_scope(work: _Work) -> Outcome:
    if not work.decision.scope:
        raise UsageError(
            "narrowing needs a scope", hint="--scope path:src/**/*.ts, or a context such as --scope git"
        )
    rule, other = work.ordered()
    after = sound(replace(rule, scope=work.decision.scope, updated_at=work.now))
    return [put(after, work.told)], [after, other]


def _supersede(work: _Work) -> Outcome:
    """The rule that is kept is the next version of the other."""
    old, new = work.ordered()
    after = next_version(old, new, reason=work.told.reason, now=work.now)
    after = sound(replace(after, created_at=new.created_at))
    return [put(after, work.told)], [after]


_ACTIONS: dict[Action, Callable[[_Work], Outcome]] = {
    Action.KEEP_LEFT: _keep_left,
    Action.KEEP_RIGHT: _keep_right,
    Action.KEEP_BOTH: _keep_both,
    Action.MERGE: _merge,
    Action.NARROW_SCOPE: _narrow_scope,
    Action.SUPERSEDE: _supersede,
}
