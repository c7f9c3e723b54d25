"""A network that can fail: a TCP proxy before a server, for benchmarks and tests.

Everything passes until `hold` (packets are lost, connections stay), `refuse` (no connection is there or comes
about), `cut_after` (all is closed after so many more bytes, wherever that is in a message) or `babble`
(whoever speaks is answered with these bytes by no server at all). `heal` ends all of them; after `hang_up`
connections are made again.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path
from typing import Final, Self

_BLOCK: Final = 65_536
_SSL_REQUEST: Final = bytes([0, 0, 0, 8, 4, 210, 22, 47])


class Proxy:
    """A proxy to a (host, port) or a socket file, on `port` of the loopback. `passed` are bytes of both ways.

    With a `context` it speaks the TLS of PostgreSQL, as no server of the tests does.
    """

    def __init__(self, target: tuple[str, int] | Path, context: ssl.SSLContext | None = None) -> None:
        self._target = target
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.passed = 0
        self._lock = threading.Lock()
        self._passable = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._left: int | None = None
        self._garbage = b""
        self._passable.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def hold(self) -> None:
        """Let nothing pass any more; what is sent waits until the network heals."""
        self._passable.clear()

    def refuse(self) -> None:
        """Close all connections, and new ones at once."""
        self.cut_after(0)
        self.hang_up()

    def cut_after(self, count: int) -> None:
        """Close everything once so many more bytes have passed, and refuse from then on."""
        with self._lock:
            self._left = count

    def hang_up(self) -> None:
        with self._lock:
            found = [*self._sockets]
        self._drop(*found)

    def babble(self, garbage: bytes) -> None:
        """Answer whatever is sent with these bytes, and hand on nothing."""
        self._garbage = garbage
        self.hang_up()

    def heal(self) -> None:
        """Let everything pass again."""
        with self._lock:
            self._left, self._garbage = None, b""
        self._passable.set()

    def close(self) -> None:
        """Stop listening and hang up."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.refuse()
        self._passable.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with self._lock:
            self._sockets.add(client)
            refused = self._left == 0
        if refused:
            self._drop(client)
        elif self._garbage:
            self._babble(client)
        else:
            try:
                client = self._encrypted(client)
                server = self._connect()
            except OSError:
                self._drop(client)
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._sockets.add(server)
            threading.Thread(target=self._pump, args=(server, client), daemon=True).start()
            self._pump(client, server)

    def _encrypted(self, client: socket.socket) -> socket.socket:
        if self._context is None or client.recv(len(_SSL_REQUEST)) != _SSL_REQUEST:
            return client
        client.sendall(b"S")
        found = self._context.wrap_socket(client, server_side=True)
        with self._lock:
            self._sockets.add(found)
        return found

    def _connect(self) -> socket.socket:
        if isinstance(self._target, Path):
            found = socket.socket(socket.AF_UNIX)
            found.connect(str(self._target))
        else:
            found = socket.create_connection(self._target)
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found

    def _babble(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while client.recv(_BLOCK):
                client.sendall(self._garbage)
        self._drop(client)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_BLOCK):
                self._passable.wait()
                with self._lock:
                    if self._left is not None:
                        data = data[: self._left]
                        self._left -= len(data)
                    self.passed += len(data)
                    last = self._left == 0
                sink.sendall(data)
                if last:
                    self.hang_up()
        self._drop(source, sink)

    def _drop(self, *sockets: socket.socket) -> None:
        with self._lock:
            self._sockets.difference_update(sockets)
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
