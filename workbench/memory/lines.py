"""Lines out of a stream that arrives in chunks: lines of any length, long ones with their texts cut."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.sessions.importers import transcripts
from workbench.sessions.importers.lines import WHOLE, Trimmer
from workbench.sessions.importers.transcripts import Record, Unreadable, decode_record

_BLANK = b" \t\r\n\0"


class LineFeeder:
    """Takes chunks of bytes and gives the JSON records of the lines that ended in them.

    A line of more than 512 KB is held with each of its texts cut to 128 KB; `bytes_cut` counts what was
    left out.
    """

    __slots__ = ("_held", "_number", "_trimmer", "bytes_cut", "bytes_seen")

    def __init__(self) -> None:
        self.bytes_seen = 0
        self.bytes_cut = 0
        self._number = 0
        self._held = bytearray()
        self._trimmer: Trimmer | None = None

    def feed(self, chunk: bytes) -> Iterator[Record | Unreadable]:
        """Take a chunk; yield the records of the lines that it completes."""
        self.bytes_seen += len(chunk)
        at = 0
        while (end := chunk.find(b"\n", at)) >= 0:
            self._keep(chunk[at : end + 1])
            at = end + 1
            record = self._line()
            if record is not None:
                yield record
        if at < len(chunk):
            self._keep(chunk[at:])

    def finish(self) -> Record | Unreadable | None:
        """Return the record of a last line without its end, None where there is none."""
        return self._line() if self._held or self._trimmer is not None else None

    def _keep(self, piece: bytes) -> None:
        if self._trimmer is not None:
            if not self._trimmer.full:
                self._trimmer.take(piece)
            return
        self._held += piece
        if len(self._held) > WHOLE:
            self._trimmer = Trimmer()
            self._trimmer.take(bytes(self._held))
            self._held.clear()

    def _line(self) -> Record | Unreadable | None:
        self._number += 1
        trimmer, self._trimmer = self._trimmer, None
        raw = bytes(self._held) if trimmer is None else bytes(trimmer.kept)
        self._held.clear()
        if trimmer is not None:
            self.bytes_cut += trimmer.dropped
            if trimmer.full:
                return Unreadable(self._number, f"the line is longer than {transcripts.MAX_LINE >> 20} MB")
        if self._number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        return decode_record(self._number, raw) if raw.strip(_BLANK) else None
