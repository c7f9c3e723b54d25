"""What a new text is to the learnings there are: new, a repetition, or a contradiction (F11, F21).

Memory is kept by feature [ralph]: a learning is compared with those of its feature and the person's own, and
with those of other tasks only where one of the two holds for the whole feature (F25).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.records.learnings import (
    DeduplicationResult,
    FeatureLearning,
    LearningConflict,
    LearningDuplicate,
    Unique,
)

if TYPE_CHECKING:
    from workbench.comparison.verdicts import TextJudgement
    from workbench.memory.learnings.colliding import Finder


@dataclass(frozen=True, slots=True)
class PairFound:
    """Two learnings, `left` before `right` by id, that repeat or contradict each other."""

    left: FeatureLearning
    right: FeatureLearning
    judgement: TextJudgement


def check_deduplication(new_text: str, existing: Sequence[FeatureLearning]) -> DeduplicationResult:
    """Return whether a text is new, says what one of the learnings says, or contradicts one [ralph].

    A contradiction is never merged: it is for a person to decide.
    """
    if not existing:
        return Unique()
    from workbench.comparison.candidates import DuplicateIndex
    from workbench.comparison.verdicts import TextVerdict

    found = DuplicateIndex(one.text for one in existing).check(new_text)
    if found is None:
        return Unique()
    if found.judgement.verdict is TextVerdict.CONFLICT:
        return LearningConflict(found.index, new_text, _why(found.judgement))
    return LearningDuplicate(found.index, _why(found.judgement))


def comparable(learning: FeatureLearning, others: Iterable[FeatureLearning]) -> list[FeatureLearning]:
    """Return the others that a learning could repeat or contradict, in their order."""
    return [other for other in others if other.id != learning.id and _may_collide(learning, other)]


def pairs(learnings: Sequence[FeatureLearning], find: Finder | None = None) -> list[PairFound]:
    """Return the pairs of learnings that repeat or contradict each other, surest first, ties by ids.

    `find` finds those of a list of texts, by default anew.
    """
    from workbench.comparison.candidates import find_duplicates

    find = find or find_duplicates
    by_feature: dict[str, list[FeatureLearning]] = {}
    own = [one for one in learnings if one.project_id is None]
    for one in learnings:
        if one.project_id is not None:
            by_feature.setdefault(one.feature, []).append(one)
    found: dict[tuple[str, str], PairFound] = {}
    for group in (own, *(by_feature[feature] + own for feature in sorted(by_feature))):
        for pair in find([one.text for one in group]):
            left, right = sorted((group[pair.left], group[pair.right]), key=lambda one: one.id)
            if _may_collide(left, right):
                found.setdefault((left.id, right.id), PairFound(left, right, pair.judgement))
    return sorted(found.values(), key=lambda one: (-one.judgement.score, one.left.id, one.right.id))


def _may_collide(left: FeatureLearning, right: FeatureLearning) -> bool:
    if left.feature != right.feature and left.project_id is not None and right.project_id is not None:
        return False
    if left.task_id is not None and right.task_id is not None and left.task_id != right.task_id:
        return False
    return not (left.scope and right.scope and set(left.scope).isdisjoint(right.scope))


def _why(judgement: TextJudgement) -> str:
    return "; ".join(f"{one.test}: {one.detail}" for one in judgement.evidence[:3])
