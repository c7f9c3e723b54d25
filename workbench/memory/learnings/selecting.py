"""Which learnings an iteration may be given, in which order, and why the others not.

Reviewed ones come first, always; what nobody reviewed follows where there is room, and says so. What waits to
be settled, lost its confidence or belongs to another task is left out, and every one left out has a reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from workbench.memory.learnings.confidence import LOST, stale_days
from workbench.records.learnings import FeatureLearning

if TYPE_CHECKING:
    from workbench.memory.learnings.ledger import LearningLedger

HALF_LIFE_DAYS: Final = 90.0
OWN_TASK: Final = 0.15


@dataclass(frozen=True, slots=True)
class Candidate:
    """A learning that may be given. `score` in [0, 1] orders those of the same review state."""

    learning: FeatureLearning
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Candidates:
    """Learnings in the order of their claims, and (id, reason) of those that have none."""

    candidates: tuple[Candidate, ...]
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Known:
    """The live learnings by id, and the ids of those that wait to be settled."""

    live: tuple[FeatureLearning, ...] = ()
    waiting: frozenset[str] = frozenset()


def known_of(ledger: LearningLedger) -> Known:
    """Return what a ledger holds that may be given."""
    from workbench.memory.learnings.reviewing import contested  # compares texts, which plans do not

    return Known(tuple(ledger.live()), contested(ledger))


def candidates(
    known: Known,
    now: float,
    *,
    feature: str | None = None,
    tasks: Sequence[str] | None = None,
    relevance: Mapping[str, float] | None = None,
) -> Candidates:
    """Return the learnings that may be given for a feature and tasks; None stands for any feature.

    Those of a task are given to that task only (F25). `relevance` in [0, 1] by id scales the scores; those it
    does not name are left out. Reviewed first, then by score, ties by (-rank of the source, id).
    """
    named = frozenset(tasks or ())
    found: list[Candidate] = []
    left_out: list[tuple[str, str]] = []
    for one in known.live:
        reason = _refused(one, feature, named, known.waiting)
        if not reason and relevance is not None and one.id not in relevance:
            reason = "it is not about this task"
        if reason:
            left_out.append((one.id, reason))
            continue
        weight = 1.0 if relevance is None else relevance[one.id]
        found.append(Candidate(one, round(weight * worth(one, now, named), 6), _why(one)))
    return Candidates(ordered(found), tuple(left_out))


def ordered(found: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return candidates in the order of their claims: reviewed, score, source, id."""
    return tuple(
        sorted(
            found,
            key=lambda one: (
                not one.learning.reviewed,
                -one.score,
                -one.learning.source.rank,
                one.learning.id,
            ),
        )
    )


def worth(learning: FeatureLearning, now: float, tasks: frozenset[str] = frozenset()) -> float:
    """Return in [0, 1] what a learning is worth whatever is asked: its confidence, less with age.

    Age takes away half at most: what is old may still be what keeps an error away (F35).
    """
    fresh = 0.5 + 0.5 * math.exp2(-stale_days(learning, now) / HALF_LIFE_DAYS)
    own = OWN_TASK if learning.task_id is not None and learning.task_id in tasks else 0.0
    return min(1.0, learning.confidence * fresh + own)


def _refused(
    one: FeatureLearning, feature: str | None, tasks: frozenset[str], waiting: frozenset[str]
) -> str:
    """Return why a learning may not be given, or ''."""
    if feature is not None and one.project_id is not None and one.feature != feature:
        return f"it belongs to {one.feature}"
    if one.task_id is not None and one.task_id not in tasks:
        return f"it is about task {one.task_id}"
    if one.id in waiting:
        return "it contradicts another learning and waits to be settled"
    if one.confidence < LOST:
        return f"outcomes spoke against it: confidence {one.confidence:.2f}"
    return ""


def _why(one: FeatureLearning) -> str:
    seen = f", seen in {one.hit_count} sessions" if one.hit_count > 1 else ""
    state = "reviewed" if one.reviewed else "unreviewed"
    return f"{state}, confidence {one.confidence:.2f}{seen}"
