"""The facts of files by their content, kept between replays of one version of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from workbench.project.segment_cache import SegmentCache
from workbench.records.conversion import decode_msgpack
from workbench.records.project import FileFacts

ENOUGH: Final = 64  # facts that are worth a segment of their own


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
        self._kept = SegmentCache(directory, version, enough=ENOUGH)

    def get(self, path: str, sha: str) -> FileFacts | None:
        """Return the facts of a blob under a path, None if they are not here."""
        try:
            data = self._kept.get(f"{sha}\0{path}")
            return None if data is None else decode_msgpack(bytes(data), FileFacts)
        except (UnicodeEncodeError, msgspec.MsgspecError):
            return None  # a name that is not UTF-8, or damaged: rebuilt

    def put(self, path: str, sha: str, facts: FileFacts) -> None:
        """Keep the facts of a blob; they are written with others."""
        self._kept.put(f"{sha}\0{path}", msgspec.msgpack.encode(facts))

    def flush(self) -> None:
        """Write what is worth a segment; a full or read-only disk only costs the next run time."""
        self._kept.flush()
