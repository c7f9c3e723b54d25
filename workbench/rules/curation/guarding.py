"""Whether what somebody decides is still about what they saw: nothing is overwritten unseen."""

from __future__ import annotations

from workbench.errors import UsageError
from workbench.records.rules import Rule
from workbench.rules.curation.bodies import decided
from workbench.rules.curation.ledger import Ledger


class RuleChanged(UsageError):
    """A rule was changed meanwhile: `seen` is how it was, `now` the one in force, None if none is."""

    def __init__(self, seen: Rule, now: Rule | None) -> None:
        what = "removed" if now is None else "changed"
        short = seen.id[:13]
        super().__init__(
            f"{short} was {what} by somebody else meanwhile", hint=f"workbench rules history {short}"
        )
        self.seen = seen
        self.now = now


def still(ledger: Ledger, seen: Rule) -> None:
    """Raise RuleChanged if what people decide of a rule is not as it was seen; lines and counts may move."""
    now = ledger.standing(seen.id)
    if now is None or now.id != seen.id or decided(now) != decided(seen):
        raise RuleChanged(seen, now)


class ConflictSettled(UsageError):
    """A conflict was settled by somebody else meanwhile: `by` whom, and how."""

    def __init__(self, conflict: str, action: str, by: str, *, undo: str = "workbench rules undo") -> None:
        super().__init__(
            f"{conflict[:17]} was settled by {by} meanwhile: {action.replace('_', '-')}",
            hint=f"`{undo}` takes the last step back.",
        )
        self.action = action
        self.by = by


def unsettled(ledger: Ledger, conflict: str) -> None:
    """Raise ConflictSettled if somebody settled a conflict."""
    settled = ledger.settled.get(conflict)
    if settled is not None:
        raise ConflictSettled(conflict, settled.action, settled.by)
