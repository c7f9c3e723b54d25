"""A team's server in PostgreSQL (protocol `TeamServer`): the streams of a project's machines, row by row.

How lines are read and written is in `store.postgres.streams`; here is who may, and when.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from store.journal_lines import decode_line
from store.postgres.connection import Connections, errors
from store.postgres.listening import Listener, announce
from store.postgres.migrations import check_schema
from store.postgres.streams import Key, Row, StreamState, column_text, read_lines, read_state, write_lines
from store.team.claims import TOLERANCE
from store.team.replicas import USES
from store.team.server import MOST, MachineTaken, StreamHead, StreamKey, StreamMoved, TeamMachine
from workbench.errors import JournalError, TeamError
from workbench.ports import Entry
from workbench.records.ids import is_id, milliseconds

if TYPE_CHECKING:
    from psycopg import Connection

AHEAD: Final = TOLERANCE
"""Seconds that an entry may be in the server's future: ids order what several machines wrote."""

_WHOLE: Final = 600.0  # seconds that replacing a stream may take
_SEEN: Final = 60.0  # seconds between two notes of when a machine was seen
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
SELECT extract(epoch FROM clock_timestamp())::float8, machine, stream, generation, bytes, crc, last
FROM workbench.streams WHERE project = %s
"""
OF_MACHINES: Final = "AND machine = ANY(%s)"
DELETE_FORMER: Final = """
DELETE FROM workbench.entries
WHERE project = %(project)s AND machine = %(machine)s AND stream = %(stream)s AND generation < %(generation)s
"""
SELECT_CHANGES: Final = """
SELECT count(*), sum(generation), sum(bytes) FROM workbench.streams WHERE project = %s AND machine <> %s
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
        self._registered = ("", "", 0.0)
        self._time = 0.0
        self._listener = Listener(connections, project, self._changes)

    @property
    def member(self) -> str:
        """The member whose connection it is."""
        return self._member

    @property
    def time(self) -> float:
        """The server's time at the last look at `heads`, in seconds since the epoch; 0.0 before one."""
        return self._time

    def register(self, machine: str, name: str) -> None:
        """Make a machine known as the member's, and be the one that appends to its streams from now on.

        When it was last seen is written down once a minute.
        """
        if not is_id(machine):
            raise TeamError(f"{machine[:_NAME]!r} is not the id of a machine", hint="Remove .workbench/team.")
        if (machine, name) == self._registered[:2] and time.monotonic() - self._registered[2] < _SEEN:
            return
        with self._connections.use() as connection:
            is_writable = True
            try:
                found = connection.execute(
                    UPSERT_MACHINE, [self._project, machine, column_text(name)[:_NAME]]
                ).fetchone()
            except errors.InsufficientPrivilege:
                found = None
            except errors.ReadOnlySqlTransaction:  # what is there can be received; sending says why it fails
                found, is_writable = None, False
            if found is None and is_writable:
                _require_membership(connection, self._project, self._connections.place)
                raise MachineTaken(
                    f"the machine {machine} is another member's",
                    hint="In a copy of someone else's project directory, remove .workbench/team.",
                )
        self._machine = machine
        self._registered = (machine, name, time.monotonic())

    def machines(self) -> Sequence[TeamMachine]:
        """Return the machines of the project, sorted by id."""
        with self._connections.use() as connection:
            rows = connection.execute(SELECT_MACHINES, [self._project]).fetchall()
        return [TeamMachine(*row) for row in rows]

    def heads(self, machines: Collection[str] = ()) -> Mapping[StreamKey, StreamHead]:
        """Return how far each stream is of these machines of the project, of all where none is named.

        What another member says is its last id counts only if it is none of the future: the ids of all who
        read it come after it.
        """
        with self._connections.use() as connection:
            if machines:
                found = connection.execute(SELECT_HEADS + OF_MACHINES, [self._project, [*machines]])
            else:
                found = connection.execute(SELECT_HEADS, [self._project])
            rows = found.fetchall()
            if not rows:  # that is what a removed member sees, too
                _require_membership(connection, self._project, self._connections.place)
        heads = {}
        for now, machine, stream, generation, size, crc, last in rows:
            if not is_id(machine):
                raise TeamError(
                    f"{self._connections.place} has a machine {machine[:_NAME]!r}, which no program made",
                    hint="Ask whoever runs the server what happened to it.",
                )
            self._time = now
            is_past = is_id(last) and milliseconds(last) / 1000 <= now + AHEAD
            heads[machine, stream] = StreamHead(generation, size, crc, last if is_past else "")
        return heads

    def read(self, machine: str, stream: str, start: int, most: int) -> bytes:
        """Return whole lines from byte `start`, `most` bytes or one line; empty at the end.

        Raises: JournalError if no line begins there.
        """
        with self._connections.use() as connection:
            return read_lines(connection, self._key(stream, machine), start, most)

    def append(self, stream: str, start: int, lines: bytes) -> StreamHead:
        """Append whole lines to a stream of the own machine.

        Raises: StreamMoved if it ends elsewhere; TeamError for entries more than `AHEAD` seconds in the
        server's future; JournalError for what no journal holds.
        """
        rows = _parse(stream, lines)
        key = self._own_key(stream)
        with self._connections.use() as connection:
            state = read_state(connection, key)
            self._check_time(rows, state.now)
            after = None
            if state.head.size == start:
                after = write_lines(connection, key, state.head, state, rows) if rows else state
            if after is None:
                _require_membership(connection, self._project, self._connections.place)
                raise _stream_moved(stream, start)
            if rows and stream != USES:
                announce(connection, self._project, self._machine)
        return after.head

    def replace(self, stream: str, lines: bytes) -> StreamHead:
        """Let lines be all of a stream of the own machine, one generation on; the former ones are deleted."""
        rows = _parse(stream, lines)
        key = self._own_key(stream)
        with self._connections.use(_WHOLE) as connection:
            with connection.transaction():
                state = read_state(connection, key)
                self._check_time(rows, state.now)
                former, after = state.head, StreamState(StreamHead(state.head.generation + 1))
                for batch in _batches(rows):
                    written = write_lines(connection, key, former, after, batch)
                    if written is None:
                        raise _stream_moved(stream, former.size)
                    former, after = written.head, written
                connection.execute(DELETE_FORMER, {**key, "generation": after.head.generation})
            announce(connection, self._project, self._machine)
        return after.head

    def wait(self, seconds: float) -> Collection[str] | None:
        """Wait until other machines sent something, and return which; None if that did not happen in time.

        Empty where it may have been any: in the first call, in the first after a connection was lost, and
        where a look found it. One thread waits at a time.
        """
        return self._listener.wait(seconds, self._machine)

    def wake(self) -> None:
        """Let whoever waits return at once, with what was heard so far; else who waits next does."""
        self._listener.wake()

    def close(self) -> None:
        """Give the connections back; whoever waits returns."""
        self._listener.close()
        self._connections.close()

    def _key(self, stream: str, machine: str) -> Key:
        return {"project": self._project, "machine": machine, "stream": stream}

    def _own_key(self, stream: str) -> Key:
        if not self._machine:
            raise TeamError("no machine is registered", hint="Report this with what you did.")
        return self._key(stream, self._machine)

    def _check_time(self, rows: Sequence[Row], now: float) -> None:
        ahead = max((milliseconds(entry.id) / 1000 - now for entry, _ in rows), default=0.0)
        if ahead > AHEAD:
            place = self._connections.place
            raise TeamError(
                f"what was written here is {ahead / 60:.0f} minutes in the future of {place}",
                hint="Set this machine's clock; what was written is sent once its time has come.",
            )

    def _changes(self) -> object:
        with self._connections.use() as connection:
            return connection.execute(SELECT_CHANGES, [self._project, self._machine]).fetchone()


def _stream_moved(stream: str, start: int) -> StreamMoved:
    return StreamMoved(
        f"the stream {stream} of this machine does not end at byte {start} on the server",
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


def _parse(stream: str, lines: bytes) -> list[Row]:
    """Return the entries of whole lines, each with its line. Raises: JournalError."""
    *whole, rest = lines.split(b"\n")
    rows = []
    for line in [*(line + b"\n" for line in whole), *([rest] if rest else [])]:
        entry = decode_line(line) if line.endswith(b"\n") else "it is unfinished"
        if not isinstance(entry, Entry) or not is_id(entry.id):
            reason = "it has no id" if isinstance(entry, Entry) else entry or "it is blank"
            raise JournalError(
                f"a line of the stream {stream} is not an entry: {reason}", hint="Run `workbench doctor`."
            )
        rows.append((entry, line))
    return rows


def _batches(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield rows of `MOST` bytes together, if no line is longer; one empty batch if there are none."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        if batch and size + len(row[1]) > MOST:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += len(row[1])
    yield batch
