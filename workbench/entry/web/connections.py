"""How many connections a server has, and how long it waits for the rest of a request, whoever sends it.

Without a token anybody on this machine can connect, and say nothing, or one byte a minute. So what is begun
has to be completed in time, and where no connection is free the one whose request is awaited longest is
closed for the new one: a client that sends its request at once always finds a place. A client that is slow
and honest has time, as with Apache's `mod_reqtimeout`: so many seconds, and one more for each so many bytes.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from enum import Enum, auto
from errno import EMFILE, ENFILE, ENOBUFS, ENOMEM
from typing import Any, Final

from workbench.records.dataclass import dataclass

MOST: Final = 256
"""Connections of a server, where it may have four times as many descriptors."""

ACCEPTED_AT_ONCE: Final = 64
"""Connections that the loop takes before it looks at any of them."""

WAITING_TO_CONNECT: Final = 1024
"""Connections that the kernel holds meanwhile."""

IDLE: Final = 75  # seconds that a connection may be idle between two requests
_SHARE: Final = 4  # descriptors for each connection
_REPORTED: Final = 60.0  # seconds between two reports that descriptors are short
_SHORT_OF: Final = frozenset({EMFILE, ENFILE, ENOBUFS, ENOMEM})


class Awaited(Enum):
    """What a server waits for from its client."""

    HEADERS = auto()
    BODY = auto()
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be, and how many seconds a client has for headers and for a body.

    A body has another second for each `rate` bytes that came of it.
    """

    most: int = MOST
    headers: float = 20.0
    body: float = 20.0
    rate: int = 500


class ConnectionGuard:
    """The connections of a server, of which those come first whose request is awaited longest."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.open: set[GuardedConnection] = set()
        self.waiting: dict[GuardedConnection, None] = {}

    def has_room(self) -> bool:
        """Make room for a connection; False where each one is worked for."""
        if len(self.open) >= self.limits.most and self.waiting:
            next(iter(self.waiting)).refuse(503, "Service Unavailable")
        return len(self.open) < self.limits.most


class GuardedConnection(asyncio.Protocol):
    """A connection that passes what comes on to the protocol of a server, and closes where nothing comes.

    `awaited` says what the server waits for once it has read what came; without it `stop_waiting` says
    that this is nothing more.
    """

    def __init__(
        self,
        inner: asyncio.Protocol,
        connections: ConnectionGuard,
        awaited: Callable[[], Awaited] | None = None,
    ) -> None:
        self._inner = inner
        self._connections = connections
        self._awaited = awaited
        self._state = Awaited.NOTHING
        self._since = 0.0
        self._received = 0
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._is_passed_on = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, if there is room."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._connections.has_room():
            self.refuse(503, "Service Unavailable")
            return
        self._connections.open.add(self)
        self._is_passed_on = True
        self._inner.connection_made(transport)
        self._wait_for(Awaited.HEADERS)

    def data_received(self, data: bytes) -> None:
        """Pass on what came."""
        if self not in self._connections.open:
            return
        self._received += len(data)
        self._inner.data_received(data)
        if self in self._connections.open and self._awaited is not None:
            self._wait_for(self._awaited())

    def stop_waiting(self) -> None:
        """Wait for nothing more: the request is whole, and may be worked for."""
        self._wait_for(Awaited.NOTHING)

    def eof_received(self) -> bool | None:
        """Pass it on."""
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        """Pass it on."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._forget()
        if self._is_passed_on:
            self._inner.connection_lost(exc)

    def refuse(self, status: int, reason: str) -> None:
        """Close the connection with a status, if nothing was answered yet."""
        if self._transport is None or self._transport.is_closing():
            return
        head = f"HTTP/1.1 {status} {reason}\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 1"
        self._transport.write(f"{head}\r\n\r\n".encode())
        self._transport.close()
        self._forget()  # its descriptor is free with the next turn of the loop

    def _forget(self) -> None:
        self._wait_for(Awaited.NOTHING)
        self._connections.open.discard(self)

    def _wait_for(self, state: Awaited) -> None:
        if state is self._state:
            return
        self._state = state
        self._connections.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if state is Awaited.NOTHING:
            return
        if state is Awaited.HEADERS:
            self._connections.waiting[self] = None
        self._since, self._received = asyncio.get_running_loop().time(), 0
        self._set_timer()

    def _set_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_at(self._until(), self._look)

    def _until(self) -> float:
        limits = self._connections.limits
        if self._state is Awaited.HEADERS:
            return self._since + limits.headers
        return self._since + limits.body + self._received / limits.rate

    def _look(self) -> None:
        if asyncio.get_running_loop().time() >= self._until():
            self.refuse(408, "Request Timeout")
        else:
            self._set_timer()


def usual_limits() -> ConnectionLimits:
    """Return the limits of this process, which are well below the descriptors that it may have."""
    try:
        import resource
    except ImportError:  # Windows
        return ConnectionLimits()
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ConnectionLimits() if most < 0 else ConnectionLimits(max(1, min(MOST, most // _SHARE)))


def report_shortage(loop: asyncio.AbstractEventLoop) -> None:
    """Have a loop report in one line, once a minute at most, that no connection can be accepted."""
    last = -_REPORTED

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal last
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _SHORT_OF:
            loop.default_exception_handler(context)
        elif loop.time() - last >= _REPORTED:
            last = loop.time()
            print(f"no connection can be accepted: {error.strerror}; trying again", file=sys.stderr)

    loop.set_exception_handler(handle)
