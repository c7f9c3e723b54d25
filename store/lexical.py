"""BM25 over a fixed list of texts: bm25s makes the index, numpy alone reads it.

bm25s stores, for every term, the documents that hold it with the score each gets; answering a query is a sum
over a few columns. So only building imports bm25s (0.4 s), and a stored index is memory-mapped. Terms are
those of `workbench.text.terms`, kept as sorted 64-bit hashes, which needs no vocabulary in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from store.vectors import IndexAbout, write_about
from workbench.errors import StoreError
from workbench.text.postings import find_columns, term_hash
from workbench.text.terms import iter_terms
from workbench.text.vectors import best

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, Int64

K1: Final = 1.2
B: Final = 0.75

METHOD: Final = "bm25s"

WHOLE: Final = "="
"""What the terms of whole compound names start with (`workbench.text.terms`)."""

_ARRAYS: Final = ("terms", "starts", "documents", "values", "size")


@dataclass(frozen=True, slots=True, eq=False)
class Bm25Index:
    """BM25 as Lucene has it: `idf · tf / (tf + k1·(1 - b + b·length/mean))`, each query term counted once.

    `terms` are sorted hashes; the documents that hold term `i`, and what it brings each, are from `starts[i]`
    to `starts[i + 1]` in `documents` and `values`. `size` [1] is the number of documents.
    """

    terms: NDArray[np.uint64]
    starts: Int64
    documents: NDArray[np.int32]
    values: Float32
    size: Int64

    def __len__(self) -> int:
        return int(self.size[0])

    def scores(self, query: str) -> Float32:
        """Return BM25 scores float32 [n], 0 where no term matches."""
        total = np.zeros(len(self), np.float32)
        for column in self._columns(query):
            if column >= 0:
                span = slice(self.starts[column], self.starts[column + 1])
                total[self.documents[span]] += self.values[span]
        return total

    def search(self, query: str, k: int, allowed: Int64 | None = None) -> tuple[Int64, Float32]:
        """Return (positions, scores) of at most k best with a positive score, ties by position."""
        scores = self.scores(query)
        positions = np.flatnonzero(scores > 0)
        if allowed is not None:
            positions = np.intersect1d(positions, allowed)
        return best(positions, scores[positions], k)

    def upper_bound(self, query: str) -> float:
        """Return what no document can reach: the sum of the query terms' idf, terms nobody has included.

        A score divided by it is the share of the query's information that a document answers, in [0, 1).
        """
        return float(sum(self._idf(column) for column in self._columns(query)))

    def names(self, query: str) -> Float32:
        """Return how many of the query's compound names each document holds, float32 [n] in [0, 1].

        Names (`hide_cursor`, `TokenStore`) count by their idf, and the less the more documents hold them: one
        that all hold counts nothing. 0 for a query without names; `5pm` is not a name.
        """
        total = np.zeros(len(self), np.float32)
        names = [term for term in dict.fromkeys(iter_terms(query)) if _is_name(term)]
        weights = [self._idf(column) for column in self._columns_of(names)]
        for column, weight in zip(self._columns_of(names), weights, strict=True):
            if column >= 0:
                span = slice(self.starts[column], self.starts[column + 1])
                rarity = weight / self._idf(-1)
                total[self.documents[span]] += rarity * weight / sum(weights)
        return total

    def save(self, directory: Path, records: str) -> None:
        """Write into a directory; `records` names what the texts are. Raises: OSError."""
        for name in _ARRAYS:
            np.save(directory / f"{name}.npy", getattr(self, name), allow_pickle=False)
        write_about(directory, IndexAbout(records, len(self), METHOD))

    def _columns(self, query: str) -> list[int]:
        """Return the column of each distinct query term in order of appearance, -1 for unknown ones."""
        return self._columns_of(list(dict.fromkeys(iter_terms(query))))

    def _columns_of(self, terms: Sequence[str]) -> list[int]:
        return list(find_columns(self.terms, terms).tolist())

    def _idf(self, column: int) -> float:
        held = int(self.starts[column + 1] - self.starts[column]) if column >= 0 else 0
        return float(np.log1p((len(self) - held + 0.5) / (held + 0.5)))


def build_index(texts: Iterable[str]) -> Bm25Index:
    """Index texts by their terms."""
    return index_terms([list(iter_terms(text)) for text in texts])


def index_terms(documents: Sequence[Sequence[str]]) -> Bm25Index:
    """Index documents given as their terms, repeats included."""
    vocabulary = {term: term_hash(term) for terms in documents for term in terms}
    hashes = np.unique(np.fromiter(vocabulary.values(), np.uint64, len(vocabulary)))
    column = dict(zip(vocabulary, find_columns(hashes, vocabulary).tolist(), strict=True))
    if not len(hashes):
        empty = np.zeros(1, np.int64)
        nothing = np.empty(0, np.int32)
        return Bm25Index(hashes, empty, nothing, np.empty(0, np.float32), np.array([len(documents)]))
    import bm25s

    retriever = bm25s.BM25(k1=K1, b=B, method="lucene", dtype="float32", int_dtype="int32")
    identity = {position: position for position in range(len(hashes))}
    ids = [[column[term] for term in terms] for terms in documents]
    retriever.index((ids, identity), create_empty_token=False, show_progress=False)
    stored = retriever.scores
    return Bm25Index(
        hashes,
        np.asarray(stored["indptr"], np.int64),
        np.asarray(stored["indices"], np.int32),
        np.asarray(stored["data"], np.float32),
        np.array([len(documents)]),
    )


def load_index(directory: Path) -> Bm25Index:
    """Open a stored index memory-mapped. Raises: StoreError if it is missing or damaged."""
    try:
        arrays = [np.load(directory / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in _ARRAYS]
    except (OSError, ValueError, EOFError) as error:
        raise StoreError(
            f"the lexical index {directory} cannot be read: {error}", hint="Run `workbench rebuild`."
        ) from error
    terms, starts, documents, scores, size = arrays
    if len(starts) != len(terms) + 1 or len(documents) != len(scores) or int(starts[-1]) != len(scores):
        raise StoreError(f"the lexical index {directory} is damaged", hint="Run `workbench rebuild`.")
    return Bm25Index(terms, starts, documents, scores, size)


def _is_name(term: str) -> bool:
    return term.startswith(WHOLE) and not term[len(WHOLE)].isdigit()
