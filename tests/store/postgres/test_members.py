"""Who may do what in a team's database: row-level security on a real server, tried with statements of SQL."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import psycopg
import pytest
from psycopg import errors

from store.postgres.connection import Connections
from store.postgres.members import add_member, create_project, members, projects, remove_member
from store.postgres.server import PostgresServer, open_server
from tests.store.postgres.test_server import lines
from tests.teams import Team
from workbench.errors import TeamError, UsageError
from workbench.records.ids import new_id

HOSTILE = "'; DROP SCHEMA workbench CASCADE; --\"$$%s"


@pytest.fixture
def sent(team: Team, open_member: Callable[..., PostgresServer]) -> tuple[str, str]:
    """A project of Anna and Ben, and Anna's machine, which has sent something; Carl is in another one."""
    team.project("carl")
    project, machine = team.project("anna", "ben"), new_id()
    open_member(project, "anna", machine).append("rules", 0, lines({"text": "of anna"}))
    return project, machine


def test_a_member_of_another_project_sees_nothing(team: Team, sent: tuple[str, str]) -> None:
    """Whoever is not a member of a project sees no row of it in any table, and cannot open it."""
    for table in ("projects", "members", "machines", "streams", "entries"):
        seen = f"SELECT count(*) FROM workbench.{table} WHERE project = %s"
        assert team.execute(seen, team.url("carl"), [sent[0]]) == [(0,)]
        assert team.execute(seen, team.url("ben"), [sent[0]]) >= [(1,)]
    with pytest.raises(TeamError, match="not a member") as caught:
        open_server(team.url("carl"), sent[0])
    assert "members add" in caught.value.hint


WRITES = {
    "a machine of another": "INSERT INTO workbench.machines VALUES (%(project)s, %(new)s, 'anna', 'x')",
    "a machine elsewhere": "INSERT INTO workbench.machines VALUES ('project-0', %(new)s, %(me)s, 'x')",
    "a stream of another": """INSERT INTO workbench.streams
        VALUES (%(project)s, %(machine)s, 's', 0, 0, 0, 0, '')""",
    "entries of another": """INSERT INTO workbench.entries
        VALUES (%(project)s, %(machine)s, 'rules', 0, 999, 0, 'i', 'a', 'k', 'b', 'line')""",
    "a change of a line": "UPDATE workbench.entries SET line = 'x'",
    "a change of a line's writer": "UPDATE workbench.entries SET by = 'x'",
    "a machine that changes hands": "UPDATE workbench.machines SET member = %(me)s",
    "a stream that changes hands": "UPDATE workbench.streams SET machine = %(new)s",
    "itself as a member": "INSERT INTO workbench.members VALUES ('project-0', %(me)s)",
    "nobody as a member": "DELETE FROM workbench.members",
    "a project": "INSERT INTO workbench.projects VALUES ('mine', 'mine')",
    "no machines": "DELETE FROM workbench.machines",
    "no streams": "DELETE FROM workbench.streams",
    "another schema": "UPDATE workbench.schema_version SET version = 99",
    "a table": "CREATE TABLE workbench.mine (x integer)",
    "no security": "ALTER TABLE workbench.entries DISABLE ROW LEVEL SECURITY",
    "no table": "TRUNCATE workbench.entries",
}


def test_a_member_writes_nothing_but_its_own(team: Team, sent: tuple[str, str]) -> None:
    """Each statement that would write for another, or change what is there, is refused."""
    project, machine = sent
    given = {"project": project, "machine": machine, "new": new_id(), "me": team.role("ben")}
    with psycopg.connect(team.url("ben"), autocommit=True) as ben:
        for what, statement in WRITES.items():
            with pytest.raises(errors.InsufficientPrivilege):
                raise AssertionError(f"{what}: {ben.execute(statement.encode(), given).rowcount}")
        # Rows of others are not there for these.
        for statement in (
            "UPDATE workbench.machines SET name = 'x'",
            "UPDATE workbench.streams SET crc = 0",
            "DELETE FROM workbench.entries",
        ):
            assert ben.execute(statement.encode()).rowcount == 0


def test_a_member_keeps_what_it_sent(team: Team, sent: tuple[str, str]) -> None:
    """Not even its own lines are deleted by a member, but for those of a generation that was replaced."""
    assert team.execute("DELETE FROM workbench.entries RETURNING id", team.url("anna")) == []


