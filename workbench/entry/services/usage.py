"""Whether it helped: what was handed over, and what sessions did with it, as every face reports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from workbench.records.answers.usage import UsageResponse
from workbench.rules.rulebook import stored_rulebook
from workbench.sessions.usage import KnownRules, door_uses, rule_uses, session_uses

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.records.rules import Rule

PATIENCE: Final = 3_600.0
"""Seconds in which a session begins that takes up a pack which names none, such as a copied one."""


def usage_for(project: OpenedProject, since: float, span: str) -> UsageResponse:
    """Return what became of the hand-overs since a time in seconds, `span` ago. Raises: StoreError."""
    with project.tables() as tables:
        records = tables.usage_records(since, patience=PATIENCE)
    rules = _known_rules(rules_in_book(project) if records.handovers else ())
    sessions = session_uses(records, rules)
    by_rule = rule_uses(records, rules)
    return UsageResponse(span, door_uses(records), sessions, by_rule, ())


def rules_in_book(project: OpenedProject) -> tuple[Rule, ...]:
    """Return the rules as of the last sync with their files. Raises: StoreError."""
    book = stored_rulebook(project.rule_store())
    return () if book is None else tuple(book.rules)


def _known_rules(rules: tuple[Rule, ...]) -> KnownRules:
    return KnownRules(
        ids=frozenset(rule.id for rule in rules),
        checkable=frozenset(rule.id for rule in rules if rule.check is not None and rule.enabled),
        files={rule.id: rule.provenance.file for rule in rules if rule.provenance is not None},
    )
