"""Which rules answer to a message [adr2]: filters, the relevance gate, the score, the ten best, and why.

Everything is a pure function of the rules and of scores computed elsewhere. A rule matches only if it is
relevant (`docs/adr/0003-relevance-gates-rules.md`); priority and scope order what is relevant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from workbench.records.dataclass import dataclass
from workbench.records.rules import Level, Rule
from workbench.rules.matching.filters import MatchColumns, RuleQuery, passing, refusals
from workbench.rules.ruleset import ids_of

__all__ = [
    "MatchParams",
    "MatchReport",
    "RuleMatch",
    "RuleQuery",
    "Scored",
    "match_columns",
]

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

_DECIMALS = 9


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
class RuleMatch:
    """A rule that matches the message, with the parts of its score. `why` says it in a sentence.

    `relevance` in [0, 1] is the hybrid of `vector`, the best cosine or a score given instead, and `bm25`, the
    lexical evidence in [0, 1]; both are None where there was none. `hybrid` is their weighted sum before it
    was calibrated and `meaning` the vector's part of it. `example` is the rule's example message that is
    closest, '' if what the rule says is closer; `terms` are words of the message that it shares. `priority`
    and `scope` are the weighted parts of `final`.
    """

    rule: Rule
    relevance: float
    vector: float | None
    bm25: float | None
    priority: float
    scope: float
    final: float
    why: str
    hybrid: float | None = None
    meaning: float | None = None
    example: str = ""
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scored:
    """What is known of one rule's relevance; see `RuleMatch`. `detail` says it in words."""

    vector: float | None = None
    bm25: float | None = None
    hybrid: float | None = None
    meaning: float | None = None
    example: str = ""
    terms: tuple[str, ...] = ()
    detail: str = ""


class MatchReport:
    """The matches, best first; `rejected` says of every rule left out why, and is worked out when asked for.

    `barred` are the relevant rules that a filter kept out. `notes` say what was missing for the scores,
    `degraded` names what failed.
    """

    __slots__ = ("_explain", "_rejected", "barred", "degraded", "matches", "notes")

    def __init__(
        self,
        matches: tuple[RuleMatch, ...],
        explain: Callable[[], tuple[tuple[str, str], ...]],
        notes: tuple[str, ...] = (),
        degraded: tuple[str, ...] = (),
        barred: tuple[Rule, ...] = (),
    ) -> None:
        self.matches = matches
        self.barred = barred
        self.notes = notes
        self.degraded = degraded
        self._explain = explain
        self._rejected: tuple[tuple[str, str], ...] | None = None

    @property
    def rejected(self) -> tuple[tuple[str, str], ...]:
        """(rule id, reason) of every rule left out, in the order of the rules."""
        if self._rejected is None:
            self._rejected = self._explain()
        return self._rejected


def match_columns(
    columns: MatchColumns,
    query: RuleQuery,
    relevance: Float64,
    params: MatchParams,
    scored: Callable[[int], Scored],
    notes: tuple[str, ...] = (),
) -> MatchReport:
    """Match rules by their relevance float64 [n] in [0, 1]; `scored` tells of the few best what is behind it.

    Filters come first, then the gate, then the `over_fetch` most relevant are ordered by their final score.
    """
    held, relevant = passing(columns, query), relevance >= params.threshold
    passed = np.flatnonzero(held & relevant)
    fetched = _best(passed, relevance, columns, params.over_fetch)
    finals = _finals(fetched, relevance, columns, params)
    order = np.lexsort((columns.rank[fetched], -columns.priority[fetched], -finals))
    kept = order[: params.limit].tolist()
    matches = tuple(
        _match(columns.rules[row], float(relevance[row]), final, scored(row), params)
        for row, final in zip(fetched[kept].tolist(), finals[kept].tolist(), strict=True)
    )

    def explain() -> tuple[tuple[str, str], ...]:
        late = {int(fetched[place]): float(finals[place]) for place in order[params.limit :].tolist()}
        chosen = set(fetched[kept].tolist())
        reason_of, reasons = refusals(columns, query)
        facts = zip(ids_of(columns.rules), reason_of.tolist(), relevance.tolist(), strict=True)
        return tuple(
            (identifier, _reason(reasons[number], chance, late.get(row), params))
            for row, (identifier, number, chance) in enumerate(facts)
            if row not in chosen
        )

    barred = tuple(columns.rules[row] for row in np.flatnonzero(~held & relevant).tolist())
    return MatchReport(matches, explain, notes, barred=barred)


def _best(rows: Int64, relevance: Float64, columns: MatchColumns, count: int) -> Int64:
    """Return the rows of the `count` most relevant, best first; ties by priority and id."""
    count = max(count, 0)
    if len(rows) > count > 0:
        least = np.partition(relevance[rows], len(rows) - count)[len(rows) - count]
        rows = rows[relevance[rows] >= least]
    order = np.lexsort((columns.rank[rows], -columns.priority[rows], -relevance[rows]))
    return rows[order[:count]]


def _finals(rows: Int64, relevance: Float64, columns: MatchColumns, params: MatchParams) -> Float64:
    priority = params.priority_weight * np.clip(columns.priority[rows], 0, 100) / 100
    scope = np.array([_scope(columns.rules[row], params) for row in rows.tolist()])
    finals: Float64 = np.round(params.hybrid_weight * relevance[rows] + priority + scope, _DECIMALS)
    return finals


def _scope(rule: Rule, params: MatchParams) -> float:
    return params.scope_weight * params.level_weights.get(rule.level, 1.0)


def _reason(filtered: str, relevance: float, final: float | None, params: MatchParams) -> str:
    if filtered:
        return filtered
    if relevance < params.threshold:
        return f"relevance {relevance:.2f} is below {params.threshold:.2f}"
    if final is None:
        return f"not among the {params.over_fetch} most relevant"
    return f"score {final:.3f} is not among the best {params.limit}"


def _match(rule: Rule, relevance: float, final: float, scored: Scored, params: MatchParams) -> RuleMatch:
    detail = f" ({scored.detail})" if scored.detail else ""
    return RuleMatch(
        rule=rule,
        relevance=relevance,
        vector=scored.vector,
        bm25=scored.bm25,
        priority=params.priority_weight * min(max(rule.priority, 0), 100) / 100,
        scope=_scope(rule, params),
        final=final,
        why=(
            f"relevance {relevance:.2f}{detail} passes {params.threshold:.2f}; "
            f"with priority {rule.priority} and {rule.level.value} scope it scores {final:.3f}"
        ),
        hybrid=scored.hybrid,
        meaning=scored.meaning,
        example=scored.example,
        terms=scored.terms,
    )
