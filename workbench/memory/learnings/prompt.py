"""The rule that a learning would make: what matching compares with a task, and what promotion adds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from workbench.memory.learnings.learningtype import stale_days
from workbench.records.dataclass import dataclass
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import PATH_SCOPE, Rule
from workbench.text.counts import plural
from workbench.text.sanitize import CLOSING, FRAME, OPENING, defuse, escape_marks, visible_line

if TYPE_CHECKING:
    from workbench.memory.learnings.columns import LearningColumns
    from workbench.memory.learnings.ledger import LearningLedger


SOURCE = "learning"


def as_rule(learning: FeatureLearning, fields: Mapping[str, Any]) -> Rule:
    """Return the rule a learning would make; where it comes from is in its metadata."""
    origin = {
        "id": learning.id,
        "feature": learning.feature,
        "source": learning.source.value,
        "reason": learning.reason,
        "iteration": learning.iteration,
        "session_id": learning.session_id,
        "timestamp": learning.timestamp,
        "hit_count": learning.hit_count,
    }
    values: dict[str, Any] = {
        "id": "",
        "name": "",
        "rule": learning.text,
        "scope": tuple(f"{PATH_SCOPE}{glob}" for glob in learning.scope),
        "source": SOURCE,
        "metadata": {"learning": origin},
        "project_id": learning.project_id,
    }
    return Rule(**{**values, **fields})


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
    """The live learnings by id, the ids of those that wait to be settled, and what decides of all at once."""

    live: Sequence[FeatureLearning]
    waiting: frozenset[str]
    columns: LearningColumns


def known_learnings(ledger: LearningLedger) -> Known:
    """Return what a ledger holds that may be given."""
    from workbench.memory.learnings.columns import column_learnings
    from workbench.memory.learnings.review import contested_among  # compares texts, which plans do not

    live = tuple(ledger.live())
    waiting = contested_among(ledger, {one.id: one.conflicts_with for one in live})
    return Known(live, waiting, column_learnings(live))


def candidates(
    known: Known,
    now: float,
    *,
    feature: str | None = None,
    tasks: Sequence[str] | None = None,
    relevance: Mapping[str, float] | None = None,
) -> Candidates:
    """Return the learnings that may be given for a feature and tasks; None is any feature.

    Those of a task are given to that task only (F25). `relevance` in [0, 1] by id scales the scores; those it
    does not name are left out. Reviewed first, then by score, ties by (-rank of the source, id).
    """
    import numpy as np  # whoever shows where a learning is from does without

    from workbench.memory.learnings.columns import refusals

    named, ids = frozenset(tasks or ()), known.columns.ids
    reason_of, reasons = refusals(known.columns, feature, named, known.waiting)
    if relevance is not None:
        about = np.zeros(len(ids), np.bool_)
        about[known.columns.rows(relevance)] = True
        reason_of[(reason_of == 0) & ~about] = len(reasons)
        reasons.append("it is not about this task")
    found: list[Candidate] = []
    for row in np.flatnonzero(reason_of == 0).tolist():
        one = known.live[row]
        weight = 1.0 if relevance is None else relevance[one.id]
        found.append(Candidate(one, round(weight * worth_of(one, now, named), 6), _state(one)))
    named_reasons = zip(ids, reason_of.tolist(), strict=True)
    left_out = tuple((identifier, reasons[number]) for identifier, number in named_reasons if number)
    return Candidates(order_candidates(found), left_out)


def order_candidates(found: Iterable[Candidate]) -> tuple[Candidate, ...]:
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


def worth_of(learning: FeatureLearning, now: float, tasks: frozenset[str] = frozenset()) -> float:
    """Return in [0, 1] what a learning is worth whatever is asked: its confidence, less with age.

    Age takes away half at most: what is old may still be what keeps an error away (F35).
    """
    fresh = 0.5 + 0.5 * math.exp2(-stale_days(learning, now) / HALF_LIFE_DAYS)
    own = OWN_TASK if learning.task_id is not None and learning.task_id in tasks else 0.0
    return min(1.0, learning.confidence * fresh + own)


def _state(one: FeatureLearning) -> str:
    seen = f", seen in {one.hit_count} sessions" if one.hit_count > 1 else ""
    state = "reviewed" if one.reviewed else "unreviewed"
    return f"{state}, confidence {one.confidence:.2f}{seen}"


UNREVIEWED_AT_MOST = 5
_SLACK = 8  # tokens by which a line may cost less inside of a text than alone


@dataclass(frozen=True, slots=True)
class MemoryPrompt:
    """A finished text of `tokens` <= the budget, what is in it, and (id, reason) of what is not."""

    text: str
    tokens: int
    given: tuple[FeatureLearning, ...]
    left_out: tuple[tuple[str, str], ...]


def memory_prompt(
    known: Known,
    now: float,
    count: Callable[[str], int],
    *,
    feature: str,
    task: str | None = None,
    budget: int,
) -> MemoryPrompt:
    """Return the best learnings for a feature and a task as text; '' where there are none or none fits.

    A learning longer than what is left is passed over for shorter ones after it. At most five that nobody
    reviewed are in it.
    """
    tasks = () if task is None else (task,)
    claims = candidates(known, now, feature=feature, tasks=tasks)
    left_out = list(claims.left_out)
    given: list[Candidate] = []
    text, tokens = "", 0
    for claim in claims.candidates:
        unreviewed = sum(not one.learning.reviewed for one in given)
        if not claim.learning.reviewed and unreviewed >= UNREVIEWED_AT_MOST:
            left_out.append((claim.learning.id, f"more than {UNREVIEWED_AT_MOST} that nobody reviewed"))
            continue
        alone = count(_line(claim.learning, now))
        longer, size = "", budget + 1
        if tokens + alone <= budget + _SLACK:  # the whole is measured only where it may fit
            longer = render([one.learning for one in (*given, claim)], now)
            size = count(longer)
        if size > budget:
            left_out.append((claim.learning.id, f"it does not fit into the {budget:,} tokens"))
            continue
        given.append(claim)
        text, tokens = longer, size
    return MemoryPrompt(text, tokens, tuple(one.learning for one in given), tuple(left_out))


def render(learnings: Sequence[FeatureLearning], now: float) -> str:
    """Return learnings as text between the workbench's marks; nothing in them can close the marks."""
    lines = [OPENING, FRAME]
    lines += [_line(learning, now) for learning in learnings]
    return "\n".join((*lines, CLOSING)) + "\n"


def _line(learning: FeatureLearning, now: float) -> str:
    return f"- {escape_frame(learning)} ({source_of(learning, now)})"


def escape_frame(learning: FeatureLearning) -> str:
    """Return a learning's text as it may be shown between the marks."""
    return escape_marks(visible_line(defuse(learning.text)))


def source_of(learning: FeatureLearning, now: float | None) -> str:
    """Return where a learning comes from and how old it is: `reviewed; auth #7, 2026-02-07, 12 days ago`.

    Without `now` the age is left out, so that the text stays the same from day to day.
    """
    place = visible_line(learning.feature if learning.project_id else "your own")
    if learning.iteration is not None:
        place = f"{place} #{learning.iteration}"
    parts = [place, learning.timestamp[:10]]
    if now is not None:
        days = stale_days(replace(learning, last_hit="", reviewed_at=""), now)
        parts.append("today" if days == 0 else f"{plural(days, 'day')} ago")
    if learning.hit_count > 1:
        parts.append(f"seen {learning.hit_count} times")
    state = "reviewed" if learning.reviewed else "unreviewed"
    return f"{state}; {', '.join(filter(None, parts))}"
