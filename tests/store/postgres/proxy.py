"""A way to a server over the loopback that can be cut, freeze, or speak TLS, as no server here does."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path

_SSL_REQUEST = bytes([0, 0, 0, 8, 4, 210, 22, 47])


class Proxy:
    """Forwards connections to 127.0.0.1:`port` to a socket file, over TLS if it has a context for that."""

    def __init__(self, target: Path, context: ssl.SSLContext | None = None) -> None:
        self._target = target
        self._context = context
        self._flows = threading.Event()
        self._flows.set()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def freeze(self) -> None:
        """Forward nothing from now on; connections stay."""
        self._flows.clear()

    def thaw(self) -> None:
        """Forward again."""
        self._flows.set()

    def cut(self) -> None:
        """End all connections."""
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End everything."""
        self.thaw()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self.cut()
        for thread in self._threads[1:]:
            thread.join()
        for one in [*self._sockets, self._listener]:
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            self._sockets.append(client)
            with contextlib.suppress(OSError):
                if self._context is not None and client.recv(8) == _SSL_REQUEST:
                    client.sendall(b"S")
                    client = self._context.wrap_socket(client, server_side=True)
                    self._sockets.append(client)
                server = socket.socket(socket.AF_UNIX)
                self._sockets.append(server)
                server.connect(str(self._target))
                for pair in ((client, server), (server, client)):
                    self._threads.append(threading.Thread(target=self._forward, args=pair))
                    self._threads[-1].start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._flows.wait()
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
