"""Corrections of users with what became of each and why: the list behind suggested rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workbench.memory.learnings.corrections.record import Correction, Tally, tally
from workbench.memory.learnings.learningstore import LearningStore
from workbench.memory.learnings.ledger import LearningLedger
from workbench.memory.learnings.review import Why, suggestion
from workbench.records.conflicts import conflict_id
from workbench.records.learnings import FeatureLearning, LearningState


class CorrectionStatus(StrEnum):
    """What became of a correction, in the order in which they are listed."""

    SUGGESTED = "suggested"  # it waits in the queue as a suggested rule
    CONTRADICTS = "contradicts"  # a rule or another correction says otherwise
    IGNORED = "ignored"  # a rule says it, and it had to be said all the same
    LEARNED = "learned"  # a learning says it; it was not said often enough for a rule
    ONCE = "once"  # it may have been for the moment
    RULE = "rule"  # it became a rule
    DECIDED = "decided"  # a person reviewed, rejected or retired it


@dataclass(frozen=True, slots=True)
class CorrectionReport:
    """A correction with all its tellings, oldest first. `learning_id` is empty where none was made."""

    text: str
    status: CorrectionStatus
    why: str
    tally: Tally
    said: tuple[Correction, ...]
    learning_id: str = ""
    other: str = ""


def texts_in_force(store: LearningStore) -> frozenset[str]:
    """Return what the rules in force say, as `report_corrections` compares it. Raises: StoreError."""
    return frozenset(_folded(rule.rule) for rule in store.rules().ledger().live.values())


def report_corrections(ledger: LearningLedger, rules: Collection[str] = ()) -> tuple[CorrectionReport, ...]:
    """Return each correction once: by status, then most often said, ties by text.

    `rules` is `texts_in_force`: what is among them became a rule in whatever way.
    """
    groups: dict[str, list[Correction]] = {}
    for one in ledger.said:
        groups.setdefault(one.key, []).append(one)
    live = {one.id: one for one in ledger.all()}
    found = [_heard(ledger, live, rules, said) for said in groups.values()]
    found.sort(key=lambda one: (_ORDER[one.status], -one.tally.sessions, -one.tally.times, one.text))
    return tuple(found)


def _heard(
    ledger: LearningLedger,
    learnings: Mapping[str, FeatureLearning],
    rules: Collection[str],
    said: Sequence[Correction],
) -> CorrectionReport:
    identifier = next((one.learning_id for one in reversed(said) if one.learning_id), "")
    learning = learnings.get(identifier)
    counted = tally(said)
    status, why, other = _status(ledger, learning, said, counted)
    text = learning.text if learning is not None else said[0].text
    if status is CorrectionStatus.ONCE and _folded(text) in rules:
        status, why = CorrectionStatus.RULE, "a rule says it by now"
    return CorrectionReport(text, status, why, counted, tuple(said), identifier, other)


def _status(
    ledger: LearningLedger, learning: FeatureLearning | None, said: Sequence[Correction], counted: Tally
) -> tuple[CorrectionStatus, str, str]:
    rule = next((one.rule for one in reversed(said) if one.rule and not one.against), "")
    if learning is None:
        if rule:
            times = "once" if counted.times == 1 else f"{counted.times} times"
            return CorrectionStatus.IGNORED, f"a rule says it, and it was said {times} all the same", rule
        return (
            CorrectionStatus.ONCE,
            "said once, and not as something that always holds: it may be for the moment",
            "",
        )
    if learning.state is LearningState.PROMOTED:
        return CorrectionStatus.RULE, "it became a rule", learning.successor
    if not learning.live:
        return (
            CorrectionStatus.DECIDED,
            f"{learning.state.value}: it is not suggested again",
            learning.successor,
        )
    if rule:
        return CorrectionStatus.IGNORED, "a rule says it, and it was said all the same", rule
    contrary = _contrary(ledger, learning)
    if contrary is not None:
        newer = learning.id in contrary.conflicts_with
        why = "you said otherwise later" if newer else "you said otherwise before; this is the newer word"
        return CorrectionStatus.CONTRADICTS, f"{why}: {contrary.text}", contrary.id
    waits = suggestion(learning, said)
    if waits is None:
        reviewed = "reviewed, and not said since" if learning.reviewed else "said too seldom for a rule"
        return (CorrectionStatus.DECIDED if learning.reviewed else CorrectionStatus.LEARNED), reviewed, ""
    status = CorrectionStatus.SUGGESTED if waits[0] is Why.SUGGESTED else CorrectionStatus.CONTRADICTS
    return status, counted.why if status is CorrectionStatus.SUGGESTED else waits[1], ""


def _contrary(ledger: LearningLedger, learning: FeatureLearning) -> FeatureLearning | None:
    """Return a live learning that a correction contradicts and that nobody settled, the newest first."""
    found = [
        other
        for other in ledger.records.values()
        if other.live
        and (other.id in learning.conflicts_with or learning.id in other.conflicts_with)
        and conflict_id(other.id, learning.id) not in ledger.settled
    ]
    return max(found, key=lambda one: (one.timestamp, one.id), default=None)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


_ORDER: Final = {status: place for place, status in enumerate(CorrectionStatus)}
