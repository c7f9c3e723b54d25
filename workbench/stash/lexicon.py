"""BM25 of segments over posting lists, and how much of a query a segment covers with those around it.

Scores are made from counts when they are asked for: of segments in a stored index and of those stashed since
alike, by the same frequencies, so that it makes no difference when an index was written.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from workbench.records.dataclass import dataclass
from workbench.text.postings import Postings, inverse_document_frequency
from workbench.text.terms import iter_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, Int64

K1: Final = 0.9
B: Final = 0.4
"""Of short texts: a turn of a conversation is not less about a word for having more of them."""

COMMON: Final = 0.2
LARGE: Final = 200_000
"""Of so many segments, words that more than this share of them have are not looked up if others are left."""


UNSEEN: Final = 10
"""Segments without any of a query's words that are counted besides those there are.

In a stash of one, a word that no segment has would outweigh five that it has.
"""


@dataclass(frozen=True, slots=True, eq=False)
class TermScores:
    """What a query term brings to the segments that hold it: `rows` int64 ascending, `values` float32."""

    rows: Int64
    values: Float32


@dataclass(frozen=True, slots=True, eq=False)
class LexicalScores:
    """BM25 by term. `bound` is what no segment can reach: the sum of the idf of all terms."""

    terms: tuple[TermScores, ...]
    bound: float
    size: int

    def shares(self) -> Float32:
        """Return float32 [size] in [0, 1): the share of the query's information that a segment answers."""
        total = np.zeros(self.size, np.float32)
        for term in self.terms:
            total[term.rows] += term.values
        return total / np.float32(self.bound) if self.bound else total

    def coverage(self, places: NDArray[np.int64]) -> Float32:
        """Return float32 [k]: the share that the segments of a row of `places` int64 [k, w] answer together.

        Each term counts by the segment that has most of it; places of -1 are nobody's.
        """
        total = np.zeros(len(places), np.float32)
        columns = np.ascontiguousarray(places.T)  # the highest of a few is found faster column by column
        values = np.zeros(self.size + 1, np.float32)  # the last one is that of -1
        for term in self.terms:
            values[term.rows] = term.values
            total += functools.reduce(np.maximum, (values[column] for column in columns))
            values[term.rows] = 0
        return total / np.float32(self.bound) if self.bound else total

    def group_coverage(self, rows: Int64, groups: NDArray[np.uint64]) -> Float32:
        """Return float32 [k]: the share that all segments of a row's group answer together; 0 in group 0."""
        total = np.zeros(len(rows), np.float32)
        if not len(rows) or not self.bound:
            return total
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.r_[True, groups[order][1:] != groups[order][:-1]])
        sizes = np.diff(np.r_[starts, len(order)])
        values = np.zeros(self.size, np.float32)
        for term in self.terms:
            values[term.rows] = term.values
            total[order] += np.repeat(np.maximum.reduceat(values[rows[order]], starts), sizes)
            values[term.rows] = 0
        total[groups == 0] = 0
        return total / np.float32(self.bound)


class Lexicon:
    """The words of segments: posting lists of consecutive rows, those of a stored index and of its tail."""

    def __init__(self, parts: Sequence[Postings]) -> None:
        self.parts = tuple(parts)
        self._starts = np.cumsum([0, *(part.size for part in self.parts)])
        lengths = np.concatenate([np.zeros(0, np.int32), *(part.lengths for part in self.parts)])
        self.lengths = lengths.astype(np.float32)
        mean = float(lengths.mean()) if len(lengths) else 0.0
        self._norms = (K1 * (1 - B + B * lengths / max(mean, 1e-9))).astype(np.float32)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def scores(self, query: str) -> LexicalScores:
        """Return what the terms of a query bring to each segment; each term counts once."""
        terms = list(dict.fromkeys(iter_terms(query)))
        found = [(self._posting(term)) for term in terms]
        weights = [inverse_document_frequency(len(rows), len(self) + UNSEEN) for rows, _ in found]
        most = COMMON * len(self) if len(self) > LARGE else len(self)
        if all(len(rows) > most or not len(rows) for rows, _ in found):
            most = len(self)
        scored = [
            TermScores(rows, (weight * counts / (counts + self._norms[rows])).astype(np.float32))
            for (rows, counts), weight in zip(found, weights, strict=True)
            if 0 < len(rows) <= most
        ]
        return LexicalScores(tuple(scored), float(sum(weights)), len(self))

    def holders(self, term: str) -> Int64:
        """Return the rows of the segments that have a term, int64 ascending."""
        return self._posting(term)[0]

    def _posting(self, term: str) -> tuple[Int64, NDArray[Any]]:
        pieces = [part.posting(term) for part in self.parts]
        rows = [docs.astype(np.int64) + start for (docs, _), start in zip(pieces, self._starts, strict=False)]
        counts = [held.astype(np.float32) for _, held in pieces]
        if len(pieces) == 1:
            return rows[0], counts[0]
        return np.concatenate([np.zeros(0, np.int64), *rows]), np.concatenate(
            [np.zeros(0, np.float32), *counts]
        )
