"""One relevance from cosine and BM25, on a scale where 0.5 means "as likely relevant as not".

The two scales do not match: BM25 divided by its maximum gives the best lexical match full marks for every
query, also where it shares only common words, and costs more than it brings. Here each score is first made
absolute. A cosine counts from the model's background, what unrelated texts have. A BM25 score counts by how
far it rises above the query's other documents, as a share of the query's information, and steeply so:
rare names found in few places count in full, words that many documents share count nothing. The
specification's weights, 0.7 and 0.3, apply to the two normalised scores. Parameters were fixed on one half of
the queries of two public sets and measured on the other (`python -m bench.embedding DATA`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32

VECTOR_WEIGHT: Final = 0.7
LEXICAL_WEIGHT: Final = 0.3

OTHERS: Final = 20
"""A BM25 score is compared with the one at this rank; with half the documents where there are few."""

STANDING_OUT: Final = 0.35
"""Share of the query's information at which a match counts half."""

STEEPNESS: Final = 6.0

_LEAST_BOUND: Final = 1e-6

EVEN_SHARE: Final = 0.3
"""Without vectors: the share of the query's information at which a document is as likely relevant as not."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a model's cosines read: `background` of unrelated texts, `even` where relevance is even odds."""

    background: float
    even: float


MINILM: Final = Calibration(background=0.10, even=0.46)
"""all-MiniLM-L6-v2: the mean of unrelated pairs; what best parts messages with a known intent from others."""


def fuse(
    cosine: Float32,
    bm25: Float32,
    bound: float,
    *,
    names: Float32 | None = None,
    calibration: Calibration = MINILM,
    weights: tuple[float, float] = (VECTOR_WEIGHT, LEXICAL_WEIGHT),
) -> Float32:
    """Return the relevance of each document, float32 [n] in [0, 1].

    `cosine` float32 [n] in [-1, 1], NaN where a document has no vector yet; `bm25` float32 [n], 0 or more;
    `bound` is what no document's BM25 can reach for this query (`Bm25Index.bound`), 0 if it has no terms.
    `names` float32 [n] in [0, 1] is the share of the query's compound names a document holds
    (`Bm25Index.names`); it is lexical evidence by itself, because an exact name is seldom a coincidence.
    The order is that of `weights[0] · above_background + weights[1] · standing_out`; the last step only moves
    the scale so that a document of even odds by cosine alone gets 0.5.
    """
    vector, lexical = weights
    total = vector + lexical
    meaning = vector * score_excess(cosine, calibration.background)
    evidence = score_prominence(bm25, bound)
    words = lexical * (evidence if names is None else np.maximum(evidence, names))
    even = vector / total * (calibration.even - calibration.background) / (1 - calibration.background)
    return _scale((meaning + words) / total, even)


def fuse_lexical(bm25: Float32, bound: float) -> Float32:
    """Return relevance float32 [n] in [0, 1] from BM25 alone, for when there are no vectors; BM25's order."""
    return _scale(_shares(bm25, bound), EVEN_SHARE)


def score_excess(cosine: Float32, background: Float32 | float = MINILM.background) -> Float32:
    """Return cosines float32 [n] as shares of the way from the model's background to identity, in [0, 1]."""
    way = (np.nan_to_num(cosine, nan=-1.0) - background) / (1 - background)
    return _unit(way)


def score_prominence(bm25: Float32, bound: float) -> Float32:
    """Return how much each score stands out, float32 [n] in [0, 1]; half at `STANDING_OUT` of the bound."""
    ahead = np.maximum(_shares(bm25, bound) - _shares(_others(bm25), bound), 0.0)
    raised = ahead**STEEPNESS
    return _unit(raised / (raised + STANDING_OUT**STEEPNESS))


def _others(bm25: Float32) -> Float32:
    """The score at rank `OTHERS`, or in the middle of a short list; 0 where there is one document only."""
    rank = min(OTHERS, (len(bm25) + 1) // 2 + 1)
    if rank > len(bm25):
        return np.zeros(1, np.float32)
    return np.partition(bm25, len(bm25) - rank)[len(bm25) - rank : len(bm25) - rank + 1]


def _shares(bm25: Float32, bound: float) -> Float32:
    return _unit(bm25.astype(np.float64) / max(bound, _LEAST_BOUND))


def _unit(values: NDArray[np.floating[Any]]) -> Float32:
    result: Float32 = np.clip(values, 0.0, 1.0).astype(np.float32)
    return result


def _scale(values: NDArray[np.floating[Any]], even: float) -> Float32:
    return _unit(np.interp(values, [0.0, even, 1.0], [0.0, 0.5, 1.0]))
