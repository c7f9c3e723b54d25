"""The entries of a stream that mention a text, or its newest, without decoding others: for quick answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from store.journal_files import readable_end, reading_stream
from store.journal_lines import decode_line
from workbench.ports import Entry

_PIECE: Final = 1 << 20


def mentioning(root: Path, stream: str, text: str) -> Iterator[Entry]:
    """Yield the entries of a stream whose line holds `text`, in order. `text` is ASCII as JSON writes it.

    `root` is the state directory. Lines that cannot be read are left out. Raises: JournalError.
    """
    with reading_stream(root, stream) as file:
        if file is None:
            return
        for line in _lines_with(file, text.encode("ascii")):
            found = decode_line(line)
            if isinstance(found, Entry):
                yield found


def newest(root: Path, stream: str, most: int) -> Iterator[Entry]:
    """Yield the entries of the last `most` bytes of a stream, in order. Raises: JournalError."""
    with reading_stream(root, stream) as file:
        if file is None:
            return
        stop = readable_end(file)
        start = max(0, stop - most)
        file.seek(start)
        lines = file.read(stop - start).splitlines(keepends=True)
        for line in lines[1:] if start else lines:
            found = decode_line(line)
            if isinstance(found, Entry):
                yield found


def _lines_with(file: IO[bytes], needle: bytes) -> Iterator[bytes]:
    stop = readable_end(file)
    file.seek(0)
    left, rest = stop, b""
    while left > 0:
        data = file.read(min(left, _PIECE))
        if not data:
            return  # cut off meanwhile by a writer that failed
        left -= len(data)
        piece = rest + data
        end = piece.rfind(b"\n") + 1
        at = piece.find(needle, 0, end)
        while at >= 0:
            after = piece.find(b"\n", at) + 1
            yield piece[piece.rfind(b"\n", 0, at) + 1 : after]
            at = piece.find(needle, after, end)
        rest = piece[end:]
