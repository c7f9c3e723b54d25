"""How relevant each rule is to a message, in [0, 1], where 0.5 is as likely relevant as not.

Meaning and words are each made absolute, mixed by the specification's weights [adr2], and read off a fitted
curve that allows for the number of texts compared. Shared words count for what meaning leaves open. Where
there are no vectors words alone count, on their own curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.matching.calibration import MatchModel, load_match_model
from workbench.rules.matching.lexical import RuleWords, lexical_relevance
from workbench.rules.matching.texts import RuleTexts, read_texts
from workbench.rules.ruleset import RuleSet
from workbench.text.distinct import ascending
from workbench.text.vectors import cosines

if TYPE_CHECKING:
    from workbench.ports import VectorIndex

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

EXACT_ROWS = 100_000
"""Up to here every row is compared with the message. Above, all prototypes are, and the rows of the best."""

_RESCORED = 300  # ten times what is fetched to be ordered
_COSINE_DECIMALS = 5
_TELLING = 0.1  # evidence by words for which a rule's meaning is always looked at


@dataclass(frozen=True, slots=True, eq=False)
class RuleVectors:
    """Vectors of rules. `rows` float32 [m, d] of length 1 are grouped by `starts` int64 [n + 1].

    `known` bool [n] says which rules have all of their rows. `index` searches the rows.
    """

    model: str
    rows: Float32
    starts: Int64
    known: Bool
    index: VectorIndex | None = None
    _prototypes: list[Float32] = field(default_factory=list)
    _spread: list[float | None] = field(default_factory=list)

    @property
    def prototypes(self) -> Float32:
        """The means of the rules' rows at length 1, float32 [n, d]."""
        if not self._prototypes:
            self._prototypes.append(_means(self.rows, self.starts))
        return self._prototypes[0]

    @property
    def spread(self) -> float | None:
        """The mean cosine of the prototypes to each other, None for fewer than two."""
        if not self._spread:
            self._spread.append(_mean_cosine(self.prototypes[self.known]))
        return self._spread[0]


def rule_texts(rules: Sequence[Rule]) -> RuleTexts:
    """Return the texts of rules that are embedded; those of a set come with their keys, and are not read."""
    return rules.texts if isinstance(rules, RuleSet) else read_texts(rules)


def rule_vectors(
    texts: RuleTexts,
    vectors: Float32,
    model: str,
    known: Bool | None = None,
    *,
    index: VectorIndex | None = None,
) -> RuleVectors:
    """Return the vectors of rules from those of their texts, float32 [m, d]; `known` bool [m] says which are.

    Raises ValueError if they do not fit. What is not finite counts as not known.
    """
    if vectors.ndim != 2 or len(vectors) != len(texts.texts):
        raise ValueError(f"{len(texts.texts)} texts have vectors of shape {vectors.shape}")
    there = np.ones(len(vectors), np.bool_)
    if index is None or not index.approximate:  # which all are compared of; else those that are found
        there = np.asarray(np.isfinite(np.einsum("ij->i", vectors)), np.bool_)  # a sum with either is neither
        if not there.all():
            vectors = np.where(there[:, None], vectors, np.float32(0))
    if known is not None:
        there = there & known
    count = len(texts.starts) - 1
    if not count:
        return RuleVectors(model, vectors, texts.starts, np.zeros(0, np.bool_))
    whole = np.asarray(np.minimum.reduceat(there, texts.starts[:-1]), np.bool_)
    return RuleVectors(model, vectors, texts.starts, whole, index)


def _means(rows: Float32, starts: Int64) -> Float32:
    """Return the mean of each group of rows at length 1."""
    if len(rows) == len(starts) - 1:
        return rows
    sums = np.add.reduceat(rows, starts[:-1], axis=0)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    means: Float32 = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
    return means


