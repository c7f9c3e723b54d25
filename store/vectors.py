"""Nearest neighbours by cosine: exact for small sets and narrow filters, hnswlib's graph for large ones.

Filters are applied before the search. Similarities always come from the vectors themselves and are rounded to
six decimals, so that the order of sums in a matrix product decides no tie.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from store.files import private_dir, sync_dir, translated
from workbench.errors import StoreError
from workbench.records.ids import new_id

if TYPE_CHECKING:
    from workbench.ports import Float32, Int64

CROSSOVER: Final = 30_000
"""Vectors from which the graph is used. `python -m bench.vectors` on 2 processors, 384 dimensions, per query:
exact 0.05 ms at 1,000 vectors, 0.8 ms at 10,000, 1.7 ms at 20,000, 5 to 9 ms at 30,000; the graph 0.2 ms at
recall@10 of 1.00, but 5 s to build for 10,000 and 20 s for 30,000. Below this a query is cheap and building
is not."""

M: Final = 16
EF_CONSTRUCTION: Final = 100
EF_SEARCH: Final = 64

_DECIMALS: Final = 6
_BLOCK: Final = 1024
"""Rows multiplied at once: few enough that BLAS stays in this thread. Its workers wait for each other by time
slices of 12 ms when other programs want the processors; the product takes 0.06 ms."""

_SPARE: Final = 16
"""Neighbours fetched beyond k, so that ties at the end are cut by id."""

_SEED: Final = 100
_GRAPH: Final = "graph.bin"


class ExactIndex:
    """Every vector is compared. `vectors` float32 [n, d] of length 1, `ids` distinct int64 [n]."""

    def __init__(self, vectors: Float32, ids: Int64) -> None:
        _check(vectors, ids)
        self._vectors = vectors
        self._ids = ids
        self._order = np.argsort(ids, kind="stable")

    def __len__(self) -> int:
        return len(self._ids)

    def search(self, query: Float32, k: int, allowed: Int64 | None = None) -> tuple[Int64, Float32]:
        """Return (ids, similarities) of at most k nearest, best first, ties by id; only ids in `allowed`."""
        if allowed is None:
            return best(self._ids, similarities(self._vectors, query), k)
        rows = self.rows(allowed)
        return best(self._ids[rows], similarities(self._vectors[rows], query), k)

    def rows(self, ids: Int64) -> Int64:
        """Return the rows of those ids that are here, in the order of the ids."""
        wanted = np.unique(ids)
        if not len(self._ids):
            return np.empty(0, np.int64)
        places = np.searchsorted(self._ids, wanted, sorter=self._order)
        rows = self._order[np.minimum(places, len(self._ids) - 1)]
        found: Int64 = rows[self._ids[rows] == wanted]
        return found

    def save(self, directory: Path) -> None:
        """Write to a directory that does not exist yet, whole or not at all. Raises: StoreError."""
        _save(directory, self._vectors, self._ids, None)


class HnswIndex:
    """hnswlib's graph over the vectors, whose rows are its labels. Nearly always exact search's answers.

    Built by one thread from a fixed seed, so the same vectors give the same graph.
    """

    def __init__(self, vectors: Float32, ids: Int64, *, graph: Path | None = None) -> None:
        import hnswlib

        self._exact = ExactIndex(vectors, ids)
        self._vectors = vectors
        self._ids = ids
        # By inner product the wheel saves an array it never fills; by cosine the array holds the lengths.
        self._graph: Any = hnswlib.Index("cosine", vectors.shape[1])
        if graph is None:
            self._graph.init_index(max(len(ids), 1), ef_construction=EF_CONSTRUCTION, M=M, random_seed=_SEED)
            if len(ids):
                self._graph.add_items(vectors, np.arange(len(ids)), num_threads=1)
        else:
            try:
                self._graph.load_index(str(graph), max_elements=max(len(ids), 1))
            except RuntimeError as error:
                raise _damaged(graph.parent, str(error)) from error
            if self._graph.get_current_count() != len(ids):
                raise _damaged(graph.parent, "the graph holds another number of vectors")

    def __len__(self) -> int:
        return len(self._ids)

    def search(self, query: Float32, k: int, allowed: Int64 | None = None) -> tuple[Int64, Float32]:
        """Return (ids, similarities) of at most k nearest, best first, ties by id; only ids in `allowed`.

        A filter that leaves fewer than the crossover is searched exactly.
        """
        if allowed is None:
            return self._neighbours(query, k, None)
        rows = self._exact.rows(allowed)
        if len(rows) < CROSSOVER:
            return self._among(rows, query, k)
        return self._neighbours(query, k, rows)

    def save(self, directory: Path) -> None:
        """Write to a directory that does not exist yet, whole or not at all. Raises: StoreError."""
        _save(directory, self._vectors, self._ids, self._graph)

    def _neighbours(self, query: Float32, k: int, rows: Int64 | None) -> tuple[Int64, Float32]:
        live = len(self._ids) if rows is None else len(rows)
        count = min(k + _SPARE, live)  # hnswlib raises when asked for more than there are
        if k <= 0 or count <= 0:
            return best(self._ids[:0], np.empty(0, np.float32), 0)
        keep = None
        if rows is not None:
            mask = np.zeros(len(self._ids), bool)
            mask[rows] = True
            keep = mask.tolist().__getitem__
        self._graph.set_ef(max(EF_SEARCH, 2 * count))
        try:
            labels, _ = self._graph.knn_query(query, k=count, num_threads=1, filter=keep)
        except RuntimeError:  # a filter can leave fewer reachable nodes than asked for
            return self._among(np.arange(len(self._ids)) if rows is None else rows, query, k)
        return self._among(labels[0].astype(np.int64), query, k)

    def _among(self, rows: Int64, query: Float32, k: int) -> tuple[Int64, Float32]:
        return best(self._ids[rows], similarities(self._vectors[rows], query), k)


def open_index(vectors: Float32, ids: Int64) -> ExactIndex | HnswIndex:
    """Return the index that suits the number of vectors; building a graph takes seconds."""
    return HnswIndex(vectors, ids) if len(ids) >= CROSSOVER else ExactIndex(vectors, ids)


def load_index(directory: Path) -> ExactIndex | HnswIndex:
    """Open a stored index, vectors memory-mapped. Raises: StoreError if it is missing or damaged."""
    try:
        vectors = np.load(directory / "vectors.npy", mmap_mode="r", allow_pickle=False)
        ids = np.load(directory / "ids.npy", allow_pickle=False)
        _check(vectors, ids)
    except (OSError, ValueError, EOFError) as error:
        raise _damaged(directory, str(error)) from error
    graph = directory / _GRAPH
    return HnswIndex(vectors, ids, graph=graph) if graph.exists() else ExactIndex(vectors, ids)


def similarities(vectors: Float32, query: Float32) -> Float32:
    """Return cosines float32 [n] of unit vectors [n, d] with a unit query [d], rounded to six decimals."""
    result = np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), _BLOCK):
        np.dot(vectors[start : start + _BLOCK], query, out=result[start : start + _BLOCK])
    return np.round(result, _DECIMALS, out=result)


def best(ids: Int64, scores: Float32, k: int) -> tuple[Int64, Float32]:
    """Return the k highest scores and their ids, best first, ties by id."""
    k = min(max(k, 0), len(ids))
    if k == 0:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    if k < len(ids):
        least = np.partition(scores, len(ids) - k)[len(ids) - k]
        kept = np.flatnonzero(scores >= least)
        ids, scores = ids[kept], scores[kept]
    order = np.lexsort((ids, -scores))[:k]
    return ids[order].astype(np.int64), scores[order].astype(np.float32)


def _check(vectors: Float32, ids: Int64) -> None:
    if vectors.ndim != 2 or ids.ndim != 1 or len(vectors) != len(ids):
        raise ValueError(f"vectors of shape {vectors.shape} do not fit ids of shape {ids.shape}")


def _save(directory: Path, vectors: Float32, ids: Int64, graph: Any) -> None:  # noqa: ANN401 - hnswlib
    scratch = directory.with_name(f".{directory.name}.{new_id()}")
    with translated(f"writing the vector index {directory}"):
        private_dir(scratch)
        try:
            np.save(scratch / "vectors.npy", vectors, allow_pickle=False)
            np.save(scratch / "ids.npy", ids, allow_pickle=False)
            if graph is not None:
                graph.save_index(str(scratch / _GRAPH))
            os.replace(scratch, directory)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        sync_dir(directory.parent)


def _damaged(directory: Path, reason: str) -> StoreError:
    return StoreError(
        f"the vector index {directory} cannot be read: {reason}", hint="Run `workbench rebuild`."
    )
