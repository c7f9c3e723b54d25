"""One HTTP request and its answer, within a deadline for all of it and a cap on its size.

The standard library's timeouts hold for each read, so a server that drips a byte a second would never time
out; here every operation on the socket gets only what is left of the whole. Redirects are not followed and
proxies of the environment are not used: nothing but the host that was asked for ever sees the request.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPResponse
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from workbench.errors import ConfigError
from workbench.records.dataclass import dataclass

_PORTS = {"http": 80, "https": 443}
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Server:
    """Where requests go: `http` or `https`, a host, a port, and a path before every request's own."""

    scheme: str
    host: str
    port: int
    prefix: str = ""

    @property
    def url(self) -> str:
        """The address as text."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"

    @property
    def local(self) -> bool:
        """Whether the address is one of this machine's own."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


@dataclass(frozen=True, slots=True)
class Reply:
    """Status and body of an answer."""

    status: int
    body: bytes


class BadReply(Exception):
    """The answer is larger than allowed, or ended early."""


class Deadline:
    """What is left of a number of `seconds`."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def seconds_left(self) -> float:
        """Return the seconds left. Raises: TimeoutError when none are."""
        left = self._end - self._clock()
        if left <= 0:
            raise TimeoutError("the deadline has passed")
        return left


def parse_server(url: str) -> Server:
    """Read an address like `http://127.0.0.1:11434`. Raises: ConfigError."""
    hint = "Write it like http://127.0.0.1:11434."
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"{url!r} is not a URL: {error}", hint=hint) from error
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ConfigError(f"{url!r} is not an http:// or https:// URL", hint=hint)
    if parts.username is not None or parts.query or parts.fragment or not url.isascii() or " " in url.strip():
        raise ConfigError("the URL has more than a host, a port and a path", hint=hint)
    return Server(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], parts.path.rstrip("/"))


def exchange(
    server: Server, method: str, path: str, body: bytes = b"", *, deadline: Deadline, cap: int
) -> Reply:
    """Send one request and return its answer, at most `cap` bytes of body.

    Looking up a host's name is the operating system's and not bound by the deadline.

    Raises: TimeoutError, other OSError (ConnectionRefusedError, socket.gaierror, ssl.SSLError),
    http.client.HTTPException, BadReply.
    """
    raw = _connect(server, deadline)
    try:
        connection = HTTPConnection(server.host, server.port)
        connection.auto_open = 0
        connection.sock = _Timed(raw, deadline)
        headers = {"Accept": "application/json", "Connection": "close", "User-Agent": "context-workbench"}
        if body:
            headers["Content-Type"] = "application/json"
        connection.request(method, server.prefix + path, body or None, headers)
        with connection.getresponse() as response:
            return Reply(response.status, _read(response, cap))
    finally:
        raw.close()


def _read(response: HTTPResponse, cap: int) -> bytes:
    declared = response.length  # None where the server does not say
    if declared is not None and declared > cap:
        raise BadReply(f"the answer has {declared:,} bytes, more than {cap:,}")
    found = bytearray()
    while chunk := response.read(_CHUNK):
        found += chunk
        if len(found) > cap:
            raise BadReply(f"the answer has more than {cap:,} bytes")
    if declared is not None and len(found) < declared:
        raise BadReply(f"the answer ended after {len(found):,} of {declared:,} bytes")
    return bytes(found)


def _connect(server: Server, deadline: Deadline) -> socket.socket:
    failure: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(
        server.host, server.port, type=socket.SOCK_STREAM
    ):
        raw = socket.socket(family, kind, protocol)
        try:
            raw.settimeout(deadline.seconds_left())
            raw.connect(address)
            return _secure(raw, server, deadline)
        except OSError as error:
            raw.close()
            failure = error
    raise failure or OSError("the host has no address")


def _secure(raw: socket.socket, server: Server, deadline: Deadline) -> socket.socket:
    if server.scheme == "http":
        return raw
    import ssl

    raw.settimeout(deadline.seconds_left())
    return ssl.create_default_context().wrap_socket(raw, server_hostname=server.host)


class _Timed:
    """The part of a socket that `http.client` uses, each operation within what is left of the deadline."""

    def __init__(self, raw: socket.socket, deadline: Deadline) -> None:
        self._raw = raw
        self._deadline = deadline

    def sendall(self, data: Any) -> None:  # noqa: ANN401 - any buffer
        """Send all of the data."""
        self._raw.settimeout(self._deadline.seconds_left())
        self._raw.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return the reading side; only `rb` is ever asked for."""
        del mode
        return io.BufferedReader(_Reader(self._raw, self._deadline))

    def close(self) -> None:
        """Leave the socket open: the answer is still being read, and `exchange` closes it."""


class _Reader(io.RawIOBase):
    def __init__(self, raw: socket.socket, deadline: Deadline) -> None:
        super().__init__()
        self._raw = raw
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any buffer
        self._raw.settimeout(self._deadline.seconds_left())
        return self._raw.recv_into(buffer)
