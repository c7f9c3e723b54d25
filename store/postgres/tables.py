"""The tables of a project on a server, in a schema of its machine; the file's while it cannot be asked.

Any process of the machine brings the schema up to date, as it does with the file: at most `ROUND` entries in
one transaction that others wait for. A reader has a transaction of one state. Whatever fails on the server,
the file answers, and the server is asked again after `PATIENCE`.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from psycopg.sql import SQL, Identifier, Literal

from store import locks, migrations, projector
from store.files import translate_errors, write_atomic
from store.journal import FileJournal
from store.migrations import ForeignSchema, Migration
from store.postgres.connection import Connections, errors
from store.postgres.server_url import ANSWERING
from store.postgres.table_connection import BEGIN_READING, TableConnection
from store.postgres.table_dialect import schema as schema_of
from store.projector import ALL, CatchUp, Replaced, Round, Sizes, caught_up, of_streams, with_streams
from store.table_digests import PROJECTED
from store.table_files import SERVER_MARK
from store.table_queries import TableQueries
from store.tables import REBUILD_PATIENCE, ROUND
from store.team.settings import TeamLook, read_look, write_look
from workbench.errors import ServerUnreachable, TeamError
from workbench.lists.tables import TableRebuild
from workbench.ports import Clock

if TYPE_CHECKING:
    from psycopg import Connection as Session

    from store.duck import Connection

T = TypeVar("T")

PATIENCE: Final = 60.0
"""Seconds after which a server is asked again that did not answer, or failed."""

LARGE_ROUND: Final = 10_000
"""Entries of the rounds after the first: fewer than in a file, as what is staged is one parameter."""

OLDEST: Final = 160_000
"""The version of the server that has what the statements need."""

CREATE: Final = "CREATE SCHEMA IF NOT EXISTS {}; COMMENT ON SCHEMA {} IS {}"
REPLACE: Final = "DROP SCHEMA IF EXISTS {old} CASCADE; ALTER SCHEMA {new} RENAME TO {old}"
SELECT_MADE: Final = "SELECT to_regclass('schema_migrations') IS NOT NULL"
SELECT_SCHEMA: Final = "SELECT oid::bigint FROM pg_namespace WHERE nspname = $name"
SELECT_LETTERS: Final = """
SELECT collname FROM pg_collation WHERE collname IN ('pg_c_utf8', 'und-x-icu') ORDER BY collname LIMIT 1
"""


class ServerTables(TableQueries):
    """The tables of `journals` on the server at `url`, for the project directory `machine` of a team.

    `degraded` says why the file answers, empty while the server does.
    """

    def __init__(
        self, url: str, machine: str, root: Path, journals: Mapping[str, FileJournal], clock: Clock
    ) -> None:
        """Connect to nothing yet. Raises: ConfigError for a wrong URL."""
        super().__init__(root, journals, clock)
        self._url = url
        self._schema = schema_name(machine)
        self._connections = Connections(url)
        self._process = os.getpid()
        self._mutex = threading.RLock()
        self._reading: Connection | None = None
        self._server: Session | None = None
        self._held: Sizes | None = None
        self._again = 0.0
        self._root = root
        self._is_damaged = self._was_mended = False
        look = read_look(root)
        if look.failed_at > look.synced_at and clock.now() < look.failed_at + PATIENCE:
            self.degraded, self._again = look.fault, look.failed_at + PATIENCE
        self._mark = root / SERVER_MARK

    @property
    def on_server(self) -> bool:
        """Whether the server had them when it was asked last."""
        return not self.degraded

    @property
    def place(self) -> str:
        """Where they are, for people."""
        return super().place if self.degraded else f"{self._connections.place}, schema {self._schema}"

    def catch_up(self) -> CatchUp:
        """Project what the journals hold beyond the tables. Raises: StoreError, StoreBusy."""
        with self._mutex:
            found = self._ask_server(self._catch_up_server, REBUILD_PATIENCE)
            return super().catch_up() if found is None else found[0]

    def rebuild(self) -> CatchUp:
        """Make the tables again. The old ones serve readers until the new ones are whole.

        Raises: StoreError, StoreBusy.
        """
        with self._mutex:
            found = self._ask_server(lambda: self._rebuild_server("asked for"), REBUILD_PATIENCE)
            return super().rebuild() if found is None else found[0]

    def read(self, work: Callable[[Connection], T], streams: tuple[str, ...] = ALL) -> T:
        """Return what `work` reads from tables that are up to date; it may be called twice.

        `streams` are the beginnings of the names of those that have to be in them.
        Raises: StoreError, StoreBusy.
        """
        with self._mutex:
            if reading := self._reading or self._attachment.reading:
                return work(reading)
            sizes = of_streams(self._sizes(), streams)
            found = self._ask_server(lambda: self._read_server(work, sizes, streams))
            if found == (None,) and self._ask_server(self._catch_up_server, REBUILD_PATIENCE):
                found = self._ask_server(lambda: self._read_server(work, {}, ()))
            return found[0][0] if found and found[0] else super().read(work, streams)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Return what `work` does, in one transaction, to tables that no journal is behind.

        Raises: StoreError, StoreBusy.
        """

        def written() -> T:
            with self._transaction("BEGIN") as connection:
                return work(connection)

        with self._mutex:
            caught_up = self._ask_server(self._catch_up_server, REBUILD_PATIENCE)
            found = self._ask_server(written) if caught_up else None
            return super().write(work) if found is None else found[0]

    def file(self) -> int | None:
        """Return what identifies the schema, None before there is one; a rebuild changes it."""

        def asked() -> int | None:
            with self._transaction(BEGIN_READING) as connection:
                rows = connection.execute(SELECT_SCHEMA, {"name": self._schema}).fetchall()
                return rows[0][0] if rows else None

        with self._mutex:
            found = self._ask_server(asked)
            return super().file() if found is None else found[0]

    def remove(self) -> None:
        """Drop the schema with all that is in it. Raises: TeamError where the server cannot be asked."""
        with self._mutex:
            self._again = 0.0
            if self._ask_server(lambda: self._drop(self._schema)) is None:
                raise TeamError(
                    f"the tables on the server are still there: {self.degraded}",
                    hint="Run the same again once the server answers.",
                )
            with translate_errors(f"removing {self._mark}"):
                self._mark.unlink(missing_ok=True)

    def close(self) -> None:
        """Keep no connection any more; later questions open one each."""
        super().close()
        self._connections.close()

    def _ask_server(self, work: Callable[[], T], seconds: float = ANSWERING) -> tuple[T] | None:
        """Return what `work` does on the server in so many seconds, None where the file must do."""
        if self._clock.now() < self._again:
            return None
        if self._process != os.getpid():  # a connection is for one process
            self._process, self._connections = os.getpid(), Connections(self._url)
        try:
            with self._connections.use(seconds) as self._server:
                if self._server.info.server_version < OLDEST:
                    raise TeamError(f"the tables need PostgreSQL {OLDEST // 10_000} or newer")
                found = self._noticing(work)
        except TeamError as error:
            if self._is_damaged and not self._was_mended:  # once: then the statement is at fault
                self._was_mended = True
                return self._ask_server(lambda: self._rebuild_and_retry(work), REBUILD_PATIENCE)
            now, look = self._clock.now(), read_look(self._root)
            if isinstance(error, ServerUnreachable):  # other commands need not wait for it either
                write_look(self._root, TeamLook(look.synced_at, now, error.message, error.hint, look.notes))
            self._held = None
            self._again = now + PATIENCE
            self.degraded = error.message
            return None
        finally:
            self._server = None
        self.degraded = ""
        return (found,)

    def _noticing(self, work: Callable[[], T]) -> T:
        """Return what `work` does, and notice that somebody removed a table."""
        try:
            return work()
        except (errors.UndefinedTable, errors.UndefinedColumn):
            self._is_damaged = True
            raise

    def _rebuild_and_retry(self, work: Callable[[], T]) -> T:
        self._rebuild_server("a table was missing on the server")
        return work()

    @contextlib.contextmanager
    def _transaction(self, begin: str, schema: str = "") -> Iterator[TableConnection]:
        connection = self._tables_of(schema or self._schema)
        connection.execute(begin)
        yield connection
        connection.execute("COMMIT")

    def _tables_of(self, schema: str) -> TableConnection:
        assert self._server is not None  # inside `_asked`
        return TableConnection(self._server, schema)

    def _read_server(
        self, work: Callable[[Connection], T], sizes: Sizes, streams: tuple[str, ...]
    ) -> tuple[T] | None:
        """Return what `work` reads, None if the schema holds less of the journals than `sizes`."""
        with self._transaction(BEGIN_READING) as connection:
            if not self._holds(connection, sizes, streams):
                return None
            self._reading = connection
            try:
                return (work(connection),)
            finally:
                self._reading = None

    def _holds(self, connection: TableConnection, sizes: Sizes, streams: tuple[str, ...]) -> bool:
        """Tell whether the schema holds the journals up to `sizes`, whoever projected them."""
        if self._held is None or sizes != of_streams(self._held, streams):
            if not _is_made(connection) or not migrations.is_migrated(connection):
                return False
            if not projector.is_current(connection, self._journals, sizes, streams):
                return False
            self._held = with_streams(self._held or {}, sizes, streams)
        return True

    def _catch_up_server(self) -> CatchUp:
        sizes = self._sizes()
        if sizes == self._held:
            return CatchUp()
        rounds: list[Round] = []
        try:
            self._fill(self._schema, rounds)
        except (Replaced, ForeignSchema) as finding:
            return self._rebuild_server(str(finding))
        self._held = dict(sizes)
        return caught_up(rounds)

    def _rebuild_server(self, reason: str) -> CatchUp:
        """Make the tables beside those that are read, and put them in their place."""
        fresh = f"{self._schema}_new"
        rounds: list[Round] = []
        with locks.exclusive(self._rebuilding, timeout=REBUILD_PATIENCE):
            self.latest_rebuild = TableRebuild(reason, sum(self._sizes().values()))
            self._drop(fresh)
            try:
                self._fill(fresh, rounds)
            except (Replaced, ForeignSchema) as finding:  # written again meanwhile
                raise TeamError(str(finding)) from finding
            with self._transaction("BEGIN") as connection:
                names = {"old": Identifier(self._schema), "new": Identifier(fresh)}
                connection.define(SQL(REPLACE).format(**names))
            self.latest_rebuild = replace(self.latest_rebuild, over=True)
        self._held = None
        return replace(caught_up(rounds), rebuilt=reason)

    def _fill(self, schema: str, rounds: list[Round]) -> None:
        if not self._mark.exists():
            write_atomic(self._mark, self._schema.encode())
        with self._transaction("BEGIN", schema) as connection:
            _migrate(connection, schema, f"The tables of {self.path.parent.parent} for `workbench`.")
        connection = self._tables_of(schema)

        def project() -> Round:
            return projector.project(connection, self._journals, LARGE_ROUND if rounds else ROUND)

        self._project_all(project, rounds)
        if len(rounds) > 1:  # the server looks at tables by itself, but only after a while
            connection.define(SQL("ANALYZE {}").format(SQL(", ").join(_tables(schema))))

    def _drop(self, schema: str) -> None:
        with self._transaction("BEGIN") as connection:
            connection.define(SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(Identifier(schema)))
        self._held = None


