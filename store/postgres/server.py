"""A team's server in PostgreSQL (protocol `TeamServer`): the streams of a project's machines, row by row.

Each write is one statement or one transaction that moves a stream's head and adds its lines, so that a
connection that is lost anywhere leaves either nothing or all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from store.journal_lines import decode_line
from store.postgres.connection import Connections, errors
from store.postgres.listening import Listener, announce
from store.postgres.migrations import check_schema
from store.team.server import MOST, MachineTaken, StreamHead, StreamKey, StreamMoved, TeamMachine
from workbench.errors import JournalError, TeamError
from workbench.ports import Entry
from workbench.records.ids import is_id, milliseconds

if TYPE_CHECKING:
    from psycopg import Connection

AHEAD: Final = 600
"""Seconds that the id of an entry may be in the server's future: ids order what several machines wrote."""

_WHOLE: Final = 600.0  # seconds that replacing a stream may take
_NAME: Final = 100  # characters of a machine's name

SELECT_MEMBER: Final = """
SELECT current_user::text, EXISTS (
    SELECT 1 FROM workbench.members WHERE project = %s AND member = current_user::text)
"""
UPSERT_MACHINE: Final = """
INSERT INTO workbench.machines AS former (project, machine, member, name)
VALUES (%s, %s, current_user::text, %s)
ON CONFLICT (project, machine) DO UPDATE SET name = excluded.name, seen_at = now()
WHERE former.member = current_user::text
RETURNING member
"""
SELECT_MACHINES: Final = """
SELECT machine, member, name,
    coalesce(to_char(seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '')
FROM workbench.machines WHERE project = %s ORDER BY machine
"""
SELECT_HEADS: Final = """
SELECT machine, stream, generation, bytes, crc, last FROM workbench.streams WHERE project = %s
ORDER BY machine, stream
"""
SELECT_CHANGES: Final = """
SELECT count(*), sum(generation), sum(bytes) FROM workbench.streams WHERE project = %s AND machine <> %s
"""
SELECT_HEAD: Final = """
SELECT coalesce(generation, 0), coalesce(bytes, 0), coalesce(crc, 0), coalesce(last, ''),
    coalesce(entries, 0), extract(epoch FROM clock_timestamp())::float8
FROM (SELECT 1) AS one LEFT JOIN workbench.streams ON project = %s AND machine = %s AND stream = %s
"""
SELECT_LINES: Final = """
SELECT min(begins), string_agg(line, ''::bytea ORDER BY begins)
FROM workbench.streams JOIN workbench.entries USING (project, machine, stream, generation)
WHERE project = %(project)s AND machine = %(machine)s AND stream = %(stream)s
    AND begins >= %(start)s AND begins < bytes
    AND (begins = %(start)s OR begins + octet_length(line) <= %(start)s + %(most)s)
    AND begins < %(start)s + %(most)s
"""
WRITE: Final = """
WITH head AS (
    INSERT INTO workbench.streams AS former (project, machine, stream, generation, entries, bytes, crc, last)
    VALUES (%(project)s, %(machine)s, %(stream)s, %(generation)s, %(entries)s, %(bytes)s, %(crc)s, %(last)s)
    ON CONFLICT (project, machine, stream) DO UPDATE
    SET generation = excluded.generation, entries = excluded.entries, bytes = excluded.bytes,
        crc = excluded.crc, last = excluded.last
    WHERE former.generation = %(former)s AND former.bytes = %(start)s
    RETURNING 1
), added AS (
    INSERT INTO workbench.entries (project, machine, stream, generation, begins, id, at, kind, by, line)
    SELECT %(project)s, %(machine)s, %(stream)s, %(generation)s, one.*
    FROM head, unnest(%(begins)s::bigint[], %(ids)s::text[], %(ats)s::text[], %(kinds)s::text[],
        %(bys)s::text[], %(lines)b::bytea[]) AS one
)
SELECT 1 FROM head
"""
DELETE_FORMER: Final = """
DELETE FROM workbench.entries
WHERE project = %s AND machine = %s AND stream = %s AND generation < %s
"""


def open_server(url: str, project: str) -> PostgresServer:
    """Return a member's connection to a project of a team.

    Raises: ConfigError for a wrong URL; ServerUnreachable; TeamError for a login that is refused, a server or
    a schema of another version, and whoever is not a member.
    """
    connections = Connections(url)
    try:
        with connections.use() as connection:
            check_schema(connection, connections.place)
            member = _require_membership(connection, project, connections.place)
    except BaseException:
        connections.close()
        raise
    return PostgresServer(connections, project, member)


