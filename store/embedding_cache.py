"""Vectors on disk by (sha256 of text, model), so that no text is embedded twice, by any process.

A model has a directory of generations; the highest is in use. A generation is two append-only files of
fixed-size records: `keys` (sha256, 32 bytes) and `vectors` (float16 [dimensions] and its CRC-32). Vectors are
written before keys and both under one lock, so a record exists once its key is whole; what a crash leaves
behind is ignored by readers and cut off by the next writer. Beyond `limit` records the newest ones are copied
into the next generation.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from store.files import PRIVATE_FILE, private_dir, translate_errors
from store.locks import exclusive
from workbench.errors import StoreError
from workbench.text.vectors import KEY_BYTES, text_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Embedder, Float32, Int64

LIMIT: Final = 200_000
"""Records kept for a model: 155 MB at 384 dimensions."""

_KEEP: Final = 0.75
_CRC_BYTES: Final = 4
_CHUNK: Final = 128
"""Texts embedded between two appends: what an interruption can lose."""


def match_keys(keys: NDArray[np.uint8], wanted: NDArray[np.uint8]) -> Int64:
    """Return the last row of each wanted key, int64, -1 where it is not among the keys."""
    prefixes = key_prefixes(keys)
    return _last_rows(keys, prefixes, np.argsort(prefixes, kind="stable"), wanted)


def key_prefixes(keys: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the first eight bytes of each key."""
    return np.ascontiguousarray(keys[:, :8]).view(np.uint64).reshape(-1)


def _last_rows(
    keys: NDArray[np.uint8], prefixes: NDArray[np.uint64], order: Int64, wanted: NDArray[np.uint8]
) -> Int64:
    if not len(keys) or not len(wanted):
        return np.full(len(wanted), -1, np.int64)
    ranks = np.searchsorted(prefixes, key_prefixes(wanted), side="right", sorter=order) - 1
    rows = order[np.maximum(ranks, 0)]
    same = (keys[rows] == wanted).all(axis=1)
    return np.where(same, rows, -1)


def as_stored(vectors: Float32) -> Float32:
    """Return float32 vectors with the precision the cache keeps (float16), so hits and misses agree."""
    return vectors.astype(np.float16).astype(np.float32)


class EmbeddingCache:
    """The vectors of one model under `root`. Reading takes no lock."""

    def __init__(self, root: Path, model: str, dimensions: int, *, limit: int = LIMIT) -> None:
        self.model = model
        self.dimensions = dimensions
        self._limit = limit
        self._record = 2 * dimensions + _CRC_BYTES
        self._directory = root / f"{_slug(model)}-{dimensions}"
        self._lock = self._directory / "lock"
        self._generation: Path | None = None
        self._prefixes: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._order: Int64 = np.empty(0, np.int64)
        self._keys: NDArray[np.uint8] = np.empty((0, KEY_BYTES), np.uint8)
        self._vectors: NDArray[np.uint8] = np.empty((0, self._record), np.uint8)
        self.refresh()

    def __len__(self) -> int:
        return len(self._prefixes)

    def refresh(self) -> bool:
        """Take note of what other processes have appended. Returns whether there was anything."""
        directory = self._current()
        if directory is None:
            return False
        if directory != self._generation:
            self._clear()
            self._generation = directory
        count = self._count(directory)
        known = len(self._prefixes)
        if count <= known:
            return False
        try:
            keys = _map_vectors(directory / "keys", count, KEY_BYTES)
            vectors = _map_vectors(directory / "vectors", count, self._record)
        except OSError:  # another process has made the next generation just now, or the files are unreadable
            return False
        self._keys, self._vectors = keys, vectors
        fresh = key_prefixes(self._keys[known:])
        rows = np.argsort(fresh, kind="stable")
        # What is there is sorted: a few records are put between, which takes no sorting of all again.
        places = np.searchsorted(self._prefixes[self._order], fresh[rows], side="right")
        self._order = np.insert(self._order, places, rows + known)
        self._prefixes = np.concatenate([self._prefixes, fresh])
        return True

    def get(self, keys: Sequence[bytes]) -> tuple[Float32, NDArray[np.bool_]]:
        """Return (float32 [n, dimensions], found bool [n]); rows not found are 0."""
        rows = self._rows(keys)
        if (rows < 0).any() and self.refresh():
            rows = self._rows(keys)
        result = np.zeros((len(keys), self.dimensions), np.float32)
        for position in np.flatnonzero(rows >= 0):
            payload = self._vectors[rows[position]].tobytes()
            if zlib.crc32(payload[:-_CRC_BYTES]) == int.from_bytes(payload[-_CRC_BYTES:], "little"):
                result[position] = np.frombuffer(payload[:-_CRC_BYTES], "<f2")
            else:
                rows[position] = -1
        return result, rows >= 0

    def put(self, keys: Sequence[bytes], vectors: Float32) -> None:
        """Append vectors float32 [n, dimensions] under their keys; those already there are left alone.

        Raises: StoreError, StoreBusy.
        """
        if vectors.shape != (len(keys), self.dimensions):
            raise ValueError(f"{len(keys)} keys of {self.dimensions} dimensions, vectors {vectors.shape}")
        if not keys:
            return
        with exclusive(self._lock):
            _, found = self.get(keys)
            wanted = {key: row for row, key in enumerate(keys) if not found[row]}
            if wanted:
                self._append(wanted, vectors)
            if len(self) > self._limit:
                self._compact()

    def _append(self, wanted: dict[bytes, int], vectors: Float32) -> None:
        directory = self._current() or self._begin(1)
        if not _is_sound(directory):
            directory = self._begin(int(directory.name) + 1)
        rows = [vectors[row].astype("<f2").tobytes() for row in wanted.values()]
        payload = b"".join(row + zlib.crc32(row).to_bytes(_CRC_BYTES, "little") for row in rows)
        count = self._count(directory)
        with translate_errors(f"writing the embedding cache {directory}"):
            _append(directory / "vectors", count * self._record, payload)
            _append(directory / "keys", count * KEY_BYTES, b"".join(wanted))
        self.refresh()

    def _compact(self) -> None:
        import shutil  # most processes only read

        kept = np.arange(len(self) - int(self._limit * _KEEP), len(self))
        keys, vectors = self._keys[kept].tobytes(), self._vectors[kept].tobytes()
        old = self._generation
        number = int(old.name) + 1 if old else 1
        directory = self._begin(number, keys, vectors)
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)
        self._clear()
        self._generation = directory
        self.refresh()

    def _begin(self, number: int, keys: bytes = b"", vectors: bytes = b"") -> Path:
        """Make a generation visible at once, with its files whole."""
        import shutil

        scratch = self._directory / f".{number}.new"
        directory = self._directory / str(number)
        with translate_errors(f"making the embedding cache {directory}"):
            shutil.rmtree(scratch, ignore_errors=True)
            private_dir(scratch)
            for name, data in (("vectors", vectors), ("keys", keys)):
                (scratch / name).touch(PRIVATE_FILE)
                (scratch / name).write_bytes(data)
            os.replace(scratch, directory)
        return directory

    def _current(self) -> Path | None:
        try:
            names = [entry.name for entry in os.scandir(self._directory) if entry.name.isdigit()]
        except OSError:
            return None
        return self._directory / max(names, key=int) if names else None

    def _count(self, directory: Path) -> int:
        if not _is_sound(directory):
            return 0
        try:
            keys = (directory / "keys").stat().st_size // KEY_BYTES
            return min(keys, (directory / "vectors").stat().st_size // self._record)
        except OSError:
            return 0

    def _rows(self, keys: Sequence[bytes]) -> Int64:
        """Return the last record of each key, -1 if unknown: one that was damaged is appended again."""
        wanted = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), KEY_BYTES)
        return _last_rows(self._keys, self._prefixes, self._order, wanted)

    def _clear(self) -> None:
        self._generation = None
        self._prefixes = self._prefixes[:0]
        self._order = self._order[:0]
        self._keys = self._keys[:0]
        self._vectors = self._vectors[:0]


