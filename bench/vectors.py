"""Where does the graph overtake exact search? `python -m bench.vectors` prints times and recall."""

from __future__ import annotations

import argparse
import time

import numpy as np

from store.vectors import ExactIndex, HnswIndex

DIMENSIONS = 384
QUERIES = 100
TOPICS = 200


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=[1_000, 3_000, 10_000, 30_000])
    for size in parser.parse_args().sizes:
        random = np.random.default_rng(0)
        # Vectors of texts lie around topics, unlike independent normal ones, which no graph can order.
        centres = random.normal(size=(TOPICS, DIMENSIONS))
        vectors = 0.7 * centres[random.integers(0, TOPICS, size)] + random.normal(size=(size, DIMENSIONS))
        near = vectors[random.integers(0, size, QUERIES)] + random.normal(size=(QUERIES, DIMENSIONS))
        vectors, near = (
            (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
            for rows in (vectors, near)
        )
        exact = ExactIndex(vectors, np.arange(size))
        started = time.perf_counter()
        graph = HnswIndex(vectors, np.arange(size))
        build = time.perf_counter() - started
        slow, truth = _run(exact, near)
        fast, found = _run(graph, near)
        recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(truth, found, strict=True)])
        print(
            f"{size:7,} vectors: exact {slow:6.2f} ms, graph {fast:5.2f} ms at recall@10 {recall:.3f}, "
            f"built in {build:.1f} s",
            flush=True,
        )


def _run(index: ExactIndex | HnswIndex, queries: np.ndarray) -> tuple[float, list[list[int]]]:
    """Return (median milliseconds, ids found) over the queries."""
    times, found = [], []
    for query in queries:
        started = time.perf_counter()
        ids, _ = index.search(query, 10)
        times.append(time.perf_counter() - started)
        found.append(ids.tolist())
    return 1000 * float(np.median(times)), found


if __name__ == "__main__":
    main()
