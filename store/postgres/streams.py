"""Streams in a database: a head that says how far each is, and its lines, row by row.

A write is one statement that moves the head and adds the lines if the head is where the writer saw it
(compare and set), so that neither a lost connection nor another writer leaves half of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from store.team.server import StreamHead
from workbench.errors import JournalError
from workbench.ports import Entry
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from psycopg import Connection

Key = Mapping[str, str]
"""A stream: project, machine, stream."""

Row = tuple[Entry, bytes]
"""An entry and its line."""

# Of at most one row the greatest values are its own; an aggregate has a row also where there is none.
SELECT_STATE: Final = """
SELECT coalesce(max(generation), 0), coalesce(max(bytes), 0), coalesce(max(crc), 0), coalesce(max(last), ''),
    coalesce(max(entries), 0), extract(epoch FROM clock_timestamp())::float8
FROM workbench.streams
WHERE project = %(project)s AND machine = %(machine)s AND stream = %(stream)s
"""
SELECT_LINES: Final = """
SELECT min(begins), string_agg(line, ''::bytea ORDER BY begins)
FROM workbench.streams JOIN workbench.entries USING (project, machine, stream, generation)
WHERE project = %(project)s AND machine = %(machine)s AND stream = %(stream)s
    AND begins >= %(start)s AND begins < bytes
    AND (begins = %(start)s OR begins + octet_length(line) <= %(start)s::bigint + %(most)s::bigint)
    AND begins < %(start)s::bigint + %(most)s::bigint
"""
WRITE: Final = """
WITH head AS (
    INSERT INTO workbench.streams AS former (project, machine, stream, generation, entries, bytes, crc, last)
    VALUES (%(project)s, %(machine)s, %(stream)s, %(generation)s, %(entries)s, %(bytes)s, %(crc)s, %(last)s)
    ON CONFLICT (project, machine, stream) DO UPDATE
    SET generation = excluded.generation, entries = excluded.entries, bytes = excluded.bytes,
        crc = excluded.crc, last = excluded.last
    WHERE former.generation = %(former)s AND former.bytes = %(start)s AND former.crc = %(sum)s
    RETURNING 1
), added AS (
    INSERT INTO workbench.entries (project, machine, stream, generation, begins, crc, id, at, kind, by, line)
    SELECT %(project)s, %(machine)s, %(stream)s, %(generation)s, one.*
    FROM head, unnest(%(begins)s::bigint[], %(crcs)s::bigint[], %(ids)s::text[], %(ats)s::text[],
        %(kinds)s::text[], %(bys)s::text[], %(lines)b::bytea[]) AS one
)
SELECT 1 FROM head
"""


@dataclass(frozen=True, slots=True)
class StreamState:
    """A stream's head, how many entries it has, and the server's time (seconds since the epoch)."""

    head: StreamHead
    entries: int = 0
    now: float = 0.0


def read_state(connection: Connection[Any], key: Key) -> StreamState:
    """Return how a stream is now; one that does not exist has an empty head."""
    [(*head, entries, now)] = connection.execute(SELECT_STATE, key).fetchall()
    return StreamState(StreamHead(*head), entries, now)


def read_lines(connection: Connection[Any], key: Key, start: int, most: int) -> bytes:
    """Return whole lines from byte `start`, `most` bytes or one line; empty at the end.

    Raises: JournalError if no line begins there.
    """
    cursor = connection.execute(SELECT_LINES, {**key, "start": start, "most": most}, binary=True)
    [(begins, lines)] = cursor.fetchall()
    if begins is None:
        return b""
    if begins != start:
        raise JournalError(
            f"byte {start} is not the beginning of a line of the journal {key['stream']}",
            hint="The journal was replaced: run `workbench rebuild`.",
        )
    return bytes(lines)


def write_lines(
    connection: Connection[Any], key: Key, former: StreamHead, onto: StreamState, rows: Sequence[Row]
) -> StreamState | None:
    """Append lines to `onto` where the stream is at `former`: the same, or what it is replaced by.

    Returns the state after them, None if the stream is somewhere else.
    """
    lines = [line for _, line in rows]
    head = onto.head.after(b"".join(lines), rows[-1][0].id if rows else onto.head.last)
    given: dict[str, Any] = {
        **key,
        "former": former.generation,
        "start": former.size,
        "sum": former.crc,
        "generation": head.generation,
        "bytes": head.size,
        "crc": head.crc,
        "last": head.last,
        "entries": onto.entries + len(rows),
        "begins": [*accumulate(map(len, lines), initial=onto.head.size)][:-1],
        "crcs": [*accumulate(lines, lambda crc, line: zlib.crc32(line, crc), initial=onto.head.crc)][1:],
        "lines": lines,
    }
    for name in ("id", "at", "kind", "by"):
        given[f"{name}s"] = [column_text(getattr(entry, name)) for entry, _ in rows]
    if connection.execute(WRITE, given).fetchone() is None:
        return None
    return StreamState(head, onto.entries + len(rows), onto.now)


def column_text(value: str) -> str:
    """Return a text as a column can hold it: neither NUL nor lone surrogates."""
    return value.replace("\0", "�").encode("utf-8", "replace").decode("utf-8")
