"""What does it cost to keep vectors elsewhere? `python -m bench.vectors [SIZE …] [--of NAME …]`: a table.

Each way has a process of its own: vectors are written as a sync writes them, then searched for their ten
nearest, a server for as many as a search of the stash asks it for. Times are of the clock, as a server's work
is another process's; memory is what the process, or the server's table, grew by. `pgvector, at once` makes
the graph after the rows, as a first fill of many should. Qdrant is its client's local mode: it compares all
vectors in Python, which shows that the adapter works and nothing about a server; its engine, where
qdrant-edge-py is installed, is asked as the adapter asks a server.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import store.vectors
from bench.search import NEAREST, recall
from store.vectors import Crossovers
from workbench.stash.retrieval import BREADTH

if TYPE_CHECKING:
    from workbench.ports import Float32, PointKeys

DIMENSIONS: Final = 384
QUERIES: Final = 100
SIZES: Final = (10_000, 100_000)
BATCH: Final = 2_000
_TOPIC: Final = 100  # vectors of one
_WITHIN: Final = 0.7  # how far its vectors are from it, as a share of how far topics are apart
_FALL: Final = 154  # of a direction's share: the first 128 hold 81 % of a vector, as of real ones

GRAPH = store.vectors.GraphSize()
"""How graphs are made and searched: vectors.m and vectors.ef, as the options say."""

Search = Callable[["Float32"], "set[int]"]
Values = Mapping[str, float]


def measure(name: str, count: int, given: str = "", graph: store.vectors.GraphSize = GRAPH) -> Values:
    """Return seconds to `build`, `p50` and `p95` of a search in ms, `recall` of the ten nearest, and `memory`
    in MB, of one of `WAYS` with so many vectors; empty where it is not installed.

    `given` is a file of unit vectors float32 [n, 384] (`numpy.save`), in any order: the last are asked for.
    """
    command = [sys.executable, "-m", "bench.vectors", "--one", name, str(count), "--given", given]
    command += ["--m", str(graph.m), "--ef", str(graph.ef)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr)
        return {}
    values: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return values


def drawn(count: int) -> tuple[Float32, Float32]:
    """Return unit vectors around topics, as unevenly spread over directions as real ones, and queries."""
    random, total = np.random.default_rng(count), count + QUERIES
    spread = np.exp(-np.arange(DIMENSIONS) / _FALL).astype(np.float32)
    topics = random.standard_normal((max(count // _TOPIC, 1), DIMENSIONS), np.float32) * spread
    found = topics[random.integers(0, len(topics), total)]
    found += _WITHIN * random.standard_normal(found.shape, np.float32) * spread
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    found = found.astype(np.float16).astype(np.float32)
    return found[:count], found[count:]


def _index(vectors: Float32, least: int = 1 << 60, searches: int = 1) -> Search:
    """Return a search of this machine: exact, from `least` vectors on by sketches, or by a batch's graph."""
    store.vectors.CROSSOVERS = Crossovers(sketches=least, graph=1)  # type: ignore[misc]
    index = store.vectors.build_index(vectors, searches=searches, graph_size=GRAPH)
    return lambda query: set(index.search(query, NEAREST)[0].tolist())


@contextmanager
def _exact(vectors: Float32) -> Iterator[tuple[Search, Callable[[], float]]]:
    grown = _grown()
    yield _index(vectors), grown


@contextmanager
def _sketches(vectors: Float32) -> Iterator[tuple[Search, Callable[[], float]]]:
    grown = _grown()
    yield _index(vectors, least=1), grown


@contextmanager
def _graph(vectors: Float32) -> Iterator[tuple[Search, Callable[[], float]]]:
    grown = _grown()
    yield _index(vectors, searches=len(vectors)), grown


@contextmanager
def _pgvector(vectors: Float32, *, at_once: bool = False) -> Iterator[tuple[Search, Callable[[], float]]]:
    from store.postgres.connection import Connections
    from store.postgres.members import create_project
    from store.postgres.migrations import migrate
    from store.postgres.vectors import PostgresVectors
    from tests.postgres_server import DatabaseServer

    server = DatabaseServer("shared_buffers=1GB", "max_wal_size=4GB")
    try:
        connections = Connections(server.make_database())
        migrate(connections)
        create_project(connections, "bench", "bench")
        kept = PostgresVectors(connections, "bench", "stash", "m", DIMENSIONS, seconds=30, ef=GRAPH.ef)
        with connections.use() as connection:
            [(made,)] = connection.execute(
                "SELECT indexdef FROM pg_indexes WHERE indexname = 'vectors_384'"
            ).fetchall()
            if at_once:
                connection.execute("DROP INDEX workbench.vectors_384")
        _fill(kept, vectors)
        with connections.use(3_600) as connection:
            if at_once:
                connection.execute("SET maintenance_work_mem = '1GB'")
                connection.execute(made)
            connection.execute("ANALYZE workbench.vectors")

        def size() -> float:
            with connections.use() as connection:
                found = connection.execute("SELECT pg_total_relation_size('workbench.vectors')").fetchone()
            return float(found[0]) / 1e6 if found else 0.0

        yield lambda query: _nearest(kept, query), size
        connections.close()
    finally:
        server.close()


@contextmanager
def _qdrant(vectors: Float32) -> Iterator[tuple[Search, Callable[[], float]]]:
    import warnings

    from qdrant_client import QdrantClient

    from store.qdrant import QdrantServer
    from store.qdrant_collection import QdrantCollection

    warnings.simplefilter("ignore")
    grown = _grown()
    server = QdrantServer("", client=QdrantClient(":memory:"), m=GRAPH.m, ef=GRAPH.ef)
    kept = QdrantCollection(server, "bench", "m", DIMENSIONS, {}, words=False)
    _fill(kept, vectors)
    yield lambda query: _nearest(kept, query), grown


