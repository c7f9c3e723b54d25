"""What a user's correction is to the rules, the learnings and what users said before, across features.

How things are done holds for the project, whatever branch it was said on. Of two corrections that contradict
each other the newer one is likelier to hold: the older one waits for the person's word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.comparison.candidates import DuplicateIndex, Match
from workbench.comparison.verdicts import TextVerdict
from workbench.curation.records import EntryDraft
from workbench.memory.journal import feature_stream
from workbench.memory.learnings.corrections.record import Correction, correction_body, tally
from workbench.memory.learnings.kinds import SAID
from workbench.memory.learnings.ledger import LearningLedger
from workbench.records.learnings import FeatureLearning, LearningKind, LearningState


@dataclass(frozen=True, slots=True)
class CorrectionMatch:
    """What a correction meets: at most one of a rule, a learning that says it, a rejected one.

    `before` are the tellings of it until now, `others` learnings that say otherwise, newest last.
    """

    said: Correction
    known: FeatureLearning | None = None
    rejected: bool = False
    before: tuple[Correction, ...] = ()
    others: tuple[FeatureLearning, ...] = ()

    @property
    def why(self) -> str:
        """Why a rule should say it, counting this telling, or empty."""
        return tally((*self.before, self.said)).why


def match_correction(
    ledger: LearningLedger, said: Correction, rules: Sequence[str], others: Sequence[FeatureLearning]
) -> CorrectionMatch:
    """Return what a correction meets among rules, learnings and tellings.

    Learnings are `others`, those of its feature, and all corrections.
    """
    rule = DuplicateIndex(rules).check(said.text)
    if rule is not None:
        against = rule.judgement.verdict is TextVerdict.CONFLICT
        said = replace(said, rule=rules[rule.index], against=against)
    corrections = [one for one in ledger.all() if one.kind is LearningKind.CORRECTION]
    live = list({one.id: one for one in (*others, *corrections) if one.live}.values())
    gone = [one for one in corrections if one.state is LearningState.REJECTED]
    matches = DuplicateIndex(one.text for one in live).matches(said.text)
    same = [live[one.index] for one in matches if one.judgement.verdict is TextVerdict.DUPLICATE]
    contrary = [live[one.index] for one in matches if one.judgement.verdict is TextVerdict.CONFLICT]
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
    return any(one.judgement.verdict is TextVerdict.DUPLICATE for one in matches)
