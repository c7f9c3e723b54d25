"""Any number of texts with vectors whose neighbourhoods are as those of real ones, the same in every run.

The real ones are the first paragraphs of the documentation strings of this Python and of the packages that
are installed beside it, embedded once by the packaged model. A text of a larger set mixes two that are near
each other and what tells a third from its own neighbour: its vector is their sum, its words are theirs in the
same shares. So vectors stay where real ones are and go apart in the directions in which real ones do, and
words and meaning agree. Queries are real texts that took no part in any mixture.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from store.embedding import EmbeddingSettings, resolve_embedder
from store.embedding_cache import key_prefixes
from workbench.places import user_cache
from workbench.ports import Embedder
from workbench.text.vectors import text_keys

Float32 = NDArray[np.float32]

REAL: Final = 20_000
QUERIES: Final = 200
BLOCK: Final = 10_000
"""Texts drawn together: any smaller set is the beginning of a larger one."""

NEAR: Final = 8
MOST_SHARE: Final = 0.5
APART: Final = 0.6
"""How much of the difference between a third text and its neighbour is added."""

TIE: Final = 1e-4
"""Cosines that differ by less count as equal."""

_LEAST, _MOST = 60, 400
_WORDS: Final = 48
_STOPS: Final = str.maketrans("", "", ".!?;:")
"""Gone from what is mixed: a text is one sentence, which has one vector."""


@dataclass(frozen=True, slots=True, eq=False)
class RealTexts:
    """Texts with unit vectors float32 [n, d], and the rows int64 [n, NEAR] of the nearest others of each."""

    texts: Sequence[str]
    vectors: Float32
    near: NDArray[np.int64]

    def drawn(self, count: int) -> Iterator[tuple[list[str], Float32]]:
        """Yield `count` texts with unit vectors, in blocks; the last may be smaller."""
        for start in range(0, count, BLOCK):
            random = np.random.default_rng([19, start])
            first, third = random.integers(0, len(self.texts), (2, BLOCK))
            pick = random.integers(0, NEAR, (2, BLOCK))
            second, fourth = self.near[first, pick[0]], self.near[third, pick[1]]
            share = random.random(BLOCK, np.float32)[:, None] * np.float32(MOST_SHARE)
            vectors = (1 - share) * self.vectors[first] + share * self.vectors[second]
            vectors += np.float32(APART) * (self.vectors[third] - self.vectors[fourth])
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            size = min(BLOCK, count - start)
            texts = [
                self._mixed(*rows)
                for rows in zip(
                    *(some[:size].tolist() for some in (first, second, third, share[:, 0])), strict=True
                )
            ]
            yield texts, vectors[:size].astype(np.float16).astype(np.float32)

    def _mixed(self, first: int, second: int, third: int, share: float) -> str:
        one, two, other = (self.texts[row].split() for row in (first, second, third))
        kept, taken = max(4, round((1 - share) * len(one))), round(share * len(two))
        words = one[:kept] + (two[-taken:] if taken else []) + other[: round(0.3 * len(other))]
        return " ".join(words[:_WORDS]).translate(_STOPS)


class DrawnVectors:
    """An embedder (port `Embedder`) that knows the vectors of drawn texts; others the real model embeds.

    They are in a file, mapped: what a process holds of them is what it reads.
    """

    def __init__(self, folder: Path, real: Embedder) -> None:
        self._real = real
        self.model = real.model
        self.dimensions = real.dimensions
        self.keys: NDArray[np.uint64] = np.load(folder / "keys.npy", mmap_mode="r")
        self.vectors: NDArray[np.float16] = np.load(folder / "vectors.npy", mmap_mode="r")
        self._order = np.argsort(self.keys)

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return unit vectors float32 [n, d]."""
        wanted = key_prefixes(text_keys(texts))
        ranks = np.searchsorted(self.keys, wanted, sorter=self._order)
        rows = self._order[np.minimum(ranks, len(self.keys) - 1)]
        found = self.vectors[rows].astype(np.float32)
        unknown = np.flatnonzero(self.keys[rows] != wanted).tolist()
        if unknown:
            found[unknown] = self._real.embed([texts[row] for row in unknown])
        return found


def real_embedder() -> Embedder:
    embedder, report = resolve_embedder(EmbeddingSettings(cache=user_cache()))
    if embedder is None:
        raise SystemExit(f"no embedding model: {', '.join(report.degraded)}; run `workbench model prepare`")
    return embedder