@contextmanager
def _qdrant_engine(vectors: Float32) -> Iterator[tuple[Search, Callable[[], float]]]:
    """Qdrant's own engine in this process, with the settings and the questions of the adapter."""
    import tempfile

    import qdrant_edge as edge

    from store.qdrant_collection import DENSE, EF_CONSTRUCTION

    graph = edge.HnswIndexConfig(GRAPH.m, EF_CONSTRUCTION, 10_000)  # from so many kB on, a server's default
    config = edge.EdgeConfig(
        vectors={DENSE: edge.EdgeVectorParams(DIMENSIONS, edge.Distance.Cosine, on_disk=True)},
        hnsw_config=graph,
        quantization_config=edge.ScalarQuantizationConfig(edge.ScalarType.Int8, 0.99, always_ram=True),
        on_disk_payload=True,
    )
    again = edge.QuantizationSearchParams(rescore=True, oversampling=2.0)
    params = edge.SearchParams(hnsw_ef=max(GRAPH.ef, 2 * BREADTH), quantization=again)
    grown = _grown()
    with tempfile.TemporaryDirectory() as place:
        shard = edge.EdgeShard.create(place, config)
        for start in range(0, len(vectors), BATCH):
            rows = enumerate(vectors[start : start + BATCH].tolist(), start)
            points = [edge.Point(at, {DENSE: row}, {"type": "message", "time": at}) for at, row in rows]
            shard.update(edge.UpdateOperation.upsert_points(points))
        shard.optimize()

        def search(query: Float32) -> set[int]:
            nearest = edge.Query.Nearest(query.tolist(), using=DENSE)
            points = shard.query(edge.QueryRequest(BREADTH, query=nearest, params=params))
            return {int(point.id) for point in points[:NEAREST]}

        yield search, grown
        shard.close()


WAYS: Final[Mapping[str, Any]] = {
    "exact": _exact,
    "sketches": _sketches,
    "hnswlib": _graph,
    "pgvector": _pgvector,
    "pgvector, at once": partial(_pgvector, at_once=True),
    "qdrant, local mode": _qdrant,
    "qdrant, engine": _qdrant_engine,
}


def _fill(kept: Any, vectors: Float32) -> None:
    for start in range(0, len(vectors), BATCH):
        part = vectors[start : start + BATCH]
        fields = [{"type": "message", "time": at} for at in range(start, start + len(part))]
        kept.put(_keys(start, len(part)), part, fields)


def _keys(start: int, count: int) -> PointKeys:
    keys = np.zeros((count, 16), np.uint8)
    keys[:, 8:] = np.arange(start, start + count).astype(">u8").view(np.uint8).reshape(-1, 8)
    return keys


def _nearest(kept: Any, query: Float32) -> set[int]:
    """Return the best of as many as a search of the stash asks for, whose vectors it compares itself."""
    keys, _ = kept.search(query, BREADTH)
    return {int.from_bytes(key.tobytes(), "big") for key in keys[:NEAREST]}


def _grown() -> Callable[[], float]:
    gc.collect()
    before = _resident()
    return lambda: _resident() - before


def _resident() -> float:
    """Return the megabytes of this process that are in memory (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def _one(name: str, count: int, given: str) -> Values:
    if given:
        every = np.load(given)
        vectors, queries = every[:count], every[max(len(every) - QUERIES, count) :]
    else:
        vectors, queries = drawn(count)
    exact = store.vectors.CosineIndex(vectors)
    truth = [set(exact.search(query, NEAREST)[0].tolist()) for query in queries]
    began = time.perf_counter()
    with WAYS[name](vectors) as (search, memory):
        build = time.perf_counter() - began
        search(queries[0])
        times, found = [], []
        for query in queries:
            began = time.perf_counter()
            found.append(search(query))
            times.append((time.perf_counter() - began) * 1000)
        p50, p95 = np.percentile(times, [50, 95])
        return {
            "build": round(build, 2),
            "p50": round(float(p50), 2),
            "p95": round(float(p95), 2),
            "recall": round(recall(truth, found), 4),
            "memory": round(memory(), 1),
        }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--of", nargs="*", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--one", nargs=2, metavar=("NAME", "SIZE"), help="measure one in this process")
    parser.add_argument(
        "--given", default="", metavar="FILE", help="unit vectors of your own, float32 [n, 384]"
    )
    parser.add_argument("--m", type=int, nargs="*", default=[GRAPH.m], help="vectors.m, each in turn")
    parser.add_argument("--ef", type=int, nargs="*", default=[GRAPH.ef], help="vectors.ef, each in turn")
    options = parser.parse_args()
    if options.one:
        globals()["GRAPH"] = store.vectors.GraphSize(options.m[0], options.ef[0])
        print(json.dumps(_one(options.one[0], int(options.one[1]), options.given)))
        return
    print("| vectors | way | build | p50 / p95 | recall@10 | memory |\n|--:|---|--:|--:|--:|--:|")
    for count in options.sizes:
        for name, m, ef in product(options.of, options.m, options.ef):
            found = measure(name, count, options.given, store.vectors.GraphSize(m, ef))
            if found:
                way = name if len(options.m) * len(options.ef) == 1 else f"{name}, m {m}, ef {ef}"
                times = f"{found['build']:.1f} s | {found['p50']:.1f} / {found['p95']:.1f} ms"
                rest = f"{found['recall']:.3f} | {found['memory']:,.0f} MB"
                print(f"| {count:,} | {way} | {times} | {rest} |", flush=True)


if __name__ == "__main__":
    main()
