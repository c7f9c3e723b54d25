"""What of a work tree differs from its last commit, as it lies on disk."""

from __future__ import annotations

import os

from store import git_process
from store.git_diff import settings_without_filters
from store.git_process import name
from store.git_repository import Repository, head_state
from workbench.records.worktree import ABSENT, DiskState


def disk_state(repository: Repository, most: int) -> DiskState | None:
    """Return what differs from HEAD on disk; None of a bare repository, or where more than `most` files do.

    Submodules and what git ignores are left out. Raises: GitError.
    """
    if repository.bare:
        return None
    arguments = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"]
    output = git_process.run(
        repository.root,
        [*settings_without_filters(repository), *arguments, "--ignore-submodules=all", "--"],
    )
    tokens = [token for token in output.split(b"\0") if token]
    if len(tokens) > most:
        return None
    paths = {name(token[3:]): token[:2] for token in tokens if token[-1:] != b"/"}
    return DiskState(
        head_state(repository).sha,
        {path: stamp(repository, path) for path in sorted(paths)},
        frozenset(path for path, mark in paths.items() if b"?" in mark or b"A" in mark),
    )


def stamp(repository: Repository, path: str) -> tuple[int, int]:
    """Return (bytes, time in nanoseconds) of a file on disk, ABSENT of what is not there."""
    try:
        status = os.lstat(repository.root / path)
    except (OSError, ValueError):
        return ABSENT
    return status.st_size, status.st_mtime_ns
