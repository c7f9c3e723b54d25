"""Crowds of real programs on one project: `python -m bench.programs [--processes 8,16,32] [--seconds 60]`.

So many at a time plan, write rules, segments, episodes and learnings, replay, rebuild, open the app in a
terminal, answer hooks and ask a server; some are killed in their midst. Afterwards every write that was
acknowledged is looked for one by one: it is there once, and one that was not acknowledged at most once. What
programs waited for locks is what they measured themselves. Then holders of locks are killed, one after the
other, and the next who asks has to have the lock.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.chaos.project import DEFECTS, LISTS, make_project
from bench.crowd import quantile
from store import locks
from workbench.errors import StoreBusy

DRAWN: Final = b"What is to be done?"
KILLED: Final = 0.1  # of the programs
RECOVERIES: Final = 2_000
TOO_LONG: Final = "it took too long"
WRITTEN: Final = (*LISTS, (["memory", "list", "--json", "--limit", "10000"], "learnings", "text"))
PATIENCE: Final = 300.0  # seconds for a program; none should take that long


@dataclass(slots=True)
class Crowd:
    """What a crowd did: seconds of each kind of program, writes by whether they were acknowledged, faults."""

    durations: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    acknowledged: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    others: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    killed: int = 0
    busy: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


Command = Callable[[str], list[str]]
OPERATIONS: Final[tuple[tuple[str, int, Command], ...]] = (
    ("plan", 4, lambda text: ["plan", text]),
    ("rules", 3, lambda text: ["rules", "add", text]),
    ("stash", 3, lambda text: ["stash", "add", text]),
    ("episode", 3, lambda text: ["episode", "start", text]),
    ("memory", 3, lambda text: ["memory", "add", text, "--reason", "It was seen."]),
    ("list", 2, lambda _: ["rules", "list", "--sort", "priority"]),
    ("search", 1, lambda text: ["stash", "search", text]),
    ("stats", 2, lambda _: ["stats"]),
    ("hook", 3, lambda _: ["hook", "UserPromptSubmit"]),
    ("replay", 1, lambda _: ["replay", "--tasks", "2", "--workers", "1", "--no-packs"]),
    ("rebuild", 1, lambda _: ["rebuild"]),
    ("doctor", 1, lambda _: ["doctor"]),
    ("app", 1, lambda _: ["app"]),
    ("server", 3, lambda text: ["/v1/stash", text]),
)


def program(root: Path, arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", "-m", "workbench", *arguments, "--project", str(root)]


def work(root: Path, crowd: Crowd, number: int, until: float, server: Path) -> None:
    """Run programs one after the other for so long, some of them killed, and note what they acknowledged."""
    dice = random.Random(number)
    kinds, weights, commands = zip(*OPERATIONS, strict=True)
    made = 0
    while time.monotonic() < until:
        [place] = dice.choices(range(len(kinds)), weights)
        kind, made = kinds[place], made + 1
        text = f"Write {made} of worker {number} holds."
        after = dice.random() * 2 if dice.random() < KILLED else None
        started = time.monotonic()
        if kind == "server":
            code, said = ask(server, *commands[place](text))
        elif kind == "app":
            code, said = sit(root)
        else:
            payload = {
                "hook_event_name": "UserPromptSubmit",
                "session_id": f"crowd-{number}",
                "prompt": text,
                "cwd": str(root),
            }
            code, said = run(
                program(root, commands[place](text)), json.dumps(payload) if kind == "hook" else "", after
            )
        crowd.durations[kind].append(time.monotonic() - started)
        _note(crowd, "stash" if kind == "server" else kind, text, code, said)


def run(command: Sequence[str], given: str = "", kill_after: float | None = None) -> tuple[int, str]:
    """Run a program; return its exit code, negative for a signal, and what it said on stderr."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            _, said = child.communicate(given, timeout=PATIENCE if kill_after is None else kill_after)
        except subprocess.TimeoutExpired:
            child.kill()
            said = child.communicate()[1] if kill_after is not None else TOO_LONG
        return child.returncode, said


def sit(root: Path) -> tuple[int, str]:
    """Open the app in a terminal, look until it has drawn something, and leave it by its key."""
    import pty

    child, terminal = pty.fork()
    if not child:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, program(root, ["app"]))
    until, shown, keys = time.monotonic() + PATIENCE, b"", itertools.cycle((b"\x1b", b"q"))
    following = 0.0
    with contextlib.suppress(OSError):
        while time.monotonic() < until:
            if select.select([terminal], [], [], 0.2)[0]:
                if not (data := os.read(terminal, 65_536)):
                    break
                shown = (shown + data)[-1 << 20 :]
            if DRAWN in shown and time.monotonic() > following:  # out of the field, then out of the app
                os.write(terminal, next(keys))
                following = time.monotonic() + 1.0
    if time.monotonic() >= until:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return code, "" if not code else TOO_LONG if code < 0 else shown.decode(errors="replace")[-300:]


