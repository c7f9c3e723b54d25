"""Cosines of unit vectors: every one of them, and the best of them in a fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from workbench.ports import Float32, Int64

_DECIMALS = 5


def cosines(vectors: Float32, query: Float32) -> Float32:
    """Return float32 [n] in [-1, 1] of unit vectors [n, d] with a unit query [d].

    Each row is summed alone and rounded, so that the same vectors give the same bytes in any company and
    whatever threads are free, which a product of matrices does not promise.
    """
    found: Float32 = np.einsum("ij,j->i", vectors, query)
    return np.round(found, _DECIMALS, out=found)


def best(ids: Int64, scores: Float32, k: int) -> tuple[Int64, Float32]:
    """Return the ids of the k highest scores and those scores, best first, ties by id."""
    k = min(max(k, 0), len(ids))
    if k == 0:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    if k < len(ids):
        least = np.partition(scores, len(ids) - k)[len(ids) - k]
        kept = np.flatnonzero(scores >= least)
        ids, scores = ids[kept], scores[kept]
    order = np.lexsort((ids, -scores))[:k]
    return ids[order].astype(np.int64), scores[order].astype(np.float32)
