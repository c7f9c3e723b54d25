"""The journals of a machine in PostgreSQL (port `Journal`), byte for byte what `FileJournal` has in files.

Positions, checksums and revisions are those of the same bytes in a file, so that what follows a journal, or
was saved of one, holds for either.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from store.journal_files import check_name
from store.journal_lines import (
    FIRST,
    LAST,
    check_batch,
    decode_line,
    encode_line,
    make_entries,
    revision_text,
)
from store.postgres.connection import Connections
from store.postgres.listening import announce
from store.postgres.streams import Key, read_lines, read_state, write_lines
from store.team.server import MOST, StreamHead
from workbench.ports import Clock, Entry
from workbench.records.ids import IdSource

if TYPE_CHECKING:
    from psycopg import Connection

SELECT_STREAMS: Final = """
SELECT stream FROM workbench.streams WHERE project = %s AND machine = %s ORDER BY stream COLLATE "C"
"""
SELECT_BYTES: Final = """
SELECT coalesce(min(begins), 0), coalesce(string_agg(line, ''::bytea ORDER BY begins), '')
FROM workbench.entries
WHERE project = %(project)s AND machine = %(machine)s AND stream = %(stream)s AND generation = %(generation)s
    AND begins < %(end)s AND begins >= coalesce((
        SELECT begins FROM workbench.entries
        WHERE project = %(project)s AND machine = %(machine)s AND stream = %(stream)s
            AND generation = %(generation)s AND begins <= %(start)s
        ORDER BY begins DESC LIMIT 1), 0)
"""
SELECT_SUMS: Final = """
SELECT begins + octet_length(line), crc FROM workbench.entries
WHERE project = %(project)s AND machine = %(machine)s AND stream = %(stream)s AND generation = %(generation)s
    AND begins < %(end)s
ORDER BY begins DESC LIMIT 2
"""


class PostgresJournal:
    """The streams of a machine of a project (port `Journal`). Any number of processes may use them."""

    def __init__(self, connections: Connections, project: str, machine: str, clock: Clock) -> None:
        """`machine` is one that is registered (`PostgresServer.register`)."""
        self._connections = connections
        self._project = project
        self._machine = machine
        self._clock = clock
        self._ids = IdSource(lambda: int(clock.now() * 1000))

    @property
    def machine(self) -> str:
        """The machine whose journals these are."""
        return self._machine

    def append(
        self, stream: str, kind: str, bodies: Sequence[Mapping[str, Any]], *, by: str, sync: bool = True
    ) -> list[Entry]:
        """Append one entry per body; committed when this returns.

        Raises: JournalError, and then nothing of the batch is in the stream; TeamError.
        """
        return self.append_all(stream, [(kind, body) for body in bodies], by=by, sync=sync)

    def append_all(
        self, stream: str, drafts: Sequence[tuple[str, Mapping[str, Any]]], *, by: str, sync: bool = True
    ) -> list[Entry]:
        """Append entries of several kinds, given as (kind, body), in one statement: all or none."""
        del sync  # a commit is on disk
        key = self._key(stream)
        if not drafts:
            return []
        entries = make_entries(drafts, self._ids.several(len(drafts)), self._clock.now(), by)
        rows = [(entry, encode_line(entry)) for entry in entries]
        check_batch(stream, sum(len(line) for _, line in rows))
        with self._connections.use() as connection:
            state = read_state(connection, key)
            while write_lines(connection, key, state.head, state, rows) is None:
                state = read_state(connection, key)  # another writer was faster
            announce(connection, self._project, self._machine)
        return entries

    def read(self, stream: str, start: int = 0) -> Iterator[tuple[int, Entry]]:
        """Yield (offset after the line, entry) from byte `start` to what was the end at the first step.

        Raises: JournalError if `start` is not the beginning of a line of this stream.
        """
        key, end = self._key(stream), self.size(stream)
        while start < end:
            with self._connections.use() as connection:
                lines = read_lines(connection, key, start, min(MOST, end - start))
            if not lines:
                return
            for line in lines.split(b"\n")[:-1]:
                start += len(line) + 1
                entry = decode_line(line)
                if isinstance(entry, Entry):
                    yield start, entry

    def size(self, stream: str) -> int:
        """Return how many bytes a reader may consume now, 0 for a stream that does not exist."""
        with self._connections.use() as connection:
            return read_state(connection, self._key(stream)).head.size

    def revision(self, stream: str) -> str:
        """Return a short text that differs when what a reader may consume differs."""
        with self._connections.use() as connection:
            key, head = self._state(connection, stream)
            if head == StreamHead():
                return "0"
            first = _bytes(connection, key, 0, min(head.size, FIRST))
            last = _bytes(connection, key, max(0, head.size - LAST), head.size)
        return revision_text(head.size, first, last)

    def checksum(self, stream: str, end: int) -> int:
        """Return the CRC-32 of the first `end` bytes, -1 for a stream that is shorter."""
        with self._connections.use() as connection:
            key, head = self._state(connection, stream)
            if end > head.size:
                return -1
            rows = connection.execute(SELECT_SUMS, {**key, "end": end}).fetchall()
            after, crc = next((row for row in rows if row[0] <= end), (0, 0))
            return zlib.crc32(_bytes(connection, key, after, end), crc)

    def streams(self) -> list[str]:
        """Return the names of the streams that exist, sorted."""
        with self._connections.use() as connection:
            return [name for (name,) in connection.execute(SELECT_STREAMS, [self._project, self._machine])]

    def _state(self, connection: Connection[Any], stream: str) -> tuple[Mapping[str, Any], StreamHead]:
        key = self._key(stream)
        head = read_state(connection, key).head
        return {**key, "generation": head.generation}, head

    def _key(self, stream: str) -> Key:
        check_name(stream)
        return {"project": self._project, "machine": self._machine, "stream": stream}


def _bytes(connection: Connection[Any], key: Mapping[str, Any], start: int, end: int) -> bytes:
    """Return the bytes from `start` to `end` of a stream that has them."""
    if start == end:
        return b""
    given = {**key, "start": start, "end": end}
    [(begins, lines)] = connection.execute(SELECT_BYTES, given, binary=True).fetchall()
    return bytes(lines[start - begins : end - begins])