def schema_name(machine: str) -> str:
    """Return the schema that has the tables of a project directory, by its id in the team."""
    return f"workbench_tables_{machine.lower()}"


def _tables(schema: str) -> list[Identifier]:
    return [Identifier(schema, name) for name in sorted(PROJECTED)]


def _is_made(connection: TableConnection) -> bool:
    return bool(connection.execute(SELECT_MADE).fetchall()[0][0])


@cache
def _statements(name: str) -> str:
    return resources.files("store.postgres").joinpath(name).read_text("utf-8")


def _migrate(connection: TableConnection, schema: str, comment: str) -> None:
    """Make the schema and apply the migrations it lacks. Raises: ForeignSchema; psycopg.Error."""
    known = migrations.known_migrations()
    if not _is_made(connection):
        connection.define(SQL(CREATE).format(Identifier(schema), Identifier(schema), Literal(comment)))
        [(letters,)] = connection.execute(SELECT_LETTERS).fetchall() or [("C",)]
        connection.define(_statements("table_functions.sql").replace("{letters}", letters))
        sql, count = migrations.first_schema()
        connection.define(schema_of(sql))
        connection.define(_statements("table_indexes.sql"))
        _record(connection, known[:count])
    recorded = connection.execute(migrations.SELECT_RECORDS).fetchall()
    if recorded != migrations.records(known[: len(recorded)]):
        raise ForeignSchema("the tables were made by another version of the program")
    for one in known[len(recorded) :]:
        connection.define(schema_of(one.sql))
        _record(connection, [one])


def _record(connection: TableConnection, applied: Sequence[Migration]) -> None:
    for record in migrations.records(applied):
        connection.execute(migrations.INSERT_RECORD, record)
