"""A transcript read line by line from any offset: whatever its size, little of it is in memory.

Readers of one file share it, each at its own place; texts of gigantic lines are cut while they are read.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import IO, Final

from workbench.sessions.importers.transcripts import Record, Unreadable, decode_record
from workbench.sessions.importers.trimming import WHOLE, Trimmer

BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a transcript as it was read: its place, what stands in it, and bytes that were left out."""

    offset: int
    end: int
    number: int
    record: Record | Unreadable | None
    cut: int = 0


class Source:
    """A transcript that several readers share, each at its own place. One that is compressed is unpacked."""

    def __init__(
        self, opened: IO[bytes] | gzip.GzipFile, tell: Callable[[int], None] = lambda read: None
    ) -> None:
        """Take an open file over. Raises: OSError, EOFError, zlib.error if it cannot be unpacked."""
        handle = _unpacked(opened, tell) if isinstance(opened, gzip.GzipFile) else opened
        self._handle = handle
        self._lock = Lock()
        self._at = 0
        self.size = handle.seek(0, os.SEEK_END)
        handle.seek(0)

    def line(self, at: int, limit: int) -> bytes:
        """Return at most `limit` bytes of the line at an offset. Raises: OSError."""
        with self._lock:
            if self._at != at:
                self._handle.seek(at)
            raw = self._handle.readline(limit)
            self._at = at + len(raw)
            return raw

    def close(self) -> None:
        """Close the file; readers that are still at work get a ValueError."""
        with self._lock:
            self._handle.close()


def _unpacked(packed: gzip.GzipFile, tell: Callable[[int], None]) -> IO[bytes]:
    """Return the content as a file that has no name, so that nobody else can open it."""
    plain: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - the source closes it
    read = 0
    try:
        with packed:
            while block := packed.read(BLOCK):
                plain.write(block)
                read += len(block)
                tell(read)
    except BaseException:  # also of a job that is cancelled, which is none of Exception
        plain.close()
        raise
    return plain


def lines_from(source: Source, offset: int, number: int) -> Iterator[Line]:
    """Yield the lines from an offset, where line `number` begins. Long texts in them are cut.

    At most a megabyte and what is kept of a line is in memory. Raises: OSError.
    """
    at = offset
    while raw := source.line(at, WHOLE):
        begin, cut = at, 0
        at += len(raw)
        record: Record | Unreadable | None
        if len(raw) == WHOLE and not raw.endswith(b"\n"):
            trimmer = Trimmer()
            trimmer.take(raw)
            while raw and not raw.endswith(b"\n"):
                raw = source.line(at, BLOCK)
                at += len(raw)
                if raw and not trimmer.full:
                    trimmer.take(raw)
            cut = trimmer.dropped
            if trimmer.full:
                yield Line(begin, at, number, Unreadable(number, "the line is too long"), cut)
                number += 1
                continue
            raw = bytes(trimmer.kept)
        held = raw.removeprefix(b"\xef\xbb\xbf") if begin == 0 else raw
        record = decode_record(number, held) if held.strip(b" \t\r\n\0") else None
        yield Line(begin, at, number, record, cut)
        number += 1
