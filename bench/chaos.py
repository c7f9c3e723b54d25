"""Crashes, damage, full disks: does the next command work? `python -m bench.chaos [--seconds 180]`.

In a project made here commands are killed at random instants, and files of its state are cut, emptied,
altered, overwritten or removed; as root on Linux a small tmpfs is full, then read-only. Afterwards everything
that was acknowledged is there once, no command fails without an explanation, and what a journal lost comes
back by `doctor --repair`. Prints a line a suite and one for each fault; 1 if there is any. `--seed` makes the
same choices again, except for the instants, which the machine decides.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
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
)
DISK: Final = 24  # MB of the small disk
_PATIENCE: Final = 120.0  # seconds


@dataclass(slots=True)
class Suite:
    """What a suite tried and what was wrong: a sentence a fault. `skipped` is why it could not be tried."""

    name: str
    tries: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    skipped: str = ""


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


def run(root: Path, arguments: Sequence[str], *, kill_after: float | None = None) -> Done:
    """Run a command of the program in a forked process, killed after so many seconds if they are given."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if not child:
            _become(root, arguments, out.fileno(), err.fileno())
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


def _become(root: Path, arguments: Sequence[str], out: int, err: int) -> None:
    """Be the program: what it imports beyond the imports of this one is its own affair."""
    code = 70
    try:
        os.chdir(root)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        from workbench.entry.cli import main

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
    for arguments, key, text in (
        (["rules", "list", "--json"], "rules", "rule"),
        (["stash", "list", "--json", "--limit", "10000"], "segments", "text"),
        (["episode", "list", "--json", "--limit", "10000"], "sessions", "task_text"),
    ):
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
    for command in (*COMMANDS, ["index"], ["rules", "conflicts", "list"]):
        run(root, command)


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
            suite.faults += _kept(root, kept)
    suite.faults += _kept(root, kept)
    return suite


def _kept(root: Path, kept: dict[str, set[str]]) -> Iterator[str]:
    found = content(root)
    if not isinstance(found, Content):
        yield found
        return
    for kind, texts in kept.items():
        there = Counter(getattr(found, kind))
        yield from (f"{kind}: {text!r} is there {there[text]} times" for text in texts if there[text] != 1)
    doctor = answer(run(root, ["doctor", "--json"])) or {}
    yield from (f"doctor: {one['text']}" for one in doctor.get("findings", ()) if one["state"] == "broken")


def damage(root: Path, seconds: float, dice: random.Random) -> Suite:
    """Damage one file of a state at a time; commands explain themselves, a repair brings everything back."""
    suite = Suite("a damaged file")
    before = content(root)
    assert isinstance(before, Content), before
    state, whole = root / ".workbench", root.parent / "whole"
    shutil.copytree(state, whole)
    files = [one for one in sorted(whole.rglob("*")) if one.is_file() and one.suffix != ".lock"]
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        name = files[suite.tries % len(files)].relative_to(whole)
        how = dice.choice(("cut", "emptied", "altered", "overwritten", "removed"))
        shutil.rmtree(state)
        shutil.copytree(whole, state)
        spoil(state / name, how, dice)
        suite.tries += 1
        suite.notes[how] += 1
        for command in (*dice.sample(COMMANDS, 2), ["doctor"], ["doctor", "--repair"]):
            if defect := run(root, command).defect:
                suite.faults.append(f"{name} {how}, {' '.join(command)}: {defect}")
        after = content(root)
        if after != before:
            suite.faults.append(f"{name} {how}: {difference(before, after)}")
    return suite


def spoil(path: Path, how: str, dice: random.Random) -> None:
    """Cut, empty, alter, overwrite or remove a file."""
    data = bytearray(path.read_bytes())
    if how == "removed":
        path.unlink()
        return
    if how == "emptied":
        data.clear()
    elif how == "cut":
        del data[dice.randrange(len(data) + 1) :]
    elif how == "overwritten":
        data[:] = dice.randbytes(min(len(data), 4096)) + data[4096:]
    elif data:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)


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


def disks(root: Path, seconds: float, dice: random.Random) -> Suite:
    """Fill a small disk and make it read-only: nothing is lost, what fails says why, later it works again."""
    del seconds, dice
    suite = Suite("a full and a read-only disk")
    place = root.parent / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}m", "tmpfs", str(place)]
    if (
        sys.platform != "linux"
        or os.geteuid()
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        suite.skipped = "a small disk can be mounted by root on Linux alone"
        return suite
    try:
        root = place / "project"
        make_project(root)
        before = content(root)
        ballast = place / "ballast"
        with ballast.open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                pass  # full
        adding = (["rules", "add", "One more."], ["stash", "add", "One more."])
        for command in (*adding, *COMMANDS, ["doctor"]):
            suite.tries += 1
            done = run(root, command)
            suite.notes["refused" if done.code else "done"] += 1
            if done.defect:
                suite.faults.append(f"full, {' '.join(command)}: {done.defect}")
        ballast.unlink()
        suite.tries += 1
        _compare(suite, "room again", before, content(root), but="One more.")
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        for command in (["rules", "add", "Read-only."], *COMMANDS, ["doctor"]):
            suite.tries += 1
            if defect := run(root, command).defect:
                suite.faults.append(f"read-only, {' '.join(command)}: {defect}")
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
        after = content(root)
        _compare(suite, "writable again", before, after, but="One more.", added="Read-only.")
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)
    return suite


def _compare(
    suite: Suite, when: str, before: Content | str, after: Content | str, *, but: str, added: str = ""
) -> None:
    """Note what is not there as before, but for one text that may and one that must be there."""
    if isinstance(before, str) or isinstance(after, str):
        suite.faults.append(f"{when}: {before if isinstance(before, str) else after}")
        return
    rules = tuple(text for text in after.rules if text not in (but, added))
    segments = tuple(text for text in after.segments if text != but)
    if (found := Content(rules, segments, after.episodes)) != before:
        suite.faults.append(f"{when}: {difference(before, found)}")
    if added and added not in after.rules:
        suite.faults.append(f"{when}: what was added meanwhile is not there")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites and print what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=180.0, help="for kills and damage together")
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args(arguments)
    # What every command needs is imported once: processes are forked from here.
    import workbench.entry.cli.main

    _ = workbench.entry.cli.main
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        os.environ.update(HOME=name, WORKBENCH_HOME=f"{name}/home")
        root = Path(name) / "project"
        make_project(root)
        for suite in (damage, kills, disks):
            found = suite(root, asked.seconds / 2, random.Random(asked.seed))
            notes = ", ".join(f"{count} {note}" for note, count in sorted(found.notes.items()))
            said = f"{found.tries} tries ({notes}), {len(found.faults)} faults"
            print(f"{found.name}: {found.skipped or said}", flush=True)
            for fault in found.faults:
                print(f"  {fault}")
            faults += len(found.faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
