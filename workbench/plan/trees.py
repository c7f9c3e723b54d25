"""An ensemble of regression trees over named features, evaluated by numpy from arrays of its nodes.

It was grown for LambdaRank [Burges 2010] by `python -m bench train`. What a feature contributes to a score
is what the steps that ask for it change in the mean of the training rows below a node [Saabas 2014]; with
the mean of all, these sum to the score.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ModelError
from workbench.records.dataclass import dataclass

Float64 = NDArray[np.float64]
LEAF = -1


@dataclass(frozen=True, slots=True)
class Trees:
    """n nodes of t trees. A leaf has column LEAF and points at itself.

    columns int64 [n] into `names`; limits float32 [n]; low, high int64 [n], where to go with a value up to
    the limit and above it; means float64 [n] of the training rows below; roots int64 [t].
    """

    names: tuple[str, ...]
    columns: NDArray[np.int64]
    limits: NDArray[np.float32]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    means: Float64
    roots: NDArray[np.int64]

    def leave_out(self, signals: Collection[str]) -> Trees:
        """Return trees for which all features of some signals are 0."""
        return replace(self, names=tuple("" if n.split(".")[0] in signals else n for n in self.names))

    def score(self, names: Sequence[str], matrix: NDArray[np.float32]) -> Float64:
        """Return float64 [c], the scores of c rows of the f named features."""
        return np.asarray(self.contribute(names, matrix).sum(axis=1) + self.means[self.roots].sum())

    def contribute(self, names: Sequence[str], matrix: NDArray[np.float32]) -> Float64:
        """Return float64 [c, f], what each of the f named features adds to the score of each of c rows.

        A feature that no column has counts as 0.
        """
        rows = len(matrix)
        place = {name: column for column, name in enumerate(names)}
        known = [place.get(name, len(names)) for name in self.names]
        values = np.zeros((rows, len(names) + 1), dtype=np.float32)
        values[:, :-1] = matrix
        columns = np.asarray([*known, len(names)], dtype=np.int64)[self.columns]
        parts = np.zeros(rows * (len(names) + 1))
        flat = values.reshape(-1)
        node = np.tile(self.roots, rows)
        start = np.repeat(np.arange(rows, dtype=np.int64) * (len(names) + 1), len(self.roots))
        mean = self.means.take(node)
        while len(node):
            asked = start + columns.take(node)
            after = np.where(
                flat.take(asked) <= self.limits.take(node), self.low.take(node), self.high.take(node)
            )
            below = self.means.take(after)
            parts += np.bincount(asked, below - mean, len(parts))
            ahead = np.flatnonzero(self.columns.take(after) != LEAF)
            node, start, mean = after.take(ahead), start.take(ahead), below.take(ahead)
        return parts.reshape(rows, len(names) + 1)[:, :-1]


@dataclass(frozen=True, slots=True)
class ReadModel:
    """Trees whose score is added to that of a file that was read, and how the sum is to be taken.

    `relevance` and `confidence` are those of a `RankingModel` after it.
    """

    trees: Trees
    relevance: tuple[float, float]
    confidence: tuple[float, float, float]


def parse_trees(document: Mapping[str, Any], source: str) -> Trees:
    """Read trees from {features, columns, limits, low, high, means, roots}.

    Raises: ModelError where a node points out of the trees or back, or a number is not finite; KeyError,
    TypeError, ValueError for what is no such document.
    """
    names = tuple(map(str, document["features"]))
    columns, low, high, roots = (
        np.asarray(document[key], dtype=np.int64) for key in ("columns", "low", "high", "roots")
    )
    limits = np.asarray(document["limits"], dtype=np.float32)
    means = np.asarray(document["means"], dtype=np.float64)
    count = len(columns)
    leaf, own = columns == LEAF, np.arange(count)
    sound = (
        all(array.shape == (count,) for array in (low, high, limits, means))
        and ((columns >= LEAF) & (columns < len(names))).all()
        and np.isfinite(limits).all()
        and np.isfinite(means).all()
        and (np.where(leaf, (low == own) & (high == own), (low > own) & (high > own))).all()
        and (np.maximum(low, high) < count).all()
        and ((roots >= 0) & (roots < count)).all()
    )
    if not sound:
        raise ModelError(f"the trees of {source} are damaged", hint="reinstall, or name another model")
    return Trees(names, columns, limits, low, high, means, roots)
