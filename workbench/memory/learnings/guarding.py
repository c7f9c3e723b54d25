"""Whether what somebody decides about learnings is still about what they saw: nothing is lost unseen."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.curation.conflicts import ConflictSettled, Decision
from workbench.errors import UsageError
from workbench.memory.learnings.ledger import Ledger
from workbench.memory.learnings.steps import SHORT
from workbench.records.learnings import FeatureLearning


class LearningChanged(UsageError):
    """A learning was changed meanwhile: `seen` is how it was, `now` as it stands, None if it is gone."""

    def __init__(self, seen: FeatureLearning, now: FeatureLearning | None) -> None:
        what = "taken out" if now is None else "changed"
        super().__init__(
            f"{seen.id[:SHORT]} was {what} by somebody else meanwhile",
            hint=f"workbench memory history {seen.id[:SHORT]}",
        )
        self.seen = seen
        self.now = now


def as_seen(ledger: Ledger, decision: Decision, seen: Iterable[FeatureLearning]) -> None:
    """Raise ConflictSettled or LearningChanged if others decided since; counts and hits may have grown."""
    settled = ledger.settled.get(decision.conflict)
    if settled is not None:
        undo = "workbench memory undo"
        raise ConflictSettled(decision.conflict, settled.action, settled.by, undo=undo)
    unchanged(ledger, seen)


def unchanged(ledger: Ledger, seen: Iterable[FeatureLearning]) -> None:
    """Raise LearningChanged if a learning is not as it was seen; counts and hits may have grown."""
    for one in seen:
        now = ledger.find(one.id)
        if now is None or now.state is not one.state or stands_for(now) != stands_for(one):
            raise LearningChanged(one, now if now is not None and now.live else None)


def stands_for(one: FeatureLearning) -> tuple[object, ...]:
    """Return what people decide of a learning."""
    return (one.text, one.reason, one.kind, one.feature, one.task_id, one.files, one.scope, one.reviewed)
