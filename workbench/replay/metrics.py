"""Measures of a ranking and of an answer, for replays and benchmarks alike.

Hits are bool [k]: whether each ranked item is relevant, best first. Counts compare what was returned with
what was right. Names and definitions are those of ir-measures (nDCG with binary gains, R@k, RR) and of
Manning et al., Introduction to Information Retrieval, chapter 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = Sequence[float] | NDArray[np.floating[Any]]


def ndcg(hits: Sequence[bool], relevant: int, k: int = 10) -> float:
    """Return nDCG@k with binary gains; `relevant` counts all relevant items, found or not."""
    if relevant <= 0:
        return 0.0
    discounts = 1.0 / np.log2(np.arange(2, k + 2))
    gained = sum(discount for discount, hit in zip(discounts, hits, strict=False) if hit)
    return float(gained / discounts[: min(relevant, k)].sum())


def precision(hits: Sequence[bool], k: int = 10) -> float:
    """Return the share of the first k places that hold a relevant item; a place without an item counts."""
    return sum(bool(hit) for hit in hits[:k]) / k


def recall(hits: Sequence[bool], relevant: int, k: int = 10) -> float:
    """Return the share of the relevant items among the first k."""
    return sum(bool(hit) for hit in hits[:k]) / relevant if relevant > 0 else 0.0


def reciprocal_rank(hits: Sequence[bool]) -> float:
    """Return 1 / rank of the first relevant item, 0 if there is none. Its mean over queries is MRR."""
    return next((1.0 / rank for rank, hit in enumerate(hits, start=1) if hit), 0.0)


def auroc(positive: Numbers, negative: Numbers) -> float:
    """Return the chance that a positive scores above a negative, ties counting half; 0.5 without either."""
    above, below = np.asarray(positive, np.float64), np.asarray(negative, np.float64)
    if not len(above) or not len(below):
        return 0.5
    ordered = np.sort(below)
    less, at_most = np.searchsorted(ordered, above, "left"), np.searchsorted(ordered, above, "right")
    return float((less + at_most).sum() / (2 * len(above) * len(below)))


@dataclass(frozen=True, slots=True)
class Counts:
    """What was returned and right, returned and wrong, and right but not returned."""

    true_positives: int
    false_positives: int
    false_negatives: int

    @property
    def precision(self) -> float:
        """The share of what was returned that is right; 0 if nothing was returned."""
        returned = self.true_positives + self.false_positives
        return self.true_positives / returned if returned else 0.0

    @property
    def recall(self) -> float:
        """The share of what is right that was returned; 0 if nothing is right."""
        relevant = self.true_positives + self.false_negatives
        return self.true_positives / relevant if relevant else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall.

        1 if nothing is right and nothing was returned: to abstain is then the right answer.
        """
        return float(f1(self.true_positives, self.false_positives, self.false_negatives))


def f1(
    true_positives: NDArray[Any] | float,
    false_positives: NDArray[Any] | float,
    false_negatives: NDArray[Any] | float,
) -> NDArray[np.float64]:
    """Return 2·tp / (2·tp + fp + fn) of counts of any shape, 1 where all three are 0."""
    gained = 2.0 * np.asarray(true_positives, np.float64)
    total = gained + false_positives + false_negatives
    return np.divide(gained, total, out=np.ones_like(total), where=total > 0)
