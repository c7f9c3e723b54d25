"""Isolation for every test (a home of its own, git without user settings) and throw-away repositories."""

from __future__ import annotations

import gc
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.deep import searches, times
from tests.empty_tables import copied, unlent
from tests.postgres_server import DatabaseServer, NoServer
from tests.redis_server import PROGRAM, REASON, RedisServer
from workbench.text import token_table

if TYPE_CHECKING:
    from tests.teams import Team

settings.register_profile(
    "house",
    deadline=None,
    derandomize=True,
    max_examples=times(4, 12),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("deep", parent=settings.get_profile("house"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


_FOREIGN = ("WORKBENCH_", "GIT_", "XDG_")
_TERMINALS = ("NO_COLOR", "FORCE_COLOR", "SSH_CONNECTION", "SSH_TTY", "TMUX", "STY")
_SETTINGS = {
    "COLORTERM": "truecolor",
    "WORKBENCH_INDEX_EMBED": "false",  # building a model takes seconds; tests of it say so
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TEMPLATE_DIR": "",  # repositories without sample hooks
    **{f"GIT_{role}_NAME": "A Tester" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "tester@example.org" for role in ("AUTHOR", "COMMITTER")},
}
_HOMES = itertools.count()
_MEMORY = "/dev/shm"
_OPEN = 500  # files; many users may have 1,024 open, and collecting garbage takes a tenth of a second
_ROOM = 2 << 30  # bytes; tests use a tenth at a time


def pytest_configure() -> None:
    """Keep the run from the settings of who started it, and let Ctrl-C reach what tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [name for name in os.environ if name.startswith(_FOREIGN) or name in _TERMINALS]:
        del os.environ[name]
    os.environ.update(_SETTINGS)
    if os.access(_MEMORY, os.W_OK):
        room = os.statvfs(_MEMORY)
        if room.f_bavail * room.f_frsize > _ROOM and not room.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _MEMORY)  # what tests write is synced in no time
    gc.disable()  # until all is collected: nothing of it is garbage


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what draws examples as a search."""
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(searches)


def pytest_collection_finish() -> None:
    """Spare the garbage collector what lives as long as the run: a fifth of the time of tests that draw."""
    gc.freeze()
    gc.set_threshold(100_000, 10, 20)
    gc.enable()


def pytest_sessionfinish() -> None:
    """Leave nothing frozen, by this or by what was tested: duckdb calls what is never collected leaks."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is made once for a run from the user's files, a model made ready there among them."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("HOME", "CACHE"):
            patched.setenv(f"WORKBENCH_{name}", str(tmp_path_factory.getbasetemp() / "run" / name.lower()))
        yield


@pytest.fixture(autouse=True)
def _isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep a test from the user's files: HOME and WORKBENCH_HOME point to an empty directory."""
    home = tmp_path_factory.getbasetemp() / f"home-{next(_HOMES)}"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("WORKBENCH_HOME", str(home / "workbench"))
    monkeypatch.setenv("WORKBENCH_CACHE", str(home / "cache"))
    monkeypatch.setattr(gc, "freeze", lambda: None)  # an app ends with its test, not with its process
    yield
    shutil.rmtree(home, ignore_errors=True)
    if len(os.listdir("/dev/fd")) > _OPEN:
        gc.collect()  # commands that were run in this process hold mapped files in cycles


@pytest.fixture
def home() -> Path:
    """Return this test's WORKBENCH_HOME, which does not exist yet."""
    return Path(os.environ["WORKBENCH_HOME"])


class Work:
    """A repository in a directory, driven by the real git program."""

    def __init__(self, root: Path) -> None:
        """Start the clock of commits at a fixed time."""
        self.root = root
        self.time = 1_700_000_000

    def git(self, *arguments: str | bytes, given: bytes = b"") -> bytes:
        """Run git here and return what it printed."""
        when = f"@{self.time} +0000"
        environment = {**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        command = ["git", "-C", os.fspath(self.root), *arguments]
        return subprocess.run(command, input=given, capture_output=True, check=True, env=environment).stdout

    def write(self, path: str, content: str | bytes = "x\n") -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str | bytes = "change", *options: str) -> str:
        """Commit everything, one second after the last commit, and return the commit's id."""
        self.time += 1
        self.git("add", "-A")
        raw = message.encode() if isinstance(message, str) else message
        self.git(
            "-c",
            "maintenance.auto=false",  # it takes another process to find that there is nothing to do
            "commit",
            "-q",
            "--allow-empty",
            "--allow-empty-message",
            "-F",
            "-",
            "--cleanup=verbatim",
            *options,
            given=raw,
        )
        return self._head()

    def _head(self) -> str:
        """Return the id of the commit; git is asked where the files of a plain repository do not say it."""
        git = self.root / ".git"
        try:
            reference = (git / "HEAD").read_text(encoding="utf-8").removeprefix("ref: ").strip()
            return (git / reference).read_text(encoding="utf-8").strip()
        except OSError:
            return self.git("rev-parse", "HEAD").decode().strip()

    def copy(self, root: Path) -> Work:
        """Return a copy in another directory, with the clock where it is here."""
        shutil.copytree(self.root, root, symlinks=True)
        other = Work(root)
        other.time = self.time
        return other


def make_repository(root: Path, *options: str) -> Work:
    """Make a repository without commits in a new directory."""
    root.mkdir()
    work = Work(root)
    work.git("init", "-q", "-b", "main", *options)
    return work


@pytest.fixture
def make_work(tmp_path: Path) -> Callable[[str], Work]:
    """Make repositories without commits below `tmp_path`."""

    def make(name: str, *options: str) -> Work:
        return make_repository(tmp_path / name, *options)

    return make


@pytest.fixture
def work(make_work: Callable[[str], Work]) -> Work:
    return make_work("work")


@pytest.fixture(scope="session")
def model_cache() -> Path:
    """A cache in which MiniLM is built: once per machine and user, for all sessions and workers."""
    from store import minilm

    user = os.getuid() if hasattr(os, "getuid") else 0
    cache = Path(tempfile.gettempdir()) / f"workbench-test-models-{user}"
    if not minilm.is_built(minilm.model_directory(cache)) and minilm.packaged_weights() is None:
        pytest.skip(f"the package {minilm.PACKAGE} with the weights is not installed")
    minilm.ensure_built(cache)
    return cache


@pytest.fixture(scope="session", autouse=True)
def _empty_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Spare each test the making of a project's tables."""
    with copied(tmp_path_factory.mktemp("empty-tables")):
        yield


@pytest.fixture(scope="session", autouse=True)
def _token_table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Spare each test the table of tokens, which takes .7 s of CPU: made once for a process, and copied."""
    kept = tmp_path_factory.mktemp("tokens") / "table"
    write = token_table.write_table

    def copy(path: Path, tokens: Iterable[bytes]) -> None:
        if not kept.exists():
            write(kept, tokens)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept, path)

    with patch.object(token_table, "write_table", copy):
        yield


class Connections:
    """The connections to DuckDB that the process of a test makes; `made` counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Note every connection from now on."""
        import duckdb

        self._made: list[duckdb.DuckDBPyConnection] = []
        connect = duckdb.connect

        def noted(*arguments: Any, **options: Any) -> duckdb.DuckDBPyConnection:
            self._made.append(connect(*arguments, **options))
            return self._made[-1]

        monkeypatch.setattr(duckdb, "connect", noted)

    @property
    def made(self) -> int:
        """How many there were."""
        return len(self._made)

    @property
    def alive(self) -> int:
        import duckdb

        closed = 0
        for connection in self._made:
            try:
                connection.execute("SELECT 1")
            except duckdb.ConnectionException:
                closed += 1
        return self.made - closed


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connections]:
    """Note the connections to DuckDB that this process makes, each project its own."""
    with unlent():
        yield Connections(monkeypatch)


class FakeOllama:
    """A real HTTP server that speaks Ollama's protocol and answers as a test says.

    `answers` are contents of messages, the last one repeated; `requests` is what was asked, (path, body), and
    `refused` what of it is not of the form that Ollama's documentation gives: it is answered with 400.
    A `handle` takes over a request whole: it gets the handler, and `stop` ends what it does for long.
    """

    def __init__(self) -> None:
        """Start listening on a free port of the loopback."""
        self.answers: list[str] = ["{}"]
        self.models: list[dict[str, Any]] = [{"name": "tiny:latest"}]
        self.requests: list[tuple[str, Any]] = []
        self.refused: list[Any] = []
        self.extra: dict[str, Any] = {"done": True, "done_reason": "stop"}
        self.handle: Callable[[BaseHTTPRequestHandler], None] | None = None
        self.stop = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.block_on_close = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self) -> None:
        """Stop listening and wait for what is still answered."""
        self.stop.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fake.answer(self, None)

            def do_POST(self) -> None:
                fake.answer(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler

    def answer(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        self.requests.append((handler.path, body))
        if self.handle is not None:
            self.handle(handler)
        elif handler.path == "/api/tags":
            self.send(handler, 200, {"models": self.models})
        elif handler.path == "/api/chat" and not _is_chat(body):
            self.refused.append(body)
            self.send(handler, 400, {"error": "the request is not of the documented form"})
        elif f"{body['model']}:latest" not in [m["name"] for m in self.models] + [
            f"{m['name']}:latest" for m in self.models
        ]:
            self.send(handler, 404, {"error": f"model '{body['model']}' not found"})
        else:
            content = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            message = {"role": "assistant", "content": content}
            self.send(handler, 200, {"model": body["model"], "message": message, **self.extra})

    def send(self, handler: BaseHTTPRequestHandler, status: int, value: object) -> None:
        self.send_bytes(handler, status, json.dumps(value).encode())

    def send_bytes(
        self, handler: BaseHTTPRequestHandler, status: int, data: bytes, length: int | None = None
    ) -> None:
        """Send bytes, saying that they are `length` many."""
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data) if length is None else length))
        handler.end_headers()
        try:
            handler.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True  # the reader has seen enough


_CHAT = {"model": str, "messages": list, "format": dict, "stream": bool, "think": bool, "options": dict}
_OPTIONS = {"temperature": (int, float), "seed": int, "num_predict": int, "num_ctx": int}


def _is_chat(body: Any) -> bool:
    """Say whether a request to /api/chat has the fields and types that Ollama documents, and no others."""
    forms: tuple[tuple[Any, Any], ...] = ((body, _CHAT), (body.get("options", {}), _OPTIONS))
    known = all(isinstance(value, form.get(key, ())) for one, form in forms for key, value in one.items())
    return known and all(
        set(one) == {"role", "content"}
        and one["role"] in ("system", "user", "assistant")
        and isinstance(one["content"], str)
        for one in body["messages"]
    )


@pytest.fixture
def ollama() -> Iterator[FakeOllama]:
    """A server that speaks Ollama's protocol on the loopback."""
    fake = FakeOllama()
    yield fake
    fake.close()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis server of this session (and of this worker) for tests that leave it running."""
    if PROGRAM is None:
        pytest.skip(REASON)
    server = RedisServer()
    yield server
    server.remove()


@pytest.fixture
def make_redis() -> Iterator[Callable[..., RedisServer]]:
    """Start Redis servers that a test may kill, freeze or fill."""
    if PROGRAM is None:
        pytest.skip(REASON)
    servers: list[RedisServer] = []

    def make(*options: str) -> RedisServer:
        servers.append(RedisServer(*options))
        return servers[-1]

    yield make
    for server in servers:
        server.remove()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatabaseServer]:
    """A PostgreSQL server with pgvector, one for all workers of the run, for tests that leave it running."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "postgres"
    with FileLock(f"{place}.lock"):
        try:
            server = _join(place) or DatabaseServer()
        except NoServer as reason:
            pytest.skip(str(reason))
        place.write_text(str(server.directory), encoding="utf-8")
    yield server
    server.close()


def _join(place: Path) -> DatabaseServer | None:
    try:
        return DatabaseServer(directory=Path(place.read_text(encoding="utf-8")))
    except (FileNotFoundError, NoServer):
        return None


@pytest.fixture
def make_postgres() -> Iterator[Callable[..., DatabaseServer]]:
    """Start PostgreSQL servers that a test may stop, with settings of its own."""
    servers: list[DatabaseServer] = []

    def make(*settings: str) -> DatabaseServer:
        try:
            servers.append(DatabaseServer(*settings))
        except NoServer as reason:
            pytest.skip(str(reason))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


@pytest.fixture
def database(postgres: DatabaseServer) -> str:
    """The superuser's URL of an empty database."""
    return postgres.make_database()


@pytest.fixture(scope="module")
def team(postgres: DatabaseServer) -> Iterator[Team]:
    """A team's database of the module, without projects."""
    from tests.teams import Team

    team = Team(postgres)
    yield team
    team.owner.close()
