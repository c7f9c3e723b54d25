"""What does a search cost, exactly and by sketches? `python -m bench.search [SIZE …]` prints a table.

Rules have two texts each (what they say and an example), past tasks and learnings one; their vectors lie
around topics, as those of texts do. Beside a search stands what it presupposes: building, loading, storing
the index. Times are processor time of one thread. Recall is the share of exact search's ten that sketches
find. The last lines say after how many searches a batch that builds a graph has it paid.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

import store.vectors
from store.crossovers import measure_crossovers
from store.vectors import CosineIndex, Crossovers, build_index, load_index

DIMENSIONS: Final = 384
TOPICS: Final = 200
QUERIES: Final = 200
NEAREST: Final = 10
SIZES: Final = (1_000, 10_000, 100_000)
KINDS: Final = {"past tasks or learnings": 1, "rules": 2}
"""How many texts a record of each kind is found by."""

COLUMNS: Final = (
    " records ",
    " vectors ",
    " exact p50 / p95 ",
    " load ",
    " size ",
    " sketches p50 / p95 ",
    " recall@10 ",
    " load ",
    " build ",
    " size ",
)

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Cost:
    """A way of searching: p50 and p95 of a search and the load in ms, seconds to build it, bytes on disk.

    `batch` is the p50 in ms of a batch, and `grown` the seconds until it can begin.
    """

    p50: float
    p95: float
    load: float
    build: float
    size: int
    batch: float
    grown: float


def vectors_of(count: int, random: np.random.Generator) -> Float32:
    """Return unit vectors around topics, with the precision of the embedding cache."""
    centres = random.standard_normal((TOPICS, DIMENSIONS), np.float32)
    found = random.standard_normal((count, DIMENSIONS), np.float32)
    found += 0.7 * centres[random.integers(0, TOPICS, count)]
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found.astype(np.float16).astype(np.float32)


def measure(
    vectors: Float32, queries: Float32, least: int, directory: Path
) -> tuple[Cost, list[set[int]], CosineIndex]:
    """Return what searches cost with the crossover set to `least`, and what they find."""
    store.vectors.CROSSOVERS = Crossovers(sketches=least, graph=least)  # type: ignore[misc]
    started = time.process_time()
    grown = build_index(vectors, searches=len(vectors))
    growing = time.process_time() - started
    batch, _ = _searched(grown, queries)
    del grown
    started = time.process_time()
    built = build_index(vectors)
    build = time.process_time() - started
    directory.mkdir()
    built.save(directory, "records")
    del built
    started = time.process_time()
    index = load_index(directory)
    index.search(queries[0], NEAREST)  # vectors are paged in by it
    load = time.process_time() - started
    times, found = _searched(index, queries)
    p50, p95 = np.percentile(times, [50, 95])
    size = sum(path.stat().st_size for path in directory.iterdir())
    return (
        Cost(float(p50), float(p95), load * 1000, build, size, float(np.median(batch)), growing),
        found,
        index,
    )


def _searched(index: CosineIndex, queries: Float32) -> tuple[list[float], list[set[int]]]:
    times, found = [], []
    for query in queries:
        started = time.process_time()
        rows, _ = index.search(query, NEAREST)
        times.append((time.process_time() - started) * 1000)
        found.append(set(rows.tolist()))
    return times, found


def recall(truth: Sequence[set[int]], found: Sequence[set[int]]) -> float:
    """Return the mean share of the true neighbours that were found."""
    return float(np.mean([len(one & other) / len(one) for one, other in zip(truth, found, strict=True)]))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", type=int, nargs="*", default=list(SIZES))
    print("|".join(("", *COLUMNS, "")))
    print("|" + "---|" * len(COLUMNS))
    costs: dict[int, tuple[Cost, Cost]] = {}
    for size in parser.parse_args().sizes:
        for kind, texts in KINDS.items():
            random = np.random.default_rng([size, texts, len(kind)])
            vectors = vectors_of(size * texts, random)
            near = vectors[random.integers(0, len(vectors), QUERIES)]
            queries = near + 0.05 * random.standard_normal(near.shape, np.float32)
            queries /= np.linalg.norm(queries, axis=1, keepdims=True)
            with tempfile.TemporaryDirectory() as scratch:
                exact, truth, _ = measure(vectors, queries, 10**9, Path(scratch) / "exact")
                short, found, _ = measure(vectors, queries, 1, Path(scratch) / "sketches")
            costs[len(vectors)] = exact, short
            print(
                f"| {size:,} {kind} | {len(vectors):,} | {exact.p50:.2f} / {exact.p95:.2f} ms "
                f"| {exact.load:.1f} ms | {exact.size / 1e6:.1f} MB | {short.p50:.2f} / {short.p95:.2f} ms "
                f"| {recall(truth, found):.3f} | {short.load:.0f} ms | {short.build:.1f} s "
                f"| {short.size / 1e6:.1f} MB |",
                flush=True,
            )
    print("\nsearches after which a graph for a batch has paid")
    for count, (exact, short) in sorted(costs.items()):
        print(f"  {count:9,} vectors: {_break_even(short.grown * 1000, exact.p50 - short.batch)}")
    measured = measure_crossovers()
    print(f"measured in a second: sketches {measured.sketches:,} vectors, a graph {measured.graph:,}")


def _break_even(spent: float, saved: float) -> str:
    return f"{spent / saved:,.0f}" if saved > 0 else "never"


if __name__ == "__main__":
    main()
