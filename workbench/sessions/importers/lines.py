"""A transcript read line by line from any offset: whatever its size, little of it is in memory.

Readers of one file share it, each at its own place; texts of gigantic lines are cut while they are read.
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import IO, Final

from workbench.beneath import open_plain
from workbench.records.dataclass import dataclass
from workbench.sessions.importers import transcripts
from workbench.sessions.importers.transcripts import TranscriptRecord, Unreadable, decode_record

BLOCK: Final = 1 << 20

MAX_TEXT = 1 << 17  # bytes of a text that are held
WHOLE = 1 << 19  # bytes of a line that is read as it is
MAX_LENGTH = 1 << 31  # bytes of a line; a longer one is passed over, cut or not
_CHUNK = 1 << 20
_BUFFER = 1 << 18  # bytes read at once: a line is often longer than the default
_INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_ESCAPE = 6  # bytes of the longest escape
_TORN = re.compile(rb"\\u[0-9a-fA-F]{0,3}\Z")


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """A line of a transcript as it was read: its place, its content, and bytes that were left out."""

    offset: int
    end: int
    number: int
    record: TranscriptRecord | Unreadable | None
    cut: int = 0


class TranscriptSource:
    """A transcript that several readers share, each at its own place. One that is compressed is unpacked."""

    def __init__(
        self, opened: IO[bytes] | gzip.GzipFile, tell: Callable[[int], None] = lambda read: None
    ) -> None:
        """Take an open file over. Raises: OSError, EOFError, zlib.error if it cannot be unpacked."""
        handle = _unpack(opened, tell) if isinstance(opened, gzip.GzipFile) else opened
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


def _unpack(packed: gzip.GzipFile, tell: Callable[[int], None]) -> IO[bytes]:
    """Return the content as a file that has no name, so that nobody else can open it."""
    plain: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - the source closes it
    read = 0
    try:
        with packed:
            while block := packed.read(BLOCK):
                plain.write(block)
                read += len(block)
                tell(read)
    except BaseException:  # also of a job that is cancelled, which is not an Exception
        plain.close()
        raise
    return plain


def lines_from(source: TranscriptSource, offset: int, number: int) -> Iterator[TranscriptLine]:
    """Yield the lines from an offset, where line `number` begins. Long texts in them are cut.

    At most a megabyte and what is kept of a line is in memory. Raises: OSError.
    """
    at = offset
    while raw := source.line(at, WHOLE):
        begin, cut = at, 0
        at += len(raw)
        record: TranscriptRecord | Unreadable | None
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
                yield TranscriptLine(begin, at, number, Unreadable(number, "the line is too long"), cut)
                number += 1
                continue
            raw = bytes(trimmer.kept)
        held = raw.removeprefix(b"\xef\xbb\xbf") if begin == 0 else raw
        record = decode_record(number, held) if held.strip(b" \t\r\n\0") else None
        yield TranscriptLine(begin, at, number, record, cut)
        number += 1


def open_transcript(path: Path) -> IO[bytes]:
    """Open a transcript, also one that gzip compressed. Raises: OSError."""
    if path.suffix == ".gz":
        with open_plain(path):  # gzip does not close what it is given
            return gzip.open(path, "rb")  # type: ignore[return-value]
    return open_plain(path, _BUFFER)


def read_trimmed(
    handle: IO[bytes], cut: list[int] | None = None, tail: int = 0
) -> Iterator[TranscriptRecord | Unreadable]:
    """Yield the records of JSON lines; `cut` gets the number of bytes left out of each line that was cut.

    A last line without its end is read like any other. `tail` bytes of the end of a text that is cut stay,
    behind a note of what was left out. Raises: OSError, EOFError.
    """
    number = 0
    while raw := handle.readline(WHOLE):
        number += 1
        if len(raw) == WHOLE and not raw.endswith(b"\n"):
            trimmer = Trimmer(tail)
            while raw and trimmer.take(raw) and not raw.endswith(b"\n"):
                raw = handle.readline(_CHUNK)
            while raw and not raw.endswith(b"\n"):
                raw = handle.readline(_CHUNK)
            if cut is not None and trimmer.dropped:
                cut.append(trimmer.dropped)
            if trimmer.full:
                yield Unreadable(number, f"the line is longer than {transcripts.MAX_LINE >> 20} MB")
                continue
            raw = bytes(trimmer.kept)
        text = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if text.strip(b" \t\r\n\0"):
            yield decode_record(number, text)


class Trimmer:
    """Takes a line piece by piece and keeps it with its long texts cut."""

    __slots__ = ("_carried", "_cut", "_end", "_held", "_inside", "_tail", "dropped", "full", "kept", "seen")

    def __init__(self, tail: int = 0) -> None:
        """Begin a line. `tail` is how many bytes of the end of a text that is cut stay, too."""
        self.kept = bytearray()
        self.dropped = 0
        self.seen = 0
        self.full = False
        self._inside = False
        self._held = 0  # bytes of the text at hand that are kept
        self._cut = False  # whether the text at hand was cut
        self._carried = b""
        self._tail = tail
        self._end = bytearray()

    def take(self, piece: bytes) -> bool:
        """Take the next piece; False once the line is beyond what can be held."""
        self.seen += len(piece)
        raw, at = self._carried + piece, 0
        self._carried = b""
        while at < len(raw):
            if not self._inside:
                quote = raw.find(b'"', at)
                end = len(raw) if quote < 0 else quote + 1
                self.kept += raw[at:end]
                self._inside, self._held, self._cut, at = quote >= 0, 0, False, end
                continue
            match = _INSIDE.match(raw, at)
            end = at if match is None else match.end()
            self._keep(raw[at:end])
            if end < len(raw) and raw[end : end + 1] == b"\\":  # an escape that the next piece completes
                self._carried = raw[end:]
                break
            if end < len(raw):
                if self._end:
                    self._append_end()
                self.kept += b'"'
                self._inside = False
                end += 1
            at = end
        self.full = len(self.kept) > transcripts.MAX_LINE or self.seen > MAX_LENGTH
        return not self.full

    def _keep(self, text: bytes) -> None:
        room = MAX_TEXT - self._held
        if len(text) <= room:
            self.kept += text
            self._held += len(text)
            return
        head = text[: max(room, 0)]
        self.kept += head
        self.dropped += len(text) - len(head)
        self._held += len(head)
        if not self._cut:
            self._cut = True
            self._mend()
        if self._tail:
            self._end += text[len(head) :]
            if len(self._end) > _CHUNK + self._tail:
                del self._end[: -self._tail]

    def _append_end(self) -> None:
        """Append the last bytes of a text that was cut, from the first blank: no escape is split there."""
        del self._end[: -self._tail]
        end = self._end[max(self._end.find(b" "), 0) :] if b" " in self._end else bytearray()
        self._end.clear()
        self.dropped -= len(end)
        self.kept += b"\\n[... left out ...]\\n" + end

    def _mend(self) -> None:
        """Take away the half of an escape that a cut left at the end."""
        kept = self.kept
        torn = _TORN.search(kept[-_ESCAPE:])
        if torn is not None:
            start = len(kept) - len(kept[-_ESCAPE:]) + torn.start()
            if _backslashes(kept, start) % 2 == 0:
                del kept[start:]
        if _backslashes(kept, len(kept)) % 2:
            del kept[-1:]


def _backslashes(text: bytearray, end: int) -> int:
    """Return how many backslashes are right before a place."""
    at = end
    while at and text[at - 1] == ord("\\"):
        at -= 1
    return end - at
