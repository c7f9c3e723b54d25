"""The vectors of texts by kind (past tasks, rules, learnings), as immutable generations and a tail.

A generation holds the vectors of one model for all texts of a kind, by the sha256 of each: opening it maps a
file. Texts that came since have their vectors in the embedding cache, and are the index's tail until the next
generation. A changed model takes over once its generations are written; until then the former one serves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from store.embedding_cache import CachedEmbedder, match_keys
from store.vectors import CosineIndex, IndexAbout, load_index, map_rows, read_about
from workbench.errors import StoreError
from workbench.ports import Damaged
from workbench.records.dataclass import dataclass
from workbench.text.vectors import KEY_BYTES, KeyedTexts, text_key, text_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, Int64

PREFIX: Final = "vectors_"
"""What the names of the generations begin with."""

DECIDING: Final = ("tasks", "rules")
"""Kinds whose generations say which model serves, the last one to be written first."""

_KEYS: Final = "keys.npy"
_LENGTH_ERROR: Final = 0.01

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class _Stored:
    """A generation: the sha256 of each text, uint8 [n, 32], and the index of the vectors."""

    keys: NDArray[np.uint8]
    index: CosineIndex


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What was answered for some texts, when the cache held `size` vectors."""

    texts: Sequence[str]
    index: CosineIndex
    known: NDArray[np.bool_]
    size: int

    def is_of(self, texts: Sequence[str]) -> bool:
        """Whether it was answered for just these texts; of keyed ones none is read."""
        if isinstance(texts, KeyedTexts):
            return isinstance(self.texts, KeyedTexts) and np.array_equal(self.texts.keys, texts.keys)
        return self.texts == tuple(texts)