def ask(server: Path, address: str, text: str) -> tuple[int, str]:
    """Post a text to the server; 0 if it was acknowledged, else what it answered."""
    import http.client
    import socket

    class Local(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(PATIENCE)
            self.sock.connect(str(server))

    connection = Local("localhost")
    with contextlib.closing(connection):
        body = json.dumps({"segments": [{"text": text}]})
        connection.request("POST", address, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read().decode()
        return (0 if answer.status < 300 else 75 if answer.status == 503 else 1), said


def _note(crowd: Crowd, kind: str, text: str, code: int, said: str) -> None:
    written = any(kind == arguments[0] for arguments, *_ in WRITTEN)
    if code == -signal.SIGKILL and said != TOO_LONG:
        crowd.killed += 1
    elif code and "holds the lock" in said:
        crowd.busy.append(f"{kind}: {said.strip()[:300]}")
    elif code < 0 or any(mark in said for mark in DEFECTS) or (code and kind != "doctor"):
        crowd.faults.append(f"{kind}, exit {code}: {said.strip()[-300:]}")
    if written:
        (crowd.others if code else crowd.acknowledged)[kind].add(text)


def missing(root: Path, crowd: Crowd) -> list[str]:
    """Look for every write: the acknowledged ones are there once, the others at most once."""
    found: list[str] = []
    for arguments, key, text in WRITTEN:
        kind = arguments[0]
        there = Counter(one[text] for one in json.loads(output(root, arguments))[key])
        wrong = {one for one in crowd.acknowledged[kind] if there[one] != 1}
        wrong |= {one for one in crowd.others[kind] if there[one] > 1}
        found += [f"{kind}: {one!r} is there {there[one]} times" for one in sorted(wrong)]
    return found


def output(root: Path, arguments: Sequence[str]) -> str:
    """Return what a program prints. Raises: CalledProcessError."""
    return subprocess.run(program(root, arguments), capture_output=True, text=True, check=True).stdout


def recoveries(place: Path, tries: int) -> tuple[int, list[float]]:
    """Kill holders of a lock while others ask for it; return how often they had it, and after how many ms."""
    path, times = place / "locks" / "recovery.lock", []
    for _ in range(tries):
        ready, tell = os.pipe()
        child = os.fork()
        if not child:
            with locks.exclusive(path, timeout=10):
                os.write(tell, b".")
                signal.pause()
            os._exit(0)
        os.read(ready, 1)
        threading.Timer(0.001, os.kill, (child, signal.SIGKILL)).start()
        started = time.perf_counter()
        with contextlib.suppress(StoreBusy), locks.exclusive(path, timeout=10):
            times.append((time.perf_counter() - started) * 1000)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(tell)
    return len(times), sorted(times)


def crowd_of(root: Path, processes: int, seconds: float) -> Crowd:
    """Let so many workers run programs for so long, beside a server."""
    crowd = Crowd()
    with subprocess.Popen(program(root, ["serve"]), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            socket = Path(server.stdout.readline().strip())
            until = time.monotonic() + seconds
            workers = [
                threading.Thread(target=work, args=(root, crowd, number, until, socket))
                for number in range(processes)
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        finally:
            server.terminate()
    return crowd


def report(root: Path, crowd: Crowd, lost: Sequence[str]) -> None:
    """Print what programs did, how long they took and waited, and what was wrong."""
    total = sum(map(len, crowd.durations.values()))
    known = sum(map(len, crowd.acknowledged.values()))
    print(f"  {total:,} programs, {crowd.killed} of them killed; {known:,} writes acknowledged")
    for kind, values in sorted(crowd.durations.items()):
        values.sort()
        p50, p95 = quantile(values, 0.5), quantile(values, 0.95)
        print(
            f"  {kind:<8} {len(values):>5} × p50 {p50:6.2f} s, p95 {p95:6.2f} s, longest {values[-1]:6.2f} s"
        )
    for line in output(root, ["stats"]).splitlines():
        if line.startswith(("waits for locks", "lock ")):
            print(f"  {line}")
    for fault in (*lost, *crowd.faults, *crowd.busy):
        print(f"  ! {fault}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the crowds and print what came of them; 1 if a write was lost or doubled, or a program failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", default="8,16,32")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--recoveries", type=int, default=RECOVERIES)
    asked = parser.parse_args(arguments)
    faults = 0
    for processes in map(int, filter(None, asked.processes.split(","))):
        with tempfile.TemporaryDirectory() as scratch:
            os.environ.update(HOME=scratch, WORKBENCH_HOME=f"{scratch}/home")
            root = Path(scratch) / "project"
            make_project(root)
            print(f"{processes} programs at a time for {asked.seconds:.0f} s", flush=True)
            crowd = crowd_of(root, processes, asked.seconds)
            lost = missing(root, crowd)
            report(root, crowd, lost)
            faults += len(lost) + len(crowd.faults) + len(crowd.busy)
    with tempfile.TemporaryDirectory() as scratch:
        had, times = recoveries(Path(scratch), asked.recoveries)
    print(f"locks of killed holders: {had:,} of {asked.recoveries:,} taken over", end="")
    print(f", p95 {quantile(times, 0.95):,.1f} ms, longest {max(times, default=0):,.1f} ms")
    return 1 if faults or had < asked.recoveries * 0.999 else 0


if __name__ == "__main__":
    sys.exit(main())
