"""How a conflict of two learnings is settled, as one step: keep one or both, merge, narrow, supersede."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from workbench.curation.conflicts import Decision
from workbench.curation.records import StepMarks, new_marks
from workbench.errors import UsageError
from workbench.memory.learnings.bodies import sound
from workbench.memory.learnings.ledger import Ledger
from workbench.memory.learnings.steps import SHORT, Drafts, in_use, put, settled
from workbench.records.conflicts import Action
from workbench.records.learnings import FeatureLearning, LearningSource, LearningState


def resolved(
    ledger: Ledger, decision: Decision, *, now: str, by: str, step: StepMarks | None = None
) -> Drafts:
    """Draft the settlement of a conflict or of a repetition, as a step of its own or part of the given one.

    A narrowing limits the learning that is not kept to `scope`: `task:42` to a task, others to files.
    Raises: UsageError if a learning is no longer live, or what the action needs is missing.
    """
    left, right = in_use(ledger, decision.left), in_use(ledger, decision.right)
    title = f"{decision.action.value.replace('_', ' ')}: {left.id[:SHORT]}, {right.id[:SHORT]}"
    reason = decision.reason or f"conflict {decision.conflict[:SHORT]}"
    told = new_marks(title, reason) if step is None else replace(step, reason=reason)
    work = _Work(decision, left, right, told, now, by)
    outcome = [sound(one) for one in _ACTIONS[decision.action](work)]
    entries = [put(one, told) for one in outcome]
    entries.append(settled(left, right, decision.conflict, decision.action.value, told))
    return Drafts(told.title, tuple(entries), tuple(one for one in outcome if one.live))


@dataclass(frozen=True, slots=True)
class _Work:
    decision: Decision
    left: FeatureLearning
    right: FeatureLearning
    told: StepMarks
    now: str
    by: str

    def ordered(self) -> tuple[FeatureLearning, FeatureLearning]:
        """Return the learning that gives way and the one that is kept."""
        if self.decision.keep == self.left.id:
            return self.right, self.left
        return self.left, self.right

    def chosen(self, learning: FeatureLearning, **changes: Any) -> FeatureLearning:
        """Return a learning as somebody chose it: they have reviewed it."""
        changes = {"reviewed": True, "reviewed_at": self.now, "reviewed_by": self.by, **changes}
        return replace(learning, updated_at=self.now, **changes)

    def gone(self, learning: FeatureLearning, state: LearningState, successor: str = "") -> FeatureLearning:
        """Return a learning that gives way."""
        return replace(learning, state=state, successor=successor, updated_at=self.now)


def _keep_left(work: _Work) -> list[FeatureLearning]:
    return [work.chosen(work.left), work.gone(work.right, LearningState.REJECTED, work.left.id)]


def _keep_right(work: _Work) -> list[FeatureLearning]:
    return [work.gone(work.left, LearningState.REJECTED, work.right.id), work.chosen(work.right)]


def _keep_both(work: _Work) -> list[FeatureLearning]:
    return [work.chosen(work.left), work.chosen(work.right)]


def _merge(work: _Work) -> list[FeatureLearning]:
    """One learning in the place of both: the left one, under the words given, else its own."""
    left, right = work.left, work.right
    text = work.decision.text.strip() or left.text
    changes: dict[str, Any] = {
        "text": text,
        "merged_from": tuple(dict.fromkeys((*left.merged_from, right.id))),
        "files": tuple(dict.fromkeys((*left.files, *right.files)))[:20],
        "hit_count": left.hit_count + (right.session_id != left.session_id) * right.hit_count,
        "task_id": left.task_id if left.task_id == right.task_id else None,
    }
    if text != left.text:
        changes["source"] = max(left.source, LearningSource.HUMAN, key=lambda one: one.rank)
    return [work.chosen(left, **changes), work.gone(right, LearningState.MERGED, left.id)]


def _narrow_scope(work: _Work) -> list[FeatureLearning]:
    narrowed, other = work.ordered()
    tasks = [entry.removeprefix("task:") for entry in work.decision.scope if entry.startswith("task:")]
    files = tuple(
        entry.removeprefix("path:") for entry in work.decision.scope if not entry.startswith("task:")
    )
    if (not tasks and not files) or len(tasks) > 1:
        raise UsageError("narrowing needs a scope", hint="--scope task:42, or files: --scope 'src/auth/**'")
    changes: dict[str, Any] = {"scope": files or narrowed.scope}
    if tasks:
        changes["task_id"] = tasks[0]
    return [work.chosen(narrowed, **changes), work.chosen(other)]


def _supersede(work: _Work) -> list[FeatureLearning]:
    """What gives way was right once."""
    old, new = work.ordered()
    return [work.gone(old, LearningState.SUPERSEDED, new.id), work.chosen(new)]


_ACTIONS: dict[Action, Callable[[_Work], list[FeatureLearning]]] = {
    Action.KEEP_LEFT: _keep_left,
    Action.KEEP_RIGHT: _keep_right,
    Action.KEEP_BOTH: _keep_both,
    Action.MERGE: _merge,
    Action.NARROW_SCOPE: _narrow_scope,
    Action.SUPERSEDE: _supersede,
}
