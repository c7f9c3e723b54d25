"""A real Redis server for a test: from the PATH, in a directory of its own, keeping nothing on disk."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.processes import end

PROGRAM = shutil.which("redis-server")
REASON = "there is no redis-server in the PATH"
READY = "ready to accept connections"


class RedisServer:
    """A server on a socket file, so that no two tests want the same port. `options` are names and values."""

    def __init__(self, *options: str) -> None:
        """Start it and wait until it is ready."""
        self.directory = Path(tempfile.mkdtemp(prefix="wb-redis-"))  # short: socket paths end at 107 bytes
        self.socket = self.directory / "s"
        self.options = options
        self.start()

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Start it, again after a `kill`."""
        given = {"--port": "0", "--unixsocket": str(self.socket), "--save": "", "--appendonly": "no"}
        given |= {"--dir": str(self.directory), "--logfile": "", "--daemonize": "no"}
        given |= dict(zip(self.options[::2], self.options[1::2], strict=True))
        arguments = [part for item in given.items() for part in item]
        self.process = subprocess.Popen(
            [str(PROGRAM), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        lines = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            lines.append(line)
            if READY in line.lower() and str(self.socket) in line:
                return
        self.remove()
        raise AssertionError("the server did not start: " + "".join(lines))

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        end(self.process)

    def freeze(self) -> None:
        """Let it hang: connections are still accepted by the kernel and nothing is answered."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def client(self, **options: Any) -> Any:
        """Return a client of the library's own; the caller closes it."""
        from redis import Redis

        return Redis(unix_socket_path=str(self.socket), **options)

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
