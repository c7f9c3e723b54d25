"""The directories of a project: which exist, when they last changed, and which unknown names they hold.

A directory's time changes when a name is added, removed or replaced in it, so a file that nobody has indexed
yet is found by looking at the few directories whose time moved.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from workbench.project.admission import directory_refusal, refusal

MAX_ENTRIES = 20_000  # names looked at in one directory
MAX_BELOW = 64  # directories watched below one that holds no project files


@dataclass(frozen=True, slots=True)
class Entries:
    """Regular files and real directories directly in a directory, as project paths, sorted."""

    files: tuple[str, ...]
    directories: tuple[str, ...]


def ancestors(paths: Iterable[str]) -> set[str]:
    """Return every directory above the paths, "" (the root) included."""
    found = {""}
    for path in paths:
        directory = path.rpartition("/")[0]
        while directory not in found:
            found.add(directory)
            directory = directory.rpartition("/")[0]
    return found


def stamp(root: str, directory: str) -> tuple[int, int] | None:
    """Return (mtime_ns, ctime_ns) of a real directory; None if it is gone or now something else."""
    try:
        found = os.lstat(f"{root}/{directory}") if directory else os.stat(root)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_ctime_ns) if stat.S_ISDIR(found.st_mode) else None


def entries(root: str, directory: str, tracked: bool) -> Entries | None:
    """Return the names in a directory that could be the project's; None if it is unreadable or too large."""
    files: list[str] = []
    directories: list[str] = []
    prefix = f"{directory}/" if directory else ""
    try:
        with os.scandir(f"{root}/{directory}") as found:
            for count, entry in enumerate(found):
                if count >= MAX_ENTRIES:
                    return None
                path = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if directory_refusal(path, tracked) is None and not _is_repository(root, path):
                        directories.append(path)
                elif entry.is_file(follow_symlinks=False) and refusal(path, tracked=tracked) is None:
                    files.append(path)
    except OSError:
        return None
    return Entries(tuple(sorted(files)), tuple(sorted(directories)))


def below(root: str, directory: str, tracked: bool) -> dict[str, int]:
    """Return a directory without project files and the first ones below it, with their mtime_ns.

    They are watched because a file that matters may appear in them. At most `MAX_BELOW`, level by level.
    """
    found: dict[str, int] = {}
    level = [directory]
    while level:
        deeper: list[str] = []
        for path in level:
            times = stamp(root, path)
            inside = entries(root, path, tracked) if times else None
            if times is None or inside is None or len(found) >= MAX_BELOW:
                continue
            found[path] = times[0]
            deeper += inside.directories
        level = deeper
    return found


def _is_repository(root: str, directory: str) -> bool:
    return os.path.lexists(f"{root}/{directory}/.git")
