"""Nearest neighbours by cosine: exact, or through hnswlib's graph where there are very many vectors.

Filters are applied before the search. The graph only says which vectors to compare: similarities always come
from the vectors themselves. What came after the graph was built is its tail, compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from workbench.errors import ModelError, StoreError
from workbench.records.conversion import decode_json
from workbench.text.vectors import best, cosines

if TYPE_CHECKING:
    from workbench.ports import Float32, Int64

CROSSOVER: Final = 200_000
"""Vectors from which a stored index has a graph, and from which a filter's rest is searched through it.
`python -m bench.search` (docs/benchmarks.md): an exact search takes 0.05 ms per 1,000 vectors. The graph
answers in 1 to 2 ms, and takes 1.3 ms per 1,000 to load and 300 to build: a command that searches once never
gets that back. From here on an exact search is a noticeable part of the 50 ms that matching may take."""

BATCH_CROSSOVER: Final = 15_000
"""Vectors from which a graph is built for a batch that searches once for each of them: it pays by the end."""

M: Final = 16
EF_CONSTRUCTION: Final = 100
EF_SEARCH: Final = 400
EF_MOST: Final = 4_000
FULL: Final = 316_000
"""Candidates of a search: `EF_SEARCH` up to `FULL` vectors, from there on with their square, `EF_MOST` at
most. Of a million vectors 400 find 0.94 of the ten nearest, 3,200 find 0.975 (docs/benchmarks.md)."""

EF_BATCH: Final = 64
"""Candidates in a batch, which looks for texts that say nearly the same: those are found by any."""

NEAREST: Final = 1_000

EXACT: Final = "exact"
HNSWLIB: Final = "hnswlib"

_SPARE: Final = 16
"""Neighbours fetched beyond k, so that ties at the end are cut by id."""

_SEED: Final = 100
_FORMAT: Final = 1
ABOUT: Final = "about.json"
_VECTORS: Final = "vectors.npy"
_GRAPH: Final = "graph.bin"


class IndexAbout(msgspec.Struct, frozen=True):
    """What a stored index says of itself. `setting` is the configured model that `model` was opened by."""

    records: str
    count: int
    method: str
    model: str = ""
    setting: str = ""
    format: int = _FORMAT


class CosineIndex:
    """Unit vectors float32 [n, d] of a model; ids are their rows.

    `graph` opens hnswlib's graph, whose labels are rows of the vectors it was built of: `labels` int64 [m]
    leads from those to rows here, -1 for vectors that are gone. Rows it does not lead to are the tail. `ef`
    are the candidates of a search through it, 0 for as many as their number asks for.
    """

    def __init__(
        self,
        vectors: Float32,
        *,
        model: str = "",
        graph: Callable[[], Any] | None = None,
        labels: Int64 | None = None,
        ef: int = 0,
    ) -> None:
        if vectors.ndim != 2:
            raise ValueError(f"vectors of shape {vectors.shape} are no matrix")
        self.vectors = vectors
        self.model = model
        self._open = graph
        self._ef = ef or search_breadth(len(vectors))
        self._graph: Any = None
        self._labels = np.arange(len(vectors)) if labels is None else labels
        self._tail = np.setdiff1d(np.arange(len(vectors)), self._labels) if labels is not None else None

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def method(self) -> str:
        """How it is searched: exact, or hnswlib."""
        return EXACT if self._open is None else HNSWLIB

    @property
    def approximate(self) -> bool:
        """Whether a search may miss a neighbour."""
        return self._open is not None

    def cosines(self, query: Float32, nearest: int = NEAREST) -> Float32:
        """Return float32 [n]; of an approximate index those of the `nearest`, NaN for the others."""
        self._check(query)
        rows = self._candidates(query, nearest, None)
        if rows is None:
            return cosines(self.vectors, query)
        found = np.full(len(self), np.nan, np.float32)
        found[rows] = cosines(self.vectors[rows], query)
        return found

    def search(self, query: Float32, k: int, allowed: Int64 | None = None) -> tuple[Int64, Float32]:
        """Return (rows, similarities) of at most k nearest, best first, ties by row; only rows in `allowed`.

        Raises ValueError for a query of other dimensions or with values that are not finite.
        """
        self._check(query)
        rows = None
        if allowed is not None:
            rows = np.unique(allowed)
            rows = rows[(rows >= 0) & (rows < len(self))]
        rows = self._candidates(query, k, rows)
        if rows is None:
            return best(np.arange(len(self)), cosines(self.vectors, query), k)
        return best(rows, cosines(self.vectors[rows], query), k)

    def moved(self, vectors: Float32, labels: Int64) -> CosineIndex:
        """Return the index of other vectors: `labels` leads from the rows here to rows of those, or -1."""
        return CosineIndex(vectors, model=self.model, graph=self._open, labels=labels)

    def save(self, directory: Path, records: str, setting: str = "") -> None:
        """Write into a directory, the graph as well if there is one. Raises: OSError."""
        np.save(directory / _VECTORS, self.vectors, allow_pickle=False)
        if self._open is not None:
            self._hnsw().save_index(str(directory / _GRAPH))
        write_about(directory, IndexAbout(records, len(self), self.method, self.model, setting))

    def _check(self, query: Float32) -> None:
        if query.shape != self.vectors.shape[1:]:
            raise ValueError(f"a query of shape {query.shape} does not fit vectors {self.vectors.shape}")
        if not np.isfinite(query).all():
            raise ValueError("a query with values that are not finite has no neighbours")

    def _candidates(self, query: Float32, k: int, rows: Int64 | None) -> Int64 | None:
        """Return the rows to compare, of those allowed; None for all."""
        if self._open is None or (rows is not None and len(rows) < CROSSOVER):
            return rows
        keep, live = None, len(self._labels)
        if rows is not None or self._tail is not None:
            usable = self._labels >= 0 if rows is None else np.isin(self._labels, rows)
            keep, live = usable.tolist().__getitem__, int(usable.sum())
        count = min(max(k, 0) + _SPARE, live)  # hnswlib raises when asked for more than there are
        tail = np.empty(0, np.int64) if self._tail is None else self._tail
        if rows is not None:
            tail = np.intersect1d(tail, rows)
        if count == 0:
            return tail
        try:
            graph = self._hnsw()
            graph.set_ef(max(self._ef, 2 * count))
            found, _ = graph.knn_query(query, k=count, num_threads=1, filter=keep)
        except StoreError:  # damaged, as `workbench doctor` says
            self._open = None
            return rows
        except RuntimeError:  # a filter can leave fewer reachable nodes than asked for
            return rows
        near = self._labels[found[0].astype(np.int64)]
        return np.concatenate([near, tail])

    def _hnsw(self) -> Any:  # noqa: ANN401 - hnswlib has no types
        if self._graph is None and self._open is not None:
            self._graph = self._open()
        return self._graph


def build_index(vectors: Float32, *, model: str = "", searches: int = 1) -> CosineIndex:
    """Return an index of vectors for so many searches, with a graph where that pays.

    One thread builds it from a fixed seed: the same vectors give the same graph.

    Raises: ModelError for values that are not finite.
    """
    if not np.isfinite(vectors).all():
        raise ModelError(
            f"the model {model} gave vectors that are not finite".replace("  ", " "),
            hint="Choose another one with `workbench config set models.embedding`.",
        )
    least, ef = (BATCH_CROSSOVER, EF_BATCH) if searches >= len(vectors) else (CROSSOVER, 0)
    if len(vectors) < max(least, 1) or not _has_hnswlib():
        return CosineIndex(vectors, model=model)
    graph = _empty_graph(vectors.shape[1])
    graph.init_index(len(vectors), ef_construction=EF_CONSTRUCTION, M=M, random_seed=_SEED)
    graph.add_items(vectors, np.arange(len(vectors)), num_threads=1)
    return CosineIndex(vectors, model=model, graph=lambda: graph, ef=ef)


def search_breadth(count: int) -> int:
    """Return the candidates of a search through the graph of so many vectors."""
    return min(max(EF_SEARCH, round(EF_SEARCH * (count / FULL) ** 2)), EF_MOST)


def load_index(directory: Path) -> CosineIndex:
    """Open a stored index, vectors memory-mapped; its graph is loaded by the first search that needs it.

    Raises: StoreError if it is missing or damaged.
    """
    try:
        about = read_about(directory)
        vectors = np.load(directory / _VECTORS, mmap_mode="r", allow_pickle=False).view(np.ndarray)
        if vectors.dtype != np.float32 or vectors.ndim != 2 or len(vectors) != about.count:
            raise ValueError(f"vectors of shape {vectors.shape} instead of {about.count}")
    except (OSError, ValueError, EOFError) as error:
        raise _damaged(directory, str(error)) from error
    path, (count, dimensions) = directory / _GRAPH, vectors.shape

    def opened() -> Any:  # noqa: ANN401 - hnswlib has no types
        graph = _empty_graph(dimensions)
        try:
            graph.load_index(str(path), max_elements=count)
        except RuntimeError as error:
            raise _damaged(directory, str(error)) from error
        if graph.get_current_count() != count:
            raise _damaged(directory, "the graph holds another number of vectors")
        return graph

    has_graph = about.method == HNSWLIB and _has_hnswlib()
    return CosineIndex(vectors, model=about.model, graph=opened if has_graph else None)


def write_about(directory: Path, about: IndexAbout) -> None:
    """Write what an index is into its directory."""
    (directory / ABOUT).write_bytes(msgspec.json.encode(about))


def read_about(directory: Path) -> IndexAbout:
    """Return what an index is. Raises: OSError, ValueError for one that is malformed or of another format."""
    about = decode_json((directory / ABOUT).read_bytes(), IndexAbout)
    if about.format != _FORMAT:
        raise ValueError("it was written by another version of the program")
    return about


def _has_hnswlib() -> bool:
    from importlib.util import find_spec

    return find_spec("hnswlib") is not None


def _empty_graph(dimensions: int) -> Any:  # noqa: ANN401 - hnswlib has no types
    import hnswlib

    # By inner product the wheel saves an array it never fills; by cosine the array holds the lengths.
    return hnswlib.Index("cosine", dimensions)


def _damaged(directory: Path, reason: str) -> StoreError:
    return StoreError(
        f"the vector index {directory} cannot be read: {reason}", hint="Run `workbench rebuild`."
    )
