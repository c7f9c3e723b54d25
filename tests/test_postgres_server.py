"""The PostgreSQL server of the tests: it has what teams need, and leaves nothing behind."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.postgres_server import DatabaseServer
from tests.processes import LONG, end

RUN = """
import sys
from tests.postgres_server import DatabaseServer
server = DatabaseServer()
print(server.directory, server.keeper.pid, flush=True)
sys.stdin.read()
"""


def test_it_has_pgvector_and_asks_for_passwords(postgres: DatabaseServer, database: str) -> None:
    """A database is empty but for what a superuser can add; a wrong password is refused."""
    with psycopg.connect(database) as connection:
        connection.execute("CREATE EXTENSION vector")
        assert connection.execute("SELECT '[1,2]'::vector <-> '[1,3]'").fetchall() == [(1.0,)]
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres.url(password="wrong"))


@pytest.mark.usefixtures("postgres")
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux says when a process ended")
def test_it_ends_with_a_killed_run() -> None:
    """A run that is killed leaves neither processes nor files."""
    run = subprocess.Popen(
        [sys.executable, "-c", RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert run.stdout is not None
        directory, keeper = run.stdout.readline().split()
        ended = os.pidfd_open(int(keeper))
        server = int(Path(directory, "data", "postmaster.pid").read_text(encoding="ascii").splitlines()[0])
    finally:
        end(run)
    assert select.select([ended], [], [], LONG)[0]
    os.close(ended)
    assert not Path(directory).exists()
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)
