"""Clocks that jump: a year ahead, and back."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.chaos.project import COMMANDS, Content, Suite, answer, content, difference, run

YEAR: Final = 365 * 86_400.0
JUMPS: Final = (YEAR, -YEAR, -3_600.0)
"""Seconds that the clock of a command differs by; afterwards it is right again."""


def shifted(seconds: float) -> Callable[[], None]:
    """Return what makes the clock of this process differ by so many seconds."""

    def shift() -> None:
        real, real_ns = time.time, time.time_ns
        time.time = lambda: real() + seconds
        time.time_ns = lambda: real_ns() + int(seconds * 1e9)

    return shift


def clocks(root: Path, seconds: float, dice: random.Random) -> Suite:
    """Work while the clock is wrong; afterwards everything is there, in order, and the last step undone."""
    del seconds, dice
    suite = Suite("clocks that jump")
    for jump in JUMPS:
        prepare = shifted(jump)
        before = content(root)
        assert isinstance(before, Content), before
        name = f"{jump / 3600:+,.0f} hours"
        for command in (*COMMANDS, ["memory", "prune"], ["index"], ["rebuild"], ["doctor"], ["stash", "gc"]):
            suite.tries += 1
            done = run(root, command, prepare=prepare)
            if done.defect:
                suite.faults.append(f"{name}, {' '.join(command)}: {done.defect}")
        collected = content(root)
        if isinstance(collected, Content) and collected.segments != before.segments:
            suite.notes["collections undone"] += 1  # a person asked for it by that clock, and takes it back
            run(root, ["stash", "undo"])
        if (after := content(root)) != before:
            suite.faults.append(f"{name}, then right again: {difference(before, after)}")
        _order(root, suite, name, prepare)
        _recorded(root, suite, name, prepare)
        _touched(root, suite, name, jump)
    return suite


def _order(root: Path, suite: Suite, name: str, prepare: Callable[[], None]) -> None:
    """Add a rule by the right clock, then one by the wrong one: that is the last step."""
    for text, how in ((f"First {name}.", None), (f"Second {name}.", prepare)):
        suite.tries += 1
        if run(root, ["rules", "add", text], prepare=how).code:
            suite.faults.append(f"{name}: {text!r} was not added")
    undone = run(root, ["rules", "undo"])
    found = content(root)
    if isinstance(found, str) or f"First {name}." not in found.rules or f"Second {name}." in found.rules:
        suite.faults.append(f"{name}: not the last step was undone: {undone.out.strip()[:200]}")


def _recorded(root: Path, suite: Suite, name: str, prepare: Callable[[], None]) -> None:
    """Plan by the wrong clock while a session is recorded: it goes on, and its edit is kept."""
    session = f"clock{len(suite.notes) + suite.tries}"
    run(root, ["episode", "start", f"Task {name}.", "--session", session])
    run(root, ["plan", "retry timeouts"], prepare=prepare)
    event = run(root, ["episode", "event", session, "--type", "edit", "--file", "module_2.py"])
    suite.tries += 3
    if event.code or '"module_2.py"' not in run(root, ["episode", "show", session, "--json"]).out:
        suite.faults.append(f"{name}: a session that was recorded meanwhile lost an edit: {event.err[-200:]}")


def _touched(root: Path, suite: Suite, name: str, jump: float) -> None:
    """Give journals the time of the wrong clock: that is no damage, and what comes afterwards is listed."""
    for path in (root / ".workbench" / "journal").rglob("*.jsonl"):
        moment = path.stat().st_mtime + jump
        os.utime(path, (moment, moment))
    suite.tries += 1
    run(root, ["rules", "add", f"Third {name}."])
    listed = run(root, ["rules", "list", "--sort", "priority", "--json"])
    if f"Third {name}." not in {one["rule"] for one in (answer(listed) or {"rules": ()})["rules"]}:
        suite.faults.append(f"{name}: a rule is not in the tables: {listed.err.strip()[-200:]}")
    if "damaged" in listed.err or "lost" in listed.err:
        suite.faults.append(f"{name}: {listed.err.strip()[-200:]}")
