"""Connections of strangers: real sockets that never end what they begin, beside clients that do."""

from __future__ import annotations

import asyncio
import errno
import json
import sys
from contextlib import ExitStack
from socket import create_connection

import pytest

pytest.importorskip("fastapi", reason="the package fastapi is not installed here")

from tests.conftest import Work
from tests.entry.conftest import TASK
from tests.entry.http.conftest import TOKEN, listening
from tests.processes import LONG, running
from workbench.entry.web.connections import ConnectionLimits, report_shortage

NEVER = 10 * LONG
BEARER = f"Authorization: Bearer {TOKEN}\r\n"
HEALTH = f"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n{BEARER}\r\n".encode()

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def limits(most: int = 100, *, headers: float = NEVER, body: float = NEVER) -> ConnectionLimits:
    """Return limits that nothing comes near unless it is given."""
    return ConnectionLimits(most, headers, body)


async def open_with(address: str, sent: bytes) -> Streams:
    streams = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
    streams[1].write(sent)
    await streams[1].drain()
    return streams


async def status_of(reader: asyncio.StreamReader) -> bytes:
    """Return the first line of an answer, empty where the connection is only closed."""
    try:
        return (await reader.readline()).strip()
    except ConnectionError:
        return b""


def plan_head(length: int) -> bytes:
    """Return the head of a plan's request whose body has so many bytes."""
    head = "POST /v1/plan-context HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}{BEARER}Content-Length: {length}\r\n\r\n".encode()


async def test_headers_that_never_end_are_ended(shop: Work) -> None:
    """Of a connection that says nothing, of a first request and of a later one."""
    async with listening(shop.root, limits(headers=0.1)) as address:
        silent = await open_with(address, b"")
        endless = await open_with(address, b"GET /v1/health HTTP/1.1\r\nX-A: ")
        later = await open_with(address, HEALTH)
        assert await status_of(later[0]) == b"HTTP/1.1 200 OK"
        later[1].write(b"GET /")
        for reader, writer in (silent, endless):
            assert await status_of(reader) == b"HTTP/1.1 408 Request Timeout"
            writer.close()
        assert b"408 Request Timeout" in await later[0].read()
        later[1].close()


async def test_a_body_that_never_ends_is_ended(shop: Work) -> None:
    """Also of a client that has the token; nothing is worked on for it."""
    async with listening(shop.root, limits(body=0.1)) as address:
        reader, writer = await open_with(address, plan_head(1000) + b'{"task"')
        assert await status_of(reader) == b"HTTP/1.1 408 Request Timeout"
        writer.close()


async def test_who_is_refused_holds_no_connection(shop: Work) -> None:
    """Without the token the answer comes before the body, and the connection is closed."""
    async with listening(shop.root, limits()) as address:
        stranger = plan_head(1000).replace(TOKEN.encode(), b"x")
        reader, writer = await open_with(address, stranger)
        assert (await reader.read()).startswith(b"HTTP/1.1 401 ")
        writer.close()


async def test_a_slow_and_honest_client_is_answered(shop: Work) -> None:
    """A request that comes byte by byte is a request."""
    body = json.dumps({"task": TASK}).encode()
    async with listening(shop.root, ConnectionLimits()) as address:
        reader, writer = await open_with(address, b"")
        for byte in plan_head(len(body)) + body:
            writer.write(bytes([byte]))
            await writer.drain()
        assert await status_of(reader) == b"HTTP/1.1 200 OK"
        writer.close()


async def test_a_body_has_time_for_what_came_of_it(shop: Work) -> None:
    """Each byte gives the client time, so that a large body may take longer than a small one."""
    body = json.dumps({"task": TASK}).encode()
    given = ConnectionLimits(most=10, headers=NEVER, body=0.0, rate=1)
    async with listening(shop.root, given) as address:
        reader, writer = await open_with(address, plan_head(len(body) + 1) + body)
        writer.write(b" ")
        assert await status_of(reader) == b"HTTP/1.1 200 OK"
        writer.close()


async def test_the_connection_that_is_awaited_longest_makes_room(shop: Work) -> None:
    """However many never end their headers, who sends a request is answered; the oldest is closed for it."""
    async with listening(shop.root, limits(most=4)) as address:
        waiting = [await open_with(address, b"GET /v1/health HTTP/1.1\r\n") for _ in range(4)]
        reader, writer = await open_with(address, HEALTH)
        assert await status_of(reader) == b"HTTP/1.1 200 OK"
        assert await status_of(waiting[0][0]) == b"HTTP/1.1 503 Service Unavailable"
        for place in range(1, 4):
            waiting[place][1].write(b"Host: 127.0.0.1\r\n" + BEARER.encode() + b"\r\n")
            assert await status_of(waiting[place][0]) == b"HTTP/1.1 200 OK"
        for one in (*waiting, (reader, writer)):
            one[1].close()


async def test_where_each_connection_is_worked_for_the_next_one_is_refused(shop: Work) -> None:
    """Nobody who is worked for is cut off; who comes too much hears that it is to ask again."""
    async with listening(shop.root, limits(most=2)) as address:
        working = [await open_with(address, plan_head(1000)) for _ in range(2)]
        reader, writer = await open_with(address, HEALTH)
        assert await status_of(reader) in (b"HTTP/1.1 503 Service Unavailable", b"")
        body = json.dumps({"task": TASK}).encode().ljust(1000)
        for _, sending in working:
            sending.write(body)
        assert [await status_of(one) for one, _ in working] == [b"HTTP/1.1 200 OK"] * 2
        for one in (*working, (reader, writer)):
            one[1].close()


async def test_a_shortage_of_descriptors_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The loop reports each refused accept; stderr gets one line. Other failures are reported as ever."""
    loop = asyncio.get_running_loop()
    report_shortage(loop)
    try:
        for _ in range(1000):
            shortage = OSError(errno.EMFILE, "Too many open files")
            loop.call_exception_handler({"message": "accept", "exception": shortage})
        assert capsys.readouterr().err.splitlines() == [
            "no connection can be accepted: Too many open files; trying again"
        ]
    finally:
        loop.set_exception_handler(None)


@pytest.mark.parametrize("face", ["serve", "serve-web"])
def test_more_strangers_than_descriptors(face: str, shop: Work) -> None:
    """With 128 descriptors and 400 connections that never end their headers both servers answer at once."""
    command = [sys.executable, "-P", "-m", "workbench", "--project", str(shop.root), face, "--port", "0"]
    with ExitStack() as stack:
        server = stack.enter_context(running(["sh", "-c", 'ulimit -n 128; exec "$@"', "sh", *command]))
        assert server.stdout is not None
        port = int(server.stdout.readline().split(":")[2].split("/")[0])
        for _ in range(400):
            stranger = stack.enter_context(create_connection(("127.0.0.1", port), timeout=LONG))
            try:
                stranger.sendall(b"GET / HTTP/1.1\r\nX-A: ")
            except ConnectionError:
                continue
        client = stack.enter_context(create_connection(("127.0.0.1", port), timeout=LONG))
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 401 ")
        server.terminate()
        _, errors = server.communicate(timeout=LONG)
    assert "Traceback" not in errors
    assert len(errors) < 1000
