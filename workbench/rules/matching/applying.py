"""Which rules go into a plan: binding ones always, scoped ones by the files, the rest by relevance.

The order of admission is the order of claims: absolute rules that hold everywhere, absolute rules for a file
at hand, rules that match the task, then default rules for a file at hand. Each class has a cap and all share
a token limit, so that rules never crowd the code out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from workbench.records.rules import Activation, Authority, Rule, path_globs
from workbench.rules.globs import first_match
from workbench.rules.matching.columns import MatchColumns, match_columns_of, passing
from workbench.rules.matching.filters import Filters, RuleQuery
from workbench.rules.matching.match import RuleMatch


@dataclass(frozen=True, slots=True)
class PlanRuleLimits:
    """How many rules of each kind a plan takes, and their tokens; the first `top_paths` files are at hand."""

    tokens: int = 800
    absolute: int = 12
    scoped_absolute: int = 8
    matched: int = 10
    scoped: int = 6
    top_paths: int = 10


@dataclass(frozen=True, slots=True)
class SelectedRule:
    """A rule in the plan and why it is there."""

    rule: Rule
    why: str


@dataclass(frozen=True, slots=True)
class DroppedRule:
    """A rule that had a claim and is not in the plan, and why."""

    rule: Rule
    reason: str


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """The plan's rules in the order of their claims, what was dropped, and the tokens used."""

    selected: tuple[SelectedRule, ...]
    dropped: tuple[DroppedRule, ...]
    tokens: int


def rules_for_plan(
    rules: Sequence[Rule],
    matches: Sequence[RuleMatch],
    ranked_paths: Sequence[str],
    limits: PlanRuleLimits | None = None,
    query: RuleQuery | None = None,
) -> list[SelectedRule]:
    """Return the plan's rules. See `select_rules`, which also says what was dropped."""
    return list(select_rules(rules, matches, ranked_paths, limits, query).selected)


def select_rules(
    rules: Sequence[Rule],
    matches: Sequence[RuleMatch],
    ranked_paths: Sequence[str],
    limits: PlanRuleLimits | None = None,
    query: RuleQuery | None = None,
    columns: MatchColumns | None = None,
    *,
    pinned: Sequence[tuple[Rule, str]] = (),
    excluded: Collection[str] = (),
) -> RuleSelection:
    """Choose the plan's rules under the limits; `columns` are those of the rules, if they are at hand.

    `ranked_paths` are the task's files, best first. `query` brings the business filters (project, tool,
    conditions, cooldown); without it only disabled rules and manual files are kept out. A rule longer than
    what is left of the token limit is dropped, and shorter ones after it still get in. `pinned` rules come
    first with the reason given, whatever the filters and limits say; those whose id is `excluded` never.
    """
    limits = limits or PlanRuleLimits()
    paths = tuple(ranked_paths[: limits.top_paths])
    asked = query or RuleQuery()
    asked = replace(asked, paths=paths)
    filters = Filters(asked)
    columns = columns or match_columns_of(rules)
    usable = [rules[row] for row in np.flatnonzero(columns.claims & passing(columns, asked)).tolist()]
    relevance = {match.rule.id: match for match in matches}
    admission = _Admission(limits.tokens)
    admission.seen.update(excluded)
    admission.admit_all(pinned)
    for claims, cap, label in (
        (_global_absolute(usable), limits.absolute, "absolute rules"),
        (
            _scoped(usable, Authority.ABSOLUTE, paths, relevance),
            limits.scoped_absolute,
            "absolute rules by file",
        ),
        (_matched(matches, filters), limits.matched, "matched rules"),
        (_scoped(usable, Authority.DEFAULT, paths, relevance), limits.scoped, "rules by file"),
    ):
        admission.admit(claims, cap, label)
    return RuleSelection(tuple(admission.selected), tuple(admission.dropped.values()), admission.used)


class _Admission:
    """Takes rules in until the tokens are used; the same rule or the same text enters once."""

    def __init__(self, tokens: int) -> None:
        self.limit, self.used = tokens, 0
        self.selected: list[SelectedRule] = []
        self.dropped: dict[str, DroppedRule] = {}
        self.seen: set[str] = set()

    def admit_all(self, claims: Iterable[tuple[Rule, str]]) -> None:
        """Take in rules without limits."""
        for rule, why in claims:
            self.used += rule.token_cost
            self.selected.append(SelectedRule(rule, why))
            self.seen.update((rule.id, " ".join(rule.rule.split()).casefold()))

    def admit(self, claims: Iterable[tuple[Rule, str]], cap: int, label: str) -> None:
        """Take in at most `cap` of the claims, in order."""
        taken = 0
        for rule, why in claims:
            text = " ".join(rule.rule.split()).casefold()
            if rule.id in self.seen or text in self.seen:
                continue
            if taken >= cap:
                self.dropped.setdefault(rule.id, DroppedRule(rule, f"more than {cap} {label}"))
            elif self.used + rule.token_cost > self.limit:
                self.dropped.setdefault(
                    rule.id, DroppedRule(rule, f"its {rule.token_cost} tokens exceed the rules' {self.limit}")
                )
            else:
                taken += 1
                self.used += rule.token_cost
                self.selected.append(SelectedRule(rule, why))
                self.seen.update((rule.id, text))
                self.dropped.pop(rule.id, None)


def _global_absolute(rules: Iterable[Rule]) -> list[tuple[Rule, str]]:
    found = [
        rule for rule in rules if rule.authority is Authority.ABSOLUTE and not rule.scope and _always(rule)
    ]
    found.sort(key=lambda rule: (-rule.priority, rule.token_cost, rule.id))
    return [(rule, f"absolute and valid everywhere{_from(rule)}") for rule in found]


def _scoped(
    rules: Iterable[Rule], authority: Authority, paths: tuple[str, ...], relevance: dict[str, RuleMatch]
) -> list[tuple[Rule, str]]:
    """Return the claims of rules whose globs match a file at hand, by score, priority and the file's rank."""
    rank = {path: position for position, path in enumerate(paths)}
    found = []
    for rule in rules:
        globs = path_globs(rule.scope)
        path = first_match(globs, paths) if globs and rule.authority is authority else None
        if path is not None:
            match = relevance.get(rule.id)
            order = (-(match.final if match else 0.0), -rule.priority, rank[path], rule.id)
            found.append((order, rule, f"{rule.authority.value} for {path}{_from(rule)}"))
    found.sort(key=lambda item: item[0])
    return [(rule, why) for _, rule, why in found]


def _matched(matches: Sequence[RuleMatch], filters: Filters) -> list[tuple[Rule, str]]:
    return [
        (match.rule, match.why + _from(match.rule)) for match in matches if not filters.reject(match.rule)
    ]


def _always(rule: Rule) -> bool:
    return rule.provenance is None or rule.provenance.activation is Activation.ALWAYS


def _from(rule: Rule) -> str:
    return f" ({rule.provenance.file}:{rule.provenance.line})" if rule.provenance else ""
