"""A database with a team on a real server: its owner, and members of projects."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import psycopg

from store.postgres.connection import Connections
from store.postgres.members import add_member, create_project
from store.postgres.migrations import migrate
from tests.postgres_server import DatabaseServer

_NAMES = itertools.count()


class Team:
    """A team's database, whose owner may make roles and no more.

    Roles belong to the whole server, so that their names are this process's own.
    """

    def __init__(self, server: DatabaseServer, extensions: Sequence[str] = ("vector",)) -> None:
        self.server = server
        self.admin_url = admin = server.make_database()
        self.database = self.suffix = admin.rpartition("/")[2].partition("?")[0]
        owner = f"owner_{self.suffix}"
        begin = [
            f"CREATE ROLE {owner} LOGIN CREATEROLE PASSWORD 'secret'",
            f"ALTER DATABASE {self.database} OWNER TO {owner}",
            f"REVOKE CONNECT ON DATABASE {self.database} FROM PUBLIC",
            *(f"CREATE EXTENSION {name}" for name in extensions),
        ]
        self.execute("; ".join(begin), admin)
        self.owner_url = server.url(self.database, owner, "secret")
        self.owner = Connections(self.owner_url)
        migrate(self.owner)

    def project(self, *members: str) -> str:
        """Make a project and return its id; the members are made, too."""
        project = f"project-{next(_NAMES)}"
        create_project(self.owner, project, project)
        for member in members:
            add_member(self.owner, project, self.role(member))
            self.execute(f"ALTER ROLE {self.role(member)} PASSWORD 'secret'")
        return project

    def role(self, member: str) -> str:
        return f"{member}_{self.suffix}"

    def url(self, member: str) -> str:
        return self.server.url(self.database, self.role(member), "secret")

    def execute(self, statement: str, url: str = "", parameters: Any = None) -> list[Any]:
        """Run a statement as the owner, or as whose URL it is, and return its rows."""
        with psycopg.connect(url or self.owner_url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), parameters)
            return cursor.fetchall() if cursor.description else []
