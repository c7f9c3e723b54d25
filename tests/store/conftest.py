"""Fixtures of the store's tests, among them real processes for locks, crashes and limits."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import store
from store.journal import FileJournal
from tests.adapters import ManualClock
from tests.empty_tables import uncopied
from tests.processes import end
from tests.store import engines

if TYPE_CHECKING:
    from store.postgres.server import PostgresServer
    from tests.postgres_server import DatabaseServer
    from tests.teams import Team

Process = subprocess.Popen[str]

_ROOT = Path(store.__file__).resolve().parents[1]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let each test of a module that opens tables run on both engines."""
    on = engines.runs_on(metafunc.module, metafunc.function)
    if on:
        metafunc.parametrize("engine", on, indirect=True, scope="module")


@pytest.fixture(scope="session")
def tables_url(postgres: DatabaseServer) -> str:
    return postgres.make_database()


@pytest.fixture(scope="module", autouse=True)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Have the tables of a module's tests in a file or on a server."""
    name: str = getattr(request, "param", engines.FILE)
    engines.url = request.getfixturevalue("tables_url") if name == engines.SERVER else ""
    yield name
    engines.url = ""
    engines.opened.clear()


@pytest.fixture(scope="module", autouse=True)
def _tables_of_the_program() -> Iterator[None]:
    """Make tables as the program does: these tests are about that."""
    with uncopied():
        yield


@pytest.fixture(autouse=True)
def _closed_tables() -> Iterator[None]:
    yield
    for tables in engines.opened:
        tables.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def journal(tmp_path: Path, clock: ManualClock) -> FileJournal:
    """A journal in an empty state directory, `tmp_path`."""
    return FileJournal(tmp_path, clock)


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """Start processes that run Python code, the arguments in `sys.argv[1:]`, all three streams piped."""
    started: list[Process] = []

    def run(code: str, *arguments: object) -> Process:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        end(process)


@pytest.fixture
def outputs() -> Callable[[list[Process]], list[str]]:
    """Wait for processes and return what each printed; fails with the first error output."""

    def wait(processes: list[Process]) -> list[str]:
        results = [process.communicate() for process in processes]
        for process, (_, errors) in zip(processes, results, strict=True):
            assert process.returncode == 0, errors
        return [printed for printed, _ in results]

    return wait


@pytest.fixture
def open_member(team: Team) -> Iterator[Callable[..., PostgresServer]]:
    """Open a project of the team as a member, with a machine if one is given."""
    from store.postgres.server import open_server

    opened: list[PostgresServer] = []

    def open_(project: str, member: str, machine: str = "") -> PostgresServer:
        opened.append(open_server(team.url(member), project))
        if machine:
            opened[-1].register(machine, f"{member}'s laptop")
        return opened[-1]

    yield open_
    for server in opened:
        server.close()
