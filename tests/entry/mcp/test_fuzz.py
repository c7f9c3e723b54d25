"""Messages at random: each request is answered once, none ends the server or is a defect (`make fuzz`)."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the package mcp is not installed here")

from tests.conftest import Work
from tests.deep import times
from tests.processes import LONG
from workbench.entry.mcp.project import ServedProject
from workbench.entry.mcp.server import serve_messages
from workbench.entry.mcp.stdio import HANDSHAKES, Handshake
from workbench.entry.mcp.tools import listed_tools
from workbench.entry.mcp.wire import Wire, encode

CALLS = times(20, 40) * int(os.environ.get("FUZZ_EXAMPLES", "2"))
SEED = int(os.environ.get("FUZZ_SEED", "18"))
WORDS = (
    *(
        "",
        "redirect",
        "shop/auth.py",
        "../../etc/passwd",
        "/",
        "~",
        "-x",
        "--",
        "seg-",
        "s-1",
        "\0",
        "\x1b[2J",
    ),
    *("\ud800", "é😀‮", "a" * 5000, "%s{0}$(id)`id`", "' OR 1=1 --", "<script>", "null", "1e999", "\n\r\t"),
    *("workbench://rules/a%2Fb", "workbench://", "file:///etc/passwd", "2020-13-45", "0", "😀" * 300),
)
NUMBERS = (0, 1, -1, 2**31, 2**63, -(2**70), 10**400, 0.5, 1e308, True)
METHODS = (
    *("ping", "tools/list", "prompts/list", "prompts/get", "resources/list", "resources/read", "no/such", ""),
    *(
        "resources/templates/list",
        "resources/subscribe",
        "completion/complete",
        "logging/setLevel",
        "initialize",
    ),
    *("server/discover", "sampling/createMessage", "roots/list", "tools/call", "tasks/get"),
)
NOTES = ("notifications/initialized", "notifications/progress", "notifications/roots/list_changed", "nothing")
GARBAGE = (
    *(b"", b"{", b"[]", b"[1]", b"null", b"1", b'"x"', b"\xff\xfe", b"\0\0", b"[" * 20_000, b"{}" * 50),
    *(b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":{},"method":"ping"}', b'{"id":1,"id":2,"method":"ping"}'),
    *(b'{"jsonrpc":"1.0","method":"ping","id":"x"}', b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}'),
    *(b'{"jsonrpc":"2.0","result":{},"id":77}', b'{"jsonrpc":"2.0","error":{"code":"x"},"id":null}'),
)


def value(random: Random, depth: int = 0) -> Any:
    kinds: list[Callable[[], Any]] = [
        lambda: random.choice(WORDS),
        lambda: random.choice(NUMBERS),
        lambda: None,
    ]
    if depth < 3:
        kinds.append(lambda: [value(random, depth + 1) for _ in range(random.randrange(4))])
        kinds.append(
            lambda: {random.choice(WORDS): value(random, depth + 1) for _ in range(random.randrange(3))}
        )
    return random.choice(kinds)()


def fitting(random: Random, schema: dict[str, Any]) -> Any:
    """Return a value of a schema's type, mostly."""
    if random.random() < 0.1:
        return value(random)
    if options := schema.get("anyOf"):
        return fitting(random, random.choice(options))
    if "enum" in schema:
        return random.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        known = schema.get("properties", {})
        some = {name: fitting(random, one) for name, one in known.items() if random.random() < 0.6}
        some |= {name: fitting(random, known[name]) for name in schema.get("required", ()) if name in known}
        return some if random.random() < 0.95 else {**some, random.choice(WORDS): value(random)}
    if kind == "array":
        return [fitting(random, schema.get("items", {})) for _ in range(random.randrange(4))]
    numbers = [number for number in NUMBERS if isinstance(number, int | float)]
    simple = {
        "string": WORDS,
        "integer": numbers,
        "number": numbers,
        "boolean": (True, False),
        "null": (None,),
    }
    return random.choice(simple[kind]) if kind in simple else value(random)


