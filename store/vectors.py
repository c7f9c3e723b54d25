"""Nearest neighbours by cosine: exact, or among candidates by shorter vectors where there are very many.

A stored index of many vectors has a sketch of each, its share of the directions in which they differ most;
a search compares the sketches with that of the query, and the vectors of the best. A batch that searches once
for each vector builds hnswlib's graph in memory. Filters are applied before the search, and similarities
always come from the vectors themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from workbench.errors import ModelError, StoreError
from workbench.records.conversion import decode_json
from workbench.records.dataclass import dataclass
from workbench.text.vectors import best, cosines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, Int64


class Crossovers(msgspec.Struct, frozen=True):
    """Numbers of vectors: from `sketches` on a stored index has them, from `graph` on a batch has a graph.

    200,000: an exact search takes 0.055 ms per 1,000 vectors, with sketches it is 0.02 to 0.025 (ADR 42).
    """

    sketches: int = 200_000
    graph: int = 15_000
    measured: bool = False


CROSSOVERS: Final = Crossovers()
"""What holds where nothing was measured (`store.crossovers`)."""

WIDTH: Final = 128
LEAST_CANDIDATES: Final = 1_000
CANDIDATES: Final = 250
"""One of so many vectors is a candidate, which of a million finds 0.999 of the ten nearest."""

_SAMPLE: Final = 20_000
"""Vectors, evenly from all, that say in which directions they differ most."""

_TRIALS: Final = 32
_TRIED: Final = 10
_RECALL: Final = 0.99
"""Vectors that are asked for their ten nearest, and what share of them sketches have to find: vectors that
differ alike in all directions are searched exactly."""

EF_CONSTRUCTION: Final = 100
BATCH_SHARE: Final = 4
"""A batch compares one of so many candidates: it looks for texts that say nearly the same, which any find."""


@dataclass(frozen=True, slots=True)
class GraphSize:
    """How many others a graph links a vector to, and how many candidates a search compares at least."""

    m: int = 16
    ef: int = 256


NEAREST: Final = 1_000

EXACT: Final = "exact"
SKETCH: Final = "sketch"
HNSWLIB: Final = "hnswlib"

_SPARE: Final = 16
"""Neighbours fetched from a graph beyond k, so that ties at the end are cut by id."""

_SEED: Final = 100
_FORMAT: Final = 1
_PART: Final = 50_000
"""Vectors that are looked at together."""

ABOUT: Final = "about.json"
_VECTORS: Final = "vectors.npy"
_BASIS: Final = "basis.npy"
_SKETCHES: Final = "sketches.npy"
_MOST_HEAD: Final = 256  # bytes
_SAVED: Final = re.compile(
    rb"\x93NUMPY\x01\0..\{'descr': '([<|]\w\d+)', 'fortran_order': False, 'shape': \((\d+), (\d+)\), \} *\n",
    re.DOTALL,
)
"""How a file begins that numpy saved a matrix in."""


class IndexAbout(msgspec.Struct, frozen=True):
    """What a stored index says of itself. `setting` is the configured model that `model` was opened by."""

    records: str
    count: int
    method: str
    model: str = ""
    setting: str = ""
    format: int = _FORMAT


@dataclass(frozen=True, slots=True, eq=False)
class Sketches:
    """Short vectors float32 [n, w] in the directions `basis` float32 [d, w] of unit vectors [n, d]."""

    basis: Float32
    rows: Float32

    def candidates(self, query: Float32, count: int, allowed: Int64 | None = None) -> Int64:
        """Return so many rows, ascending, whose sketches are nearest to that of a query, of those allowed."""
        rows = np.arange(len(self.rows)) if allowed is None else allowed
        if len(rows) <= count:
            return rows
        # Each row is summed alone: a product of matrices gives other bytes with other threads.
        short = np.einsum("ij,i->j", self.basis, query)
        scores = np.einsum("ij,j->i", self.rows, short)
        scores = scores if allowed is None else scores[rows]
        return np.sort(rows[np.argpartition(scores, len(rows) - count)[len(rows) - count :]])

    def move_to(self, vectors: Float32, labels: Int64) -> Sketches:
        """Return those of other vectors: `labels` leads from rows here to rows of those, or -1."""
        there = labels >= 0
        rows = np.empty((len(vectors), self.rows.shape[1]), np.float32)
        rows[labels[there]] = self.rows[there]
        new = np.setdiff1d(np.arange(len(vectors)), labels[there])
        rows[new] = vectors[new] @ self.basis
        return Sketches(self.basis, rows)


def make_sketches(vectors: Float32) -> Sketches | None:
    """Return sketches of unit vectors, None where they would not find what an exact search finds."""
    sample = vectors[np.unique(np.linspace(0, len(vectors) - 1, min(len(vectors), _SAMPLE)).astype(np.int64))]
    _, directions = np.linalg.eigh(sample.T @ sample)
    basis = np.ascontiguousarray(directions[:, ::-1][:, :WIDTH], np.float32)
    rows = np.empty((len(vectors), basis.shape[1]), np.float32)
    for start, some in _parts(vectors):
        rows[start : start + len(some)] = some @ basis
    found = Sketches(basis, rows)
    shares = []
    for row in np.linspace(0, len(vectors) - 1, _TRIALS).astype(np.int64).tolist():
        query = vectors[row]
        # The vector itself, which any sketch finds, is the first of them.
        near, _ = best(np.arange(len(vectors)), cosines(vectors, query), _TRIED + 1)
        mine = found.candidates(query, candidate_count(len(vectors), _TRIED))
        shares.append(np.isin(near[1:], mine).mean() if len(near) > 1 else 1.0)
    return found if np.mean(shares) >= _RECALL else None


def candidate_count(count: int, k: int) -> int:
    """Return how many of so many vectors are compared for the k nearest."""
    return max(LEAST_CANDIDATES, count // CANDIDATES, 4 * k)


class CosineIndex:
    """Unit vectors float32 [n, d] of a model; ids are their rows.

    It is searched exactly, by `sketches`, or through hnswlib's `graph`, whose labels are rows
    and which is not asked where a filter leaves fewer than `narrow`.
    """

    def __init__(
        self,
        vectors: Float32,
        *,
        model: str = "",
        sketches: Sketches | None = None,
        graph: Any = None,  # noqa: ANN401 - hnswlib has no types
        ef: int = 0,
        narrow: int = 0,
    ) -> None:
        if vectors.ndim != 2:
            raise ValueError(f"vectors of shape {vectors.shape} are no matrix")
        self.vectors = vectors
        self.model = model
        self._sketches = sketches
        self._graph = graph
        self._ef = ef
        self._narrow = narrow

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def method(self) -> str:
        """How it is searched: exact, by sketches, or by hnswlib."""
        if self._sketches is not None:
            return SKETCH
        return EXACT if self._graph is None else HNSWLIB

    @property
    def approximate(self) -> bool:
        """Whether a search may miss a neighbour."""
        return self.method != EXACT

    def cosines(self, query: Float32, nearest: int = NEAREST) -> Float32:
        """Return float32 [n]; of an approximate index those of the `nearest`, NaN for the others."""
        self._check(query)
        rows = self._candidates(query, nearest, None)
        if rows is None:
            return cosines(self.vectors, query)
        found = np.full(len(self), np.nan, np.float32)
        near, values = best(rows, cosines(self.vectors[rows], query), nearest)
        found[near] = values
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

    def move_to(self, vectors: Float32, labels: Int64) -> CosineIndex:
        """Return the index of other vectors: `labels` leads from the rows here to rows of those, or -1."""
        sketches = None if self._sketches is None else self._sketches.move_to(vectors, labels)
        return CosineIndex(vectors, model=self.model, sketches=sketches)

    def save(self, directory: Path, records: str, setting: str = "") -> None:
        """Write into a directory, sketches as well if there are any. Raises: OSError."""
        np.save(directory / _VECTORS, self.vectors, allow_pickle=False)
        if self._sketches is not None:
            np.save(directory / _BASIS, self._sketches.basis, allow_pickle=False)
            np.save(directory / _SKETCHES, self._sketches.rows, allow_pickle=False)
        method = EXACT if self._sketches is None else SKETCH
        write_about(directory, IndexAbout(records, len(self), method, self.model, setting))

    def _check(self, query: Float32) -> None:
        if query.shape != self.vectors.shape[1:]:
            raise ValueError(f"a query of shape {query.shape} does not fit vectors {self.vectors.shape}")
        if not np.isfinite(query).all():
            raise ValueError("a query with values that are not finite has no neighbours")

    def _candidates(self, query: Float32, k: int, rows: Int64 | None) -> Int64 | None:
        """Return the rows to compare, of those allowed; None for all."""
        if self._sketches is not None:
            return self._sketches.candidates(query, candidate_count(len(self), k), rows)
        if self._graph is None or (rows is not None and len(rows) < self._narrow):
            return rows
        keep = None if rows is None else np.isin(np.arange(len(self)), rows).tolist().__getitem__
        count = min(max(k, 0) + _SPARE, len(self) if rows is None else len(rows))
        if count == 0:  # hnswlib raises when asked for more than there are
            return np.empty(0, np.int64)
        self._graph.set_ef(max(self._ef // BATCH_SHARE, 2 * count))
        try:
            found, _ = self._graph.knn_query(query, k=count, num_threads=1, filter=keep)
        except RuntimeError:  # a filter can leave fewer reachable nodes than asked for
            return rows
        return np.asarray(found[0], np.int64)


def build_index(
    vectors: Float32,
    *,
    model: str = "",
    searches: int = 1,
    graph_size: GraphSize | None = None,
    pays: Crossovers | None = None,
) -> CosineIndex:
    """Return an index of vectors for so many searches, with sketches or a graph where those pay.

    One thread builds a graph from a fixed seed: the same vectors give the same graph.

    Raises: ModelError for values that are not finite.
    """
    if not all(np.isfinite(some).all() for _, some in _parts(vectors)):
        raise ModelError(
            f"the model {model} gave vectors that are not finite".replace("  ", " "),
            hint="Choose another one with `workbench config set models.embedding`.",
        )
    pays = pays or CROSSOVERS
    if searches >= len(vectors) >= max(pays.graph, 1) and has_hnswlib():
        import hnswlib

        size = graph_size or GraphSize()
        # By inner product the wheel saves an array it never fills; by cosine the array holds the lengths.
        graph: Any = hnswlib.Index("cosine", vectors.shape[1])
        graph.init_index(len(vectors), ef_construction=EF_CONSTRUCTION, M=size.m, random_seed=_SEED)
        graph.add_items(vectors, np.arange(len(vectors)), num_threads=1)
        return CosineIndex(vectors, model=model, graph=graph, ef=size.ef, narrow=pays.graph)
    sketches = make_sketches(vectors) if len(vectors) >= max(pays.sketches, 1) else None
    return CosineIndex(vectors, model=model, sketches=sketches)


def load_index(directory: Path) -> CosineIndex:
    """Open a stored index, memory-mapped. Without usable sketches its vectors are searched exactly.

    Raises: StoreError if it is missing or damaged.
    """
    try:
        about = read_about(directory)
        vectors = _map_matrix(directory / _VECTORS)
        if len(vectors) != about.count:
            raise ValueError(f"vectors of shape {vectors.shape} instead of {about.count}")
    except (OSError, ValueError, EOFError) as error:
        raise StoreError(
            f"the vector index {directory} cannot be read: {error}", hint="Run `workbench rebuild`."
        ) from error
    sketches = None
    if about.method == SKETCH:
        try:
            basis, rows = _map_matrix(directory / _BASIS), _map_matrix(directory / _SKETCHES)
            if rows.shape == (len(vectors), basis.shape[1]) and len(basis) == vectors.shape[1]:
                sketches = Sketches(basis, rows)
        except (OSError, ValueError, EOFError):
            sketches = None  # damaged, as `workbench doctor` says
    return CosineIndex(vectors, model=about.model, sketches=sketches)


def map_rows(path: Path) -> NDArray[Any]:
    """Return a matrix that numpy saved, mapped. Raises: OSError, ValueError, EOFError.

    numpy evaluates the head of the file as Python, which takes a short process 2 ms.
    """
    with path.open("rb") as file:
        head = _SAVED.match(file.read(_MOST_HEAD))
        rows: NDArray[Any]
        if head is None:
            rows = np.load(path, mmap_mode="r", allow_pickle=False)
        else:
            rows = np.memmap(file, head[1].decode(), "r", head.end(), (int(head[2]), int(head[3])))
        return rows.view(np.ndarray)


def _map_matrix(path: Path) -> Float32:
    """Return a stored matrix. Raises: OSError, ValueError, EOFError."""
    found: Float32 = map_rows(path)
    if found.dtype != np.float32 or found.ndim != 2:
        raise ValueError(f"{path.name} holds {found.dtype} of shape {found.shape}")
    return found


def _parts(vectors: Float32) -> Iterator[tuple[int, Float32]]:
    """Yield (first row, vectors) of parts, so that what is made of them takes little memory."""
    for start in range(0, len(vectors), _PART):
        yield start, vectors[start : start + _PART]


def write_about(directory: Path, about: IndexAbout) -> None:
    """Write what an index is into its directory."""
    (directory / ABOUT).write_bytes(msgspec.json.encode(about))


def read_about(directory: Path) -> IndexAbout:
    """Return what an index is. Raises: OSError, ValueError for one that is malformed or of another format."""
    about = decode_json((directory / ABOUT).read_bytes(), IndexAbout)
    if about.format != _FORMAT:
        raise ValueError("it was written by another version of the program")
    return about


def has_hnswlib() -> bool:
    """Whether graphs can be built here."""
    from importlib.util import find_spec

    return find_spec("hnswlib") is not None
