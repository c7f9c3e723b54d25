"""Whether it helped: what was handed over, and what sessions did with it, as every face reports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Final

from workbench.entry.parameters import DEFAULT_VARIANT
from workbench.records.answers.usage import RuleUse, UsageResponse, VariantGap
from workbench.rules.rulebook import stored_rulebook
from workbench.sessions.usage import KnownRules, door_uses, rule_uses, session_measures, session_uses

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.records.rules import Rule
    from workbench.replay.statistics import MeasuredDifference

PATIENCE: Final = 3_600.0
"""Seconds in which a session begins that takes up a pack which names none, such as a copied one."""


def usage_for(project: OpenedProject, since: float, span: str) -> UsageResponse:
    """Return what became of the hand-overs since a time in seconds, `span` ago. Raises: StoreError."""
    with project.tables() as tables:
        records = tables.usage_records(since, patience=PATIENCE)
    rules = _known_rules(rules_in_book(project) if records.handovers else ())
    sessions = session_uses(records, rules)
    by_rule = rule_uses(records, rules)
    measures = session_measures(records, rules)
    gaps = variant_gaps(measures, by_rule) if DEFAULT_VARIANT in measures and len(measures) > 1 else ()
    return UsageResponse(span, door_uses(records), sessions, by_rule, gaps)


def variant_gaps(
    measures: Mapping[str, Sequence[Mapping[str, float]]], by_rule: Sequence[RuleUse]
) -> tuple[VariantGap, ...]:
    """Return how each variant differs from the default: sessions as two samples, and rules of both paired."""
    from workbench.replay.statistics import mean_difference, sample_difference

    found = []
    for variant in sorted(measures.keys() - {DEFAULT_VARIANT}):
        for name in dict.fromkeys(name for one in measures[variant] for name in one):
            mine, theirs = (
                [one[name] for one in measures[arm] if name in one] for arm in (variant, DEFAULT_VARIANT)
            )
            if theirs:
                found.append(_gap(name, variant, mine, theirs, sample_difference(mine, theirs)))
        shares = {
            arm: {
                one.rule_id: one.obeyed / (one.obeyed + one.broken)
                for one in by_rule
                if one.variant == arm and one.obeyed + one.broken
            }
            for arm in (variant, DEFAULT_VARIANT)
        }
        both = sorted(shares[variant].keys() & shares[DEFAULT_VARIANT].keys())
        if both:
            mine, theirs = ([shares[arm][rule] for rule in both] for arm in (variant, DEFAULT_VARIANT))
            gap = mean_difference(mine, theirs)
            found.append(_gap("sessions that obeyed a rule", variant, mine, theirs, gap, paired=True))
    return tuple(found)


def _gap(
    measure: str,
    variant: str,
    mine: Sequence[float],
    theirs: Sequence[float],
    found: MeasuredDifference,
    *,
    paired: bool = False,
) -> VariantGap:
    numbers = (fmean(theirs), fmean(mine), found.value, found.low, found.high, found.p)
    counts = (len(theirs), len(mine))
    return VariantGap(measure, paired, variant, *counts, *(round(number, 4) for number in numbers))


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
