"""Ranking measures and the statistics a claim needs. Shapes: ranked relevance is bool [k], best first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]


def ndcg(hits: Sequence[bool], relevant: int, k: int = 10) -> float:
    """Return nDCG@k with binary gains; `relevant` counts all relevant items, found or not."""
    if relevant <= 0:
        return 0.0
    discounts = 1.0 / np.log2(np.arange(2, k + 2))
    gained = sum(discount for discount, hit in zip(discounts, hits, strict=False) if hit)
    return float(gained / discounts[: min(relevant, k)].sum())


def recall(hits: Sequence[bool], relevant: int, k: int = 10) -> float:
    """Return the share of the relevant items among the first k."""
    return sum(bool(hit) for hit in hits[:k]) / relevant if relevant > 0 else 0.0


def bootstrap(values: Sequence[float], *, rounds: int = 2000, seed: int = 7) -> tuple[float, float]:
    """Return a 95 % percentile bootstrap interval of the mean."""
    data = np.asarray(values, dtype=np.float64)
    if not len(data):
        return 0.0, 0.0
    draws = np.random.default_rng(seed).integers(0, len(data), size=(rounds, len(data)))
    low, high = np.percentile(data[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def paired_permutation(
    first: Sequence[float], second: Sequence[float], *, rounds: int = 5000, seed: int = 7
) -> float:
    """Return the two-sided p of a paired sign-flip test on the mean difference."""
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not len(difference) or not difference.any():
        return 1.0
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(rounds, len(difference)))
    extreme = np.abs((signs * difference).mean(axis=1)) >= abs(difference.mean()) - 1e-12
    return float((extreme.sum() + 1) / (rounds + 1))