def cache_embeddings(embedder: Embedder, root: Path) -> CachedEmbedder:
    """Return the embedder with the cache of its model under `root`."""
    return CachedEmbedder(embedder, EmbeddingCache(root, embedder.model, embedder.dimensions))


class CachedEmbedder:
    """An embedder that asks the cache first. `hits` and `misses` count texts since it was made;
    `write_error` is why the last write to the cache failed, empty if it did not.

    The wrapped embedder sees only texts nobody has embedded before, so a lazy one is loaded only for those.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache) -> None:
        self.embedder = embedder
        self.cache = cache
        self.hits = 0
        self.misses = 0
        self.write_error = ""

    @property
    def model(self) -> str:
        """Identity of the wrapped model."""
        return self.embedder.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self.cache.dimensions

    def embed(self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None) -> Float32:
        """Return float32 [n, dimensions], rows of length 1 to 3 decimals (they have been float16).

        `progress` is called with (texts done, texts in all) as new vectors reach the disk. A cache that
        cannot be written costs the reuse, not the answer (`write_error`). Raises: ModelError.
        """
        keys = [text_key(text) for text in texts]
        result, found = self.cache.get(keys)
        rows: dict[bytes, list[int]] = {}
        for row in np.flatnonzero(~found):
            rows.setdefault(keys[row], []).append(int(row))
        self.hits += len(texts) - len(rows)
        self.misses += len(rows)
        missing = list(rows)
        done = len(texts) - sum(map(len, rows.values()))
        for start in range(0, len(missing), _CHUNK):
            chunk = missing[start : start + _CHUNK]
            vectors = as_stored(self.embedder.embed([texts[rows[key][0]] for key in chunk]))
            for key, vector in zip(chunk, vectors, strict=True):
                result[rows[key]] = vector
            self._keep(chunk, vectors)
            done += sum(len(rows[key]) for key in chunk)
            if progress is not None:
                progress(done, len(texts))
        return result

    def _keep(self, keys: Sequence[bytes], vectors: Float32) -> None:
        try:
            self.cache.put(keys, vectors)
        except StoreError as error:
            self.write_error = error.message


def _slug(model: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[:60]
    return f"{name}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def _is_sound(directory: Path) -> bool:
    """Tell whether both files of a generation are files; what else is in their place is left alone."""
    return (directory / "keys").is_file() and (directory / "vectors").is_file()


def _map_vectors(path: Path, count: int, width: int) -> NDArray[np.uint8]:
    flat = np.memmap(path, np.uint8, "r", shape=(count, width))
    return flat.view(np.ndarray)


def _append(path: Path, offset: int, payload: bytes) -> None:
    """Write at `offset`, cutting what a crash left after it; a failed write leaves the file as it was."""
    with path.open("r+b") as file:
        file.truncate(offset)
        file.seek(offset)
        try:
            file.write(payload)
            file.flush()
        except OSError:
            file.truncate(offset)
            raise
