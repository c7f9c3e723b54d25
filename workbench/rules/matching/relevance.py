"""How relevant each rule is to a message, in [0, 1], where 0.5 is as likely relevant as not.

Meaning and words are each made absolute, mixed by the specification's weights [adr2], and read off a fitted
curve that allows for the number of texts compared. Shared words count for what meaning leaves open. Where
there are no vectors words alone count, on their own curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workbench.rules.matching.calibration import MatchModel, load_match_model
from workbench.rules.matching.lexical import RuleWords, lexical_relevance
from workbench.rules.matching.vectors import RuleVectors, background_of, meaning, similarities

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
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
        return _by_words(words, evidence, model, (WITHOUT_VECTORS,))
    background, note = background_of(vectors, model)
    best, prototype = similarities(vectors, query)
    above = meaning(best, prototype, background, model)
    known = ~np.isnan(above)
    share = _lexical_share(mode, weights)
    notes = tuple(filter(None, (note, "" if known.all() else SOME_WITHOUT)))
    counted = above if known.all() else np.where(known, above, 0.0)
    # What meaning already accounts for is not counted twice.
    evidence *= 1 - counted
    hybrid = np.round((1 - share) * counted + np.where(known, share, 1.0) * evidence, _DECIMALS)
    relevance = _calibrated(hybrid, model.curve(share, words.texts))
    if not known.all():
        relevance[~known] = _calibrated(hybrid[~known], model.curve(1.0, words.texts))
    return Relevance(relevance, hybrid, evidence, above, best, notes)


def _by_words(words: RuleWords, evidence: Float64, model: MatchModel, notes: tuple[str, ...]) -> Relevance:
    hybrid = np.round(evidence, _DECIMALS)
    relevance = _calibrated(hybrid, model.curve(1.0, words.texts))
    return Relevance(relevance, hybrid, evidence, notes=notes)


def _lexical_share(mode: Mode, weights: tuple[float, float]) -> float:
    total = sum(weights)
    shares = {"hybrid": weights[1] / total if total > 0 else 1.0, "dense": 0.0, "sparse": 1.0}
    return shares[mode]


def _calibrated(hybrid: Float64, curve: tuple[float, float]) -> Float64:
    even, slope = curve
    relevance = np.round(1 / (1 + np.exp(np.clip(slope * (even - hybrid), -60, 60))), _DECIMALS)
    # Nothing in common is no evidence, wherever the curve starts.
    relevance[hybrid <= 0] = 0.0
    return relevance
