"""Posting lists: term → (document, count), the lexical half of the project index.

Immutable and made of flat arrays, so that an index of ten thousand files opens memory-mapped and a query
touches only the lists of its own terms.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


_ARRAYS = ("offsets", "starts", "docs", "counts", "lengths")


@dataclass(frozen=True, slots=True)
class Postings:
    """Posting lists of n documents over a sorted vocabulary of t terms.

    vocabulary: UTF-8 terms, concatenated; offsets: int64 [t+1] into it
    starts: int64 [t+1] into docs and counts; docs: int32 [p], ascending inside a list; counts: int32 [p]
    lengths: int32 [n], the sum of a document's counts
    """

    vocabulary: bytes
    offsets: Int64
    starts: Int64
    docs: Int32
    counts: Int32
    lengths: Int32

    @property
    def size(self) -> int:
        """Number of documents."""
        return len(self.lengths)

    def term_id(self, term: str) -> int:
        """Return the position of a term in the vocabulary, or -1."""
        wanted = term.encode("utf-8", "surrogateescape")
        low, high = 0, len(self.offsets) - 1
        while low < high:
            middle = (low + high) // 2
            found = self.vocabulary[self.offsets[middle] : self.offsets[middle + 1]]
            if found == wanted:
                return middle
            if found < wanted:
                low = middle + 1
            else:
                high = middle
        return -1

    def posting(self, term: str) -> tuple[Int32, Int32]:
        """Return (docs, counts) of a term; empty arrays if it is unknown."""
        position = self.term_id(term)
        if position < 0:
            return self.docs[:0], self.counts[:0]
        start, stop = self.starts[position], self.starts[position + 1]
        return self.docs[start:stop], self.counts[start:stop]

    def terms(self) -> list[str]:
        """Return the whole vocabulary in order."""
        raw = bytes(self.vocabulary)
        bounds = self.offsets.tolist()
        return [raw[start:stop].decode("utf-8", "surrogateescape") for start, stop in pairwise(bounds)]


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
        terms = np.frombuffer(self._terms, dtype=np.intc).astype(np.int32, copy=False)
        counts = np.frombuffer(self._counts, dtype=np.intc).astype(np.int32, copy=False)
        return _assemble(list(self._numbers), terms, docs, counts, count)


def build_postings(documents: Iterable[Mapping[str, int]]) -> Postings:
    """Build posting lists from one {term: count} per document."""
    builder = PostingsBuilder()
    for document in documents:
        builder.add(document)
    return builder.finish()


def _assemble(terms: list[str], term_ids: Int32, docs: Int32, counts: Int32, size: int) -> Postings:
    encoded = [term.encode("utf-8", "surrogateescape") for term in terms]
    order = sorted(range(len(encoded)), key=encoded.__getitem__)
    rank = np.empty(len(encoded), dtype=np.int32)
    rank[np.asarray(order, dtype=np.int64)] = np.arange(len(encoded), dtype=np.int32)
    ranked = rank[term_ids] if len(term_ids) else term_ids
    by_term = np.argsort(ranked, kind="stable")
    starts = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.bincount(ranked, minlength=len(encoded)), out=starts[1:])
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(encoded[position]) for position in order], out=offsets[1:])
    lengths = np.bincount(docs, weights=counts, minlength=size).astype(np.int32)
    return Postings(
        vocabulary=b"".join(encoded[position] for position in order),
        offsets=offsets,
        starts=starts,
        docs=np.ascontiguousarray(docs[by_term]),
        counts=np.ascontiguousarray(counts[by_term]),
        lengths=lengths,
    )


def merge_postings(pieces: Iterable[tuple[Postings, Int32]], size: int) -> Postings:
    """Merge posting lists into one over `size` documents.

    Each piece comes with an int32 map from its documents to the new ones; -1 drops a document.
    """
    numbers: dict[str, int] = {}
    term_ids: list[Int32] = []
    docs: list[Int32] = []
    counts: list[Int32] = []
    for piece, mapping in pieces:
        local = np.asarray([numbers.setdefault(term, len(numbers)) for term in piece.terms()], dtype=np.int32)
        mapped = mapping[piece.docs]
        keep = mapped >= 0
        term_ids.append(np.repeat(local, np.diff(piece.starts))[keep])
        docs.append(mapped[keep])
        counts.append(piece.counts[keep])
    if not docs:
        return build_postings([])
    all_terms = np.concatenate(term_ids)
    used = np.unique(all_terms)
    renumber = np.full(len(numbers), -1, dtype=np.int32)
    renumber[used] = np.arange(len(used), dtype=np.int32)
    names = list(numbers)
    all_docs = np.concatenate(docs)
    by_doc = np.argsort(all_docs, kind="stable")
    return _assemble(
        [names[position] for position in used.tolist()],
        renumber[all_terms][by_doc],
        all_docs[by_doc],
        np.concatenate(counts)[by_doc],
        size,
    )


def pack_postings(postings: Postings, name: str) -> dict[str, NDArray[Any] | bytes]:
    """Return posting lists as named arrays for a file of arrays."""
    arrays: dict[str, NDArray[Any] | bytes] = {
        f"{name}.{array}": getattr(postings, array) for array in _ARRAYS
    }
    arrays[f"{name}.terms"] = bytes(postings.vocabulary)
    return arrays


def unpack_postings(arrays: Mapping[str, NDArray[Any]], name: str) -> Postings:
    """Undo `pack_postings`. Raises KeyError or ValueError if they are damaged."""
    found = {array: arrays[f"{name}.{array}"] for array in _ARRAYS}
    postings = Postings(vocabulary=arrays[f"{name}.terms"].tobytes(), **found)
    whole = (
        len(postings.offsets) == len(postings.starts) > 0
        and postings.offsets[-1] == len(postings.vocabulary)
        and postings.starts[-1] == len(postings.docs) == len(postings.counts)
    )
    if not whole:
        raise ValueError(f"the posting lists {name} do not add up")
    return postings


def inverse_document_frequency(frequency: int, size: int) -> float:
    """Return the BM25 idf, never negative (Lucene's form)."""
    return float(np.log1p((size - frequency + 0.5) / (frequency + 0.5)))
