"""What a claim about two systems needs: intervals by the bootstrap and paired permutation tests, seeded.

Measures of a mean resample the values. Micro-averaged F1 is no mean over messages, so its tests resample and
exchange the messages' counts (Yeh 2000, More accurate tests for the statistical significance of result
differences).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.replay.metrics import f1

ROUNDS = 2000
EXCHANGES = 5000
_CLOSE = 1e-12  # differences that rounding alone makes
_CELLS = 2_000_000  # numbers drawn at once


@dataclass(frozen=True, slots=True)
class Difference:
    """How much the first system is above the second: 95 % interval and two-sided p."""

    value: float
    low: float
    high: float
    p: float


def bootstrap(values: Sequence[float], *, rounds: int = ROUNDS, seed: int = 7) -> tuple[float, float]:
    """Return a 95 % percentile bootstrap interval of the mean."""
    data = np.asarray(values, dtype=np.float64)
    if not len(data):
        return 0.0, 0.0
    return _middle([data[rows].mean(axis=1) for rows in _samples(len(data), rounds, seed)])


def paired_permutation(
    first: Sequence[float], second: Sequence[float], *, rounds: int = EXCHANGES, seed: int = 7
) -> float:
    """Return the two-sided p of a paired sign-flip test on the mean difference."""
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not len(difference) or not difference.any():
        return 1.0
    random = np.random.default_rng(seed)
    extreme = 0
    for size in _blocks(rounds, len(difference)):
        signs = random.choice([-1.0, 1.0], size=(size, len(difference)))
        extreme += _extreme((signs * difference).mean(axis=1), float(difference.mean()))
    return (extreme + 1) / (rounds + 1)


def mean_difference(first: Sequence[float], second: Sequence[float], *, seed: int = 7) -> Difference:
    """Compare the means of paired values."""
    gaps = np.subtract(first, second, dtype=np.float64)
    low, high = bootstrap(gaps.tolist(), seed=seed)
    value = float(gaps.mean()) if len(gaps) else 0.0
    return Difference(value, low, high, paired_permutation(first, second, seed=seed))


def micro_f1(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return the F1 of counts [..., n, 3] summed over n: true positives, false positives, false negatives."""
    total = np.asarray(counts, np.float64).sum(axis=-2)
    return f1(total[..., 0], total[..., 1], total[..., 2])


def micro_f1_interval(counts: NDArray[Any], *, rounds: int = ROUNDS, seed: int = 7) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of micro F1 over messages; counts int [n, 3]."""
    if not len(counts):
        return 0.0, 0.0
    return _middle([micro_f1(counts[rows]) for rows in _samples(len(counts), rounds, seed)])


def micro_f1_difference(first: NDArray[Any], second: NDArray[Any], *, seed: int = 7) -> Difference:
    """Compare the micro F1 of two systems on the same messages; counts int [n, 3].

    The interval resamples messages, the same for both; p comes from exchanging the systems' counts message by
    message. Raises ValueError if the shapes differ.
    """
    if first.shape != second.shape:
        raise ValueError(f"counts of {first.shape} cannot be paired with counts of {second.shape}")
    if not len(first):
        return Difference(0.0, 0.0, 0.0, 1.0)
    value = float(micro_f1(first) - micro_f1(second))
    samples = _samples(len(first), ROUNDS, seed)
    low, high = _middle([micro_f1(first[rows]) - micro_f1(second[rows]) for rows in samples])
    random = np.random.default_rng(seed)
    extreme = 0
    for size in _blocks(EXCHANGES, len(first)):
        exchange = random.random((size, len(first))) < 0.5
        moved = exchange.astype(np.float64) @ (second - first)
        mine, theirs = first.sum(axis=0) + moved, second.sum(axis=0) - moved
        extreme += _extreme(micro_f1(mine[:, None]) - micro_f1(theirs[:, None]), value)
    return Difference(value, low, high, (extreme + 1) / (EXCHANGES + 1))


def _samples(count: int, rounds: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield rows drawn with replacement, int64 [some rounds, count], until there are `rounds` of them."""
    random = np.random.default_rng(seed)
    for size in _blocks(rounds, count):
        yield random.integers(0, count, size=(size, count))


def _blocks(rounds: int, count: int) -> Iterator[int]:
    """Yield how many rounds to work on at once, so that memory does not grow with the number of messages."""
    most = max(1, _CELLS // count)
    for done in range(0, rounds, most):
        yield min(most, rounds - done)


def _middle(parts: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    low, high = np.percentile(np.concatenate(parts), [2.5, 97.5])
    return float(low), float(high)


def _extreme(gaps: NDArray[np.float64], value: float) -> int:
    return int((np.abs(gaps) >= abs(value) - _CLOSE).sum())
