"""What the suites share: a project with all that is kept, commands in forked processes, what is there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

DEFECTS: Final = ("defect of the workbench", "Traceback (most recent call last)")
COMMANDS: Final = (
    ["rules", "list"],
    ["stash", "list"],
    ["plan", "retry timeouts"],
    ["stats"],
    ["episode", "list"],
    ["runs", "list"],
    ["import", "sessions"],
)
LISTS: Final = (
    (["rules", "list", "--json"], "rules", "rule"),
    (["stash", "list", "--json", "--limit", "10000"], "segments", "text"),
    (["episode", "list", "--json", "--limit", "10000"], "sessions", "task_text"),
)
"""Commands that list what people wrote, where their answers have it and under which name its text."""
SESSION: Final = "5f0c1c52-9d1e-4a41-8d8f-2f6f0a8e4c11"
_PATIENCE: Final = 120.0  # seconds


@dataclass(slots=True)
class Suite:
    """What a suite tried and what was wrong: a sentence a fault. `skipped` is why it could not be tried."""

    name: str
    tries: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    skipped: str = ""


@dataclass(slots=True)
class Narration:
    """What a run of the suites says on stderr as it goes, a line every so many seconds."""

    every: float = 10.0
    began: float = 0.0
    said: float = 0.0
    commands: int = 0

    def begin(self, name: str, what: str) -> None:
        self.began = self.said = time.monotonic()
        self.commands = 0
        print(f"{name}: {what}", file=sys.stderr, flush=True)

    def add(self, arguments: Sequence[str]) -> None:
        """Count a command, and say so if nothing was said for a while."""
        self.commands += 1
        now = time.monotonic()
        if self.began and now - self.said >= self.every:
            self.said = now
            text = f"  {now - self.began:,.0f} s, {self.commands:,} commands; now {' '.join(arguments)[:60]}"
            print(text, file=sys.stderr, flush=True)


NARRATION: Final = Narration()


@dataclass(frozen=True, slots=True)
class Done:
    """A command that ended: its exit code, negative for a signal, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def defect(self) -> str:
        """Why that is no end that a command may have, empty if it is."""
        if self.code < 0:
            return f"ended by signal {-self.code}"
        said = [line for line in self.err.splitlines() if any(mark in line for mark in DEFECTS)]
        return said[0] if said else ""