class PostgresServer:
    """A project of a team in PostgreSQL, as one member sees it. Threads may share it."""

    def __init__(self, connections: Connections, project: str, member: str) -> None:
        self._connections = connections
        self._project = project
        self._member = member
        self._machine = ""
        self._listener = Listener(connections, project, self._changes)

    @property
    def member(self) -> str:
        """The member whose connection it is."""
        return self._member

    def register(self, machine: str, name: str) -> None:
        """Make a machine known as the member's, and be the one that appends to its streams from now on."""
        if not is_id(machine):
            raise TeamError(f"{machine[:_NAME]!r} is not the id of a machine", hint="Remove .workbench/team.")
        with self._connections.use() as connection:
            try:
                found = connection.execute(
                    UPSERT_MACHINE, [self._project, machine, _text(name)[:_NAME]]
                ).fetchone()
            except errors.InsufficientPrivilege:
                found = None
            if found is None:
                _require_membership(connection, self._project, self._connections.place)
                raise MachineTaken(
                    f"the machine {machine} is another member's",
                    hint="In a copy of someone else's project directory, remove .workbench/team.",
                )
        self._machine = machine

    def machines(self) -> Sequence[TeamMachine]:
        """Return the machines of the project, sorted by id."""
        with self._connections.use() as connection:
            rows = connection.execute(SELECT_MACHINES, [self._project]).fetchall()
        return [TeamMachine(*row) for row in rows]

    def heads(self) -> Mapping[StreamKey, StreamHead]:
        """Return how far each stream of each machine of the project is."""
        with self._connections.use() as connection:
            rows = connection.execute(SELECT_HEADS, [self._project]).fetchall()
            if not rows:  # that is what a removed member sees, too
                _require_membership(connection, self._project, self._connections.place)
        heads = {(machine, stream): StreamHead(*head) for machine, stream, *head in rows}
        if strange := next((machine for machine, _ in heads if not is_id(machine)), ""):
            raise TeamError(
                f"{self._connections.place} has a machine {strange[:_NAME]!r}, which no program made",
                hint="Ask whoever runs the server what happened to it.",
            )
        return heads

    def read(self, machine: str, stream: str, start: int, most: int) -> bytes:
        """Return whole lines from byte `start`, `most` bytes or one line; empty at the end."""
        given = {"project": self._project, "machine": machine, "stream": stream}
        with self._connections.use() as connection:
            cursor = connection.execute(SELECT_LINES, {**given, "start": start, "most": most}, binary=True)
            [(begins, lines)] = cursor.fetchall()
        if begins is None:
            return b""
        if begins != start:
            raise TeamError(
                f"byte {start} is not the beginning of a line of the stream {stream} of {machine}",
                hint="Run `workbench store verify`.",
            )
        return bytes(lines)

    def append(self, stream: str, start: int, lines: bytes) -> StreamHead:
        """Append whole lines to a stream of the own machine.

        Raises: StreamMoved if it ends elsewhere; TeamError for entries more than `AHEAD` seconds in the
        server's future; JournalError for what no journal holds.
        """
        entries = _parse(stream, lines)
        with self._connections.use() as connection:
            head, count = self._head(connection, stream, entries)
            if head.size != start:
                _require_membership(connection, self._project, self._connections.place)
                raise self._moved(stream, head.size, start)
            if entries:
                head = self._write(connection, stream, head, head, count, entries)
                announce(connection, self._project, self._machine)
        return head

    def replace(self, stream: str, lines: bytes) -> StreamHead:
        """Let lines be all of a stream of the own machine, one generation on; the former ones are deleted."""
        entries = _parse(stream, lines)
        with self._connections.use(_WHOLE) as connection:
            with connection.transaction():
                former, _ = self._head(connection, stream, entries)
                head, count = StreamHead(former.generation + 1), 0
                for batch in _batches(entries) if entries else [[]]:
                    former = head = self._write(connection, stream, former, head, count, batch)
                    count += len(batch)
                connection.execute(DELETE_FORMER, [self._project, self._machine, stream, head.generation])
            announce(connection, self._project, self._machine)
        return head

    def wait(self, seconds: float) -> bool:
        """Wait until another machine sent something; False if that did not happen in time.

        The first call, and the first after a connection was lost, returns True: it is not known. One thread
        waits at a time.
        """
        return self._listener.wait(seconds, self._machine)

    def close(self) -> None:
        """Give the connections back; whoever waits returns."""
        self._listener.close()
        self._connections.close()

    def _head(
        self, connection: Connection[Any], stream: str, entries: Sequence[tuple[Entry, bytes]]
    ) -> tuple[StreamHead, int]:
        """Return a stream's head and its entries. Raises: TeamError if those that come are of the future."""
        if not self._machine:
            raise TeamError("no machine is registered", hint="Report this with what you did.")
        [(*head, count, now)] = connection.execute(
            SELECT_HEAD, [self._project, self._machine, stream]
        ).fetchall()
        ahead = max((milliseconds(entry.id) / 1000 - now for entry, _ in entries), default=0.0)
        if ahead > AHEAD:
            place = self._connections.place
            raise TeamError(
                f"what was written here is {ahead / 60:.0f} minutes in the future of {place}",
                hint="Set this machine's clock; what was written is sent once its time has come.",
            )
        return StreamHead(*head), count

    def _write(
        self,
        connection: Connection[Any],
        stream: str,
        former: StreamHead,
        head: StreamHead,
        count: int,
        entries: Sequence[tuple[Entry, bytes]],
    ) -> StreamHead:
        """Append entries to `head` where the server has `former`; return the head after them."""
        begins = [*accumulate((len(line) for _, line in entries), initial=head.size)]
        after = head.after(b"".join(line for _, line in entries), entries[-1][0].id if entries else head.last)
        given: dict[str, Any] = {"project": self._project, "machine": self._machine, "stream": stream}
        given |= {"former": former.generation, "start": former.size, "generation": after.generation}
        given |= {"entries": count + len(entries), "bytes": after.size, "crc": after.crc, "last": after.last}
        given |= {"begins": begins[:-1], "lines": [line for _, line in entries]}
        given |= {"ids": [entry.id for entry, _ in entries], "ats": [_text(entry.at) for entry, _ in entries]}
        given |= {
            "kinds": [_text(entry.kind) for entry, _ in entries],
            "bys": [_text(entry.by) for entry, _ in entries],
        }
        if connection.execute(WRITE, given).fetchone() is None:
            raise self._moved(stream, -1, former.size)
        return after

    def _changes(self) -> object:
        with self._connections.use() as connection:
            return connection.execute(SELECT_CHANGES, [self._project, self._machine]).fetchone()

    def _moved(self, stream: str, end: int, start: int) -> StreamMoved:
        place = end if end >= 0 else "another byte"
        return StreamMoved(
            f"the stream {stream} of this machine ends at {place}, not at {start}",
            hint="Another process or a copy of this directory sends, too: run `workbench store verify`.",
        )


