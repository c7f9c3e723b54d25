"""Commands killed at random instants."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from bench.chaos.project import Suite, answer, lost, run


def kills(root: Path, seconds: float, dice: random.Random) -> Suite:
    """Kill commands at random instants; what they acknowledged is there once, and nothing is broken."""
    suite = Suite("kill -9 at random instants")
    kept: dict[str, set[str]] = {"rules": set(), "segments": set(), "episodes": set()}
    operations: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
        ("rules", lambda text: ["rules", "add", text, "--json"]),
        ("segments", lambda text: ["stash", "add", text, "--json"]),
        ("episodes", lambda text: ["episode", "start", text, "--json"]),
        ("", lambda text: ["plan", text]),
        ("", lambda text: ["rebuild"]),
        ("", lambda text: ["stats"]),
        ("", lambda text: ["index", "--full"]),
        ("", lambda text: ["rules", "list", "--sort", "priority"]),
        ("", lambda text: ["stash", "search", text]),
    )
    usual: dict[int, float] = {}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        place = dice.randrange(len(operations))
        kind, command = operations[place]
        text = f"Number {suite.tries} of chaos is kept."
        started = time.monotonic()
        done = run(root, command(text), kill_after=dice.random() * usual[place] if place in usual else None)
        if place not in usual:
            usual[place] = (time.monotonic() - started) * 1.1
        suite.tries += 1
        suite.notes["killed" if done.code == -signal.SIGKILL else "ended"] += 1
        if kind and answer(done) is not None:
            kept[kind].add(text)
            suite.notes["acknowledged"] += 1
        if done.code != -signal.SIGKILL and done.defect:
            suite.faults.append(f"{command(text)[0]}: {done.defect}")
        if suite.tries % 8 == 0:
            suite.faults += lost(root, kept)
    suite.faults += lost(root, kept)
    return suite
