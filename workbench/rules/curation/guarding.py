"""Whether a rule is still what somebody saw when they began to change it: nothing is overwritten unseen."""

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
