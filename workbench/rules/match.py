"""Which rules answer to a message [adr2]: filters, the relevance gate, the score, the ten best, and why.

Everything is a pure function of the rules and of scores computed elsewhere. A rule matches only if it is
relevant (`docs/adr/0003-relevance-gates-rules.md`); priority and scope order what is relevant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records.rules import Activation, Level, Rule, context_names, path_globs
from workbench.rules.globs import first_match

Scores = NDArray[np.float32] | NDArray[np.float64] | Sequence[float]


@dataclass(frozen=True, slots=True)
class MatchParams:
    """The numbers of [adr2]. `threshold` is the least relevance of a match, in [0, 1]."""

    vector_weight: float = 0.7
    bm25_weight: float = 0.3
    hybrid_weight: float = 0.6
    priority_weight: float = 0.3
    scope_weight: float = 0.1
    threshold: float = 0.5
    over_fetch: int = 30
    limit: int = 10
    level_weights: Mapping[Level, float] = field(
        default_factory=lambda: {Level.GLOBAL: 1.0, Level.SCENARIO: 1.1, Level.STEP: 1.2}
    )


@dataclass(frozen=True, slots=True)
class RuleQuery:
    """What is asked. `contexts` are context names in force and `paths` the files at hand, best first.

    `contexts` None puts no limit on named scopes. `facts` are what conditions are checked against. `now` is
    in seconds since the epoch, None ignores cooldowns. `tool` '' and `project_id` None mean any.
    """

    text: str = ""
    project_id: str | None = None
    tool: str = ""
    contexts: tuple[str, ...] | None = None
    paths: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    now: float | None = None


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A rule that answers to the message, with the parts of its score. `why` says it in a sentence.

    `relevance` is the hybrid score in [0, 1]; `vector` and `bm25` are its parts, None where not given.
    `priority` and `scope` are the weighted parts of `final`.
    """

    rule: Rule
    relevance: float
    vector: float | None
    bm25: float | None
    priority: float
    scope: float
    final: float
    why: str


@dataclass(frozen=True, slots=True)
class MatchReport:
    """The matches, best first, and (rule id, reason) of every rule left out, in the order of the rules."""

    matches: tuple[RuleMatch, ...]
    rejected: tuple[tuple[str, str], ...]


def match_rules(
    rules: Sequence[Rule],
    query: RuleQuery,
    vector_scores: Scores | None = None,
    bm25_scores: Scores | None = None,
    params: MatchParams | None = None,
    *,
    relevance: Scores | None = None,
) -> list[RuleMatch]:
    """Return the matching rules, best first. `match_report` also says what was left out and why."""
    report = match_report(rules, query, vector_scores, bm25_scores, params, relevance=relevance)
    return list(report.matches)


def match_report(
    rules: Sequence[Rule],
    query: RuleQuery,
    vector_scores: Scores | None = None,
    bm25_scores: Scores | None = None,
    params: MatchParams | None = None,
    *,
    relevance: Scores | None = None,
) -> MatchReport:
    """Match rules against a message.

    Scores are parallel to `rules` and calibrated to [0, 1]: `vector_scores` and `bm25_scores` are mixed by
    their weights (one alone counts whole), or the caller mixes and gives `relevance`. Values outside are
    clipped, NaN counts as 0. Raises ValueError if a length differs from that of `rules`.
    """
    params = params or MatchParams()
    vector, bm25 = _column(vector_scores, len(rules)), _column(bm25_scores, len(rules))
    fused = _column(relevance, len(rules))
    hybrid = fused if fused is not None else _hybrid(vector, bm25, len(rules), params)
    reasons: dict[int, str] = {}
    checks = Filters(query)
    for index, rule in enumerate(rules):
        reason = checks.reject(rule)
        if reason:
            reasons[index] = reason
        elif hybrid[index] < params.threshold:
            reasons[index] = f"relevance {hybrid[index]:.2f} is below {params.threshold:.2f}"
    passed = [index for index in range(len(rules)) if index not in reasons]
    passed.sort(key=lambda index: (-hybrid[index], -rules[index].priority, rules[index].id))
    for index in passed[params.over_fetch :]:
        reasons[index] = f"not among the {params.over_fetch} most relevant"
    scored = [
        _score(rules[index], index, float(hybrid[index]), vector, bm25, params)
        for index in passed[: params.over_fetch]
    ]
    scored.sort(key=lambda item: (-item[0].final, -item[0].rule.priority, item[0].rule.id))
    for match, index in scored[params.limit :]:
        reasons[index] = f"score {match.final:.3f} is not among the best {params.limit}"
    rejected = tuple((rules[index].id, reasons[index]) for index in sorted(reasons))
    return MatchReport(tuple(match for match, _ in scored[: params.limit]), rejected)