class VectorStore:
    """An embedder with what is stored of its vectors. `notes` say what was found amiss.

    `cache` is the user's, which knows from how many vectors on which search pays.
    """

    def __init__(
        self,
        embedder: CachedEmbedder,
        latest: Callable[[str], Path | Damaged | None],
        publish: Callable[[str, Callable[[Path], None]], Path],
        *,
        setting: str = "",
        note: str = "",
        cache: Path | None = None,
    ) -> None:
        self._embedder = embedder
        self._latest = latest
        self._publish = publish
        self._setting = setting
        self._cache = cache
        self.notes = [note] if note else []
        self._stored: dict[Path, _Stored | None] = {}
        self._answers: dict[str, _Known] = {}

    @property
    def model(self) -> str:
        """Identity of the vectors."""
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._embedder.dimensions

    @property
    def setting(self) -> str:
        """The configured model that it was opened by."""
        return self._setting

    @property
    def lookups(self) -> tuple[int, int]:
        """How many texts were embedded before (hits) and how many were not (misses)."""
        return self._embedder.hits, self._embedder.misses

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Float32:
        """Return float32 [n, dimensions] unit vectors, by the cache where it has them. Raises: ModelError."""
        return self._embedder.embed(texts, progress=progress)

    def adopt(self, texts: Sequence[str], fetch: Callable[[Int64], tuple[Float32, NDArray[np.bool_]]]) -> int:
        """Take the vectors of texts from elsewhere, and return how many; those known here stay.

        `fetch` returns (float32 [k, d], known bool [k]) of the rows of texts that it is given. What is not of
        length 1 is left out. Raises: StoreError.
        """
        keys = [text_key(text) for text in texts]
        _, found = self._embedder.cache.get(keys)
        rows = np.flatnonzero(~found)
        if not len(rows):
            return 0
        vectors, known = fetch(rows)
        known = known & (np.abs(np.linalg.norm(vectors, axis=1) - 1) < _LENGTH_ERROR)
        self._embedder.cache.put([keys[row] for row in rows[known].tolist()], vectors[known])
        return int(known.sum())

    def known_vectors(self, kind: str, texts: Sequence[str]) -> tuple[CosineIndex, NDArray[np.bool_]]:
        """Return (index of the texts' vectors, known bool [n]); nothing is embedded, rows not known are 0."""
        answer = self._answers.get(kind)
        if answer is None or not answer.is_of(texts) or not self._is_current(answer):
            answer = self._answers[kind] = self._look_up(texts, self._open(kind))
        return answer.index, answer.known

    def complete(self, kind: str, texts: Sequence[str], *, progress: Progress | None = None) -> CosineIndex:
        """Return the index of the texts' vectors, embedding those that are missing. Raises: ModelError."""
        index, known = self.known_vectors(kind, texts)
        missing = np.flatnonzero(~known)
        if not len(missing):
            return index
        # Only those: a generation may hold more vectors than the cache does.
        vectors = index.vectors
        vectors[missing] = self.embed([texts[row] for row in missing.tolist()], progress=progress)
        stored = self._open(kind)
        rows = missing if stored is None else match_keys(stored.keys, text_keys(texts))
        index = self._place_vectors(stored, rows, vectors)
        whole = np.ones(len(vectors), np.bool_)
        self._answers[kind] = _Known(_unchanging(texts), index, whole, len(self._embedder.cache))
        return index

    def missing(self, kind: str, texts: Sequence[str]) -> int:
        """Return how many different texts have no vector."""
        _, known = self.known_vectors(kind, texts)
        return len(np.unique(text_keys(texts)[~known], axis=0))

    def keep(self, kind: str, texts: Sequence[str], *, renew: bool = False) -> bool:
        """Write a generation of texts whose vectors are all known; return whether that was done.

        There is nothing to do where one is of just those texts, unless it is to `renew` it from the cache.

        Raises: StoreError, ModelError.
        """
        keys, stored = text_keys(texts), self._open(kind)
        if not texts or (not renew and stored is not None and np.array_equal(stored.keys, keys)):
            return False
        answer = self._answers.get(kind)
        if renew or answer is None or not answer.is_of(texts) or not answer.known.all():
            answer = self._look_up(texts, None if renew else stored)
        if not answer.known.all():
            return False
        from store.crossovers import build_measured

        built = build_measured(self._cache, answer.index.vectors, model=self.model)

        def write(directory: Path) -> None:
            np.save(directory / _KEYS, keys, allow_pickle=False)
            built.save(directory, kind, self._setting)

        self._publish(PREFIX + kind, write)
        self._answers.pop(kind, None)
        return True

    def _is_current(self, answer: _Known) -> bool:
        if answer.known.all():
            return True
        self._embedder.cache.refresh()
        return len(self._embedder.cache) == answer.size

    def _look_up(self, asked: Sequence[str], stored: _Stored | None) -> _Known:
        texts, keys = _unchanging(asked), text_keys(asked)
        cache = self._embedder.cache
        if stored is not None and np.array_equal(stored.keys, keys):
            return _Known(texts, stored.index, np.ones(len(texts), np.bool_), len(cache))
        rows = np.full(len(texts), -1) if stored is None else match_keys(stored.keys, keys)
        vectors = np.zeros((len(texts), cache.dimensions), np.float32)
        here, tail = np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)
        known = rows >= 0
        vectors[tail], known[tail] = cache.get([keys[row].tobytes() for row in tail.tolist()])
        if stored is not None:
            vectors[here] = stored.index.vectors[rows[here]]
        return _Known(texts, self._place_vectors(stored, rows, vectors), known, len(cache))

    def _place_vectors(self, stored: _Stored | None, rows: Int64, vectors: Float32) -> CosineIndex:
        """Return the index of vectors; `rows` are where they are in a generation, -1 for the others."""
        if stored is None:
            return CosineIndex(vectors, model=self.model)
        here = np.flatnonzero(rows >= 0)
        labels = np.full(len(stored.index), -1)
        labels[rows[here]] = here
        return stored.index.move_to(vectors, labels)

    def _open(self, kind: str) -> _Stored | None:
        """Return the current generation, None if it is of another model or cannot be used."""
        path = self._latest(PREFIX + kind)
        if path is None:
            return None
        if isinstance(path, Damaged):
            self._report(kind, path.reason)
            return None
        if path not in self._stored:
            try:
                self._stored[path] = self._read(path)
            except (StoreError, OSError, ValueError, EOFError) as error:
                self._report(kind, str(error))
                self._stored[path] = None
        return self._stored[path]

    def _read(self, path: Path) -> _Stored | None:
        index = load_index(path)
        if index.model != self.model:
            return None
        keys = map_rows(path / _KEYS)
        if keys.shape != (len(index), KEY_BYTES) or index.vectors.shape[1] != self._embedder.dimensions:
            raise ValueError(f"{keys.shape} keys do not fit vectors of shape {index.vectors.shape}")
        return _Stored(keys, index)

    def _report(self, kind: str, reason: str) -> None:
        """Note a damaged generation; every vector of it is in the cache or can be embedded again."""
        note = f"the vector index of {kind} is damaged ({reason}): `workbench index` builds it again"
        if note not in self.notes:
            self.notes.append(note)


def _unchanging(texts: Sequence[str]) -> Sequence[str]:
    return texts if isinstance(texts, KeyedTexts) else tuple(texts)


def stored_model(latest: Callable[[str], Path | Damaged | None]) -> IndexAbout | None:
    """Return what the generation of past tasks says of itself, or else that of rules; None without."""
    for kind in DECIDING:
        path = latest(PREFIX + kind)
        if isinstance(path, Path):
            try:
                return read_about(path)
            except (OSError, ValueError):
                continue  # damaged, as is reported when it is opened
    return None
