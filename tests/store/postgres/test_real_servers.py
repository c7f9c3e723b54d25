"""Servers as people have them: poolers in two modes, TLS by the server itself, an older one, a standby.

They are the system's own programs (Debian's packages `pgbouncer` and `postgresql`); where one is not
installed its tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest

from store.postgres.connection import Connections
from store.postgres.migrations import migrate
from store.postgres.server import open_server
from store.postgres.tables import ServerTables
from store.postgres.vectors import PostgresVectors
from tests.postgres_server import DatabaseServer
from tests.processes import LONG, running
from tests.store.postgres.test_bad_days import Member
from tests.store.postgres.test_server import lines
from tests.teams import Team
from workbench.errors import LoginRefused, TeamError
from workbench.records.ids import new_id

POOLER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
SYSTEM = max(Path("/usr/lib/postgresql").glob("*/bin/postgres"), default=None)
NOBODY: dict[str, Any] = (
    {"user": "nobody", "group": "nogroup", "extra_groups": []} if not os.geteuid() else {}
)


@pytest.fixture(params=["transaction", "session"])
def pooler(request: pytest.FixtureRequest, team: Team) -> Iterator[Callable[[str], str]]:
    """PgBouncer before the team's server; a function that leads a URL through it."""
    if POOLER is None:
        pytest.skip("pgbouncer is not installed: apt-get install pgbouncer")
    place = team.server.directory / f"bouncer-{new_id()}"
    place.mkdir()
    users = [team.role("ann"), team.role("bob"), f"owner_{team.suffix}"]
    (place / "users").write_text("".join(f'"{user}" "secret"\n' for user in users), encoding="utf-8")
    (place / "ini").write_text(
        f"[databases]\n* = host={team.server.directory} port=5432\n"
        f"[pgbouncer]\nunix_socket_dir = {place}\nlisten_addr =\nlisten_port = 6432\n"
        f"auth_type = plain\nauth_file = {place}/users\npool_mode = {request.param}\ndefault_pool_size = 2\n",
        encoding="utf-8",
    )
    if NOBODY:
        for path in (place, *place.iterdir()):
            shutil.chown(path, "nobody", "nogroup")
    with running([POOLER, f"{place}/ini"], **NOBODY) as process:
        assert process.stderr is not None
        assert any("process up" in line for line in process.stderr)
        yield lambda url: f"{url.partition('?')[0]}?{urlencode({'host': place, 'port': 6432})}"


def test_a_pooler_may_be_between(pooler: Callable[[str], str], team: Team, tmp_path: Path) -> None:
    """Journals, tables, waiting and migrations work in both of its modes, by the rights of each member."""
    project = team.project("ann", "bob")
    ann, bob = (Member(tmp_path / name, team, project, name) for name in ("ann", "bob"))
    ann.url, bob.url = pooler(team.url("ann")), pooler(team.url("bob"))
    for one in (ann, bob, ann):
        one.write(f"of {one.root.name}")
        one.sync()
    bob.sync()
    assert ann.texts() == bob.texts() == ["of ann", "of ann", "of bob"]
    hearing, speaking = open_server(ann.url, project), open_server(bob.url, project)
    assert hearing.wait(0) is not None
    hearing.register(new_id(), "x")
    machine = new_id()
    speaking.register(machine, "y")
    speaking.append("rules", 0, lines({"n": 1}))
    assert hearing.wait(LONG) is not None
    assert (machine, "rules") in hearing.heads()
    with pytest.raises(TeamError, match="another member's"):
        hearing.register(machine, "z")
    hearing.close()
    speaking.close()
    owner = Connections(pooler(team.owner_url))
    assert migrate(owner) == 0
    owner.close()
    team.execute(f"GRANT CREATE ON DATABASE {team.database} TO {team.role('ann')}")
    tables = ServerTables(ann.url, new_id(), ann.root, {"project": ann.journal}, ann.clock)
    before = tables.digest()
    assert (tables.degraded, tables.on_server) == ("", True)
    tables.rebuild()
    assert tables.digest() == before
    tables.remove()
    tables.close()
    with pytest.raises(LoginRefused, match="unsupported startup parameter") as raised:
        open_server(f"{ann.url}&options=-c%20statement_timeout%3D9", project)
    assert "pooler" in raised.value.hint


class SystemServer:
    """PostgreSQL of the system on a port, with TLS by a certificate for `localhost`."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.authority = place / "authority.pem"
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        own = ("-keyout", place / "key.pem", "-out", place / "request.pem", "-subj", "/CN=localhost")
        keys = ("-keyout", place / "authority.key", "-out", self.authority, "-subj", "/CN=authority")
        _openssl("req", "-x509", *curve, *keys, "-days", 2)
        _openssl("req", *curve, *own, "-addext", "subjectAltName=DNS:localhost")
        self.sign(2)
        if NOBODY:
            shutil.chown(place / "key.pem", "nobody", "nogroup")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        files = (f"ssl_cert_file={place}/certificate.pem", f"ssl_key_file={place}/key.pem")
        assert SYSTEM is not None
        self.server = DatabaseServer(
            *("ssl=on", *files, "wal_level=replica", "max_wal_senders=2"),
            host="127.0.0.1",
            port=self.port,
            binaries=SYSTEM.parent,
        )
        self.team = Team(self.server, extensions=())
        self.rules = self.server.directory / "data" / "pg_hba.conf"

    def sign(self, days: int) -> None:
        """Have a certificate for so many days from now on."""
        signed = ("-CA", self.authority, "-CAkey", self.place / "authority.key", "-CAcreateserial")
        asked = ("-req", "-in", self.place / "request.pem", "-copy_extensions", "copy", "-days", days)
        _openssl("x509", *asked, *signed, "-out", self.place / "certificate.pem")

    def reload(self) -> None:
        """Let the server read its files again."""
        with psycopg.connect(self.server.url(), autocommit=True) as connection:
            connection.execute("SELECT pg_reload_conf()")

    def url(self, member: str, **options: object) -> str:
        """Return a member's URL by the name of the certificate, which is checked."""
        checked = {"sslmode": "verify-full", "sslrootcert": self.authority, **options}
        return f"{self.team.url(member).replace('127.0.0.1', 'localhost')}?{urlencode(checked)}"


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def system() -> Iterator[SystemServer]:
    if SYSTEM is None:
        pytest.skip("the system has no PostgreSQL of its own: apt-get install postgresql")
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl in the PATH")
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)  # the server is another user where tests run as root
        found = SystemServer(Path(made))
        yield found
        found.team.owner.close()
        found.server.close()


