"""Runs a PostgreSQL server while anyone holds it: `postgres_keeper.py DIRECTORY BINARIES OPTIONS…`.

A process of its own, so that a test run that is killed leaves neither the server nor its files behind. Who
starts it holds its stdin; others hold a connection to DIRECTORY/keeper, where `start` and the name of a
signal are commands, too. When nobody is left the server ends and the directory goes. PostgreSQL refuses to
run as root, so that root's server runs as `nobody`. Nothing is imported that takes long, `tests.processes`
included.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import selectors
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, Final

READY: Final = b"ready to accept connections"
PASSWORD: Final = "of-the-tests"
_SET_DEATH_SIGNAL: Final = 1  # prctl(2)


class Keeper:
    """The server of a directory."""

    def __init__(self, directory: Path, binaries: Path, options: list[str]) -> None:
        self.directory = directory
        self.binaries = binaries
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None
        self.account = _account()

    def initialise(self) -> None:
        """Make a cluster whose superuser is `postgres`. Raises: OSError, subprocess.CalledProcessError."""
        if self.account:
            os.chown(self.directory, self.account["user"], self.account["group"])
            if not all(path.stat().st_mode & stat.S_IXOTH for path in self.binaries.parents):
                copied = shutil.copytree(self.binaries.parent, self.directory / "programs", symlinks=True)
                self.binaries = copied / self.binaries.name
        secret = self.directory / "password"
        secret.write_text(PASSWORD, encoding="ascii")
        secret.chmod(0o644)
        program = self.binaries / "initdb"
        asked = subprocess.run([program, "--version"], check=True, capture_output=True, text=True)
        is_old = int(asked.stdout.split()[2].partition(".")[0]) < 16  # logins take 5 ms there
        subprocess.run(
            [
                *(program, "--no-sync", "--no-instructions", "--username=postgres"),
                *("--auth=scram-sha-256", f"--pwfile={secret}"),
                *(() if is_old else ("--set=scram_iterations=1",)),
                *("--encoding=UTF8", "--locale=C", f"--pgdata={self.directory / 'data'}"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            **self.account,
        )

    def start(self) -> None:
        """Start the server and return when it accepts connections. Raises: OSError, RuntimeError."""
        self.process = subprocess.Popen(
            [self.binaries / "postgres", "-D", self.directory / "data", "-k", self.directory, *self.options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=_end_with_parent,
            **self.account,
        )
        assert self.process.stderr is not None
        with (self.directory / "log").open("ab", buffering=0) as log:
            for line in self.process.stderr:
                log.write(line)
                if READY in line:
                    threading.Thread(target=self._follow, args=(self.process.stderr,), daemon=True).start()
                    return
        raise RuntimeError((self.directory / "log").read_text(encoding="utf-8", errors="replace")[-2000:])

    def stop(self, number: int) -> None:
        """End the server by a signal: SIGINT ends it in order, SIGQUIT as a crash does."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait()
            self.process = None

    def serve(self) -> None:
        """Obey whoever holds the server until nobody does."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.directory / "keeper"))
        listener.listen()
        print("ready", flush=True)
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(sys.stdin.buffer, selectors.EVENT_READ)
            while len(selector.get_map()) > 1:
                for key, _ in selector.select():
                    if key.fileobj is listener:
                        selector.register(listener.accept()[0], selectors.EVENT_READ)
                    elif key.fileobj is sys.stdin.buffer:
                        selector.unregister(sys.stdin.buffer)
                    elif not self._obey(key.fileobj):
                        selector.unregister(key.fileobj)

    def _obey(self, connection: Any) -> bool:
        try:
            command = connection.recv(100).decode("ascii")
            if command == "start":
                self.start()
            elif command:
                self.stop(signal.Signals[command])
            connection.send(b"done")
        except OSError:
            return False
        return bool(command)

    def _follow(self, stderr: IO[bytes]) -> None:
        with (self.directory / "log").open("ab", buffering=0) as log:
            for line in stderr:
                log.write(line)


def _account() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGQUIT)


def main(directory: Path, binaries: Path, options: list[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    keeper = Keeper(directory, binaries, options)
    try:
        keeper.initialise()
        keeper.start()
        keeper.serve()
    except (OSError, KeyError, RuntimeError, subprocess.CalledProcessError) as error:
        print(f"no server can be started here: {error}", flush=True)
    finally:
        keeper.stop(signal.SIGQUIT)
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
