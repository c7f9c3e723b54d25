"""Networks that fail anywhere, servers that are none or full: nothing is lost, and all arrives afterwards."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.fleet.proxy import Proxy
from store.journal import FileJournal
from store.postgres.server import open_server
from store.team.peers import PeerJournals
from store.team.sync import Exchange, TeamReplicas
from tests.adapters import ManualClock
from tests.teams import Team
from workbench.errors import ServerUnreachable, TeamError

NOW = 1_700_000_000.0


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


OLD = (
    message(b"R", struct.pack("!I", 0)) + message(b"S", b"server_version\x009.6.24\x00") + message(b"Z", b"I")
)
"""What a server of 2016 answers to whoever may log in."""


class Member:
    """A machine of a member, with a network of its own."""

    def __init__(self, root: Path, team: Team, project: str, name: str, proxy: Proxy | None = None) -> None:
        self.root = root
        self.project = project
        self.clock = ManualClock(NOW)
        self.journal = FileJournal(root, self.clock)
        self.url = team.url(name)
        if proxy is not None:
            self.url = self.url.partition("?")[0].replace("@/", f"@127.0.0.1:{proxy.port}/")

    def write(self, text: str) -> None:
        self.journal.append("rules", "rule.put", [{"text": text}], by="cli")

    def sync(self) -> Exchange:
        server = open_server(self.url, self.project)
        try:
            return TeamReplicas(self.root, self.journal, self.root.name).exchange(server)
        finally:
            server.close()

    def texts(self) -> list[str]:
        """All that is known here, sorted."""
        journals = (self.journal, *PeerJournals(self.root, self.clock).journals().values())
        return sorted(entry.body["text"] for journal in journals for _, entry in journal.read("rules"))


@pytest.fixture
def network(team: Team) -> Iterator[Proxy]:
    """A network before the server that can fail."""
    with Proxy(team.server.directory / ".s.PGSQL.5432") as proxy:
        yield proxy


@pytest.fixture
def pair(tmp_path: Path, team: Team, network: Proxy) -> tuple[Member, Member]:
    """Two machines of a project, the first behind the network that can fail."""
    project = team.project("ann", "bob")
    return (
        Member(tmp_path / "first", team, project, "ann", network),
        Member(tmp_path / "second", team, project, "bob"),
    )


CUTS = 8
"""Places in an exchange, from its first bytes to its last."""


def test_a_connection_may_be_lost_anywhere(pair: tuple[Member, Member], network: Proxy) -> None:
    """After any number of bytes, of either side: the next exchange completes it, and nothing is twice."""
    first, second = pair
    first.write("first 0")
    second.write("second 0")
    second.sync()
    first.sync()
    whole, lost = network.passed, 0
    for number in range(1, CUTS + 1):
        first.write(f"first {number}")
        second.write(f"second {number}")
        second.sync()
        network.cut_after(whole * number // CUTS)
        try:
            first.sync()
        except ServerUnreachable:
            lost += 1
        network.heal()
        first.sync()
        second.sync()
        known = sorted(f"{who} {one}" for who in ("first", "second") for one in range(number + 1))
        assert first.texts() == second.texts() == known
    assert lost > CUTS // 2


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (OLD, "is PostgreSQL 9; a team needs"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "cannot be reached"),
        (b"\0" * 10_000, "cannot be reached"),
        (message(b"R", b"")[:-4] + b"\x7f\xff\xff\xff", "cannot be reached"),
        (message(b"E", b"SFATAL\0C53300\0Msorry, too many clients already\0\0"), "too many clients"),
    ],
)
def test_whoever_answers_instead_of_a_server_is_not_believed(
    pair: tuple[Member, Member], network: Proxy, answer: bytes, says: str
) -> None:
    """An old server, a web server, garbage, one that is full: said so with a next step; then all is sent."""
    first, _ = pair
    first.url += "?sslmode=disable&gssencmode=disable"
    first.write("kept")
    network.babble(answer)
    with pytest.raises(TeamError, match=says) as raised:
        first.sync()
    assert raised.value.hint
    network.heal()
    assert first.sync().sent == 1


REFUSALS = {
    "a full disk": ("53100", "could not extend file: No space left on device"),
    "a server that shuts down": ("57P01", "terminating connection due to administrator command"),
    "a lost race": ("40001", "could not serialize access"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_a_server_cannot_keep_stays_here(pair: tuple[Member, Member], team: Team, name: str) -> None:
    """An error in the midst of an append: all of it is sent later, what others wrote is received already."""
    first, second = pair
    code, text = REFUSALS[name]
    second.write("received")
    second.sync()
    first.write("kept")
    table = "workbench.entries"
    team.execute(
        f"CREATE FUNCTION {team.database}_fail() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$BEGIN RAISE EXCEPTION '{text}' USING ERRCODE = '{code}'; END$$"
    )
    team.execute(
        f"CREATE TRIGGER fail BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION {team.database}_fail()"
    )
    try:
        with pytest.raises(TeamError) as raised:
            first.sync()
    finally:
        team.execute(f"DROP FUNCTION {team.database}_fail CASCADE")
    assert raised.value.hint
    first.sync()
    second.sync()
    assert first.texts() == second.texts() == ["kept", "received"]


def test_who_may_only_read_receives(pair: tuple[Member, Member], team: Team) -> None:
    """A role that is read-only: what it writes stays here, what others write arrives."""
    first, second = pair
    second.write("received")
    second.sync()
    first.write("kept")
    role = team.role("ann")
    team.execute(f"ALTER ROLE {role} SET default_transaction_read_only = on")
    with pytest.raises(TeamError, match="read-only") as raised:
        first.sync()
    assert raised.value.hint
    assert first.texts() == ["kept", "received"]
    team.execute(f"ALTER ROLE {role} RESET default_transaction_read_only")
    assert first.sync().sent == 1


def test_a_role_without_a_connection_left_waits(pair: tuple[Member, Member], team: Team) -> None:
    """The limit of a role or a database is reached: it passes, and the work stays here until then."""
    first, _ = pair
    first.write("kept")
    team.execute(f"ALTER ROLE {team.role('ann')} CONNECTION LIMIT 0")
    with pytest.raises(ServerUnreachable) as raised:
        first.sync()
    assert raised.value.hint
    team.execute(f"ALTER ROLE {team.role('ann')} CONNECTION LIMIT -1")
    assert first.sync().sent == 1


def test_a_stream_that_is_not_what_its_head_says_holds_up_no_other(team: Team, tmp_path: Path) -> None:
    """What a machine says wrongly of its stream is noted; those of others are sent and received."""
    project = team.project("ann", "bob", "kim")
    ann, bob, kim = (Member(tmp_path / name, team, project, name) for name in ("ann", "bob", "kim"))
    for one in (ann, bob):
        one.write(one.root.name)
        one.sync()
    team.execute("UPDATE workbench.streams SET crc = 1, bytes = bytes + 5 WHERE bytes > 0", ann.url)
    kim.write("kim")
    assert "not what the server's checksum says" in str(kim.sync().notes)
    assert "not what the server's checksum says" in str(bob.sync().notes)
    assert {"bob", "kim"} <= set(bob.texts()) & set(kim.texts())
