"""The schema of the tables: numbered migrations, the files in `store/sql`.

They are applied in one transaction together with their records; a new file begins with `schema.sql`, which is
what the first of them amount to.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Final

from store.duck import Connection
from workbench.records.dataclass import dataclass

CREATE_RECORDS: Final = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL
);
CREATE TABLE IF NOT EXISTS applied (
    origin VARCHAR NOT NULL,
    stream VARCHAR NOT NULL,
    position BIGINT NOT NULL,
    head VARCHAR NOT NULL,
    PRIMARY KEY (origin, stream)
);
CREATE TABLE IF NOT EXISTS projected (fingerprint INTEGER NOT NULL)
"""
SELECT_RECORDS: Final = "SELECT version, name, sha256 FROM schema_migrations ORDER BY version"
INSERT_RECORD: Final = "INSERT INTO schema_migrations VALUES (?, ?, ?)"
SCHEMA: Final = "schema.sql"


@dataclass(frozen=True, slots=True)
class Migration:
    """A numbered SQL file, `NNNN_name.sql`."""

    version: int
    name: str
    sha256: str
    sql: str


class ForeignSchema(Exception):
    """The tables were made by migrations this program does not have."""


@cache
def known_migrations() -> tuple[Migration, ...]:
    """Return the migrations of this program, in order."""
    files = [
        file for file in resources.files("store").joinpath("sql").iterdir() if file.name.endswith(".sql")
    ]
    return tuple(
        migration(file.name, file.read_text("utf-8"))
        for file in sorted(files, key=lambda f: f.name)
        if file.name != SCHEMA
    )


@cache
def first_schema() -> tuple[str, int]:
    """Return statements that do what the first migrations of this program do, and how many those are."""
    sql = resources.files("store").joinpath("sql", SCHEMA).read_text("utf-8")
    return sql, int(sql.partition("\n")[0].split()[-1])


def migration(filename: str, sql: str) -> Migration:
    """Return the migration of a file name and its text."""
    number, _, name = filename.removesuffix(".sql").partition("_")
    return Migration(int(number), name, hashlib.sha256(sql.encode("utf-8")).hexdigest(), sql)


def is_migrated(connection: Connection) -> bool:
    """Tell whether the database in use has the migrations of this program. Raises: duckdb.Error."""
    return connection.execute(SELECT_RECORDS).fetchall() == records(known_migrations())


def records(migrations: Sequence[Migration]) -> list[tuple[int, str, str]]:
    """Return what `schema_migrations` holds of migrations."""
    return [(one.version, one.name, one.sha256) for one in migrations]


def migrate(connection: Connection, migrations: Sequence[Migration] | None = None) -> int:
    """Apply what is missing to the database in use, all of it or nothing; return how many those were.

    Raises: ForeignSchema if the database has others than the first ones of `migrations`; duckdb.Error.
    """
    import duckdb

    wanted = known_migrations() if migrations is None else migrations
    begun = 0
    try:
        recorded = connection.execute(SELECT_RECORDS).fetchall()
    except duckdb.CatalogException:  # a new file
        if migrations is None:
            begun = _begin(connection)
        else:
            connection.execute(CREATE_RECORDS)
        recorded = connection.execute(SELECT_RECORDS).fetchall()
    if recorded != records(wanted[: len(recorded)]):
        raise ForeignSchema("the tables were made by another version of the program")
    missing = wanted[len(recorded) :]
    if missing:
        with _transaction(connection):
            for one in missing:
                connection.execute(one.sql)
                connection.execute(INSERT_RECORD, [one.version, one.name, one.sha256])
    return begun + len(missing)


def _begin(connection: Connection) -> int:
    """Make the tables of the first migrations, with their records, in half the time of one after another."""
    sql, count = first_schema()
    with _transaction(connection):
        connection.execute(sql)
        values = [value for record in records(known_migrations()[:count]) for value in record]
        connection.execute(INSERT_RECORD + ", (?, ?, ?)" * (count - 1), values)
    return count


@contextlib.contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