def _require_membership(connection: Connection[Any], project: str, place: str) -> str:
    """Return the connection's role. Raises: TeamError if it is not a member."""
    [(member, is_member)] = connection.execute(SELECT_MEMBER, [project]).fetchall()
    if not is_member:
        raise TeamError(
            f"{member} is not a member of this project at {place}",
            hint=f"Ask the team's owner for `workbench store members add {member}`.",
        )
    return str(member)


def _parse(stream: str, lines: bytes) -> list[tuple[Entry, bytes]]:
    """Return the entries of whole lines, each with its line. Raises: JournalError."""
    *whole, rest = lines.split(b"\n")
    entries = []
    for line in [*(line + b"\n" for line in whole), *([rest] if rest else [])]:
        entry = decode_line(line) if line.endswith(b"\n") else "it is unfinished"
        if not isinstance(entry, Entry) or not is_id(entry.id):
            reason = "it has no id" if isinstance(entry, Entry) else entry or "it is blank"
            raise JournalError(
                f"a line of the stream {stream} is not an entry: {reason}", hint="Run `workbench doctor`."
            )
        entries.append((entry, line))
    return entries


def _batches(entries: Sequence[tuple[Entry, bytes]]) -> Iterator[list[tuple[Entry, bytes]]]:
    """Yield entries of `MOST` bytes together, if no line is longer."""
    batch: list[tuple[Entry, bytes]] = []
    size = 0
    for one in entries:
        if batch and size + len(one[1]) > MOST:
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += len(one[1])
    yield batch


def _text(value: str) -> str:
    """Return a text as a column can hold it: neither NUL nor lone surrogates."""
    return value.replace("\0", "�").encode("utf-8", "replace").decode("utf-8")
