"""The facts of files by their content, kept between replays of one version of the engine.

They are in segments that are written once and read on demand: an index of where each blob's facts lie, and
the facts. Segments of another version of the program go, and the oldest when all together are larger than the
cache may be.
"""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path
from typing import Final

import msgspec

from workbench.beneath import open_private
from workbench.records.conversion import decode_msgpack
from workbench.records.project import FileFacts

MOST_BYTES: Final = 256 << 20
ENOUGH: Final = 64  # facts that are worth a segment of their own
_HEAD = 8
_SUFFIX = ".facts"


class FactsCache:
    """Facts of blobs between runs; this one keeps none. Losing what it holds costs time, nothing else."""

    def get(self, path: str, sha: str) -> FileFacts | None:
        """Return the facts of a blob under a path, None if they are not here."""
        return None

    def put(self, path: str, sha: str, facts: FileFacts) -> None:
        """Keep the facts of a blob."""

    def flush(self) -> None:
        """Write what is not yet written."""


class SegmentedFacts(FactsCache):
    """A cache of facts in a directory; several processes may use it at once. Not thread-safe."""

    def __init__(self, directory: Path, version: str) -> None:
        self._directory = directory / version
        self._places: dict[str, tuple[mmap.mmap, int, int]] = {}
        self._fresh: dict[str, bytes] = {}
        for path in _segments(self._directory):
            self._open(path)

    def get(self, path: str, sha: str) -> FileFacts | None:
        """Return the facts of a blob under a path, None if they are not here."""
        key = _key(path, sha)
        data = self._fresh.get(key)
        if data is None:
            place = self._places.get(key)
            if place is None:
                return None
            mapped, start, length = place
            data = mapped[start : start + length]
        try:
            return decode_msgpack(data, FileFacts)
        except msgspec.MsgspecError:
            return None  # damaged: rebuilt

    def put(self, path: str, sha: str, facts: FileFacts) -> None:
        """Keep the facts of a blob; they are written with others."""
        try:
            self._fresh[_key(path, sha)] = msgspec.msgpack.encode(facts)
        except UnicodeEncodeError:
            return  # names that are not UTF-8 are read each time
        if len(self._fresh) >= 4 * ENOUGH:
            self.flush()

    def flush(self) -> None:
        """Write what is worth a segment; a full or read-only disk only costs the next run time."""
        if len(self._fresh) < ENOUGH:
            return
        try:
            self._open(self._write())
            self._fresh = {}
        except OSError:
            return

    def _write(self) -> Path:
        index: dict[str, tuple[int, int]] = {}
        at = 0
        for key, data in self._fresh.items():
            index[key] = (at, len(data))
            at += len(data)
        head = msgspec.msgpack.encode(index)
        path = self._directory / f"{time.time_ns():020d}-{os.getpid()}{_SUFFIX}"
        partial = path.with_suffix(".part")
        with open_private(partial, "wb") as handle:
            handle.write(len(head).to_bytes(_HEAD, "little") + head)
            handle.writelines(self._fresh.values())
        partial.replace(path)
        return path

    def _open(self, path: Path) -> None:
        try:
            with path.open("rb") as handle:
                mapped = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
            start = _HEAD + int.from_bytes(mapped[:_HEAD], "little")
            index = decode_msgpack(mapped[_HEAD:start], dict[str, tuple[int, int]])
        except (OSError, ValueError, msgspec.MsgspecError):
            return  # removed by another process, or damaged
        self._places |= {key: (mapped, start + at, length) for key, (at, length) in index.items()}


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
    for path in reversed(_segments(directory / version)):
        held += path.stat().st_size
        if held > most:
            path.unlink(missing_ok=True)


def _segments(directory: Path) -> list[Path]:
    """Return the segments, oldest first."""
    return sorted(directory.glob(f"*{_SUFFIX}")) if directory.is_dir() else []


def _key(path: str, sha: str) -> str:
    return f"{sha}\0{path}"
