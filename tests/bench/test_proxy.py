"""The network that can fail fails as it is asked to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from bench.fleet.proxy import Proxy


@pytest.fixture
def echo() -> Iterator[tuple[str, int]]:
    """A server that says again what it hears."""

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=speak, args=(client,), daemon=True).start()

    def speak(client: socket.socket) -> None:
        with client:
            while data := client.recv(100):
                client.sendall(data)

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def said(proxy: Proxy, text: bytes) -> bytes:
    """What comes back of a text through the proxy before the connection ends or all of it is there."""
    found = b""
    with socket.create_connection(("127.0.0.1", proxy.port)) as client:
        try:
            client.sendall(text)
            while len(found) < len(text) and (data := client.recv(100)):
                found += data
        except OSError:
            pass
    return found


def test_the_network_fails_as_it_is_asked_to(echo: tuple[str, int]) -> None:
    """Cut anywhere, refused, answered with garbage, held back; whole again once it heals."""
    with Proxy(echo) as proxy:
        assert said(proxy, b"hello") == b"hello"
        assert proxy.passed == 10
        proxy.cut_after(8)
        assert said(proxy, b"hello") == b"hel"
        assert said(proxy, b"hello") == b""
        proxy.heal()
        proxy.babble(b"HTTP/")
        assert said(proxy, b"hello") == b"HTTP/"
        proxy.heal()
        proxy.hold()
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            client.sendall(b"later")
            client.setblocking(False)
            with pytest.raises(BlockingIOError):
                client.recv(100)
            client.settimeout(30)
            proxy.heal()
            assert client.recv(100) == b"later"
        proxy.refuse()
        assert said(proxy, b"hello") == b""
