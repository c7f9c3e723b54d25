"""Connections to PostgreSQL: encrypted, bounded in time, with errors that say what to do and no password."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.fleet.proxy import Proxy
from store.postgres import connection as module
from store.postgres.connection import Connections
from store.postgres.server import PostgresServer, open_server
from store.postgres.server_url import mask_password, parse_url
from tests.postgres_server import DatabaseServer
from tests.processes import LONG
from tests.store.postgres.test_server import lines
from tests.teams import Team
from workbench.errors import ConfigError, LoginRefused, ServerUnreachable, TeamError
from workbench.records.ids import new_id

SECRET = "p@ss/w:rd%é"
QUOTED = "p%40ss%2Fw%3Ard%25%C3%A9"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "team",
        f"mysql://anna:{QUOTED}@db/team",
        f"host=db user=anna password={SECRET}",
        f"postgresql://anna:{SECRET}@db:notaport/team",
        f"postgresql://anna:{QUOTED}@db/team?nonsense=1",
        f"postgresql://anna:{QUOTED}@db/te\0am",
        f"postgresql://anna:{QUOTED}@/team",
        f"postgresql://anna:{QUOTED}@/team?service=ours",
        f"postgresql://anna:{QUOTED}@db.example.org/team?sslmode=prefer",
        f"postgresql://anna:{QUOTED}@localhost,db.example.org/team?sslmode=allow",
    ],
)
def test_a_wrong_url_is_refused_without_its_password(url: str) -> None:
    """What is no URL, names no host, or may send in the clear is refused with the way to write it."""
    with pytest.raises(ConfigError) as caught:
        Connections(url)
    assert caught.value.hint
    assert "ss/w" not in caught.value.message
    assert QUOTED not in caught.value.message


@given(st.text(st.characters(exclude_characters="*\0", exclude_categories=["Cs"]), min_size=1))
def test_no_message_holds_a_password_and_a_short_one_garbles_none(password: str) -> None:
    """Percent-encoded or not it is masked where URLs have it; one that may be part of words nowhere else."""
    encoded = "".join(f"%{byte:02x}" for byte in password.encode())
    for one in (password, quote(password, safe=""), quote(password), encoded):
        for before, after in (("postgresql://anna:", "@host/team"), ("password=", ""), ('it is "', '"')):
            assert mask_password(f"{before}{one}{after}", password) == f"{before}***{after}"
        if len(password) > 5:
            assert one not in mask_password(f"the server at{one}port is away", password)
    if len(password) < 6:
        words = "connection to server at host, port 5432 failed: a timeout expired"
        assert mask_password(words, password) == words


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://anna:secret-top/x@db.example.org/team",
        "postgresql://anna:1234/x@db.example.org/team",
        "postgresql://anna:pa@secret-top@127.0.0.1:5432/team",
        "postgresql://db.example.org:secret-top/team",
    ],
)
def test_a_password_that_is_not_encoded_is_taken_for_nothing_else(url: str) -> None:
    """Neither for a host nor a port, which messages name: the URL is refused with the next step."""
    with pytest.raises(ConfigError, match="not the URL") as caught:
        parse_url(url)
    assert "percent-encode" in caught.value.hint
    assert "secret" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("rest", "mode"),
    [
        ("db.example.org/team", "require"),
        ("db.example.org/team?sslmode=verify-full", "verify-full"),
        ("db.example.org/team?sslmode=disable", "disable"),
        ("localhost,10.0.0.1/team", "require"),
        ("localhost/team?hostaddr=10.0.0.1", "require"),
        ("localhost/team", None),
        ("127.0.0.1:5433,[::1]/team", None),
        ("/team?host=/var/run/postgresql", None),
    ],
)
def test_tls_is_required_of_other_machines(
    rest: str, mode: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that is not this machine is spoken to over TLS unless the URL itself says otherwise."""
    url = f"postgresql://anna@{rest}"
    assert parse_url(url).get("sslmode") == mode
    monkeypatch.setenv("PGSSLMODE", "prefer")
    assert parse_url(url).get("sslmode") == mode
    monkeypatch.setenv("PGSSLMODE", "verify-ca")
    assert parse_url(url).get("sslmode") == ("verify-ca" if mode == "require" else mode)


