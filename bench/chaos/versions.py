"""Two processes that migrate at once; an earlier version of the program beside this one."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.chaos.project import Content, Done, Suite, content, difference

HERE: Final = Path(__file__).resolve().parents[2]
EARLIER: Final = ("HEAD~30", "HEAD~200")
COMMANDS: Final = (
    ["rules", "list"],
    ["stash", "list"],
    ["episode", "list"],
    ["plan", "retry timeouts"],
    ["stats"],
    ["rebuild"],
    ["doctor"],
)


def start(root: Path, arguments: list[str], program: Path = HERE) -> subprocess.Popen[str]:
    """Start a command of the program whose source is in a directory."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "workbench", *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(program)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _defect(process: subprocess.Popen[str]) -> str:
    """Return why a command ended as none may, empty if it did not."""
    _, said = process.communicate(timeout=300)
    return Done(process.returncode, "", said).defect


def migrations(root: Path, seconds: float, dice: random.Random) -> Suite:
    """Let processes open tables that are missing, or of another version, at once; all of them answer."""
    del seconds, dice
    suite = Suite("processes that migrate at once")
    before = content(root)
    assert isinstance(before, Content), before
    tables = root / ".workbench" / "tables.duckdb"
    for how in ("missing", "of the first migration", "of a later version"):
        for path in tables.parent.glob("tables.duckdb*"):
            path.unlink()
        if how != "missing":
            _make_tables(tables, later=how == "of a later version")
        suite.tries += 1
        running = [start(root, ["stats"]) for _ in range(2)] + [
            start(root, ["rules", "list", "--sort", "priority"])
        ]
        suite.faults += [f"tables {how}: {defect}" for one in running if (defect := _defect(one))]
        suite.faults += [f"tables {how}: exit {one.returncode}" for one in running if one.returncode]
        if (after := content(root)) != before:
            suite.faults.append(f"tables {how}: {difference(before, after)}")
    return suite


def _make_tables(path: Path, *, later: bool) -> None:
    """Make tables as the first migration leaves them, or as a version with one more than this one does."""
    from dataclasses import replace

    from store.duck import KeptConnection
    from store.migrations import known_migrations, migrate

    wanted = list(known_migrations())
    last = replace(
        wanted[-1], version=wanted[-1].version + 1, name="later", sql="CREATE TABLE later (x INTEGER)"
    )
    connection = KeptConnection(path.parent / "spill")
    with connection.attach(path) as opened:
        migrate(opened, [*wanted, last] if later else wanted[:1])
    connection.close()


def versions(root: Path, seconds: float, dice: random.Random) -> Suite:
    """Let earlier versions and this one work on one project in turns and at once; nothing is lost."""
    del seconds, dice
    suite = Suite("earlier versions beside this one")
    if (
        not shutil.which("git")
        or subprocess.run(
            ["git", "-C", str(HERE), "rev-parse", "-q", "--verify", EARLIER[-1]],
            capture_output=True,
            check=False,
        ).returncode
    ):
        suite.skipped = "there is no history to take an earlier version from"
        return suite
    for commit in EARLIER:
        program = root.parent / commit.replace("~", "-")
        _check_out(commit, program)
        _side_by_side(root, program, commit, suite)
    return suite


def _check_out(commit: str, place: Path) -> None:
    place.mkdir()
    with subprocess.Popen(["git", "-C", str(HERE), "archive", commit], stdout=subprocess.PIPE) as made:
        subprocess.run(["tar", "-x", "-C", str(place)], stdin=made.stdout, check=True)


def _side_by_side(root: Path, program: Path, commit: str, suite: Suite) -> None:
    before = content(root)
    assert isinstance(before, Content), before
    added: list[str] = []
    for number, command in enumerate(COMMANDS):
        text = f"Of {commit}, {number}."
        writing = [start(root, ["rules", "add", text], program), start(root, ["rules", "add", f"New {text}"])]
        reading = [start(root, command, program), start(root, command)]
        for which, process in (
            ("old", writing[0]),
            ("new", writing[1]),
            ("old", reading[0]),
            ("new", reading[1]),
        ):
            suite.tries += 1
            if defect := _defect(process):
                suite.faults.append(f"{commit}, {which} {' '.join(command)}: {defect}")
            elif process.returncode and process in writing:
                suite.faults.append(f"{commit}, {which} rules add: exit {process.returncode}")
        added += [text, f"New {text}"]
    after = content(root)
    if isinstance(after, str):
        suite.faults.append(f"{commit}: {after}")
        return
    wanted = Content(tuple(sorted((*before.rules, *added))), before.segments, before.episodes)
    if after != wanted:
        suite.faults.append(f"{commit}: {difference(wanted, after)}")