def real_texts(folder: Path) -> tuple[RealTexts, list[str], Float32]:
    """Return the texts to draw from, and queries with their vectors, which are kept in `folder`."""
    path = folder / "real.npz"
    if not path.is_file():
        texts = documentation_texts(REAL + QUERIES)
        vectors = real_embedder().embed(texts)
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(path, texts=np.array(texts), vectors=vectors)
    with np.load(path) as stored:
        texts, vectors = stored["texts"].tolist(), stored["vectors"].astype(np.float32)
    step = len(texts) // QUERIES
    asked = np.zeros(len(texts), np.bool_)
    asked[: step * QUERIES : step] = True
    kept = np.ascontiguousarray(vectors[~asked])
    near = np.concatenate([_nearest(kept, rows) for rows in np.array_split(np.arange(len(kept)), 20)])
    base = RealTexts([text for text, query in zip(texts, asked, strict=True) if not query], kept, near)
    return base, [text for text, query in zip(texts, asked, strict=True) if query], vectors[asked]


def documentation_texts(count: int) -> list[str]:
    """Return so many different first paragraphs of documentation strings, evenly from all there are."""
    folders = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
    found: dict[str, None] = {}
    for path in sorted({path for folder in folders for path in Path(folder).rglob("*.py")}):
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError, OSError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                text = " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
                if _LEAST <= len(text) <= _MOST and text.isascii():
                    found[text] = None
    if len(found) < count:
        print(f"{len(found):,} documentation strings here, {count:,} wanted", file=sys.stderr)
    texts = list(found)
    return [texts[row] for row in np.unique(np.linspace(0, len(texts) - 1, count).astype(int)).tolist()]


def _nearest(vectors: Float32, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    cosines = vectors[rows] @ vectors.T
    cosines[np.arange(len(rows)), rows] = -1
    return np.argpartition(-cosines, NEAR, axis=1)[:, :NEAR].astype(np.int64)


def draw(folder: Path, count: int) -> Path:
    """Write `count` drawn texts with vectors and keys into a folder of their own, if they are not there."""
    target = folder / f"drawn-{count}"
    if (target / "done").is_file():
        return target
    base, queries, asked = real_texts(folder)
    target.mkdir(parents=True, exist_ok=True)
    shape = (count, base.vectors.shape[1])
    vectors = np.lib.format.open_memmap(target / "vectors.npy", "w+", np.float16, shape)
    keys = np.empty(count, np.uint64)
    start = 0
    with (target / "texts.txt").open("w", encoding="utf-8") as file:
        for texts, some in base.drawn(count):
            vectors[start : start + len(texts)] = some
            keys[start : start + len(texts)] = key_prefixes(text_keys(texts))
            file.writelines(f"{text}\n" for text in texts)
            start += len(texts)
    vectors.flush()
    np.save(target / "keys.npy", keys)
    np.savez(target / "queries.npz", texts=np.array(queries), vectors=asked)
    (target / "done").touch()
    return target


def read_texts(folder: Path) -> Iterator[str]:
    with (folder / "texts.txt").open(encoding="utf-8") as file:
        for line in file:
            yield line[:-1]


def read_queries(folder: Path) -> tuple[list[str], Float32]:
    """Return queries with their unit vectors float32 [n, d]."""
    with np.load(folder / "queries.npz") as stored:
        return stored["texts"].tolist(), stored["vectors"].astype(np.float32)


def exact_neighbours(folder: Path, count: int) -> NDArray[np.int64]:
    """Return the rows int64 [queries, count] of the nearest drawn texts of each query, compared with all."""
    path = folder / f"nearest-{count}.npy"
    found: NDArray[np.int64]
    if path.is_file():
        found = np.load(path)
        return found
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    _, asked = read_queries(folder)
    cosines = np.concatenate(
        [
            asked @ vectors[start : start + BLOCK].astype(np.float32).T
            for start in range(0, len(vectors), BLOCK)
        ],
        axis=1,
    )
    found = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
    np.save(path, found)
    return found


def recall(folder: Path, found: Sequence[Sequence[int]], count: int) -> float:
    """Return the mean share of the `count` nearest of each query that were found, or others as near."""
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    _, asked = read_queries(folder)
    shares = []
    for query, rows, mine in zip(asked, exact_neighbours(folder, count), found, strict=True):
        near, ours = (vectors[np.sort(some)].astype(np.float32) @ query for some in (rows, np.array(mine)))
        shares.append(min(1.0, float((ours >= near.min() - TIE).sum()) / count))
    return float(np.mean(shares))
