"""A learning that holds always becomes a rule, and undoing that takes the rule back as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.curation.records import StepDraft, new_marks
from workbench.curation.store import record
from workbench.errors import UsageError
from workbench.memory.learnings.learningstore import LearningStore
from workbench.memory.learnings.learningtype import LEARNINGS, SHORT
from workbench.memory.learnings.ledger import LearningLedger
from workbench.memory.learnings.prompt import as_rule
from workbench.records.dataclass import dataclass
from workbench.records.learnings import FeatureLearning, LearningState
from workbench.records.rules import Rule
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.rulestore import LOCK as RULES_LOCK
from workbench.rules.curation.ruletype import RULES


@dataclass(frozen=True, slots=True)
class Promotion:
    """A learning that was superseded, and the rule that says it from now on."""

    learning: FeatureLearning
    rule: Rule


def promote_learning(
    store: LearningStore, learning: FeatureLearning, fields: Mapping[str, Any], *, reason: str, by: str
) -> tuple[Promotion, StepDraft[FeatureLearning]]:
    """Make the rule of a learning; return both and the draft that the learning gives way.

    The rule is there when this returns: a process that dies in between leaves a rule and a learning that say
    the same, and loses neither. Raises: UsageError if such a rule is there; StoreError.
    """
    why = reason or f"promoted from {learning.id[:SHORT]}: {learning.reason}"
    rule = Curator(store.rules(), by).add(as_rule(learning, fields), reason=why)
    marks = new_marks(f"promote {learning.id[:SHORT]} to {rule.id[:13]}", reason)
    after = _mark_promoted(learning, rule.id, store.moment())
    return Promotion(after, rule), StepDraft(marks.title, (LEARNINGS.put_draft(after, marks),), (after,))


def follow_promotions(
    store: LearningStore, ledger: LearningLedger, drafts: StepDraft[FeatureLearning], *, by: str, back: bool
) -> None:
    """Take the rules of promotions that are undone back, and make those that are done again hold again.

    Raises: UsageError if a rule was changed since; StoreError.
    """
    for learning in drafts.records:
        before = ledger.records.get(learning.id)
        if back and before is not None and before.state is LearningState.PROMOTED and learning.live:
            _withdraw(store, before.successor, by)
        elif not back and learning.state is LearningState.PROMOTED:
            _reinstate(store, learning.successor, by)


def _withdraw(store: LearningStore, rule_id: str, by: str) -> None:
    rules = store.rules()
    ledger = rules.ledger()
    standing = ledger.current(rule_id)
    if standing is None:
        return  # somebody removed it already
    if standing.id != rule_id:
        raise UsageError(
            f"the rule it became was reworded since: {standing.id[:13]}",
            hint="`workbench rules remove` or `rules undo` first.",
        )
    Curator(rules, by).remove([rule_id], reason="its promotion was undone")


def _reinstate(store: LearningStore, rule_id: str, by: str) -> None:
    rules = store.rules()
    with rules.lock(RULES_LOCK):
        ledger = rules.ledger()
        rule = ledger.versions.get(rule_id)
        if rule is not None and ledger.current(rule_id) is None:
            marks = new_marks(f"promote again {rule_id[:13]}")
            record(rules, [RULES.put_draft(rule, marks)], by=by)


def _mark_promoted(learning: FeatureLearning, rule_id: str, now: str) -> FeatureLearning:
    return replace(learning, state=LearningState.PROMOTED, successor=rule_id, updated_at=now)
