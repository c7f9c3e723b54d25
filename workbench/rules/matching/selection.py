"""Which rules go into a plan: binding ones always, scoped ones by the context, the rest by relevance.

The order of admission is the order of claims: absolute rules that hold everywhere, absolute rules whose scope
takes in the context (a file at hand, a name, the active step), rules that match the task, then default rules
whose scope does. Each class has a cap and all share a token limit, so that rules never crowd the code out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from workbench.records.dataclass import dataclass
from workbench.records.rules import Activation, Authority, Rule
from workbench.rules.matching.context import RuleContext, held_by
from workbench.rules.matching.filters import MatchColumns, RuleQuery, match_columns_of, passing, reject
from workbench.rules.matching.lexical import wording
from workbench.rules.matching.match import MatchReport, RuleMatch

if TYPE_CHECKING:
    from workbench.rules.conflicts.findings import Duplicate


Claim = tuple[Rule, str]
"""A rule and why it is to be in the plan."""


@dataclass(frozen=True, slots=True)
class PlanRuleLimits:
    """How many rules of each kind a plan takes, and their tokens."""

    tokens: int = 800
    absolute: int = 12
    scoped_absolute: int = 8
    matched: int = 10
    scoped: int = 6


@dataclass(frozen=True, slots=True)
class SelectedRule:
    """A rule in the plan and why it is there."""

    rule: Rule
    why: str


@dataclass(frozen=True, slots=True)
class DroppedRule:
    """A rule that had a claim and is not in the plan, and why; `repeats` is one in it that says the same.

    With `with_file` its file is not for the plan either; `loaded` is the file from which the agent has it.
    """

    rule: Rule
    reason: str
    repeats: str = ""
    with_file: bool = False
    loaded: str = ""


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """The plan's rules in the order of their claims, what was dropped, and the tokens used."""

    selected: tuple[SelectedRule, ...]
    dropped: tuple[DroppedRule, ...]
    tokens: int


def select_rules(  # noqa: PLR0913 - what a plan knows of its rules
    rules: Sequence[Rule],
    report: MatchReport,
    query: RuleQuery,
    limits: PlanRuleLimits | None = None,
    columns: MatchColumns | None = None,
    *,
    pinned: Sequence[tuple[Rule, str]] = (),
    excluded: Collection[str] = (),
    had: Collection[str] = (),
    duplicates: Callable[[Mapping[str, Rule]], Iterable[Duplicate]] | None = None,
) -> RuleSelection:
    """Choose the plan's rules under the limits; `columns` are those of the rules, if they are at hand.

    `query` is what `report` was made for. A rule longer than what is left of the token limit is dropped, and
    shorter ones after it still get in. `pinned` rules come first with the reason given, whatever the filters
    and limits say; those whose id is `excluded` never. Of these the agent has those in `had`, and needs no
    other with the same words. `duplicates` says which of the rules with a claim are known to add nothing to
    another one, which takes their place. Absolute rules and relevant ones that do not hold in the query's
    context are dropped with the reason.
    """
    limits = limits or PlanRuleLimits()
    context = query.context or RuleContext()
    columns = columns or match_columns_of(rules)
    held = passing(columns, query)
    usable = [rules[row] for row in np.flatnonzero(columns.claims & held).tolist()]
    relevance = {match.rule.id: match for match in report.matches}
    admission = _Admission(limits.tokens)
    admission.seen.update(excluded)
    admission.admit_all(pinned)
    classes = (
        (_everywhere(usable, context), limits.absolute, "absolute rules"),
        (
            _scoped_claims(usable, Authority.ABSOLUTE, context, relevance),
            limits.scoped_absolute,
            "absolute rules by scope",
        ),
        (_matched_claims(report.matches), limits.matched, "matched rules"),
        (_scoped_claims(usable, Authority.DEFAULT, context, relevance), limits.scoped, "rules by scope"),
    )
    if duplicates is not None:
        admission.compare(chain(pinned, *(claims for claims, _, _ in classes)), duplicates)
    for rule, _ in chain.from_iterable(claims for claims, _, _ in classes):
        if rule.id in had:
            admission.note(rule)
    for claims, cap, label in classes:
        admission.admit(claims, cap, label)
    out = [rules[row] for row in np.flatnonzero(columns.absolute & ~held).tolist()]
    for rule in sorted({rule.id: rule for rule in (*out, *report.barred)}.values(), key=_place):
        if rule.enabled:
            admission.drop(rule, reject(rule, query))
    for rule in usable:
        if rule.authority is Authority.ABSOLUTE and not _always(rule):
            admission.drop(rule, "is read where its description fits the task, and this is another one")
    return RuleSelection(tuple(admission.selected), tuple(admission.dropped.values()), admission.used)


