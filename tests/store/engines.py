"""The tables of tests: in a file of DuckDB and on a server, each test of a module that opens them on both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import duckdb

from store.duck import Connection
from store.journal import FileJournal
from store.migrations import migrate
from store.table_queries import TableQueries
from workbench.ports import Clock
from workbench.records.ids import new_id

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., None])
FILE, SERVER = "file", "server"
url = ""
"""The server's database while tests have their tables there."""
opened: list[TableQueries] = []
"""The tables on it whose connections a test leaves behind."""


def open_tables(root: Path, journals: Mapping[str, FileJournal], clock: Clock) -> TableQueries:
    """Return the tables of a state directory; on a server those that report what the server refuses."""
    if not url:
        return TableQueries(root, journals, clock)
    from store.postgres.tables import ServerTables

    class StrictTables(ServerTables):
        def _ask_server(self, work: Callable[[], T], seconds: float = 60.0) -> tuple[T] | None:
            found = super()._ask_server(work, seconds)
            assert not self.degraded, self.degraded
            return found

    opened.append(StrictTables(url, _machine(root), root, journals, clock))
    return opened[-1]


def of_the_file(test: F) -> F:
    """Let a test run on the file of DuckDB alone, which it is about."""
    test.__dict__["of_the_file"] = True
    return test


def runs_on(module: ModuleType, test: object) -> Sequence[str]:
    """Return the engines that a test runs on, none where that is no question."""
    if {"open_tables", "connect_tables"}.isdisjoint(vars(module)):
        return ()
    return (FILE,) if hasattr(test, "of_the_file") else (FILE, SERVER)


@contextmanager
def connect_tables() -> Iterator[Connection]:
    """Connect to empty tables of the newest version, for who projects into them itself."""
    if not url:
        with closing(duckdb.connect(":memory:")) as connection:
            migrate(connection)
            yield connection
        return
    import psycopg

    from store.postgres import tables
    from store.postgres.table_connection import TableConnection

    schema = tables.schema_name(new_id())
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as session:
        server = TableConnection(session, schema)
        server.execute("BEGIN")
        tables._migrate(server, schema, "of a test")
        server.execute("COMMIT")
        yield server


@contextmanager
def transaction(tables: Connection) -> Iterator[Connection]:
    """Read tables that `connect_tables` made in one transaction; a server's have it no other way."""
    tables.execute("BEGIN")
    yield tables
    tables.execute("COMMIT")


@cache
def _machine(root: Path) -> str:
    """Return the same id for the same directory."""
    del root
    return new_id()