def similarities(vectors: RuleVectors, query: Float32, also: Int64 | None = None) -> tuple[Float32, Float32]:
    """Return (best, prototype) cosines float32 [n] to a unit query [d]; NaN for rules without vectors.

    Of an approximate index those of the nearest rules and of the rules `also`; the others have -1.
    """
    if vectors.index is not None and vectors.index.approximate:
        return _nearest(vectors, vectors.index, query, also)
    prototype = cosines(vectors.prototypes, query)
    prototype[~vectors.known] = np.nan
    if len(vectors.rows) == len(vectors.prototypes):
        return prototype, prototype
    if len(vectors.rows) <= EXACT_ROWS:
        best = np.maximum.reduceat(cosines(vectors.rows, query), vectors.starts[:-1])
        best[~vectors.known] = np.nan
        return best, prototype
    best = prototype.copy()
    chosen = _highest(prototype, _RESCORED)
    best[chosen] = np.where(vectors.known[chosen], _best_of(vectors, chosen, query), np.float32(np.nan))
    return best, prototype


def _nearest(
    vectors: RuleVectors, index: VectorIndex, query: Float32, also: Int64 | None
) -> tuple[Float32, Float32]:
    rows = np.flatnonzero(~np.isnan(index.cosines(query, _RESCORED)))
    chosen = np.searchsorted(vectors.starts, rows, side="right") - 1
    chosen = ascending(chosen if also is None else np.concatenate([chosen, also]))
    best, prototype = np.full((2, len(vectors.known)), -1, np.float32)
    near, starts = _rows_of(vectors, chosen)
    best[chosen] = np.maximum.reduceat(cosines(near, query), starts[:-1])
    prototype[chosen] = cosines(_means(near, starts), query)
    best[~vectors.known] = prototype[~vectors.known] = np.nan
    return best, prototype


def _best_of(vectors: RuleVectors, chosen: Int64, query: Float32) -> Float32:
    rows, starts = _rows_of(vectors, chosen)
    return np.maximum.reduceat(cosines(rows, query), starts[:-1])


def _rows_of(vectors: RuleVectors, chosen: Int64) -> tuple[Float32, Int64]:
    """Return the rows of chosen rules, and where those of each begin, the end last."""
    sizes = vectors.starts[chosen + 1] - vectors.starts[chosen]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.arange(int(starts[-1])) - np.repeat(starts[:-1] - vectors.starts[chosen], sizes)
    return vectors.rows[rows], starts


def _highest(values: Float32, count: int) -> Int64:
    """Return the positions of the `count` highest values, and of all that equal the last of them."""
    comparable = np.where(np.isnan(values), np.float32(-2), values)
    if count >= len(values):
        return np.arange(len(values))
    least = np.partition(comparable, len(values) - count)[len(values) - count]
    return np.flatnonzero(comparable >= least)


def closest_part(vectors: RuleVectors, rule: int, query: Float32) -> int:
    """Return which of a rule's rows is closest to the query: 0 is what it says, 1 its first example."""
    return int(cosines(vectors.rows[vectors.starts[rule] : vectors.starts[rule + 1]], query).argmax())


def meaning(best: Float32, prototype: Float32, background: float, model: MatchModel) -> Float64:
    """Return how far rules are above the background, float64 [n] in [0, 1], NaN where unknown."""
    mixed = (1 - model.prototype) * best.astype(np.float64) + model.prototype * prototype
    return np.clip((mixed - background) / (1 - background), 0.0, 1.0)


def background_of(vectors: RuleVectors, model: MatchModel) -> tuple[float, str]:
    """Return the mean cosine of unrelated texts, and a note if it is only estimated.

    For a model nobody calibrated it is the mean cosine of the rules to each other, drawn to the usual value
    where there are few.
    """
    known = model.background_of(vectors.model)
    if known is not None:
        return known, ""
    note = f"relevance is not calibrated for {vectors.model}: its scale is estimated from the rules"
    if vectors.spread is None:
        return model.background, note
    count = int(vectors.known.sum())
    estimate = (count * vectors.spread + model.background_rules * model.background) / (
        count + model.background_rules
    )
    return float(min(max(estimate, -0.5), 0.95)), note