def applies(rule: Rule, query: RuleQuery) -> str:
    """Return why a rule can't apply to the query whatever it says, or '' if it can."""
    return Filters(query).reject(rule)


def scope_holds(scope: tuple[str, ...], contexts: Sequence[str] | None, paths: Sequence[str]) -> bool:
    """Whether a scope takes in the context: empty is everywhere, else one entry is enough [rules].

    Context names match by equality (any, if `contexts` is None), `path:` globs by the files at hand.
    """
    if not scope:
        return True
    names, globs = context_names(scope), path_globs(scope)
    if names and (contexts is None or not set(names).isdisjoint(contexts)):
        return True
    return bool(globs) and first_match(globs, paths) is not None


class Filters:
    """The business filters of a query; what many rules share is computed once."""

    def __init__(self, query: RuleQuery) -> None:
        self.query = query
        self.scopes: dict[tuple[str, ...], bool] = {}

    def reject(self, rule: Rule) -> str:
        """Return why a rule can't apply, or ''."""
        query = self.query
        if not rule.enabled:
            return "disabled"
        if query.project_id is not None and rule.project_id not in (None, query.project_id):
            return "belongs to another project"
        if query.tool and rule.tool_targets and query.tool not in rule.tool_targets:
            return f"is for {', '.join(rule.tool_targets)}, not for {query.tool}"
        if rule.cooldown and rule.last_used and query.now is not None:
            left = _seconds(rule.last_used) + rule.cooldown - query.now
            if left > 0:
                return f"cools down for another {left:.0f} s"
        if rule.scope:
            holds = self.scopes.get(rule.scope)
            if holds is None:
                holds = scope_holds(rule.scope, query.contexts, query.paths)
                self.scopes[rule.scope] = holds
            if not holds:
                return "its scope takes in none of the files at hand"
        for name, wanted in rule.conditions.items():
            if not _condition_holds(name, wanted, query.facts):
                return f"its condition on {name} does not hold"
        if rule.provenance is not None and rule.provenance.activation is Activation.MANUAL:
            return "" if _named(rule, query.text) else "is used only when its file is named"
        return ""


def _named(rule: Rule, text: str) -> bool:
    """Whether a message names a manual rule's file, as agents do: `@name` or `#name`."""
    file = rule.provenance.file if rule.provenance else ""
    name = file.rpartition("/")[2].partition(".")[0].lower()
    lowered = text.lower()
    return bool(name) and (f"@{name}" in lowered or f"#{name}" in lowered)


def _condition_holds(name: str, wanted: Any, facts: Mapping[str, Any]) -> bool:
    if name not in facts:
        return False
    fact = facts[name]
    have = set(map(str, fact)) if isinstance(fact, (list, tuple, set, frozenset)) else {str(fact)}
    choices = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    return any(str(choice) in have for choice in choices)


def _seconds(moment: str) -> float:
    """Return seconds since the epoch of an ISO time; an unreadable one is long ago."""
    try:
        return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return float("-inf")


def _column(scores: Scores | None, count: int) -> NDArray[np.float64] | None:
    if scores is None:
        return None
    column = np.asarray(scores, dtype=np.float64)
    if column.shape != (count,):
        raise ValueError(f"{count} rules have {column.shape} scores")
    return np.clip(np.nan_to_num(column, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)


def _hybrid(
    vector: NDArray[np.float64] | None, bm25: NDArray[np.float64] | None, count: int, params: MatchParams
) -> NDArray[np.float64]:
    if vector is None and bm25 is None:
        return np.zeros(count)
    if vector is None or bm25 is None:
        return vector if vector is not None else bm25 if bm25 is not None else np.zeros(count)
    return params.vector_weight * vector + params.bm25_weight * bm25


def _score(
    rule: Rule,
    index: int,
    hybrid: float,
    vector: NDArray[np.float64] | None,
    bm25: NDArray[np.float64] | None,
    params: MatchParams,
) -> tuple[RuleMatch, int]:
    priority = params.priority_weight * min(max(rule.priority, 0), 100) / 100
    scope = params.scope_weight * params.level_weights.get(rule.level, 1.0)
    final = params.hybrid_weight * hybrid + priority + scope
    ours = None if vector is None else float(vector[index])
    theirs = None if bm25 is None else float(bm25[index])
    parts = [
        f"{name} {value:.2f}" for name, value in (("meaning", ours), ("words", theirs)) if value is not None
    ]
    detail = f" ({', '.join(parts)})" if parts else ""
    why = (
        f"relevance {hybrid:.2f}{detail} passes {params.threshold:.2f}; "
        f"with priority {rule.priority} and {rule.level.value} scope it scores {final:.3f}"
    )
    return RuleMatch(rule, hybrid, ours, theirs, priority, scope, final, why), index
