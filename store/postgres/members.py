"""Who is in a team: the owner of its database makes projects, adds and removes members, roles of the server.

A removed member can do nothing from then on; what its machines sent stays.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, LiteralString

from store.postgres.connection import Connections, errors
from store.postgres.migrations import check_schema
from workbench.errors import TeamError, UsageError
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

_NAME_BYTES: Final = 63  # what PostgreSQL keeps of a name

INSERT_PROJECT: Final = """
INSERT INTO workbench.projects (project, name) VALUES (%s, %s)
ON CONFLICT (project) DO UPDATE SET name = excluded.name
"""
INSERT_MEMBER: Final = """
INSERT INTO workbench.members (project, member) VALUES (%s, coalesce(%s, current_user::text))
ON CONFLICT (project, member) DO NOTHING
"""
DELETE_MEMBER: Final = "DELETE FROM workbench.members WHERE project = %s AND member = %s"
SELECT_PROJECTS: Final = """
SELECT project, name, count(member) FROM workbench.projects LEFT JOIN workbench.members USING (project)
GROUP BY project, name ORDER BY name, project
"""
SELECT_MEMBERS: Final = """
SELECT member, bool_or(present), count(machine),
    coalesce(to_char(max(seen_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '')
FROM (
    SELECT member, true AS present, NULL AS machine, NULL::timestamptz AS seen_at
    FROM workbench.members WHERE project = %(project)s
    UNION ALL
    SELECT member, false, machine, seen_at FROM workbench.machines WHERE project = %(project)s
) AS known GROUP BY member ORDER BY member
"""
SELECT_ROLE: Final = "SELECT rolcanlogin FROM pg_catalog.pg_roles WHERE rolname = %s"
SELECT_MEMBERSHIPS: Final = "SELECT count(*) FROM workbench.members WHERE member = %s"
END_SESSIONS: Final = """
SELECT pg_terminate_backend(pid, 1000) FROM pg_catalog.pg_stat_activity
WHERE usename = %s AND datname = current_database() AND pid <> pg_backend_pid()
"""


@dataclass(frozen=True, slots=True)
class TeamProject:
    """A project of a team's database, and how many members it has."""

    id: str
    name: str
    members: int


@dataclass(frozen=True, slots=True)
class TeamMember:
    """A member of a project, or who was one and has machines: how many, and when one was last seen."""

    name: str
    present: bool
    machines: int
    seen_at: str


def projects(connections: Connections) -> Sequence[TeamProject]:
    """Return the projects that the role may see, by name. Raises: TeamError, ServerUnreachable."""
    with connections.use() as connection:
        check_schema(connection, connections.place)
        return [TeamProject(*row) for row in connection.execute(SELECT_PROJECTS).fetchall()]


def create_project(connections: Connections, project: str, name: str) -> None:
    """Make a project, or give it another name; who makes it is a member. Raises: TeamError."""
    with connections.use() as connection, connection.transaction():
        check_schema(connection, connections.place)
        connection.execute(INSERT_PROJECT, [project, name])
        connection.execute(INSERT_MEMBER, [project, None])


def members(connections: Connections, project: str) -> Sequence[TeamMember]:
    """Return the members of a project by name; who is not its owner sees itself and whoever has machines."""
    with connections.use() as connection:
        check_schema(connection, connections.place)
        rows = connection.execute(SELECT_MEMBERS, {"project": project}).fetchall()
    return [TeamMember(*row) for row in rows]


def add_member(connections: Connections, project: str, member: str) -> str:
    """Add a role to a project, and make it if there is none; return the password of a new one, else "".

    Raises: UsageError for what cannot be the name of a role; TeamError.
    """
    _check_name(member)
    password = ""
    with connections.use() as connection:
        try:
            with connection.transaction():
                role = check_schema(connection, connections.place)
                found = connection.execute(SELECT_ROLE, [member]).fetchone()
                if found is None:
                    password = secrets.token_urlsafe(24)
                    _create_role(connection, member, password)
                elif not found[0]:
                    raise TeamError(
                        f"the role {member} of {connections.place} may not log in",
                        hint="A member is a role of one person: give another name.",
                    )
                connection.execute(_statement("GRANT {} TO {}", role, member))
                connection.execute(INSERT_MEMBER, [project, member])
        except errors.InsufficientPrivilege as error:
            raise _not_owner(connections, error) from None
        except errors.ForeignKeyViolation:
            raise TeamError(
                f"{connections.place} has no such project", hint="Run `workbench store use` first."
            ) from None
    return password


def remove_member(connections: Connections, project: str, member: str) -> bool:
    """Remove a member from a project and end its sessions; False if it was none.

    Its role stays. Where it is a member of nothing else it loses what members may. Raises: TeamError.
    """
    with connections.use() as connection:
        try:
            with connection.transaction():
                role = check_schema(connection, connections.place)
                removed = connection.execute(DELETE_MEMBER, [project, member]).rowcount > 0
                [(others,)] = connection.execute(SELECT_MEMBERSHIPS, [member]).fetchall()
                exists = connection.execute(SELECT_ROLE, [member]).fetchone()
                if not others and exists:
                    connection.execute(_statement("REVOKE {} FROM {}", role, member))
                    database = connection.info.dbname
                    connection.execute(_statement("REVOKE ALL ON DATABASE {} FROM {}", database, member))
        except errors.InsufficientPrivilege as error:
            raise _not_owner(connections, error) from None
        if removed:
            _end_sessions(connection, member)
    return removed


def _end_sessions(connection: Connection[Any], member: str) -> None:
    """End what the member has open; it sees nothing any more even where the owner may not end it."""
    user = connection.info.user
    with suppress(errors.InsufficientPrivilege), connection.transaction():
        if user != member:  # whose roles one has, their sessions one may end
            connection.execute(_statement("GRANT {} TO {}", member, user))
        connection.execute(END_SESSIONS, [member])
        if user != member:
            connection.execute(_statement("REVOKE {} FROM {}", member, user))


def _create_role(connection: Connection[Any], member: str, password: str) -> None:
    """Make a role that may log in; the server gets its password as a hash, which is all its log may show."""
    from psycopg.sql import SQL, Identifier, Literal

    hashed = connection.pgconn.encrypt_password(password.encode(), member.encode(), b"scram-sha-256")
    statement = SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(Identifier(member), Literal(hashed.decode()))
    connection.execute(statement)


def _statement(text: LiteralString, *names: str) -> Composed:
    from psycopg.sql import SQL, Identifier

    return SQL(text).format(*map(Identifier, names))


def _check_name(member: str) -> None:
    if not member or "\0" in member or len(member.encode("utf-8", "replace")) > _NAME_BYTES:
        raise UsageError(
            "a member's name has 1 to 63 bytes, none of them zero", hint="Use a short name such as anna."
        )
    if member.lower().startswith("pg_") or member.lower() in ("public", "none"):
        raise UsageError(f"the server keeps the name {member} for itself", hint="Use another one.")


def _not_owner(connections: Connections, error: errors.InsufficientPrivilege) -> TeamError:
    return TeamError(
        f"{connections.place} may not manage members: {error.diag.message_primary}",
        hint="Use the URL of the database's owner, who may create roles (CREATEROLE).",
    )
