"""What a user would put together instead, on the same texts and vectors.

Each is asked for the ten best by meaning and, where it can, by words, and gives texts back. The vector of a
query is made by the packaged model inside the time measured, as it is for the product.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.scale.measuring import Values, Work, apart, disk, named
from bench.scale.records import NEAREST
from bench.scale.texts import read_queries, read_texts, real_embedder, recall

Float32 = NDArray[np.float32]
Search = Callable[[str, Float32], list[int]]
"""Returns the rows of the nearest, of a text and its unit vector; texts are read, too."""

BLOCK: Final = 10_000
FUSED: Final = 60  # of reciprocal rank fusion


def measure(name: str, size: int, work: Path, texts: Path) -> Values:
    """Return what an alternative costs: built in one process, asked in another; empty if it is not here."""
    if name == "usearch" and find_spec("usearch") is None:
        print("usearch is not installed and left out: `pip install usearch`", file=sys.stderr)
        return {}
    place, home = work / f"plain-{name}-{size}", work / "home"
    shutil.rmtree(place, ignore_errors=True)  # of a run that was ended
    place.mkdir(parents=True)
    found: Values = {}
    for step in ("build", "ask"):
        print(f"{name} {size:,}: {step}", file=sys.stderr)
        found |= named(step, apart(home, "plain", name, step, str(place), str(texts)))
    return found | {"disk MB": disk(place)}


def blocks(texts: Path) -> Iterator[tuple[int, list[str], Float32]]:
    """Yield (first row, texts, vectors) of what was drawn."""
    vectors = np.load(texts / "vectors.npy", mmap_mode="r")
    lines = read_texts(texts)
    for start in range(0, len(vectors), BLOCK):
        some = vectors[start : start + BLOCK].astype(np.float32)
        yield start, [next(lines) for _ in range(len(some))], some


def build_sqlite(place: Path, texts: Path) -> None:
    """Write texts into an FTS5 table, and vectors beside it."""
    count = len(np.load(texts / "vectors.npy", mmap_mode="r"))
    kept = np.lib.format.open_memmap(place / "vectors.npy", "w+", np.float32, (count, 384))
    with sqlite3.connect(place / "texts.db") as base:
        base.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter')")
        for start, some, vectors in blocks(texts):
            rows = enumerate(some, start)
            base.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", rows)
            kept[start : start + len(some)] = vectors
    kept.flush()


def open_sqlite(place: Path) -> Search:
    """Return a search by words (BM25) and by meaning (exact), fused by reciprocal ranks."""
    base = sqlite3.connect(place / "texts.db")
    vectors = np.load(place / "vectors.npy", mmap_mode="r").view(np.ndarray)

    def search(query: str, vector: Float32) -> list[int]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        sql = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 50"
        lexical = [row for (row,) in base.execute(sql, (words,))]
        near = _best(vectors @ vector)
        scores: dict[int, float] = {}
        for found in (lexical, near):
            for rank, row in enumerate(found):
                scores[row] = scores.get(row, 0.0) + 1 / (FUSED + rank)
        best = sorted(scores, key=lambda row: -scores[row])[:NEAREST]
        marks = ", ".join("?" * len(best))
        base.execute(f"SELECT text FROM texts WHERE rowid IN ({marks})", best).fetchall()
        return near[:NEAREST]

    return search


def build_duckdb(place: Path, texts: Path) -> None:
    import duckdb

    vectors = np.load(texts / "vectors.npy", mmap_mode="r")
    with duckdb.connect(str(place / "texts.duckdb")) as base:
        kind = f"FLOAT[{vectors.shape[1]}]"
        base.execute(f"CREATE TABLE texts (row BIGINT, text VARCHAR, vector {kind})")
        for start, some, each in blocks(texts):
            given = {
                "row": np.arange(start, start + len(some)),
                "text": np.array(some, object),
                "vector": each,
            }
            insert = "INSERT INTO texts SELECT unnest($row), unnest($text), unnest($vector)"
            base.execute(insert, {key: value.tolist() for key, value in given.items()})


def open_duckdb(place: Path) -> Search:
    """Return a search by meaning with DuckDB's own functions of arrays."""
    import duckdb

    base = duckdb.connect(str(place / "texts.duckdb"), read_only=True)
    base.execute("SET threads = 1")
    width = 384
    sql = (
        f"SELECT row, text FROM texts ORDER BY array_cosine_distance(vector, $1::FLOAT[{width}]) "
        f"LIMIT {NEAREST}"
    )
    return lambda query, vector: [row for row, _ in base.execute(sql, [vector.tolist()]).fetchall()]


def build_usearch(place: Path, texts: Path) -> None:
    """Build usearch's graph with its own settings, on one thread, and write texts beside it."""
    index: Any = import_module("usearch.index").Index(ndim=384, metric="cos", dtype="f32")
    ends: list[int] = []
    with (place / "texts.bin").open("wb") as file:
        for start, some, vectors in blocks(texts):
            index.add(np.arange(start, start + len(some), dtype=np.uint64), vectors, threads=1)
            for text in some:
                file.write(text.encode())
                ends.append(file.tell())
    np.save(place / "ends.npy", np.array(ends))
    index.save(str(place / "index.usearch"))


def open_usearch(place: Path) -> Search:
    """Return a search through the graph, mapped from its file."""
    index: Any = import_module("usearch.index").Index.restore(str(place / "index.usearch"), view=True)
    ends = np.load(place / "ends.npy", mmap_mode="r")
    file = (place / "texts.bin").open("rb")

    def search(query: str, vector: Float32) -> list[int]:
        found: list[int] = index.search(vector, NEAREST).keys.tolist()
        for row in found:
            begin = int(ends[row - 1]) if row else 0
            file.seek(begin)
            file.read(int(ends[row]) - begin)
        return found

    return search


ALTERNATIVES: Final[dict[str, tuple[Callable[[Path, Path], None], Callable[[Path], Search]]]] = {
    "sqlite": (build_sqlite, open_sqlite),
    "usearch": (build_usearch, open_usearch),
    "duckdb": (build_duckdb, open_duckdb),
}


def main(name: str, step: str, folder: str, drawn: str) -> None:
    """Do one step, and print what it took."""
    place, texts, work = Path(folder), Path(drawn), Work()
    build, opened = ALTERNATIVES[name]
    if step == "build":
        with work.timed("all"):
            build(place, texts)
        return work.finish()
    queries, _ = read_queries(texts)
    model = real_embedder()
    model.embed(queries[:1])
    found: list[list[int]] = []
    with work.timed("first answer"):
        search = opened(place)
        search(queries[0], model.embed([queries[0]])[0])

    def answer(query: str) -> None:
        found.append(search(query, model.embed([query])[0]))

    work.spread("answer", [partial(answer, query) for query in queries])
    work.values["recall"] = recall(texts, found, NEAREST)
    return work.finish()


def _best(cosines: Float32) -> list[int]:
    near = np.argpartition(-cosines, 50)[:50]
    rows: list[int] = near[np.argsort(-cosines[near], kind="stable")].tolist()
    return rows


if __name__ == "__main__":
    main(*sys.argv[1:])
