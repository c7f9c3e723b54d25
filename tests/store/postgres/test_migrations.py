"""The schema of a team's database: made once, whole, by its owner, known to every version of the program."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from store.postgres.connection import Connections
from store.postgres.migrations import migrate, migrations
from store.postgres.server import open_server
from tests.postgres_server import DatabaseServer
from workbench.errors import TeamError


@pytest.fixture
def connections(database: str) -> Connections:
    """The owner of an empty database, who keeps no connection open."""
    return Connections(database)


def run(connections: Connections, statement: str) -> list[tuple[object, ...]]:
    with connections.use() as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def test_two_machines_migrate_at_once(database: str) -> None:
    """Each version is applied once, whoever comes first; the other finds it done."""
    both = [Connections(database) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(migrate, both)) == [0, len(migrations())]
    assert run(both[0], "SELECT count(*) FROM workbench.schema_version") == [(len(migrations()),)]
    for one in both:
        one.close()


def test_a_version_is_applied_whole_or_not_at_all(connections: Connections) -> None:
    """A file that fails leaves nothing of itself and of those before it; the next try starts from there."""
    newest = max(migrations())
    broken = {**migrations(), newest + 1: b"CREATE TABLE workbench.x (y integer); SELECT 1 / 0"}
    with pytest.raises(TeamError, match="division by zero"):
        migrate(connections, broken)
    assert run(connections, "SELECT to_regnamespace('workbench')") == [(None,)]
    assert migrate(connections) == newest
    with pytest.raises(TeamError, match="division by zero"):
        migrate(connections, broken)
    assert run(
        connections, "SELECT max(version), to_regclass('workbench.x') FROM workbench.schema_version"
    ) == [(newest, None)]
    connections.close()


def test_versions_of_the_program_meet(connections: Connections, database: str) -> None:
    """A database without tables, of an older and of a newer program: each says what to do."""
    with pytest.raises(TeamError, match="no tables of a team") as caught:
        open_server(database, "p")
    assert "store use" in caught.value.hint
    migrate(connections)
    run(connections, "UPDATE workbench.schema_version SET version = version + 1000")
    for attempt in (lambda: open_server(database, "p"), lambda: migrate(connections)):
        with pytest.raises(TeamError, match="newer version of the program") as caught:
            attempt()
        assert "Update the program" in caught.value.hint
    run(connections, "UPDATE workbench.schema_version SET version = version - 1001")
    with pytest.raises(TeamError, match="older version of the program"):
        open_server(database, "p")
    connections.close()


def test_whoever_is_not_the_owner_makes_nothing(postgres: DatabaseServer, database: str) -> None:
    """A role that may not make the tables is told whose URL to use."""
    name = database.rpartition("/")[2].partition("?")[0]
    with Connections(database).use() as connection:
        connection.execute(f"CREATE ROLE guest_{name} LOGIN PASSWORD 'x'".encode())
        connection.close()
    guest = Connections(postgres.url(name, f"guest_{name}", "x"))
    with pytest.raises(TeamError, match="permission denied") as caught:
        migrate(guest)
    assert "owner" in caught.value.hint
    guest.close()