def _mean_cosine(prototypes: Float32) -> float | None:
    count = len(prototypes)
    if count < 2:
        return None
    total = prototypes.astype(np.float64).sum(axis=0)
    own = float(np.einsum("ij,ij->", prototypes, prototypes, dtype=np.float64))
    return round((float(total @ total) - own) / (count * (count - 1)), _COSINE_DECIMALS)


Mode = Literal["hybrid", "dense", "sparse"]

WITHOUT_VECTORS = "rules are matched by words alone: no embedding model is ready"
SOME_WITHOUT = "rules without vectors are matched by words alone"

_DECIMALS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Relevance:
    """The scores of a message, one a rule.

    `relevance` float64 [n] in [0, 1] is the calibrated `hybrid`, which mixes `meaning` and `words`, float [n]
    in [0, 1]. `vector` float32 [n] in [-1, 1] is the best cosine. `meaning` and `vector` are NaN where a rule
    has no vectors and None without any. `notes` say what was missing.
    """

    relevance: Float64
    hybrid: Float64
    words: Float64
    meaning: Float64 | None = None
    vector: Float32 | None = None
    notes: tuple[str, ...] = ()


def relevance_of(
    words: RuleWords,
    text: str,
    vectors: RuleVectors | None = None,
    query: Float32 | None = None,
    *,
    weights: tuple[float, float] = (0.7, 0.3),
    mode: Mode = "hybrid",
    model: MatchModel | None = None,
) -> Relevance:
    """Score rules for a message; `query` float32 [d] is its unit vector.

    `weights` are those of meaning and words. Mode `dense` counts meaning alone and `sparse` words alone; what
    a mode has no vectors for is scored by words, and noted.
    """
    model = model or load_match_model()
    evidence = lexical_relevance(words, text, model.words).astype(np.float64)
    if mode == "sparse":
        return _by_words(words, evidence, model, ())
    if vectors is None or query is None:
        return _by_words(words, evidence, model, (WITHOUT_VECTORS,) if words.texts else ())
    background, note = background_of(vectors, model)
    best, prototype = similarities(vectors, query, np.flatnonzero(evidence >= _TELLING))
    above = meaning(best, prototype, background, model)
    known = ~np.isnan(above)
    share = _lexical_share(mode, weights)
    notes = tuple(filter(None, (note, "" if known.all() else SOME_WITHOUT)))
    counted = above if known.all() else np.where(known, above, 0.0)
    # What meaning already accounts for is not counted twice.
    evidence *= 1 - counted
    hybrid = np.round((1 - share) * counted + np.where(known, share, 1.0) * evidence, _DECIMALS)
    relevance = _calibrate(hybrid, model.curve(share, words.texts))
    if not known.all():
        relevance[~known] = _calibrate(hybrid[~known], model.curve(1.0, words.texts))
    return Relevance(relevance, hybrid, evidence, above, best, notes)


def _by_words(words: RuleWords, evidence: Float64, model: MatchModel, notes: tuple[str, ...]) -> Relevance:
    hybrid = np.round(evidence, _DECIMALS)
    relevance = _calibrate(hybrid, model.curve(1.0, words.texts))
    return Relevance(relevance, hybrid, evidence, notes=notes)


def _lexical_share(mode: Mode, weights: tuple[float, float]) -> float:
    total = sum(weights)
    shares = {"hybrid": weights[1] / total if total > 0 else 1.0, "dense": 0.0, "sparse": 1.0}
    return shares[mode]


def _calibrate(hybrid: Float64, curve: tuple[float, float]) -> Float64:
    even, slope = curve
    relevance = np.round(1 / (1 + np.exp(np.clip(slope * (even - hybrid), -60, 60))), _DECIMALS)
    # Nothing in common is no evidence, wherever the curve starts.
    relevance[hybrid <= 0] = 0.0
    return relevance
