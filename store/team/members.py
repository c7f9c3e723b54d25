"""Who is in a team, and the project at its server: what the owner of the server's database does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from store.team.team import open_team_server, require_url
from workbench.errors import LoginRefused, ServerUnreachable, TeamError

if TYPE_CHECKING:
    from store.postgres.connection import Connections
    from store.postgres.members import TeamMember


def prepare_team_project(url: str, name: str) -> None:
    """Make the tables and the project if the role may and they are missing. Raises: UsageError, TeamError.

    Who may not gets the reason why the project cannot be used.
    """
    try:
        open_team_server(url, name).close()
    except (ServerUnreachable, LoginRefused):
        raise
    except TeamError as refusal:
        from store.postgres.members import create_project
        from store.postgres.migrations import migrate

        with _connections(url) as connections:
            try:
                migrate(connections)
                create_project(connections, name, name)
            except ServerUnreachable:
                raise
            except TeamError:
                raise refusal from None


def team_members(url: str, name: str) -> Sequence[TeamMember]:
    """Return who is a member of a project, or has machines. Raises: UsageError, TeamError."""
    from store.postgres.members import members

    with _connections(url) as connections:
        return members(connections, name)


def add_team_member(url: str, name: str, member: str) -> str:
    """Add a role to a project; return the password of a new one, else "". Raises: UsageError, TeamError."""
    from store.postgres.members import add_member

    with _connections(url) as connections:
        return add_member(connections, name, member)


def remove_team_member(url: str, name: str, member: str) -> bool:
    """Remove a member from a project; False if it was none. Raises: UsageError, TeamError."""
    from store.postgres.members import remove_member

    with _connections(url) as connections:
        return remove_member(connections, name, member)


@contextmanager
def _connections(url: str) -> Iterator[Connections]:
    require_url(url)
    from store.postgres.connection import Connections

    with closing(Connections(url)) as connections:
        yield connections
