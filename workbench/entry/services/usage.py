"""Whether it helped: what was handed over, and what sessions did with it, as every face reports it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

from workbench.entry.parameters import DEFAULT_VARIANT
from workbench.entry.services.handovers import record_breach, recorded_breaches
from workbench.records.answers.usage import RuleUse, UsageResponse, VariantGap
from workbench.rules.keptbook import stored_rulebook
from workbench.sessions.importers.importer import BY
from workbench.sessions.usage import (
    KnownRules,
    affinity_hit_rate,
    door_uses,
    first_pass_rate,
    rule_uses,
    session_measures,
    session_uses,
)

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.records.replay import Gap
    from workbench.records.rules import Rule

PATIENCE: Final = 3_600.0
"""Seconds in which a session begins that takes up a pack which names none, such as a copied one."""


def usage_for(project: OpenedProject, since: float, span: str) -> UsageResponse:
    """Return what became of the hand-overs since a time in seconds, `span` ago. Raises: StoreError."""
    with project.journal_tables() as tables:
        records = tables.usage_records(since, patience=PATIENCE)
    rules = _known_rules(rules_in_book(project) if records.handovers else ())
    sessions = session_uses(records, rules)
    by_rule = rule_uses(records, rules)
    measures = session_measures(records, rules, sessions)
    gaps = variant_gaps(measures, by_rule) if DEFAULT_VARIANT in measures and len(measures) > 1 else ()
    return UsageResponse(span, door_uses(records), sessions, by_rule, gaps)


def session_rates(project: OpenedProject, since: float) -> tuple[float | None, float | None]:
    """Return first-pass success and affinity hits of sessions since a time in seconds. Raises: StoreError."""
    with project.tables() as tables:  # files beside others are of the last plan's index
        records = tables.usage_records(since, patience=PATIENCE)
    return first_pass_rate(session_uses(records, KnownRules())), affinity_hit_rate(records)


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
    found: Gap,
    *,
    paired: bool = False,
) -> VariantGap:
    numbers = (fmean(theirs), fmean(mine), found.value, found.low, found.high, found.p)
    counts = (len(theirs), len(mine))
    return VariantGap(measure, paired, variant, *counts, *(round(number, 4) for number in numbers))


def record_past_breaches(project: OpenedProject, transcripts: Iterable[Path]) -> int:
    """Record the calls in transcripts that broke rules with a check, each once; return how many are new.

    Files that cannot be read are left out, also those of sub-agents beside them. Raises: StoreError.
    """
    from workbench.sessions.importers.fold import seconds
    from workbench.sessions.importers.readers import read_events
    from workbench.sessions.violations import Count, count_breaches

    rules = [rule for rule in rules_in_book(project) if rule.check is not None and rule.enabled]
    count = Count()
    for path in transcripts if rules else ():
        for file in (path, *sorted((path.with_suffix("") / "subagents").glob("agent-*.jsonl"))):
            with suppress(OSError):
                events = read_events(file)
                count_breaches(rules, events or (), str(file), count, root=str(project.root))
    known = recorded_breaches(project) if count.violations else set()
    new = 0
    for one in count.violations:
        key = (one.session, one.rule_id, one.call)
        if one.call and one.session and seconds(one.at) >= 0 and key not in known:
            known.add(key)
            decision = str(one.decision)
            record_breach(
                project, one.session, [one.rule_id], call=one.call, decision=decision, at=one.at, by=BY
            )
            new += 1
    return new


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
