"""What a correction is to rules, learnings and earlier corrections, and the list of what became of each.

How things are done holds for the project, whatever branch it was said on. Of two corrections that contradict
each other the newer one is likelier to hold: the older one waits for the person's word.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from workbench.comparison.candidates import DuplicateIndex, Match
from workbench.comparison.verdicts import TextVerdict
from workbench.curation.records import EntryDraft
from workbench.memory.journal import feature_stream
from workbench.memory.learnings.corrections.tally import Tally, tally
from workbench.memory.learnings.kinds import SAID
from workbench.memory.learnings.learningstore import LearningStore
from workbench.memory.learnings.ledger import LearningLedger
from workbench.memory.learnings.review import Why, suggestion
from workbench.records.conflicts import conflict_id
from workbench.records.dataclass import dataclass
from workbench.records.learnings import (
    Correction,
    FeatureLearning,
    LearningKind,
    LearningState,
    correction_body,
)


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
    """A correction with all times it was made, oldest first. `learning_id` is empty where none was made."""

    text: str
    status: CorrectionStatus
    why: str
    tally: Tally
    said: tuple[Correction, ...]
    learning_id: str = ""
    other: str = ""


def texts_in_force(store: LearningStore) -> frozenset[str]:
    """Return what the rules in force say, as `report_corrections` compares it. Raises: StoreError."""
    return frozenset(_fold(rule.rule) for rule in store.rules().ledger().live.values())


def report_corrections(ledger: LearningLedger, rules: Collection[str] = ()) -> tuple[CorrectionReport, ...]:
    """Return each correction once: by status, then most often said, ties by text.

    `rules` is `texts_in_force`: what is among them became a rule in whatever way.
    """
    groups: dict[str, list[Correction]] = {}
    for one in ledger.said:
        groups.setdefault(one.key, []).append(one)
    live = {one.id: one for one in ledger.all()}
    found = [_report_of(ledger, live, rules, said) for said in groups.values()]
    found.sort(key=lambda one: (_ORDER[one.status], -one.tally.sessions, -one.tally.times, one.text))
    return tuple(found)


def _report_of(
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
    if status is CorrectionStatus.ONCE and _fold(text) in rules:
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


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


_ORDER: Final = {status: place for place, status in enumerate(CorrectionStatus)}


@dataclass(frozen=True, slots=True)
class CorrectionMatch:
    """What a correction meets: at most one of a rule, a learning that says it, a rejected one.

    `before` are the times it was made until now, `others` learnings that say otherwise, newest last.
    """

    said: Correction
    known: FeatureLearning | None = None
    rejected: bool = False
    before: tuple[Correction, ...] = ()
    others: tuple[FeatureLearning, ...] = ()

    @property
    def why(self) -> str:
        """Why a rule should say it, counting this time, or empty."""
        return tally((*self.before, self.said)).why


def match_correction(
    ledger: LearningLedger, said: Correction, rules: Sequence[str], others: Sequence[FeatureLearning]
) -> CorrectionMatch:
    """Return what a correction meets among rules, learnings and earlier corrections.

    Learnings are `others`, those of its feature, and all corrections.
    """
    rule = DuplicateIndex(rules).check(said.text)
    if rule is not None:
        against = rule.judgement.verdict is TextVerdict.CONFLICT
        said = replace(said, rule=rules[rule.index], against=against)
    corrections = [one for one in ledger.all() if one.kind is LearningKind.CORRECTION]
    live = list({other.id: other for other in (*others, *corrections) if other.live}.values())
    gone = [correction for correction in corrections if correction.state is LearningState.REJECTED]
    matches = DuplicateIndex(one.text for one in live).matches(said.text)
    same = [live[match.index] for match in matches if match.judgement.verdict is TextVerdict.DUPLICATE]
    contrary = [live[match.index] for match in matches if match.judgement.verdict is TextVerdict.CONFLICT]
    rejected = _says_it(DuplicateIndex(one.text for one in gone).matches(said.text))
    known = same[0] if same else None
    key = _key(ledger, said, known)
    said = replace(said, key=key, learning_id=known.id if known is not None else "")
    before = tuple(one for one in ledger.said if one.key == key and one.key)
    contrary.sort(key=lambda one: (one.timestamp, one.id))
    return CorrectionMatch(said, known, rejected, before, tuple(contrary))


def draft_correction(said: Correction) -> EntryDraft:
    """Draft that something was said."""
    return EntryDraft(SAID, correction_body(said), False, feature_stream(said.feature))


def _key(ledger: LearningLedger, said: Correction, known: FeatureLearning | None) -> str:
    """Return the words in which it was said first."""
    if known is not None:
        return next((one.key for one in ledger.said if one.learning_id == known.id), known.text)
    keys = list(dict.fromkeys(one.key for one in ledger.said))
    matches = DuplicateIndex(keys).matches(said.text)
    return next(
        (keys[one.index] for one in matches if one.judgement.verdict is TextVerdict.DUPLICATE), said.text
    )


def _says_it(matches: Sequence[Match]) -> bool:
    return any(match.judgement.verdict is TextVerdict.DUPLICATE for match in matches)
