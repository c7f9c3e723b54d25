"""Bytes by key, kept between processes in segments that are written once and mapped into memory.

Losing what is kept costs time, nothing else: a segment that is damaged, of another version or removed by
another process counts as absent. Several processes may read and write one directory at once. The oldest
segments go where all together are larger than they may be.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.beneath import open_private
from workbench.records.dataclass import dataclass

MOST_BYTES: Final = 256 << 20
BLOCK: Final = 16 << 20  # bytes that are written before there are more
MANY: Final = 24  # segments, from which small ones are joined
SMALL: Final = 2 << 20  # bytes of a segment that is joined with others
_MAGIC: Final = b"segment1"
_SUFFIX: Final = ".seg"
_ALIGN: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Segment:
    """A mapped segment: the keys' hashes in order, where each value lies, and its checksum with its key."""

    path: Path
    data: memoryview
    hashes: NDArray[np.uint64]
    places: NDArray[np.uint64]  # [n, 3]: start, length, checksum


class SegmentCache:
    """Values of one version in a directory. Not thread-safe."""

    def __init__(self, directory: Path, version: str, *, enough: int = 1) -> None:
        """`enough` values are worth a segment of their own; fewer are not written."""
        self._directory = directory / version
        self._enough = enough
        self._fresh: dict[str, bytes] = {}
        self._size = 0
        self._segments = [found for path in _paths(self._directory) if (found := _open(path)) is not None]

    def get(self, key: str) -> memoryview | None:
        """Return the value of a key, 8-byte aligned where it is mapped; None if it is not here."""
        fresh = self._fresh.get(key)
        if fresh is not None:
            return memoryview(fresh)
        number = _hash(key)
        for segment in reversed(self._segments):
            at = int(np.searchsorted(segment.hashes, number))
            if at < len(segment.hashes) and segment.hashes[at] == number:
                start, length, checksum = segment.places[at].tolist()
                value = segment.data[start : start + length]
                if len(value) == length and _checksum(key, value) == checksum:
                    return value
        return None

    def put(self, key: str, value: bytes) -> None:
        """Keep a value; it is written with others."""
        try:
            _hash(key)
        except UnicodeEncodeError:
            return  # names that are not UTF-8 are read each time
        self._fresh[key] = value
        self._size += len(value)
        if self._size >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Write what is worth a segment; a full or read-only disk only costs the next run time."""
        if not self._fresh or len(self._fresh) < self._enough:
            return
        joined = [one for one in self._segments if len(one.data) < SMALL] if self._has_many else []
        try:
            path = self._write(joined)
        except OSError:
            return
        self._fresh, self._size = {}, 0
        self._segments = [segment for segment in self._segments if segment not in joined]
        for one in joined:
            one.path.unlink(missing_ok=True)
        found = _open(path)
        self._segments += [] if found is None else [found]

    @property
    def _has_many(self) -> bool:
        return len(self._segments) >= MANY

    def _write(self, joined: Sequence[_Segment]) -> Path:
        rows: dict[int, tuple[int, bytes | memoryview]] = {}
        for segment in joined:
            for number, (start, length, checksum) in zip(
                segment.hashes.tolist(), segment.places.tolist(), strict=True
            ):
                rows[number] = (checksum, segment.data[start : start + length])
        rows |= {_hash(key): (_checksum(key, value), value) for key, value in self._fresh.items()}
        order = sorted(rows)
        at = len(_MAGIC) + 8 + 32 * len(order)
        places = []
        for number in order:
            checksum, value = rows[number]
            places.append((at, len(value), checksum))
            at += len(value) + -len(value) % _ALIGN
        path = self._directory / f"{time.time_ns():020d}-{os.getpid()}{_SUFFIX}"
        partial = path.with_suffix(".part")
        with open_private(partial, "wb") as handle:
            handle.write(_MAGIC + len(order).to_bytes(8, "little"))
            handle.write(np.asarray(order, "<u8").tobytes() + np.asarray(places, "<u8").tobytes())
            for number in order:
                value = rows[number][1]
                handle.write(value)
                handle.write(bytes(-len(value) % _ALIGN))
        partial.replace(path)
        return path


def tidy(directory: Path, version: str, *, most: int = MOST_BYTES) -> None:
    """Remove the segments of other versions, and the oldest of this one beyond `most` bytes."""
    if not directory.is_dir():
        return
    for other in sorted(directory.iterdir()):
        if other.is_dir() and other.name != version:
            for path in sorted(other.iterdir()):
                path.unlink(missing_ok=True)
            other.rmdir()
    held = 0
    for path in reversed(_paths(directory / version)):
        held += path.stat().st_size
        if held > most:
            path.unlink(missing_ok=True)


def _open(path: Path) -> _Segment | None:
    try:
        with path.open("rb") as handle:
            data = memoryview(mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ))
        head = len(_MAGIC) + 8
        count = int.from_bytes(data[len(_MAGIC) : head], "little")
        if bytes(data[: len(_MAGIC)]) != _MAGIC or len(data) < head + 32 * count:
            return None
        hashes = np.frombuffer(data, "<u8", count, head)
        places = np.frombuffer(data, "<u8", 3 * count, head + 8 * count).reshape(-1, 3)
    except (OSError, ValueError):
        return None  # removed by another process, or damaged
    return _Segment(path, data, hashes, places)


def _paths(directory: Path) -> list[Path]:
    """Return the segments, oldest first."""
    try:
        return sorted(directory / name for name in os.listdir(directory) if name.endswith(_SUFFIX))
    except OSError:
        return []


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little")


def _checksum(key: str, value: bytes | memoryview) -> int:
    return zlib.crc32(value, zlib.crc32(key.encode("utf-8", "surrogatepass")))