class _Admission:
    """Takes rules in until the tokens are used; the same rule, text or known duplicate enters once."""

    def __init__(self, tokens: int) -> None:
        self.limit, self.used = tokens, 0
        self.selected: list[SelectedRule] = []
        self.dropped: dict[str, DroppedRule] = {}
        self.seen: set[str] = set()
        self.texts: dict[str, Rule] = {}
        self.inside: dict[str, Rule] = {}
        self.claims: dict[str, Claim] = {}
        self.duplicates: dict[str, list[Duplicate]] = defaultdict(list)

    def compare(
        self, claims: Iterable[Claim], duplicates: Callable[[Mapping[str, Rule]], Iterable[Duplicate]]
    ) -> None:
        """Learn which of the rules that have a claim say what another of them says."""
        for rule, why in claims:
            self.claims.setdefault(rule.id, (rule, why))
        if len(self.claims) > 1:
            for duplicate in duplicates({identifier: rule for identifier, (rule, _) in self.claims.items()}):
                self.duplicates[duplicate.drop].append(duplicate)

    def drop(self, rule: Rule, reason: str) -> None:
        """Leave a rule out that is not in, unless there is a reason already."""
        if rule.id not in self.seen and wording(rule) not in self.texts:
            self.dropped.setdefault(rule.id, DroppedRule(rule, reason))

    def admit_all(self, claims: Iterable[tuple[Rule, str]]) -> None:
        """Take in rules without limits."""
        for rule, why in claims:
            self.used += rule.token_cost
            self.selected.append(SelectedRule(rule, why))
            self._enter(rule)

    def admit(self, claims: Iterable[tuple[Rule, str]], cap: int, label: str) -> None:
        """Take in at most `cap` of the claims, in order."""
        taken = 0
        for rule, why in chain.from_iterable(self._best_first(claim, set()) for claim in claims):
            if rule.id in self.seen:
                continue
            same = self.texts.get(wording(rule))
            if same is not None:
                reason = f"has the same words as the rule of {_origin(same)}"
                self.dropped[rule.id] = DroppedRule(rule, reason, same.id)
            elif (found := self._duplicate(rule)) is not None:
                self.dropped[rule.id] = DroppedRule(rule, _adds_nothing(found, self.inside), found.keep)
            elif taken >= cap:
                self.dropped.setdefault(rule.id, DroppedRule(rule, f"is beyond the first {cap} {label}"))
            elif self.used + rule.token_cost > self.limit:
                self.dropped.setdefault(
                    rule.id,
                    DroppedRule(rule, f"takes {rule.token_cost} tokens, and rules have {self.limit} in all"),
                )
            else:
                taken += 1
                self.used += rule.token_cost
                self.selected.append(SelectedRule(rule, why))
                self._enter(rule)
                self.dropped.pop(rule.id, None)

    def _best_first(self, claim: Claim, met: set[str]) -> Iterator[Claim]:
        """Yield a claim after those of the rules that it adds nothing to: they take its place."""
        rule = claim[0]
        met.add(rule.id)
        for found in self.duplicates.get(rule.id, ()):
            if found.keep not in met:
                yield from self._best_first(self.claims[found.keep], met)
        yield claim

    def _duplicate(self, rule: Rule) -> Duplicate | None:
        return next((found for found in self.duplicates.get(rule.id, ()) if found.keep in self.inside), None)

    def note(self, rule: Rule) -> None:
        """Let a rule count as one that is in: whatever says the same adds nothing."""
        self.inside[rule.id] = rule
        self.texts.setdefault(wording(rule), rule)

    def _enter(self, rule: Rule) -> None:
        self.seen.add(rule.id)
        self.note(rule)


def _everywhere(rules: Iterable[Rule], context: RuleContext) -> list[tuple[Rule, str]]:
    """Return the claims of absolute rules without a scope."""
    found = [
        rule for rule in rules if rule.authority is Authority.ABSOLUTE and not rule.scope and _always(rule)
    ]
    found.sort(key=lambda rule: (-rule.priority, rule.token_cost, rule.id))
    return [(rule, _why(rule, context)) for rule in found]


def _scoped_claims(
    rules: Iterable[Rule], authority: Authority, context: RuleContext, relevance: dict[str, RuleMatch]
) -> list[tuple[Rule, str]]:
    """Return the claims of rules with a scope that holds, by score, priority and the rank of their file."""
    rank = {path: position for position, path in enumerate(context.paths)}
    found = []
    for rule in rules:
        if rule.authority is authority and rule.scope:
            match, by = relevance.get(rule.id), held_by(rule, context)
            order = (-(match.final if match else 0.0), -rule.priority, rank.get(by, -1), rule.id)
            found.append((order, rule, _why(rule, context)))
    found.sort(key=lambda item: item[0])
    return [(rule, why) for _, rule, why in found]


def _matched_claims(matches: Sequence[RuleMatch]) -> list[tuple[Rule, str]]:
    return [
        (match.rule, f"matches the task by {_evidence(match)} (relevance {match.relevance:.2f})")
        for match in matches
    ]


def _evidence(match: RuleMatch) -> str:
    return f"the words {', '.join(match.terms)}" if match.terms else "its meaning"


def _why(rule: Rule, context: RuleContext) -> str:
    by = held_by(rule, context)
    given = [*([context.tool] if rule.tool_targets else []), *sorted(rule.conditions)]
    limits = f", given {' and '.join(given)}" if given else ""
    return f"applies {f'to {by}' if by else 'everywhere'}{limits}"


def _adds_nothing(found: Duplicate, inside: Mapping[str, Rule]) -> str:
    settle = f"workbench rules conflicts resolve {found.conflict[:17]}{' --meaning' if found.meaning else ''}"
    return (
        f"adds nothing to the rule of {_origin(inside[found.keep])}, which is in the pack; settle it by "
        f"`{settle} --suggested`, or with `--action keep-both` to have both"
    )


def _place(rule: Rule) -> tuple[bool, int, str]:
    return (rule.authority is not Authority.ABSOLUTE, -rule.priority, rule.id)


def _always(rule: Rule) -> bool:
    return rule.provenance is None or rule.provenance.activation is Activation.ALWAYS


def _origin(rule: Rule) -> str:
    return f"{rule.provenance.file}:{rule.provenance.line}" if rule.provenance else rule.id
