"""Numbered migrations of the tables: SQL files, applied in one transaction together with their records."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

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
HAS_RECORDS: Final = """
SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() AND table_name = 'projected'
"""
SELECT_RECORDS: Final = "SELECT version, name, sha256 FROM schema_migrations ORDER BY version"
INSERT_RECORD: Final = "INSERT INTO schema_migrations VALUES (?, ?, ?)"


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
def known() -> tuple[Migration, ...]:
    """Return the migrations of this program, in order."""
    files = [
        file for file in resources.files("store").joinpath("sql").iterdir() if file.name.endswith(".sql")
    ]
    return tuple(
        migration(file.name, file.read_text("utf-8")) for file in sorted(files, key=lambda f: f.name)
    )


def migration(filename: str, sql: str) -> Migration:
    """Return the migration of a file name and its text."""
    number, _, name = filename.removesuffix(".sql").partition("_")
    return Migration(int(number), name, hashlib.sha256(sql.encode("utf-8")).hexdigest(), sql)


def migrate(connection: DuckDBPyConnection, migrations: Sequence[Migration] | None = None) -> int:
    """Apply what is missing to the database in use, all of it or nothing; return how many those were.

    Raises: ForeignSchema if the database has others than the first ones of `migrations`; duckdb.Error.
    """
    wanted = known() if migrations is None else migrations
    if not connection.execute(HAS_RECORDS).fetchall():
        connection.execute(CREATE_RECORDS)
    recorded = connection.execute(SELECT_RECORDS).fetchall()
    expected = [(one.version, one.name, one.sha256) for one in wanted[: len(recorded)]]
    if recorded != expected:
        raise ForeignSchema("the tables were made by another version of the program")
    missing = wanted[len(recorded) :]
    if not missing:
        return 0
    connection.execute("BEGIN")
    try:
        for one in missing:
            connection.execute(one.sql)
            connection.execute(INSERT_RECORD, [one.version, one.name, one.sha256])
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return len(missing)
