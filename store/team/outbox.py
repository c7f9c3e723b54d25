"""The own replica: what of this machine's journals is for the team, as its server gets it.

It is made of the journals and catches up with them: a journal that only grew costs a look at its file, one
that was written again, by a purge or a repair, is read as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from store import locks
from store.journal import FileJournal
from store.journal_files import (
    LOCK_TIMEOUT,
    lines_between,
    lock_path,
    readable_end,
    reading_stream,
    stream_path,
)
from store.journal_lines import decode_line
from store.team.record import Outbox, ReplicaFile, Source
from store.team.replica_files import check_file, extend_file, file_begins, put_file
from store.team.replicas import is_for_team, is_shared, replica_root
from store.team.server import MOST
from workbench.ports import Entry
from workbench.records.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class OwnStreams:
    """The streams of a machine that are for its team, of its `journal`.

    They begin after the entries `after`, the last that others have by an id which this machine had before.
    """

    state: Path
    machine: str
    journal: FileJournal
    after: dict[str, str]

    def names(self) -> list[str]:
        """Return the streams there are something to send of."""
        return [name for name in self.journal.streams() if is_shared(name)]

    def path(self, stream: str) -> Path:
        """Return the file of a stream of the own replica."""
        return stream_path(replica_root(self.state, self.machine), stream)

    def catch_up(self, stream: str, known: Outbox) -> Outbox:
        """Bring a stream of the own replica up to what the journal has. Raises: StoreError, StoreBusy."""
        kept = check_file(self.path(stream), known.kept)
        if kept is not None and self._is_as_read(stream, known.source):
            return known if kept == known.kept else _with(known, known.source, kept, follows=known.follows)
        with reading_stream(self.journal.root, stream) as file:
            if file is None:
                return self._empty(stream, known)
            with locks.exclusive(lock_path(self.journal.root, stream), timeout=LOCK_TIMEOUT):
                end = readable_end(file)  # nothing up to here is taken back by a writer
            inode = os.fstat(file.fileno()).st_ino
            if kept is not None and inode == known.source.inode and _goes_on(file, known.source, end):
                return self._extend(file, stream, known, kept, end)
            return self._rebuild(file, stream, known, end)

    def _is_as_read(self, stream: str, source: Source) -> bool:
        try:
            found = os.stat(stream_path(self.journal.root, stream), follow_symlinks=False)
        except FileNotFoundError:
            return not source.end
        return (found.st_ino, found.st_size) == (source.inode, source.end)

    def _extend(self, file: IO[bytes], stream: str, known: Outbox, kept: ReplicaFile, end: int) -> Outbox:
        reading = _Reading(file, stream, known.source)
        for block in reading.blocks(end):
            kept = extend_file(self.path(stream), kept, block)
        return _with(known, reading.source, kept, follows=known.follows)

    def _rebuild(self, file: IO[bytes], stream: str, known: Outbox, end: int) -> Outbox:
        start = Source(os.fstat(file.fileno()).st_ino)
        after = self.after.get(stream, "")
        begin = next((stop for stop, entry in _entries(file, 0, end) if entry.id == after), 0) if after else 0
        reading = _Reading(file, stream, Source(start.inode, 0, "", begin), "" if begin else after)
        kept = put_file(self.path(stream), 0, reading.blocks(end))
        _, size, crc = known.sent
        return _with(known, reading.source, kept, follows=file_begins(self.path(stream), size, crc))

    def _empty(self, stream: str, known: Outbox) -> Outbox:
        """Return what there is of a stream whose journal is gone."""
        kept = put_file(self.path(stream), 0, ())
        return _with(known, Source(), kept, follows=not known.sent[1])


class _Reading:
    """Reads what is for the team of a journal from where it was read before; `source` says up to where.

    Entries with ids up to `after` are left out.
    """

    def __init__(self, file: IO[bytes], stream: str, source: Source, after: str = "") -> None:
        self._file = file
        self._stream = stream
        self._after = after
        self.source = source

    def blocks(self, end: int) -> Iterator[bytes]:
        """Yield whole lines, together not much more than what is sent at once."""
        block: list[bytes] = []
        size = 0
        inode, at, last = self.source.inode, self.source.at, self.source.last
        for offset, following, line in lines_between(self._file, self.source.end, end):
            entry = decode_line(line)
            if line is not None and isinstance(entry, Entry):
                at, last = offset, entry.id
                if entry.id > self._after and is_for_team(self._stream, entry):
                    block.append(line)
                    size += len(line)
            if size >= MOST:
                yield b"".join(block)
                block, size = [], 0
            self.source = Source(inode, at, last, following)
        if block:
            yield b"".join(block)


def _goes_on(file: IO[bytes], source: Source, end: int) -> bool:
    """Whether a journal's file still has the last entry that was read where it was."""
    if end < source.end:
        return False
    if not source.last:
        return True
    first = next(_entries(file, source.at, source.end), None)
    return first is not None and first[1].id == source.last


def _entries(file: IO[bytes], start: int, end: int) -> Iterator[tuple[int, Entry]]:
    for _, following, line in lines_between(file, start, end):
        entry = decode_line(line)
        if isinstance(entry, Entry):
            yield following, entry


def _with(known: Outbox, source: Source, kept: ReplicaFile, *, follows: bool) -> Outbox:
    return Outbox(source, kept, known.sent, known.pending, follows)
