"""Finding rules by a text: those that answer to a message [adr2] and those a search finds [rules].

An index holds what both need of a rulebook: columns for filters, words, and vectors where there are any. It
is made once for a rulebook and asked for every message; everything here is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.fetching.facets import RuleColumns, RuleFilter, allowed_positions, column_rules
from workbench.rules.matching.calibration import MatchModel
from workbench.rules.matching.filters import MatchColumns, RuleQuery, match_columns_of
from workbench.rules.matching.lexical import RuleWords, holds_all, index_words, shared_words
from workbench.rules.matching.match import MatchParams, MatchReport, Scored, match_columns
from workbench.rules.matching.relevance import (
    WITHOUT_VECTORS,
    Mode,
    Relevance,
    RuleVectors,
    closest_part,
    relevance_of,
)
from workbench.rules.ruleset import RuleSet
from workbench.text.sanitize import shorten

Float32 = NDArray[np.float32]

_SHOWN = 60  # characters of an example message in a sentence


@dataclass(frozen=True, slots=True, eq=False)
class RuleIndex:
    """What matching needs of rules, all in their order, and `properties` that a search filters by."""

    columns: MatchColumns
    words: RuleWords
    vectors: RuleVectors | None = None
    properties: RuleColumns | None = None


@dataclass(frozen=True, slots=True)
class FoundRule:
    """A rule a search found: `score` in [0, 1] is its relevance in the mode asked for.

    `vector` is the best cosine, None without one, and `words` the lexical evidence in [0, 1].
    """

    rule: Rule
    score: float
    vector: float | None
    words: float


@dataclass(frozen=True, slots=True)
class RuleSearch:
    """Rules found, best first, with the mode that answered; `notes` say why it is not the one asked for."""

    found: tuple[FoundRule, ...]
    mode: Mode
    notes: tuple[str, ...] = ()

    def pairs(self) -> list[tuple[Rule, float]]:
        """Return (rule, score), best first."""
        return [(one.rule, one.score) for one in self.found]


def index_rules(
    rules: Sequence[Rule],
    words: RuleWords | None = None,
    vectors: RuleVectors | None = None,
    properties: RuleColumns | None = None,
) -> RuleIndex:
    """Index rules. What is given of them must be of the same rules in the same order.

    A search wants rules sorted by id, which have different ones; it makes `properties` if they are not given.

    Raises ValueError if their number differs.
    """
    words = words or index_words(rules)
    if words.count != len(rules) or (vectors is not None and len(vectors.known) != len(rules)):
        raise ValueError(f"{len(rules)} rules do not fit the words or vectors given for them")
    columns = rules.matching if isinstance(rules, RuleSet) else match_columns_of(rules)
    return RuleIndex(columns, words, vectors, properties)


def with_vectors(index: RuleIndex, vectors: RuleVectors | None) -> RuleIndex:
    """Return the index with other vectors of the same rules."""
    return replace(index, vectors=vectors)


def match_message(
    index: RuleIndex,
    query: RuleQuery,
    vector: Float32 | None = None,
    params: MatchParams | None = None,
    *,
    text: str | None = None,
    mode: Mode = "hybrid",
    model: MatchModel | None = None,
) -> MatchReport:
    """Return the rules that answer to a message, whose unit vector is float32 [d], or None.

    `text` is what of the message counts for its words, all of it if None.
    """
    params = params or MatchParams()
    text = query.text if text is None else text
    scores = relevance_of(
        index.words,
        text,
        index.vectors,
        vector,
        weights=(params.vector_weight, params.bm25_weight),
        mode=mode,
        model=model,
    )

    def scored(row: int) -> Scored:
        return _score_row(index, scores, row, text, vector)

    return match_columns(index.columns, query, scores.relevance, params, scored, scores.notes)


def search_selected(  # noqa: PLR0913 - the filters of [rules]
    index: RuleIndex,
    query: str,
    selected: RuleFilter | None,
    vector: Float32 | None = None,
    *,
    mode: Mode = "hybrid",
    limit: int = 10,
    least: float = 0.5,
    weights: tuple[float, float] = (0.7, 0.3),
    model: MatchModel | None = None,
) -> RuleSearch:
    """Return the rules a filter lets through (None: all) whose relevance is at least `least`, best first.

    Ties break by priority and id. Without vectors `dense` and `hybrid` search by words, and say so.
    By words a rule that has all of the query's is found, whatever other rules have them, too: its relevance
    is 0.5 and half of what it would be, which keeps the order.
    """
    scores = relevance_of(index.words, query, index.vectors, vector, weights=weights, mode=mode, model=model)
    if mode == "sparse" or WITHOUT_VECTORS in scores.notes:
        whole = holds_all(index.words, query)
        scores = replace(scores, relevance=np.where(whole, 0.5 + scores.relevance / 2, scores.relevance))
    if selected is None:
        rows = np.arange(len(index.columns.rules))
    else:
        rows = allowed_positions(index.properties or column_rules(index.columns.rules), selected)
    return _search_result(index, scores, rows, mode, limit, least)


def _search_result(
    index: RuleIndex, scores: Relevance, rows: NDArray[np.int64], mode: Mode, limit: int, least: float
) -> RuleSearch:
    rows = rows[(scores.relevance[rows] >= least) & (scores.relevance[rows] > 0)]
    order = np.lexsort((index.columns.rank[rows], -index.columns.priority[rows], -scores.relevance[rows]))
    found = tuple(
        FoundRule(
            rule=index.columns.rules[row],
            score=float(scores.relevance[row]),
            vector=_number(scores.vector, row),
            words=float(scores.words[row]),
        )
        for row in rows[order[: max(limit, 0)]].tolist()
    )
    answered: Mode = "sparse" if WITHOUT_VECTORS in scores.notes else mode
    return RuleSearch(found, answered, scores.notes)


def _score_row(index: RuleIndex, scores: Relevance, row: int, text: str, vector: Float32 | None) -> Scored:
    rule = index.columns.rules[row]
    cosine, above = _number(scores.vector, row), _number(scores.meaning, row)
    example = ""
    if cosine is not None and index.vectors is not None and vector is not None:
        part = closest_part(index.vectors, row, vector)
        example = rule.examples[part - 1] if part else ""
    terms = shared_words(rule, text)
    words = float(scores.words[row])
    parts = []
    if cosine is not None:
        closest = f", closest to its example “{shorten(example, _SHOWN)}”" if example else ""
        parts.append(f"meaning {above:.2f} from cosine {cosine:.2f}{closest}")
    parts.append(f"words {words:.2f}" + (f" from {', '.join(terms)}" if terms else ""))
    return Scored(
        vector=cosine,
        bm25=words,
        hybrid=float(scores.hybrid[row]),
        meaning=above,
        example=example,
        terms=terms,
        detail="; ".join(parts),
    )


def _number(column: Float32 | NDArray[np.float64] | None, row: int) -> float | None:
    return None if column is None or np.isnan(column[row]) else float(column[row])
