"""The schema of a team's database: numbered files, applied in order in one transaction and recorded.

Machines that migrate at the same time wait for each other at an advisory lock. The database's owner migrates;
members find out whether the schema is the one their program knows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from store.postgres.connection import Connections, errors
from workbench import __version__
from workbench.errors import TeamError

if TYPE_CHECKING:
    from psycopg import Connection

_LOCK: Final = 7_731_041_906_288_411
"""The key of the advisory lock."""

VECTORS: Final = 2
"""The version that makes the table of vectors, which not every server can hold."""

_PATIENCE: Final = 120.0  # seconds
_NAME_BYTES: Final = 63  # what PostgreSQL keeps of a name
_PLACEHOLDER: Final = b"workbench_member"

LOCK: Final = "SELECT pg_advisory_xact_lock(%s)"
SELECT_EXISTS: Final = "SELECT to_regclass('workbench.schema_version') IS NOT NULL, current_database()"
SELECT_VERSION: Final = (
    "SELECT version, member_role FROM workbench.schema_version ORDER BY version DESC LIMIT 1"
)
INSERT_VERSION: Final = """
INSERT INTO workbench.schema_version (version, program, member_role) VALUES (%s, %s, %s)
"""
SELECT_ROLE: Final = "SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = %s"


def migrations() -> Mapping[int, bytes]:
    """Return the SQL of every version, in order."""
    found = {}
    for file in sorted(files("store.postgres").joinpath("sql").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".sql"):
            found[int(file.name[:4])] = file.read_bytes()
    return found


def migrate(connections: Connections, wanted: Mapping[int, bytes] | None = None) -> int:
    """Bring the database to the newest version, all of it or nothing; return how many versions that were.

    Raises: TeamError if the role may not, or the database is of a newer program; ServerUnreachable.
    """
    wanted = migrations() if wanted is None else wanted
    with connections.use(_PATIENCE) as connection:
        try:
            with connection.transaction():
                connection.execute(LOCK, [_LOCK])
                version, role = _recorded_version(connection)
                _refuse_newer(connections.place, version, max(wanted))
                missing = [number for number in wanted if number > version]
                if missing and not version:
                    _create_schema(connection, role)
                for number in missing:
                    name = _quote(connection, role)
                    connection.execute(wanted[number].replace(_PLACEHOLDER, name))
                    connection.execute(INSERT_VERSION, [number, __version__, role])
        except errors.InsufficientPrivilege as error:
            raise TeamError(
                f"{connections.place} may not make the team's tables: {error.diag.message_primary}",
                hint="Use the URL of the database's owner, who may create roles (CREATEROLE).",
            ) from None
    return len(missing)


def make_vectors(connections: Connections) -> None:
    """Make the table of vectors where the server could not hold one when the database was migrated.

    Raises: TeamError if the role may not; ServerUnreachable.
    """
    with connections.use(_PATIENCE) as connection, connection.transaction():
        connection.execute(LOCK, [_LOCK])
        _, role = _recorded_version(connection)
        connection.execute(migrations()[VECTORS].replace(_PLACEHOLDER, _quote(connection, role)))


def check_schema(connection: Connection[Any], place: str) -> str:
    """Return the role that all members have. Raises: TeamError unless the schema is the one known here."""
    newest = max(migrations())
    try:
        found = connection.execute(SELECT_VERSION).fetchone()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        found = None
    except errors.InsufficientPrivilege:
        raise TeamError(
            f"{place} is not a member of any project",
            hint="Ask the team's owner for `workbench store members add`.",
        ) from None
    if found is None:
        raise TeamError(
            f"{place} has no tables of a team yet",
            hint="Run `workbench store use` with the URL of the database's owner first.",
        )
    version, role = found
    _refuse_newer(place, version, newest)
    if version < newest:
        raise TeamError(
            f"{place} has the tables of an older version of the program ({version}, not {newest})",
            hint="Ask the team's owner to run `workbench store use` with this version.",
        )
    return str(role)


def _recorded_version(connection: Connection[Any]) -> tuple[int, str]:
    """Return the version, 0 before the first, and the role that all members have."""
    [(exists, database)] = connection.execute(SELECT_EXISTS).fetchall()
    if exists and (found := connection.execute(SELECT_VERSION).fetchone()):
        return found[0], found[1]
    role = f"workbench_{database}"
    if len(role.encode()) > _NAME_BYTES:
        role = f"workbench_{hashlib.sha256(database.encode()).hexdigest()[:32]}"
    return 0, role


def _refuse_newer(place: str, version: int, newest: int) -> None:
    if version > newest:
        raise TeamError(
            f"{place} has the tables of a newer version of the program ({version}; this one knows {newest})",
            hint="Update the program on this machine.",
        )


def _create_schema(connection: Connection[Any], role: str) -> None:
    connection.execute("CREATE SCHEMA IF NOT EXISTS workbench")
    members = _quote(connection, role)
    if connection.execute(SELECT_ROLE, [role]).fetchone() is None:
        connection.execute(b"CREATE ROLE " + members + b" NOLOGIN")
    database = _quote(connection, connection.info.dbname)
    connection.execute(b"GRANT CONNECT ON DATABASE " + database + b" TO " + members)


def _quote(connection: Connection[Any], name: str) -> bytes:
    from psycopg.sql import Identifier

    return Identifier(name).as_bytes(connection)
