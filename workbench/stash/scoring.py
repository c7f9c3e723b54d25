"""How relevant a segment is to a query, and in which order relevant ones come back [rag §7].

Relevance is made of meaning (the cosine of the nearest chunk, above the model's background), words (the share
of the query's information that the segment has, by BM25) and context: a turn that answers a question has
none of its words, but the turns around it have. The specification's formula orders what is relevant.
`python -m bench.stash` measures the constants, which were chosen on one half of the conversations of a public
set and reported on the other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, Int64

WORDS: Final = 1.5
"""What words count where meaning counts 1."""

BESIDE: Final = (0.1, 0.05)
"""What the relevance of the turn before and after counts, and of those beyond."""

ANSWER: Final = 0.2
"""What that of a question before counts besides, and half of it is taken from a question itself."""

SESSION: Final = 0.2
"""What the mean of the best three of the session counts."""

SESSION_BEST: Final = 3

TOGETHER: Final = 0.6
"""What the share of the query's information counts that a turn has together with two before and after it."""

BRIEF: Final = 100.0
"""Terms of a message whose context counts half: a long one says itself what it is about."""

SESSION_TOGETHER: Final = 0.3
"""What that of the whole session counts."""

MOST: Final = (1 + WORDS) * (1 + 2 * sum(BESIDE) + ANSWER + SESSION) + TOGETHER + SESSION_TOGETHER

NAMED_TIME: Final = 0.3
"""What it counts that a segment is of a time that the query names."""

NAMED_FILE: Final = 0.3
"""What it counts that a segment is of a file that the query names."""

EVEN: Final = 0.18
"""The share of the highest relevance there could be at which the best segment is as likely relevant as not:
as many questions about a conversation have less as questions about another one have more."""

DAY: Final = 86_400.0

FEEDBACK: Final = 0.1
"""How much similarity rises or falls at most by how a segment was used."""

_IGNORED: Final = 0.25
"""What being shown and not taken counts where being taken counts 1."""


@dataclass(frozen=True, slots=True)
class OrderWeights:
    """The specification's formula: weights of similarity, age and age in the stash, and decays in days."""

    similarity: float = 0.6
    temporal: float = 0.2
    recency: float = 0.2
    temporal_days: float = 30.0
    recency_days: float = 7.0
    feedback: float = FEEDBACK

    def score(self, similarity: float, temporal: float, recency: float) -> float:
        """Return the combined score that orders what was found."""
        return self.similarity * similarity + self.temporal * temporal + self.recency * recency


@dataclass(frozen=True, slots=True, eq=False)
class SegmentEvidence:
    """What speaks for k segments, rows ascending: `meaning` and `words` float32 [k] in [0, 1].

    `around` int64 [k, 5] are the places among them of the two before each, itself, and the two after, -1 for
    none or for one that is not among them. `sessions` are keys, 0 for none. `together` and
    `session_together` are shares of the query's information, `lengths` float32 [k] the terms of messages.
    """

    meaning: Float32
    words: Float32
    around: Int64
    asks: NDArray[np.bool_]
    sessions: NDArray[np.uint64]
    together: Float32
    session_together: Float32
    lengths: Float32

    def own(self) -> Float32:
        """Return what speaks for each by itself, float32 [k] in [0, 1 + `WORDS`]."""
        return self.meaning + np.float32(WORDS) * self.words

    def context(self) -> Float32:
        """Return what those around it and its session add, float32 [k]; a question may lose."""
        own = np.append(self.own(), np.float32(0))
        further_before, before, itself, after, further_after = (own[self.around[:, at]] for at in range(5))
        asked = np.append(self.asks, False)[self.around[:, 1]]
        beside, beyond = BESIDE
        found = beside * (before + after) + beyond * (further_before + further_after)
        found += ANSWER * before * asked - ANSWER / 2 * itself * self.asks
        found += SESSION * _best_of_session(own[:-1], self.sessions)
        found += TOGETHER * self.together + SESSION_TOGETHER * self.session_together
        found *= BRIEF / (BRIEF + self.lengths)
        result: Float32 = found.astype(np.float32)
        return result

    def relevance(self) -> Float32:
        """Return float32 [k] in [0, 1] of the highest there could be."""
        found: Float32 = np.clip((self.own() + self.context()) / MOST, 0.0, 1.0).astype(np.float32)
        return found


def calibrate(relevance: Float32) -> Float32:
    """Return similarities float32 [k] in [0, 1]: the same order, 0.5 at even odds."""
    found: Float32 = np.interp(relevance, [0.0, EVEN, 1.0], [0.0, 0.5, 1.0]).astype(np.float32)
    return found


def temporal_score(age_seconds: float, days: float) -> float:
    """Return exp(-age / days), 1 for what is of the future."""
    return math.exp(-max(age_seconds, 0.0) / DAY / days)


def feedback_scores(shown: NDArray[np.int32], merged: NDArray[np.int32]) -> Float32:
    """Return float32 [k] in (-1, 1): above 0 for what was taken when it was shown, below for what was not."""
    ignored = _IGNORED * np.maximum(shown - merged, 0)
    scores: Float32 = ((merged - ignored) / (merged + ignored + 2.0)).astype(np.float32)
    return scores


def _best_of_session(own: Float32, sessions: NDArray[np.uint64]) -> Float32:
    """Return for each the sum of the best of its session over `SESSION_BEST`; 0 without a session."""
    if not len(own):
        return own
    order = np.lexsort((-own, sessions))
    starts = np.flatnonzero(np.r_[True, sessions[order][1:] != sessions[order][:-1]])
    sizes = np.diff(np.r_[starts, len(order)])
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    best = np.where(rank < SESSION_BEST, own[order], 0)
    sums = np.add.reduceat(best, starts) / SESSION_BEST
    found = np.zeros(len(own), np.float32)
    found[order] = np.repeat(sums, sizes)
    found[sessions == 0] = 0
    return found
