"""Where the server listens, and how it begins and ends: a unix socket of its user, or a port of this machine.

It owns nothing: everything is on disk before a request is answered, so it may be killed, and two may run.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EADDRINUSE
from pathlib import Path
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from workbench.entry.http.app import Service
from workbench.entry.http.projects import ServedProjects
from workbench.entry.project import private_dir
from workbench.entry.web.access import url_of
from workbench.entry.web.connections import (
    ACCEPTED_AT_ONCE,
    IDLE,
    WAITING_TO_CONNECT,
    Awaited,
    ConnectionGuard,
    ConnectionLimits,
    GuardedConnection,
    report_shortage,
    usual_limits,
)
from workbench.errors import StoreError, UsageError

TOKEN_FILE: Final = "serve.token"
_CALLS_AT_ONCE: Final = 64
_GRACE: Final = 3
"""Seconds that requests have to be answered once the server is to end."""
_SHORTEST_TOKEN: Final = 32
_AWAITED: Final = {"IDLE": Awaited.HEADERS, "SEND_BODY": Awaited.BODY}
"""What a client has still to send, by the state that h11 finds it in."""
_LONGEST: Final = 100
"""Bytes of a socket's path, a few less than the shortest limit of a system."""


@dataclass(frozen=True, slots=True)
class ListeningPlace:
    """Where to listen: at a unix socket, or at a port of a host where 0 is any free one."""

    socket: Path | None = None
    host: str = ""
    port: int = 0
    token: str = ""


def serve(projects: ServedProjects, place: ListeningPlace, ready: Callable[[str], object]) -> None:
    """Serve until Ctrl-C or SIGTERM; `ready` gets the address once it can be asked.

    Raises: UsageError if the address is taken; StoreError.
    """
    listening = _port(place) if place.socket is None else _unix_socket(place.socket)
    inode = None if place.socket is None else place.socket.stat().st_ino
    service = Service(projects, host=place.host, token=place.token)
    config = server_config(service, usual_limits())
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # it warns of each malformed request
    server = _Server(config, lambda: ready(address_of(place, listening)), service.workers.end)
    try:
        asyncio.run(server.serve(sockets=[listening]))
    finally:
        listening.close()
        if place.socket is not None:
            with suppress(FileNotFoundError):
                if place.socket.stat().st_ino == inode:  # else another server's by now
                    place.socket.unlink()
    projects.close()


def server_config(service: Service, limits: ConnectionLimits) -> uvicorn.Config:
    """Return how a service is served: its connections are limited, and what is begun has to be completed."""
    connections = ConnectionGuard(limits)

    def accept(**given: Any) -> asyncio.Protocol:
        inner = H11Protocol(**given)
        return GuardedConnection(
            inner, connections, lambda: _AWAITED.get(repr(inner.conn.their_state), Awaited.NOTHING)
        )

    return uvicorn.Config(
        service.guard,
        http=accept,  # type: ignore[arg-type]  # it is called, and no more
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        backlog=ACCEPTED_AT_ONCE,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=_GRACE,
    )


def address_of(place: ListeningPlace, listening: socket.socket) -> str:
    """Return the address of a socket that listens: a path, or a URL."""
    return str(place.socket) if place.socket is not None else url_of(place.host, listening.getsockname()[1])


def read_token(home: Path) -> tuple[str, Path]:
    """Return the bearer token in the user's home and its file, which only its owner may read.

    It is made the first time. Raises: StoreError.
    """
    path = home / TOKEN_FILE
    private_dir(home)
    try:
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        found = path.lstat()
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"the token in {path} cannot be read: {error}", hint="Remove the file.") from error
    if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077 or found.st_uid != os.geteuid():
        raise StoreError(f"others may read the token in {path}", hint="Remove the file: a new one is made.")
    if len(token) < _SHORTEST_TOKEN:
        raise StoreError(f"{path} has no token", hint="Remove the file: a new one is made.")
    return token, path


def _unix_socket(path: Path) -> socket.socket:
    """Return a socket that listens at a path, in place of one that nobody listens at any more."""
    if len(os.fsencode(path)) > _LONGEST:
        raise UsageError(f"{path} is too long for a socket", hint="--socket takes a shorter one.")
    private_dir(path.parent)
    if path.exists() and not path.is_socket():
        raise UsageError(f"{path} is there and no socket", hint="--socket takes another path.")
    if is_answered(path):
        raise UsageError(f"a server listens at {path} already", hint="Ask that one, or give --socket.")
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    beside = path.with_name(f".{os.getpid()}.{path.name}"[:_LONGEST])
    mask = os.umask(0o177)  # only its owner may connect, from the first moment on
    try:
        found.bind(str(beside))
        found.listen(WAITING_TO_CONNECT)
        beside.rename(path)
    except OSError as error:
        found.close()
        raise UsageError(f"{path}: {error.strerror}", hint="--socket takes another path.") from error
    finally:
        os.umask(mask)
    return found


def is_answered(path: Path) -> bool:
    """Whether anybody listens at a unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        try:
            client.connect(str(path))
        except OSError:
            return False
        return True


def _port(place: ListeningPlace) -> socket.socket:
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((place.host, place.port))
        found.listen(WAITING_TO_CONNECT)
    except OSError as error:
        found.close()
        taken = "is taken by another program" if error.errno == EADDRINUSE else str(error.strerror)
        hint = "--port 0 takes a free one; without --port a socket is used."
        raise UsageError(f"{place.host}:{place.port} {taken}", hint=hint) from error
    return found


class _Server(uvicorn.Server):
    """Says when it can be asked, and ends without passing the signal on."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], object], ending: Callable[[], object]
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._ending = ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        loop = asyncio.get_running_loop()
        report_shortage(loop)
        # What agents ask at /mcp, of which those calls wait that plan.
        loop.set_default_executor(ThreadPoolExecutor(_CALLS_AT_ONCE, thread_name_prefix="mcp"))
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(WAITING_TO_CONNECT)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on Ctrl-C and SIGTERM; a second one ends at once."""
        loop = asyncio.get_running_loop()

        def end() -> None:
            if self.should_exit:
                self.force_exit = True
                logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it was meant
            self.should_exit = True
            self._ending()

        signals = (signal.SIGINT, signal.SIGTERM)
        for one in signals:
            loop.add_signal_handler(one, end)
        try:
            yield
        finally:
            for one in signals:
                loop.remove_signal_handler(one)