def test_a_removed_member_can_do_nothing(
    team: Team, sent: tuple[str, str], open_member: Callable[..., PostgresServer]
) -> None:
    """Its sessions end and its login sees and writes nothing; what it sent is still there for the others."""
    project, machine = sent
    team.project("anna")  # who is a member of nothing else may not even connect
    elsewhere = team.project("zoe")
    anna, ben = open_member(project, "anna", machine), open_member(project, "ben")
    size = anna.heads()[machine, "rules"].size
    assert remove_member(team.owner, project, team.role("anna"))
    assert not remove_member(team.owner, project, team.role("anna"))
    sessions = f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{team.role('anna')}'"
    assert team.execute(sessions, team.admin_url) == [(0,)]
    with suppress(TeamError):  # whether the end of the session is noticed by now is not known
        anna.heads()
    for attempt in (
        anna.heads,
        lambda: anna.append("rules", size, lines({})),
        lambda: anna.append("stash", 0, lines({})),
        lambda: anna.register(machine, "again"),
        lambda: anna.replace("rules", b""),
        lambda: open_server(team.url("anna"), project),
    ):
        with pytest.raises(TeamError, match=r"not a member|forbids"):
            attempt()
    assert anna.read(machine, "rules", 0, 1000) == b""
    with psycopg.connect(team.url("anna"), autocommit=True) as connection:
        connection.execute("UPDATE workbench.machines SET name = 'taken'")
    assert "taken" not in {machine.name for machine in ben.machines()}
    assert ben.heads()[machine, "rules"].size == size
    assert [one.name for one in members(team.owner, project) if not one.present] == [team.role("anna")]
    open_member(elsewhere, "zoe", new_id()).append("rules", 0, lines({}))
    team.execute(f"GRANT CREATE ON DATABASE {team.database} TO {team.role('zoe')}")
    remove_member(team.owner, elsewhere, team.role("zoe"))
    with pytest.raises(TeamError, match="lets only members in"):
        open_server(team.url("zoe"), elsewhere)
    team.execute(f"GRANT CONNECT ON DATABASE {team.database} TO {team.role('zoe')}")
    with pytest.raises(TeamError, match="not a member of any project"):
        open_server(team.url("zoe"), elsewhere)
    with pytest.raises(errors.InsufficientPrivilege):
        team.execute("CREATE SCHEMA mine", team.url("zoe"))
    add_member(team.owner, project, team.role("anna"))
    assert open_member(project, "anna", machine).heads()[machine, "rules"].size == size


def test_a_member_moves_nobody_elses_clock(team: Team, open_member: Callable[..., PostgresServer]) -> None:
    """An id of the far future, or what is no id, is not handed on as the one that others' come after."""
    project, machine = team.project("anna", "ben"), new_id()
    open_member(project, "anna", machine).append("rules", 0, lines({}))
    ben = open_member(project, "ben", new_id())
    honest = ben.heads()[machine, "rules"]
    for last in ("7" + "Z" * 25, "x" * 26, "~"):
        team.execute(
            "UPDATE workbench.streams SET last = %s WHERE project = %s", team.url("anna"), [last, project]
        )
        assert ben.heads() == {(machine, "rules"): replace(honest, last="")}


def test_members_are_added_by_the_owner(team: Team) -> None:
    """A new role gets a password that works and is in no log; members neither add nor remove any."""
    project = team.project("ben")
    dora = team.role("dora \"the 'explorer'; -- é")
    password = add_member(team.owner, project, dora)
    assert len(password) > 20
    assert add_member(team.owner, project, dora) == ""
    server = open_server(team.server.url(team.database, dora, password), project)
    assert server.member == dora
    server.register(new_id(), HOSTILE + "\0\ud800" + "x" * 1000)
    assert server.machines()[0].name.startswith(HOSTILE)
    server.close()
    assert password not in (team.server.directory / "log").read_text(encoding="utf-8", errors="replace")
    assert dora in [member.name for member in members(team.owner, project)]
    ben = Connections(team.url("ben"))
    for attempt in (
        lambda: add_member(ben, project, team.role("eve")),
        lambda: remove_member(ben, project, dora),
        lambda: create_project(ben, "of-ben", "x"),
    ):
        with pytest.raises(TeamError, match=r"permission denied|manage members"):
            attempt()
    assert [one.id for one in projects(ben)] == [one.id for one in projects(ben) if one.id != "of-ben"]
    ben.close()
    for name in ("", "a\0b", "x" * 64, "pg_mine", "public"):
        with pytest.raises(UsageError):
            add_member(team.owner, project, name)
    with pytest.raises(TeamError, match="no such project"):
        add_member(team.owner, "unheard-of", team.role("ben"))


def test_hostile_text_is_data(team: Team, open_member: Callable[..., PostgresServer]) -> None:
    """Text of SQL in every parameter is stored or refused, and nothing else happens."""
    create_project(team.owner, HOSTILE, HOSTILE)
    add_member(team.owner, HOSTILE, team.role("anna"))
    anna = open_member(HOSTILE, "anna", new_id())
    assert anna.append("rules", 0, lines({HOSTILE: HOSTILE}, by=HOSTILE)).size
    for stream in (HOSTILE, "../../etc/passwd", "a" * 300, "a/b/c", ""):
        with pytest.raises(TeamError):
            anna.append(stream, 0, lines({}))
    with pytest.raises(TeamError, match="not the id of a machine"):
        anna.register("../../..", "x")
    assert anna.read(HOSTILE, HOSTILE, 0, 1) == b""
    assert HOSTILE in [project.name for project in projects(team.owner)]
