"""A full disk, one without inodes, a read-only one, and room again."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.chaos.project import COMMANDS, Content, Suite, content, difference, make_project, run

DISK: Final = 24  # MB of the small disk
SKIPPED: Final = "a small disk can be mounted by root on Linux alone"


def disks(root: Path, seconds: float, dice: random.Random) -> Suite:
    """Fill a small disk and make it read-only: nothing is lost, what fails says why, later it works again."""
    del seconds, dice
    suite = Suite("a full and a read-only disk")
    place = root.parent / "disk"
    place.mkdir()
    if not mount(place, f"size={DISK}m"):
        suite.skipped = SKIPPED
        return suite
    try:
        root = place / "project"
        make_project(root)
        before = content(root)
        ballast = fill(place)
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


def inodes(root: Path, seconds: float, dice: random.Random) -> Suite:
    """Leave a disk without an inode: nothing is lost, what fails says why, with room it works again."""
    del seconds, dice
    suite = Suite("a disk without inodes")
    place = root.parent / "disk"
    place.mkdir()
    options = f"size={4 * DISK}m,nr_inodes=1200"
    if not mount(place, options):
        suite.skipped = SKIPPED
        return suite
    try:
        root = place / "project"
        make_project(root)
        before = content(root)
        ballast = place / "ballast"
        ballast.mkdir()
        try:
            for number in range(2_000):
                (ballast / str(number)).touch()
        except OSError:
            pass  # used up
        for command in (
            ["rules", "add", "One more."],
            ["stash", "add", "One more."],
            *COMMANDS,
            ["rebuild"],
            ["doctor"],
        ):
            suite.tries += 1
            done = run(root, command)
            suite.notes["refused" if done.code else "done"] += 1
            if done.defect:
                suite.faults.append(f"no inodes, {' '.join(command)}: {done.defect}")
        shutil.rmtree(ballast)
        suite.tries += 1
        _compare(suite, "inodes again", before, content(root), but="One more.")
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)
    return suite


def fill(place: Path) -> Path:
    """Fill a disk to its last block, and return the file that does."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass  # full
    return ballast


def mount(place: Path, options: str) -> bool:
    """Mount a small disk; whether that is possible."""
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    return (
        sys.platform == "linux"
        and not os.geteuid()
        and not subprocess.run(command, capture_output=True, check=False).returncode
    )


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
