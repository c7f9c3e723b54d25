"""From how many vectors on which search pays on this machine: measured once, kept in the user's cache.

Machines differ in how fast they compare vectors and build a graph. An exact search is left where it takes a
noticeable part of the time that a search may take, and sketches take less; a graph is built for a batch where
building and asking it take less than comparing each vector with all. Until it was measured, and where too
few vectors are searched to choose, the figures of one machine hold.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from store import vectors as local
from store.files import write_atomic
from store.vectors import (
    BATCH_SHARE,
    EF_CONSTRUCTION,
    LEAST_CANDIDATES,
    WIDTH,
    CosineIndex,
    Crossovers,
    GraphSize,
    Sketches,
    build_index,
    has_hnswlib,
)
from workbench.errors import StoreError
from workbench.records.conversion import decode_json
from workbench.text.vectors import best, cosines

if TYPE_CHECKING:
    from workbench.ports import Float32

FILE: Final = "crossovers.json"
LEAST: Final = 5_000
"""Vectors below which nothing is chosen: every search is exact."""

_SKETCHES: Final = (50_000, 2_000_000)
_GRAPH: Final = (LEAST, 100_000)
"""Between which numbers of vectors what was measured is believed."""

_NOTICEABLE: Final = 0.011
"""Seconds of an exact search from which one looks for less: about a fifth of the 50 ms of a match."""

_DIMENSIONS: Final = 384
_SAMPLE: Final = 20_000
_GRAPH_SAMPLE: Final = 3_000
_REPEATS: Final = 5
_GROWTH: Final = 0.5
"""The power of the number of vectors by which linking one into a graph takes longer (docs/vectors.md)."""


def crossovers(cache: Path | None, count: int = 0) -> Crossovers:
    """Return what holds on this machine: measured now, if never before, where the count makes it matter."""
    if cache is None:
        return local.CROSSOVERS
    try:
        return decode_json((cache / FILE).read_bytes(), Crossovers)
    except (OSError, ValueError):
        return save_crossovers(cache) if count >= LEAST else local.CROSSOVERS


def build_measured(
    cache: Path | None,
    vectors: Float32,
    *,
    model: str = "",
    searches: int = 1,
    graph_size: GraphSize | None = None,
) -> CosineIndex:
    """Return an index of vectors as pays on this machine, see `build_index`. Raises: ModelError."""
    pays = crossovers(cache, len(vectors))
    return build_index(vectors, model=model, searches=searches, graph_size=graph_size, pays=pays)


def save_crossovers(cache: Path) -> Crossovers:
    """Measure, and keep it for all projects of this user. A cache that cannot be written keeps nothing."""
    measured = measure_crossovers()
    with suppress(OSError, StoreError):
        write_atomic(cache / FILE, msgspec.json.encode(measured), sync=False)
    return measured


def measure_crossovers() -> Crossovers:
    """Return where the ways of searching cross on this machine, in about a second of one core."""
    rows = _vectors(_SAMPLE)
    query = rows[0]
    basis = np.ascontiguousarray(np.linalg.qr(_vectors(_DIMENSIONS)[:, :WIDTH])[0], np.float32)
    exact, _ = _line(lambda count: best(np.arange(count), cosines(rows[:count], query), 10))
    short = rows @ basis

    def sketched(count: int) -> None:
        near = Sketches(basis, short[:count]).candidates(query, LEAST_CANDIDATES)
        best(near, cosines(rows[near], query), 10)

    sketched_each, fixed = _line(sketched)
    noticed = _NOTICEABLE / exact
    sketches = max(noticed, fixed / (exact - sketched_each)) if exact > sketched_each else _SKETCHES[1]
    graph = float(local.CROSSOVERS.graph)
    if has_hnswlib():
        linked, asked = _graph(rows[:_GRAPH_SAMPLE])
        for _ in range(_REPEATS * 4):
            graph = (linked * (graph / _GRAPH_SAMPLE) ** _GROWTH + asked) / exact
            graph = min(max(graph, _GRAPH[0]), _GRAPH[1])
    return Crossovers(_round_count(sketches, _SKETCHES), _round_count(graph, _GRAPH), measured=True)


def _graph(rows: Float32) -> tuple[float, float]:
    """Return seconds to link a vector, and to ask for its neighbours."""
    import hnswlib

    size = GraphSize()
    graph = hnswlib.Index("cosine", rows.shape[1])
    graph.init_index(len(rows), ef_construction=EF_CONSTRUCTION, M=size.m, random_seed=1)
    linked = _seconds(lambda: graph.add_items(rows, num_threads=1), repeats=1)
    graph.set_ef(size.ef // BATCH_SHARE)
    asked = _seconds(lambda: graph.knn_query(rows, k=10, num_threads=1), repeats=1)
    return linked / len(rows), asked / len(rows)


def _line(search: Callable[[int], object]) -> tuple[float, float]:
    """Return seconds that each vector, and that every search takes, by two numbers of vectors."""
    few, many = _SAMPLE // 4, _SAMPLE
    least, most = (_seconds(partial(search, count)) for count in (few, many))
    each = max(most - least, 1e-9) / (many - few)
    return each, max(least - each * few, 0.0)


def _seconds(work: Callable[[], object], repeats: int = _REPEATS) -> float:
    def once() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return min(once() for _ in range(repeats))


def _vectors(count: int) -> Float32:
    """Return unit vectors around topics that differ mostly in some directions, as those of texts do."""
    random = np.random.default_rng(1)
    falling = np.exp(-np.arange(_DIMENSIONS) / 154)
    topics = random.normal(size=(100, _DIMENSIONS))
    rows = (0.7 * random.normal(size=(count, _DIMENSIONS)) + topics[random.integers(0, 100, count)]) * falling
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


def _round_count(count: float, bounds: tuple[int, int]) -> int:
    """Return a count within bounds with two digits that say something."""
    number = int(min(max(count, bounds[0]), bounds[1]))
    step = 10 ** max(len(str(number)) - 2, 0)
    return int(round(number / step) * step)