def test_tls_is_what_the_url_asks_for(system: SystemServer, tmp_path: Path) -> None:
    """A certificate of another name or authority, an expired one, none where one is asked for: refused."""
    project = system.team.project("ann")
    open_server(system.url("ann"), project).close()
    other = tmp_path / "other.pem"
    shutil.copy(system.place / "certificate.pem", other)
    refused = [
        (system.url("ann").replace("localhost", "127.0.0.1"), "does not match host name", "URL's host"),
        (system.url("ann", sslrootcert=other), "verify failed", "signed by"),
        (system.url("ann", sslrootcert=tmp_path / "none.pem"), "none.pem", "sslrootcert"),
    ]
    for url, says, hint in refused:
        with pytest.raises(LoginRefused, match=says) as caught:
            open_server(url, project)
        assert hint in caught.value.hint
        assert "over TLS" in caught.value.message
    system.sign(-1)
    system.reload()
    with pytest.raises(LoginRefused, match="over TLS") as caught:
        open_server(system.url("ann"), project)
    assert "expired" in caught.value.hint
    system.sign(2)
    former = system.rules.read_text(encoding="utf-8")
    system.rules.write_text(former.replace("\nhost ", "\nhostssl "), encoding="utf-8")
    system.reload()
    with pytest.raises(LoginRefused, match="does not let this user in") as caught:
        open_server(system.url("ann", sslmode="disable"), project)
    assert "sslmode=disable" in caught.value.hint
    open_server(system.url("ann"), project).close()
    system.rules.write_text(former, encoding="utf-8")
    system.reload()


def test_an_older_server_without_extensions_has_journals(system: SystemServer, tmp_path: Path) -> None:
    """Without pgvector, and before version 16, journals are shared; tables and vectors say what they lack."""
    project = system.team.project("ann", "bob")
    ann, bob = (Member(tmp_path / name, system.team, project, name) for name in ("ann", "bob"))
    ann.write("of ann")
    ann.sync()
    bob.sync()
    assert bob.texts() == ["of ann"]
    [(version,)] = system.team.execute("SELECT current_setting('server_version_num')::integer")
    if version < 160_000:
        tables = ServerTables(ann.url, new_id(), ann.root, {"project": ann.journal}, ann.clock)
        assert tables.query("SELECT count(*) FROM rules") == [(0,)]
        assert "PostgreSQL 16 or newer" in tables.degraded
        tables.close()
    connections = Connections(ann.url)
    vectors = PostgresVectors(connections, project, "segments", "m", 3)
    for ask in (vectors.stored_models, vectors.count):
        with pytest.raises(TeamError, match="lacks pgvector") as caught:
            ask()
        assert "Install pgvector" in caught.value.hint
    vectors.close()


def test_a_standby_is_received_from(system: SystemServer, tmp_path: Path) -> None:
    """What is there arrives, also what comes while it is waited for; what was written stays here."""
    project = system.team.project("ann", "bob")
    ann, bob = (Member(tmp_path / name, system.team, project, name) for name in ("ann", "bob"))
    ann.write("of ann")
    ann.sync()
    place = system.server.directory / "standby"
    assert SYSTEM is not None
    source = ("--dbname", system.server.url(), "--checkpoint=fast", "--wal-method=stream")
    subprocess.run(
        [SYSTEM.with_name("pg_basebackup"), "--pgdata", place, "--write-recovery-conf", *source],
        check=True,
        **NOBODY,
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = (f"port={port}", "listen_addresses=127.0.0.1", "fsync=off", "max_connections=60")
    command = [str(SYSTEM), "-D", str(place), "-k", str(place), *(f"--{option}" for option in options)]
    with running(command, **NOBODY) as standby:
        assert standby.stderr is not None
        assert any("ready to accept read-only" in line for line in standby.stderr)
        bob.url = bob.url.replace(str(system.port), str(port))
        assert bob.sync().received == 1
        hearing = open_server(bob.url, project)
        assert hearing.wait(0) is not None
        ann.write("later")
        ann.sync()
        assert hearing.wait(LONG) is not None
        hearing.close()
        bob.write("of bob")
        with pytest.raises(TeamError, match="takes no writes") as caught:
            bob.sync()
        assert "primary" in caught.value.hint
        assert bob.texts() == ["later", "of ann", "of bob"]
        standby.send_signal(signal.SIGINT)
        standby.wait()
    bob.url = bob.url.replace(str(port), str(system.port))
    assert bob.sync().sent == 1