def test_logins_and_servers_that_do_not_fit(
    postgres: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong passwords, databases, hosts, ports and versions: the error names the place and the next step."""

    def resolve(host: str, *_: object, **__: object) -> object:
        raise socket.gaierror(-2, f"no name {host}")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    cases = [
        (postgres.url(password=SECRET), LoginRefused, "refuses the login", "password"),
        (postgres.url("no-such-database"), LoginRefused, '"no-such-database" does not exist', "database"),
        (
            postgres.url().replace("&port=5432", "&port=9"),
            ServerUnreachable,
            "cannot be reached",
            "sent later",
        ),
        (
            f"postgresql://anna:{QUOTED}@unheard.of/team",
            ServerUnreachable,
            "no name unheard.of",
            "sent later",
        ),
        (f"postgresql://anna:{QUOTED}@127.0.0.1:9/team", ServerUnreachable, "127.0.0.1:9/team", "sent later"),
    ]
    for url, kind, message, hint in cases:
        connections = Connections(url)
        with pytest.raises(kind) as caught, connections.use():
            raise AssertionError(url)
        assert type(caught.value) is kind
        assert message in caught.value.message
        assert hint in caught.value.hint
        assert "Is the server running" not in caught.value.message
        assert "ss/w" not in caught.value.message + caught.value.hint
        assert QUOTED not in caught.value.message + caught.value.hint
    monkeypatch.undo()
    with pytest.raises(ConfigError, match="cannot be one"):
        Connections(f"postgresql://anna:{QUOTED}@no..host/team").connect()
    monkeypatch.setattr(module, "OLDEST", 1000)
    with pytest.raises(TeamError, match="a team needs 1000 or newer"):
        Connections(postgres.url()).connect()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("53100", TeamError),  # disk full
        ("53200", TeamError),  # out of memory
        ("25006", TeamError),  # read-only
        ("42501", TeamError),  # forbidden
        ("42P01", TeamError),  # other tables
        ("XX000", TeamError),
        ("55P03", ServerUnreachable),  # locked
        ("57P01", ServerUnreachable),  # shut down
        ("57P03", ServerUnreachable),  # starting
        ("53300", ServerUnreachable),  # too many connections
    ],
)
def test_what_a_server_answers_is_explained(team: Team, code: str, kind: type[TeamError]) -> None:
    """What passes by itself is told from what a person has to see to, each with its next step."""
    statement = f"DO $$ BEGIN RAISE EXCEPTION 'of a test' USING ERRCODE = '{code}'; END $$"
    with pytest.raises(TeamError, match="of a test") as caught, team.owner.use() as connection:
        connection.execute(statement.encode())
    assert type(caught.value) is kind
    assert caught.value.hint


def test_a_server_that_takes_no_writes(team: Team) -> None:
    """A standby, or a role that may only read: what is there is read, and writes say why they fail."""
    project, machine = team.project("anna"), new_id()
    first = open_server(team.url("anna"), project)
    first.register(machine, "x")
    first.append("rules", 0, lines({}))
    first.close()
    anna = open_server(team.url("anna") + "&options=-c%20default_transaction_read_only%3Don", project)
    assert list(anna.heads()) == [(machine, "rules")]
    anna.register(machine, "x")
    with pytest.raises(TeamError, match="takes no writes") as caught:
        anna.append("rules", len(lines({})), lines({}))
    assert "standby" in caught.value.hint
    anna.close()


@pytest.fixture
def make_proxy(postgres: DatabaseServer) -> Iterator[Callable[..., Proxy]]:
    made: list[Proxy] = []

    def make(context: ssl.SSLContext | None = None) -> Proxy:
        made.append(Proxy(postgres.directory / ".s.PGSQL.5432", context))
        return made[-1]

    yield make
    for proxy in made:
        proxy.close()


def over(proxy: Proxy, url: str, host: str = "127.0.0.1") -> str:
    place, _, rest = url.partition("@")
    return f"{place}@{host}:{proxy.port}{rest.partition('?')[0]}"


def test_a_lost_line_is_noticed_and_made_again(team: Team, make_proxy: Callable[..., Proxy]) -> None:
    """A line that is cut or dead ends what is done with it; the next try connects again."""
    proxy = make_proxy()
    project, machine = team.project("anna"), new_id()
    url = over(proxy, team.url("anna"))
    connections = Connections(url)
    anna = PostgresServer(connections, project, "anna")
    anna.register(machine, "x")
    first = lines({"n": 1})
    anna.append("rules", 0, first)
    assert anna.wait(0) == ()
    proxy.hold()
    with pytest.raises(ServerUnreachable, match="did not answer within"), connections.use(0.01) as connection:
        connection.execute("SELECT 1")
    proxy.heal()
    assert anna.heads()[machine, "rules"].size == len(first)
    proxy.hang_up()
    with pytest.raises(ServerUnreachable):
        anna.wait(LONG)
    assert anna.wait(LONG) == ()
    assert anna.append("rules", len(first), lines({"n": 2})).size > len(first)
    anna.close()


def test_a_server_that_crashes_and_comes_back(make_postgres: Callable[..., DatabaseServer]) -> None:
    """What was acknowledged is there after a crash; who waits or asks gets an error, and goes on after it."""
    server = make_postgres()
    team = Team(server)
    project, machine = team.project("anna"), new_id()
    anna = open_server(team.url("anna"), project)
    anna.register(machine, "x")
    head = anna.append("rules", 0, lines({}))
    assert anna.wait(0) == ()
    waited: list[object] = []

    def wait() -> None:
        try:
            waited.append(anna.wait(LONG))
        except ServerUnreachable as error:
            waited.append(error.hint)

    waiting = threading.Thread(target=wait)
    waiting.start()
    server.stop()
    waiting.join()
    assert [module.NEXT in str(hint) for hint in waited] == [True]
    with pytest.raises(ServerUnreachable, match="cannot be reached"):
        anna.heads()
    server.start()
    assert anna.heads() == {(machine, "rules"): head}
    anna.append("rules", head.size, lines({}))
    anna.close()
    team.owner.close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl in the PATH")
def test_tls_is_spoken_and_checked(team: Team, make_proxy: Callable[..., Proxy], tmp_path: Path) -> None:
    """With TLS asked for, a server without it and one of another name or authority are refused."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost"),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    encrypted, plain = make_proxy(context), make_proxy()
    project = team.project("anna")
    checked = f"?sslmode=verify-full&sslrootcert={certificate}"
    open_server(over(encrypted, team.url("anna"), "localhost") + checked, project).close()
    for url in (
        over(encrypted, team.url("anna")) + checked,
        over(encrypted, team.url("anna"), "localhost") + f"?sslmode=verify-full&sslrootcert={key}",
        over(plain, team.url("anna")) + "?sslmode=require",
    ):
        with pytest.raises(TeamError, match="cannot be reached over TLS") as caught:
            open_server(url, project)
        assert "sslmode" in caught.value.hint


def test_a_password_may_be_in_its_own_file(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A URL without one finds it where every program of PostgreSQL does: `~/.pgpass`."""
    file = tmp_path / ".pgpass"
    file.write_text(f"*:*:*:{urlsplit(team.owner_url).username}:secret\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    connections = Connections(team.owner_url.replace(":secret@", "@"))
    with connections.use() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    connections.close()
