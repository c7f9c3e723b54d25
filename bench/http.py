"""How fast and how steady `workbench serve` is: `python -m bench.http [--mixed] [--minutes 5]`.

A server runs in a process of its own, on a project made here (`bench.speed`), and is asked over its unix
socket by eight clients of one loop, which cost little. Plans are of different tasks, so that none is answered
twice; paced clients wait about a second between plans, as agents do at least. `health` is what the server can
do at all; the mixed load shows whether memory and descriptors grow, and `--mixed` measures it alone, for an
hour say, with a line at its start, in its middle and at its end; the overhead of MCP is what a tool takes
beyond the same question without it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.speed import TASKS, make_project

CLIENTS = 8
PLANS = 25  # of each client
HEALTHS = 2_000
CHECKS = 200
MCP = "2026-07-28"
COMMITS = 500


class Connection:
    """A connection that is kept alive, asked one question at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, address: str, body: Any = None, headers: str = "") -> Any:
        """Return what is answered: values of JSON, or a text."""
        if self._streams is None:
            self._streams = await asyncio.open_unix_connection(str(self._path), limit=1 << 24)
        reader, writer = self._streams
        data = b"" if body is None else json.dumps(body).encode()
        method = "GET" if body is None else "POST"
        head = (
            f"{method} {address} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}"
        )
        writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        answered = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        length = next(int(one[15:]) for one in answered if one.startswith(b"content-length:"))
        found = await reader.readexactly(length)
        assert answered[0].startswith(b"http/1.1 2"), (answered[0], found[:300])
        return json.loads(found) if b"content-type: application/json" in answered else found.decode()

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.http", description=__doc__)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--minutes", type=float, default=5.0, help="of mixed load (default: 5)")
    parser.add_argument("--mixed", action="store_true", help="measure the mixed load alone")
    parser.add_argument("--pace", type=float, default=1.0, help="plans a second of each paced client")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        root, home = Path(scratch) / "project", Path(scratch) / "home"
        make_project(root, options.files, COMMITS)
        environment = {**os.environ, "HOME": str(home), "WORKBENCH_HOME": str(home)}
        command = [sys.executable, "-P", "-m", "workbench", "--project", str(root)]
        for words in (("index",), ("model", "prepare")):
            subprocess.run([*command, *words], env=environment, check=True, capture_output=True)
        with subprocess.Popen([*command, "serve"], env=environment, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            path = Path(server.stdout.readline().decode().strip())
            try:
                asyncio.run(_measure(path, options))
            finally:
                server.terminate()


async def _measure(path: Path, options: argparse.Namespace) -> None:
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {options.files:,} files\n")
    print("| figure | value |\n|---|--:|")
    connections = [Connection(path) for _ in range(CLIENTS)]
    await asyncio.gather(*(_plans(one, 2, f"warm {number}") for number, one in enumerate(connections)))
    if not options.mixed:
        await _measure_requests(connections, options.pace)
    await _mixed(connections, options.minutes * 60)
    for one in connections:
        one.close()


async def _measure_requests(connections: list[Connection], pace: float) -> None:
    alone = await _plans(connections[0], PLANS, "alone")
    _row("plan-context, 1 client, p50 / p95", f"{_share(alone, 50):.1f} / {_share(alone, 95):.1f} ms")
    for name, pause in (("paced", 1 / pace), ("asking at once", 0.0)):
        runs = (_plans(one, PLANS, f"{name} {number}", pause) for number, one in enumerate(connections))
        times = [ms for run in await asyncio.gather(*runs) for ms in run]
        _row(
            f"plan-context, {CLIENTS} clients {name}, p50 / p95",
            f"{_share(times, 50):.1f} / {_share(times, 95):.1f} ms",
        )
    began = time.perf_counter()
    await asyncio.gather(*(_repeat(connection, HEALTHS // CLIENTS) for connection in connections))
    _row("health, requests a second", f"{HEALTHS / (time.perf_counter() - began):,.0f}")
    direct, tool = await _checks(connections[0])
    _row("a check of a tool call by HTTP / by MCP, medians", f"{direct:.1f} / {tool:.1f} ms")


async def _plans(connection: Connection, number: int, salt: str, pause: float = 0.0) -> list[float]:
    """Return the milliseconds of plans of different tasks, with about so many seconds before each."""
    chance, found = random.Random(salt), []
    for place in range(number):
        if pause:
            await asyncio.sleep(chance.uniform(0.5, 1.5) * pause)
        task = f"{TASKS[place % len(TASKS)]} ({salt} {place})"
        began = time.perf_counter()
        await connection.ask("/v1/plan-context", {"task": task, "token_budget": 3000})
        found.append((time.perf_counter() - began) * 1000)
    return found


async def _checks(connection: Connection) -> tuple[float, float]:
    """Return the median milliseconds of a check, asked by HTTP and by MCP in turn."""
    call = {"tool": "Bash", "input": {"command": "git push --force"}}
    keys = {"protocolVersion": MCP, "clientInfo": {"name": "bench", "version": "1"}, "clientCapabilities": {}}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in keys.items()}
    message = {"name": "rules_for", "arguments": call, "_meta": meta}
    headers = (
        f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {MCP}\r\n"
        "Mcp-Method: tools/call\r\nMcp-Name: rules_for\r\n"
    )
    times: tuple[list[float], list[float]] = ([], [])
    for place in range(CHECKS + 1):
        began = time.perf_counter()
        await connection.ask("/v1/rules/check", call)
        middle = time.perf_counter()
        asked = {"jsonrpc": "2.0", "id": place, "method": "tools/call", "params": message}
        found = await connection.ask("/mcp", asked, headers)
        assert found["result"]["structuredContent"]["decision"], found
        if place:  # the first one imports the SDK
            times[0].append((middle - began) * 1000)
            times[1].append((time.perf_counter() - middle) * 1000)
    return statistics.median(times[0]), statistics.median(times[1])


async def _repeat(connection: Connection, number: int) -> None:
    for _ in range(number):
        await connection.ask("/v1/health")


async def _mixed(connections: list[Connection], seconds: float) -> None:
    """Ask everything for so long, and print memory and descriptors meanwhile; the first failure ends it."""
    until, counts = time.monotonic() + seconds, [0]

    async def client(connection: Connection, number: int) -> None:
        chance, place = random.Random(number), 0
        while time.monotonic() < until:
            place += 1
            session = f"load-{number}-{place}"
            await connection.ask("/v1/episode/start", {"task": f"task {place}", "session_id": session})
            body: dict[str, Any] = {"task": f"{chance.choice(TASKS)} {place}", "session_id": session}
            await connection.ask("/v1/plan-context", body)
            edited = {"session_id": session, "event_type": "edit", "files": ["README.md"]}
            await connection.ask("/v1/episode/event", edited)
            segment = {"text": f"We chose number {place} of {number}.", "type": "decision"}
            await connection.ask("/v1/stash", {"segments": [segment]})
            await connection.ask("/v1/stash/search", {"query": f"which number did {number} choose?"})
            await connection.ask("/v1/rules/check", {"tool": "Bash", "input": {"command": f"ls {place}"}})
            await connection.ask("/v1/rules?limit=5")
            await connection.ask("/v1/episode/end", {"session_id": session, "outcome": "success"})
            counts[0] += 8

    loads = [asyncio.create_task(client(connection, number)) for number, connection in enumerate(connections)]
    samples = []
    for tenth in range(11):
        samples.append(await _resources(connections[0]._path))
        if tenth in (0, 5, 10):
            name = {0: "start", 5: "middle", 10: "end"}[tenth]
            held, descriptors = samples[-1]
            value = f"{counts[0]:,} requests, {held / 1e6:.0f} MB, {descriptors} descriptors"
            _row(f"mixed load, {name}", value)
        if tenth < 10:
            await asyncio.wait(loads, timeout=seconds / 10, return_when=asyncio.FIRST_EXCEPTION)
    await asyncio.gather(*loads)
    memory, open_files = zip(*samples, strict=True)
    _row("mixed load", f"{seconds / 60:.0f} min, {counts[0]:,} requests, none failed")
    _row("memory after each tenth", ", ".join(f"{one / 1e6:.0f}" for one in memory) + " MB")
    _row("open descriptors after each tenth", ", ".join(map(str, open_files)))


async def _resources(path: Path) -> tuple[int, int]:
    connection = Connection(path)  # one that is kept for minutes without a question is closed
    text = str(await connection.ask("/v1/metrics"))
    connection.close()
    rows = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    planners = int(
        rows.get("workbench_planners_resident_memory_bytes", 0)
    )  # of earlier versions there are none
    return int(rows["process_resident_memory_bytes"]) + planners, int(rows["process_open_fds"])


def _share(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def _row(name: str, value: str) -> None:
    print(f"| {name} | {value} |", flush=True)


if __name__ == "__main__":
    main()
