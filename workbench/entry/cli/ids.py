"""How records are named on the command line: by the beginning of an id, as lists show it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from workbench.errors import UsageError
from workbench.suggest import did_you_mean
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.cli.rules.session import RuleSession
    from workbench.memory.learnings.review import ConflictFound
    from workbench.records.rules import Rule
    from workbench.rules.curation.ledger import RuleLedger

PREFIX = 13
"""Characters of a rule's id that are shown: `rule-` and eight digits are unique in a project."""


def find_live(work: RuleSession, identifier: str) -> Rule:
    """Return the rule in force whose id begins with the text given.

    Raises: UsageError for none or several; for a superseded one it names the rule in its place.
    """
    forms = _forms(identifier)
    found = [rule for rule in work.book.rules if rule.id.startswith(forms)]
    if len(found) == 1:
        return found[0]
    exact = [rule for rule in found if rule.id in forms]
    if exact:
        return exact[0]
    ledger = work.store.ledger()
    return ledger.require(find_any(ledger, identifier))


def find_among(rules: Sequence[Rule], identifier: str) -> Rule:
    """Return the rule whose id begins with the text given. Raises UsageError for none or several."""
    found = _beginning({rule.id for rule in rules}, identifier)
    return next(rule for rule in rules if rule.id == found)


def find_any(ledger: RuleLedger, identifier: str) -> str:
    """Return the id of a rule that is or was in force, by its beginning; one in force comes first.

    Raises: UsageError for none or several.
    """
    live = [known for known in ledger.live if known.startswith(_forms(identifier))]
    if len(live) == 1:
        return live[0]
    return _beginning(set(ledger.versions), identifier)


def _forms(identifier: str) -> tuple[str, ...]:
    return (identifier, f"rule-{identifier}")


def _beginning(known: Collection[str], identifier: str) -> str:
    forms = _forms(identifier)
    found = [one for one in known if one in forms] or [one for one in known if one.startswith(forms)]
    if len(found) == 1:
        return found[0]
    shown = visible_line(identifier)[:40]
    if found:
        some = ", ".join(sorted(found)[:3])
        raise UsageError(f"{len(found)} rules begin with {shown!r}", hint=f"Give more of the id: {some}, …")
    ids = sorted(one[:PREFIX] for one in known)
    hint = did_you_mean(forms[-1] if not identifier.startswith("rule-") else identifier, ids)
    raise UsageError(f"there is no rule {shown}", hint=hint or "`workbench rules list` shows all of them.")


def find_conflict(found: Sequence[ConflictFound], beginning: str) -> ConflictFound:
    """Return the conflict of learnings whose id begins with the text given. Raises: UsageError."""
    fitting = [one for one in found if one.id.startswith((beginning, f"conflict-{beginning}"))]
    if len(fitting) == 1:
        return fitting[0]
    shown = visible_line(beginning)[:40]
    hint = "`workbench memory conflicts` lists them."
    if fitting:
        raise UsageError(f"{len(fitting)} conflicts begin with {shown!r}", hint=hint)
    raise UsageError(f"there is no open conflict {shown}", hint=hint)
