"""Posting lists, term → (document, count): the one inverted index of the engine.

Code files, messages of past tasks, rules and learnings are found through it; each weighs what it finds in its
own way. Immutable and made of flat arrays: an index of ten thousand files opens memory-mapped, a query
touches only the lists of its own terms, and an update merges arrays. Terms are known by sorted 64-bit hashes.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records.dataclass import dataclass

UInt64 = NDArray[np.uint64]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

_DTYPES = {"terms": np.uint64, "starts": np.int64, "docs": np.int32, "counts": np.int32, "lengths": np.int32}


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Posting lists of n documents over t terms.

    terms: uint64 [t], hashes of the terms, ascending
    starts: int64 [t+1] into docs and counts; docs: int32 [p], ascending inside a list; counts: int32 [p]
    lengths: int32 [n], the sum of a document's counts
    """

    terms: UInt64
    starts: Int64
    docs: Int32
    counts: Int32
    lengths: Int32

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Postings) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in _DTYPES
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def size(self) -> int:
        """Number of documents."""
        return len(self.lengths)

    def columns(self, terms: Iterable[str]) -> Int64:
        """Return the number of each term's list, int64, -1 for terms of no document."""
        return find_columns(self.terms, terms)

    def posting(self, term: str) -> tuple[Int32, Int32]:
        """Return (docs, counts) of a term; empty arrays if it is unknown."""
        wanted = _query_hash(term)
        column = int(self.terms.searchsorted(wanted))
        if column == len(self.terms) or self.terms[column] != wanted:
            return self.docs[:0], self.counts[:0]
        span = self.span(column)
        return self.docs[span], self.counts[span]

    def span(self, column: int) -> slice:
        """Return where in docs and counts a list is."""
        return slice(int(self.starts[column]), int(self.starts[column + 1]))


class PostingsBuilder:
    """Collects documents one by one in little memory; `finish` makes the posting lists."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._terms = array("i")
        self._counts = array("i")
        self._sizes = array("i")

    def add(self, document: Mapping[str, int]) -> None:
        """Take the next document, {term: count}."""
        numbers = self._numbers
        self._terms.extend([numbers.setdefault(term, len(numbers)) for term in document])
        self._counts.extend(document.values())
        self._sizes.append(len(document))

    def finish(self) -> Postings:
        """Return the posting lists of all documents."""
        count = len(self._sizes)
        docs = np.repeat(np.arange(count, dtype=np.int32), np.frombuffer(self._sizes, dtype=np.intc))
        terms = np.frombuffer(self._terms, dtype=np.intc)
        counts = np.frombuffer(self._counts, dtype=np.intc).astype(np.int32, copy=False)
        hashes, ranks = np.unique(_hashes(self._numbers), return_inverse=True)
        return _assemble(hashes, ranks.astype(np.int32)[terms], docs, counts, count)


def build_postings(documents: Iterable[Mapping[str, int]]) -> Postings:
    """Build posting lists from one {term: count} per document."""
    builder = PostingsBuilder()
    for document in documents:
        builder.add(document)
    return builder.finish()


def merge_postings(pieces: Iterable[tuple[Postings, Int32]], size: int) -> Postings:
    """Merge posting lists into one over `size` documents.

    Each piece comes with an int32 map from its documents to the new ones; -1 drops a document.
    """
    given = list(pieces)
    if not given:
        return build_postings({} for _ in range(size))
    hashes = np.unique(np.concatenate([piece.terms for piece, _ in given]))
    ranks, docs, counts = [], [], []
    for piece, mapping in given:
        moved = mapping[piece.docs]
        keep = moved >= 0
        local = np.searchsorted(hashes, piece.terms).astype(np.int32)
        ranks.append(np.repeat(local, np.diff(piece.starts))[keep])
        docs.append(moved[keep])
        counts.append(piece.counts[keep])
    return _assemble(hashes, np.concatenate(ranks), np.concatenate(docs), np.concatenate(counts), size)


def _assemble(hashes: UInt64, ranks: Int32, docs: Int32, counts: Int32, size: int) -> Postings:
    """Return the lists of postings in any order; `ranks` are the places of their terms among the hashes."""
    # Lists that are merged are ascending already, which a stable sort makes use of.
    by_term = np.argsort(ranks.astype(np.int64) * max(size, 1) + docs, kind="stable")
    held = np.bincount(ranks, minlength=len(hashes))
    hashes, held = hashes[held > 0], held[held > 0]
    starts = np.zeros(len(hashes) + 1, dtype=np.int64)
    np.cumsum(held, out=starts[1:])
    return Postings(
        terms=hashes,
        starts=starts,
        docs=np.ascontiguousarray(docs[by_term], dtype=np.int32),
        counts=np.ascontiguousarray(counts[by_term], dtype=np.int32),
        lengths=np.bincount(docs, weights=counts, minlength=size).astype(np.int32),
    )


def pack_postings(postings: Postings, name: str) -> dict[str, NDArray[Any]]:
    """Return posting lists as named arrays for a file of arrays."""
    return {f"{name}.{array}": getattr(postings, array) for array in _DTYPES}


def unpack_postings(arrays: Mapping[str, NDArray[Any]], name: str) -> Postings:
    """Undo `pack_postings`. Raises KeyError or ValueError if they are damaged."""
    found = {array: arrays[f"{name}.{array}"] for array in _DTYPES}
    postings = Postings(**found)
    whole = (
        all(found[array].dtype == dtype for array, dtype in _DTYPES.items())
        and len(postings.terms) + 1 == len(postings.starts)
        and postings.starts[-1] == len(postings.docs) == len(postings.counts)
    )
    if not whole:
        raise ValueError(f"the posting lists {name} do not add up")
    return postings


def term_hash(term: str) -> int:
    """Return the 64 bits a term is known by."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@lru_cache(maxsize=4096)
def _query_hash(term: str) -> np.uint64:
    """Return the hash of a term that is looked up in one list after the other."""
    return np.uint64(term_hash(term))


def find_columns(vocabulary: UInt64, terms: Iterable[str]) -> Int64:
    """Return the place of each term among sorted hashes, int64, -1 for those that are not there."""
    hashes = _hashes(terms)
    if not len(vocabulary):
        return np.full(len(hashes), -1)
    columns = np.minimum(np.searchsorted(vocabulary, hashes), len(vocabulary) - 1)
    return np.where(vocabulary[columns] == hashes, columns, -1)


def _hashes(terms: Iterable[str]) -> UInt64:
    return np.fromiter(map(term_hash, terms), np.uint64)


def inverse_document_frequency(frequency: int, size: int) -> float:
    """Return the BM25 idf, never negative (Lucene's form)."""
    return float(np.log1p((size - frequency + 0.5) / (frequency + 0.5)))