def request(random: Random) -> tuple[str, Any]:
    """Return the method and parameters of a request: mostly a call of a tool."""
    if random.random() < 0.75:
        tool = random.choice(listed_tools())
        arguments = fitting(random, tool["inputSchema"])
        if tool["name"] == "plan_context" and isinstance(arguments, dict):
            arguments.setdefault("token_budget", 300)
        return "tools/call", {"name": tool["name"], "arguments": arguments}
    method = random.choice(METHODS)
    known = ("name", "uri", "arguments", "cursor", "level", "ref", "_meta")
    params = {one: value(random) for one in known if random.random() < 0.4}
    return method, random.choice((params, params, value(random)))


@pytest.mark.parametrize("opened", [True, False], ids=["after a handshake", "without one"])
def test_whatever_is_sent_each_request_is_answered_once(shop: Work, opened: bool) -> None:
    """Requests of any form, size and order, notes, garbage, cancelled ones: afterwards all still works."""
    random = Random(SEED + opened)
    served = ServedProject(str(shop.root), {})
    (down, send), (receive, up) = os.pipe(), os.pipe()
    hello = {
        "protocolVersion": HANDSHAKES[0],
        "clientInfo": {"name": "a", "version": "1"},
        "capabilities": {},
    }
    opening = [
        encode({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}),
        encode({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
    ping = {"jsonrpc": "2.0", "id": "first", "method": "ping"}
    wire = Wire(os.fdopen(down, "rb"), up)
    ended: queue.Queue[BaseException | None] = queue.Queue()
    answers: queue.Queue[dict[str, Any]] = queue.Queue()

    def serve() -> None:
        try:
            serve_messages(wire, opening if opened else [], encode(ping), served)
            ended.put(None)
        except BaseException as error:
            ended.put(error)
        finally:
            os.close(up)

    def read() -> None:
        with os.fdopen(receive, "rb") as lines:
            for line in lines:
                answers.put(json.loads(line))

    threads = [threading.Thread(target=one, daemon=True) for one in (serve, read)]
    for thread in threads:
        thread.start()
    seen: Counter[Any] = Counter()
    asked: set[str | int] = {"first"}
    cancelled: set[str | int] = set()

    def take(wanted: int) -> None:
        """Read answers until at most so many requests wait for one."""
        while len(asked - cancelled - seen.keys()) > wanted:
            answer = answers.get(timeout=LONG)
            assert answer["jsonrpc"] == "2.0"
            assert "defect of the workbench" not in json.dumps(answer), answer
            if "method" not in answer:
                seen[answer.get("id")] += 1

    with os.fdopen(send, "wb", buffering=0) as client:
        for number in range(CALLS):
            chance = random.random()
            if chance < 0.1:
                client.write(random.choice(GARBAGE) + b"\n")
                continue
            if chance < 0.2:
                note = random.choice(NOTES)
                client.write(encode({"jsonrpc": "2.0", "method": note, "params": value(random)}))
                continue
            method, params = request(random)
            identity = random.choice((f"n{number}", 1000 + number))
            client.write(encode({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}))
            if isinstance(params, dict) or params is None:
                asked.add(
                    identity
                )  # others are no requests of the protocol, and may get an error without an id
            if random.random() < 0.1:
                cancel = {
                    "requestId": random.choice((identity, "nobody", None)),
                    "reason": random.choice(WORDS),
                }
                note = "notifications/cancelled"
                client.write(encode({"jsonrpc": "2.0", "method": note, "params": cancel}))
                cancelled |= {identity} & {cancel["requestId"]}
            take(random.choice((0, 5, 20)))
        take(0)
        client.write(encode({**ping, "id": "last"}))
        asked.add("last")
        take(0)
    assert ended.get(timeout=LONG) is None
    served.close()
    wire.close()
    assert [one for one, count in seen.items() if count > 1 and one is not None] == []
    assert {"first", "last"} <= seen.keys()


def test_no_first_line_breaks_the_handshake() -> None:
    """What comes before the SDK is loaded is answered or left to it, whatever it is."""
    random = Random(SEED)
    for number in range(20 * CALLS):
        handshake = Handshake()
        for _ in range(3):
            method, params = request(random)
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            line = random.choice((encode(message), encode(value(random)), random.choice(GARBAGE) + b"\n"))
            answer = handshake.answer(line)
            assert answer is None or answer == b"" or json.loads(answer)["id"] == number