def run(
    root: Path,
    arguments: Sequence[str],
    *,
    kill_after: float | None = None,
    prepare: Callable[[], None] | None = None,
) -> Done:
    """Run a command of the program in a forked process, killed after so many seconds if they are given.

    `prepare` is called in that process before.
    """
    NARRATION.add(arguments)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if not child:
            _become(root, arguments, (out.fileno(), err.fileno()), prepare)
        until = time.monotonic() + (_PATIENCE if kill_after is None else kill_after)
        while not (found := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() >= until:
                os.kill(child, signal.SIGKILL)
                found = os.waitpid(child, 0)
                break
            time.sleep(0.002)
        out.seek(0)
        err.seek(0)
        return Done(os.waitstatus_to_exitcode(found[1]), out.read(), err.read())


def _become(
    root: Path, arguments: Sequence[str], streams: tuple[int, int], prepare: Callable[[], None] | None
) -> None:
    """Be the program: what it imports beyond the imports of this one is its own affair."""
    code = 70
    try:
        os.chdir(root)
        os.dup2(streams[0], 1)
        os.dup2(streams[1], 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        from workbench.entry.cli import main

        if prepare is not None:
            prepare()
        code = main.run([*arguments])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def answer(done: Done) -> dict[str, Any] | None:
    """Return what a command acknowledged: whole JSON, whatever became of the process afterwards."""
    try:
        found = json.loads(done.out)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


@dataclass(frozen=True, slots=True)
class Content:
    """What people wrote and have to find again, each text once: rules, segments, tasks of episodes."""

    rules: tuple[str, ...]
    segments: tuple[str, ...]
    episodes: tuple[str, ...]


def content(root: Path) -> Content | str:
    """Return what is there, or which command failed."""
    found = []
    for arguments, key, text in LISTS:
        done = run(root, arguments)
        given = answer(done)
        if done.defect or given is None:
            return f"{' '.join(arguments)}: {done.defect or done.err.strip()[-200:]}"
        found.append(tuple(sorted(one[text] for one in given[key])))
    return Content(*found)


def make_project(root: Path) -> None:
    """Make a small project with a history, rules, segments, episodes, an index and tables."""
    root.mkdir(parents=True)
    for number in range(12):
        (root / f"module_{number}.py").write_text(f"def retry_{number}():\n    return {number}\n")
    (root / "AGENTS.md").write_text("- Never log tokens.\n- Run the tests before you commit.\n")
    git = ["git", "-c", "user.name=C", "-c", "user.email=c@example.org", "-C", str(root)]
    subprocess.run([*git, "init", "-q"], check=True)
    for number in range(4):
        (root / f"module_{number}.py").write_text(f"def retry_{number}():\n    return -{number}\n")
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", f"Retry module {number}"], check=True)
    for number in range(3):
        run(root, ["rules", "add", f"Rule {number} holds."])
        run(root, ["stash", "add", f"Segment {number} was said."])
        run(root, ["episode", "start", f"Task {number} of before"])
    transcript = Path.home() / ".claude" / "projects" / "chaos" / f"{SESSION}.jsonl"
    transcript.parent.mkdir(parents=True, exist_ok=True)
    transcript.write_text("".join(f"{json.dumps(line)}\n" for line in _transcript(root)))
    replay = ["replay", "--tasks", "2", "--workers", "1", "--no-packs"]
    for command in (["import", "sessions"], replay, *COMMANDS, ["index"], ["rules", "conflicts", "list"]):
        run(root, command)


def _transcript(root: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a session in which a coding agent reads a file and changes it."""
    usual = {"sessionId": SESSION, "cwd": str(root), "version": "2.0.1", "gitBranch": "main"}
    path = str(root / "module_1.py")
    edit = {"file_path": path, "old_string": "return -1", "new_string": "return 11"}
    tools = (("Read", {"file_path": path}), ("Edit", edit))
    yield {
        **usual,
        "type": "user",
        "uuid": "u0",
        "parentUuid": None,
        "timestamp": "2026-01-05T10:00:00.000Z",
        "message": {"role": "user", "content": "Retry module 1 eleven times."},
    }
    for number, (name, given) in enumerate(tools, 1):
        call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "ok"}
        at = f"2026-01-05T10:0{number}:00.000Z"
        yield {
            **usual,
            "type": "assistant",
            "uuid": f"a{number}",
            "parentUuid": "u0",
            "timestamp": at,
            "message": {"role": "assistant", "content": [call]},
        }
        yield {
            **usual,
            "type": "user",
            "uuid": f"r{number}",
            "parentUuid": f"a{number}",
            "timestamp": at,
            "message": {"role": "user", "content": [result]},
        }


def lost(root: Path, kept: dict[str, set[str]]) -> Iterator[str]:
    """Yield what was acknowledged, texts by kind, and is not there once, and what `doctor` finds broken."""
    found = content(root)
    if not isinstance(found, Content):
        yield found
        return
    for kind, texts in kept.items():
        there = Counter(getattr(found, kind))
        yield from (f"{kind}: {text!r} is there {there[text]} times" for text in texts if there[text] != 1)
    yield from broken(root)


def broken(root: Path) -> list[str]:
    """Return what `doctor` finds broken, or that it does not answer."""
    given = answer(run(root, ["doctor", "--json"]))
    if given is None:
        return ["doctor does not answer"]
    return [f"doctor: {one['text']}" for one in given["findings"] if one["state"] == "broken"]


def difference(before: Content, after: Content | str) -> str:
    """Return what of the first is gone and what came, empty if nothing did."""
    if isinstance(after, str):
        return after
    for kind in ("rules", "segments", "episodes"):
        old, new = Counter(getattr(before, kind)), Counter(getattr(after, kind))
        if old != new:
            gone, came = ([*found.elements()][:3] for found in (old - new, new - old))
            return f"of the {kind} {gone} are gone, {came} came"
    return ""
