"""An ensemble of regression trees over named features, evaluated by numpy from arrays of its nodes.

It was grown for LambdaRank [Burges 2010] by `python -m bench train`. What a feature contributes to a score
is what the steps that ask for it change in the mean of the training rows below a node [Saabas 2014]; with
the mean of all, these sum to the score.

The leaf of a row is found without a walk: each comparison that fails rules out the leaves on its low side,
and the first leaf that is left is the row's [QuickScorer, Lucchese 2015]. So all trees are asked at once, a
comparison of each at a time, for all rows side by side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ModelError
from workbench.records.dataclass import dataclass

Float64 = NDArray[np.float64]
LEAF = -1
MOST_LEAVES: Final = 64  # of a tree: what is left of them is a number of so many bits


@dataclass(frozen=True, slots=True, eq=False)
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
        """Return float64 [c], the scores of c rows by the f named features alone."""
        return self.sum_leaves(names, self.find_leaves(names, matrix))

    def sum_leaves(self, names: Sequence[str], leaves: NDArray[np.int64]) -> Float64:
        """Return what `score` does for c rows that are in the leaves int64 [t, c]."""
        if {*self.names} <= {*names}:
            return np.asarray(self.means.take(_layout(self).leaves).take(leaves).sum(axis=0))
        return np.asarray(self.contributions_of(names, leaves).sum(axis=1) + self.mean)

    @property
    def mean(self) -> float:
        """The mean score of all training rows, which no feature contributes."""
        return float(self.means[self.roots].sum())

    def find_leaves(self, names: Sequence[str], matrix: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return int64 [t, c], the leaf of each tree that each of c rows of the f named features is in.

        Leaves are numbered from the first tree on, those of a tree from its low side on. A feature that no
        column has counts as 0.
        """
        layout = _layout(self)
        values = np.zeros((len(names) + 1, len(matrix)), np.float32)
        values[:-1] = matrix.T
        values = values.take(_places(self, tuple(names))[:-1], axis=0)
        kind = layout.left.dtype.type
        left = np.full((len(self.roots), len(matrix)), ~kind(0), kind)
        for columns, limits, below in zip(layout.columns, layout.limits, layout.left, strict=True):
            holds = -(values.take(columns, axis=0) <= limits[:, None]).astype(kind)  # all bits, or none
            left &= holds | below[:, None]
        first = np.bitwise_count(~left & (left - kind(1)))  # the bits below the lowest one
        return np.asarray(first + layout.starts[:, None])

    def contribute(self, names: Sequence[str], matrix: NDArray[np.float32]) -> Float64:
        """Return float64 [c, f], what each of the f named features adds to the score of each of c rows.

        A feature that no column has counts as 0.
        """
        return self.contributions_of(names, self.find_leaves(names, matrix))

    def contributions_of(self, names: Sequence[str], leaves: NDArray[np.int64]) -> Float64:
        """Return what `contribute` does for c rows that are in the leaves int64 [t, c]."""
        rows, width = leaves.shape[1], len(names) + 1
        paths = _paths(self)
        ends = leaves.reshape(-1)
        lengths = paths.lengths.take(ends)
        begins = np.cumsum(lengths) - lengths
        steps = np.repeat(paths.starts.take(ends) - begins, lengths)
        steps += np.arange(len(steps))
        cells = _places(self, tuple(names)).take(paths.columns.take(steps))
        cells += np.repeat(np.tile(np.arange(rows) * width, len(leaves)), lengths)
        cells += (steps - np.repeat(paths.starts.take(ends), lengths)) * (rows * width)
        most = int(lengths.max(initial=0))
        parts = np.bincount(cells, paths.gains.take(steps), most * rows * width)
        return np.asarray(
            parts.reshape(most, rows, width)[:, :, :-1].sum(axis=0)
        )  # in the order of the steps


