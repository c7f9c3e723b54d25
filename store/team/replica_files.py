"""The files of replicas: how one is checked against what is remembered of it, extended, and put whole.

What was added is written before it is written down how far the file is; what a killed writer added beyond
that is cut off again. What was received is not waited for: the server has it, should a power cut take it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from store.files import open_state, private_dir, sync_data, sync_dir, translate_errors
from store.journal_files import BINARY, readable_end, write_lines
from store.journal_lines import decode_line
from store.team.record import ReplicaFile
from workbench.errors import JournalError
from workbench.ports import Entry

_BLOCK: Final = 1 << 20


def check_file(path: Path, known: ReplicaFile, *, received: bool = False) -> ReplicaFile | None:
    """Return what is known of a replica's file if it still is so, None if its bytes are others.

    What a killed writer added is cut off. Of a stream that is `received` whole lines stay: readers may have
    them, and the server's checksum says whether they are right. A file that was touched is read.
    Raises: JournalError.
    """
    with suppress(OSError):
        found = os.lstat(path)
        if (found.st_size, found.st_mtime_ns, found.st_ino) == (known.size, known.written, known.inode):
            return known
    with translate_errors(f"reading {path}", JournalError):
        try:
            descriptor = open_state(path, os.O_RDWR | BINARY)
        except FileNotFoundError:
            return None if known.size else known
        with os.fdopen(descriptor, "r+b") as file:
            size = os.fstat(file.fileno()).st_size
            end = max(readable_end(file), known.size) if received and size > known.size else known.size
            if size > end:
                file.truncate(end)
            if prefix_crc(file, known.size) != known.crc:
                return None
            added = file.read(end - known.size)
            last = last_id(added) or known.last
            found = os.fstat(file.fileno())
            return _replica(found, known.generation, end, zlib.crc32(added, known.crc), last)


def extend_file(path: Path, known: ReplicaFile, lines: bytes, *, sync: bool = True) -> ReplicaFile:
    """Append lines to a replica's file that was checked, to the disk with `sync`. Raises: JournalError."""
    if not known.size:
        private_dir(path.parent)
    write_lines(path, lines, sync=sync)
    crc, last = zlib.crc32(lines, known.crc), last_id(lines) or known.last
    with translate_errors(f"reading {path}", JournalError):
        return _replica(os.lstat(path), known.generation, known.size + len(lines), crc, last)


def put_file(path: Path, generation: int, blocks: Iterable[bytes]) -> ReplicaFile:
    """Let blocks of lines be all of a replica's file: the old ones or all of these. Raises: JournalError."""
    beside = path.with_name(f".{path.name}.new")
    private_dir(path.parent)
    size, crc, last = 0, 0, ""
    with translate_errors(f"writing {path}", JournalError):
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | BINARY
        with os.fdopen(open_state(beside, flags), "w+b") as file:
            for block in blocks:
                file.write(block)
                size, crc, last = size + len(block), zlib.crc32(block, crc), last_id(block) or last
            file.flush()
            sync_data(file.fileno())
            os.replace(beside, path)
            sync_dir(path.parent)
            return _replica(os.fstat(file.fileno()), generation, size, crc, last)


def read_file(path: Path, start: int, size: int) -> bytes:
    """Return bytes of a replica's file. Raises: JournalError."""
    with translate_errors(f"reading {path}", JournalError), os.fdopen(open_state(path), "rb") as file:
        file.seek(start)
        return file.read(size)


def read_lines(path: Path, start: int, most: int) -> bytes:
    """Return whole lines of a replica's file, `most` bytes or one line. Raises: JournalError."""
    with translate_errors(f"reading {path}", JournalError), os.fdopen(open_state(path), "rb") as file:
        file.seek(start)
        data = file.read(most)
        end = data.rfind(b"\n") + 1
        return data[:end] if end or not data else data + file.readline()


def file_begins(path: Path, size: int, crc: int) -> bool:
    """Whether a replica's file begins with so many bytes of a CRC-32. Raises: JournalError."""
    if not size:
        return crc == 0
    with translate_errors(f"reading {path}", JournalError):
        try:
            descriptor = open_state(path)
        except FileNotFoundError:
            return False
        with os.fdopen(descriptor, "rb") as file:
            return prefix_crc(file, size) == crc


def prefix_crc(file: IO[bytes], size: int) -> int:
    """Return the CRC-32 of the first bytes of a file, -1 if it is shorter."""
    crc = 0
    file.seek(0)
    while size and (block := file.read(min(size, _BLOCK))):
        crc, size = zlib.crc32(block, crc), size - len(block)
    return -1 if size else crc


def last_id(lines: bytes) -> str:
    """Return the id of the last entry of some lines, empty where there is none."""
    end = len(lines)
    while end:
        start = lines.rfind(b"\n", 0, end - 1) + 1
        entry = decode_line(lines[start:end])
        if isinstance(entry, Entry):
            return entry.id
        end = start
    return ""


def _replica(found: os.stat_result, generation: int, size: int, crc: int, last: str) -> ReplicaFile:
    return ReplicaFile(generation, size, crc, last, found.st_mtime_ns, found.st_ino)