@lru_cache(maxsize=16)
def _places(trees: Trees, names: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the column of each feature of trees, and of none, among named ones: their number for none."""
    place = {name: column for column, name in enumerate(names)}
    return np.asarray([*(place.get(name, len(names)) for name in trees.names), len(names)], np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Trees by their comparisons, at most s in each of t.

    columns int64, limits float32, left uint [s, t]: a bit for each leaf that a comparison that fails leaves.
    leaves int64 [l], the node of each leaf; those of a tree begin at its place in `starts`, int64 [t].
    """

    columns: NDArray[np.int64]
    limits: NDArray[np.float32]
    left: NDArray[Any]
    leaves: NDArray[np.int64]
    starts: NDArray[np.int64]


@lru_cache(maxsize=8)
def _layout(trees: Trees) -> _Layout:
    low, high = trees.low, trees.high
    levels = [*_levels(trees)]
    sizes = (trees.columns == LEAF).astype(np.int64)  # leaves below each node, itself one
    for nodes in reversed(levels):
        sizes[nodes] = sizes[low[nodes]] + sizes[high[nodes]]
    before = np.zeros_like(sizes)  # leaves of the tree on the low side of each node
    tree = np.zeros_like(sizes)
    tree[trees.roots] = np.arange(len(trees.roots))
    for nodes in levels:
        before[low[nodes]], before[high[nodes]] = before[nodes], before[nodes] + sizes[low[nodes]]
        tree[low[nodes]] = tree[high[nodes]] = tree[nodes]
    most = int(sizes[trees.roots].max(initial=1))
    if most > MOST_LEAVES:
        raise ModelError(f"a tree has {most} leaves, more than {MOST_LEAVES}", hint="grow smaller trees")
    bits = max(8, 1 << (most - 1).bit_length())
    kind = np.dtype(f"uint{bits}").type
    inner, ends = np.concatenate([trees.roots[:0], *levels]), np.flatnonzero(trees.columns == LEAF)
    place = before[inner] + sizes[low[inner]] - 1, tree[inner]
    columns, limits, left = (
        np.full((most - 1, len(trees.roots)), value, of)
        for value, of in ((0, np.int64), (np.inf, np.float32), (~kind(0), kind))
    )
    columns[place], limits[place] = trees.columns[inner], trees.limits[inner]
    below = (~kind(0) >> (bits - sizes[low[inner]]).astype(kind)) << before[inner].astype(kind)
    left[place] = ~below
    starts = np.cumsum(sizes[trees.roots]) - sizes[trees.roots]
    leaves = np.zeros(int(sizes[trees.roots].sum()), np.int64)
    leaves[starts[tree[ends]] + before[ends]] = ends
    return _Layout(columns, limits, left, leaves, starts)


@dataclass(frozen=True, slots=True, eq=False)
class _Paths:
    """The steps from the root to each of l leaves, one path after the other.

    starts, lengths int64 [l], where the steps to a leaf begin and how many they are; columns int64, gains
    float64 [s], what a step asks for and what it changes in the mean.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    columns: NDArray[np.int64]
    gains: Float64


@lru_cache(maxsize=8)
def _paths(trees: Trees) -> _Paths:
    above, depth = np.zeros((2, len(trees.columns)), np.int64)
    levels = [*_levels(trees)]
    for far, nodes in enumerate(levels, 1):
        for below in (trees.low[nodes], trees.high[nodes]):
            above[below], depth[below] = nodes, far
    nodes = _layout(trees).leaves.copy()
    lengths = depth.take(nodes)
    starts = np.cumsum(lengths) - lengths
    columns, gains = np.zeros(int(lengths.sum()), np.int64), np.zeros(int(lengths.sum()))
    for far in range(len(levels), 0, -1):
        deep = np.flatnonzero(lengths >= far)
        below = nodes.take(deep)
        upper = above.take(below)
        steps = starts.take(deep) + (far - 1)
        columns[steps] = trees.columns.take(upper)
        gains[steps] = trees.means.take(below) - trees.means.take(upper)
        nodes[deep] = upper
    return _Paths(starts, lengths, columns, gains)


def _levels(trees: Trees) -> Iterator[NDArray[np.int64]]:
    """Yield the nodes that ask for something, by how far they are from their root."""
    nodes = trees.roots
    while len(nodes := nodes[trees.columns[nodes] != LEAF]):
        yield nodes
        nodes = np.concatenate([trees.low[nodes], trees.high[nodes]])


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

    Raises: ModelError where a node points out of the trees, back, or where another one does, a number is not
    finite, or a tree has more than `MOST_LEAVES`; KeyError, TypeError, ValueError for what is not such a
    document.
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
        and (np.bincount(np.concatenate([roots, low[~leaf], high[~leaf]]), minlength=count) == 1).all()
    )
    if not sound:
        raise ModelError(f"the trees of {source} are damaged", hint="reinstall, or name another model")
    trees = Trees(names, columns, limits, low, high, means, roots)
    _layout(trees)
    return trees
