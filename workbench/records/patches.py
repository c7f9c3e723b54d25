"""What commits did to the lines of files."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.records.worktree import Hunk


@dataclass(frozen=True, slots=True)
class FilePatch:
    """One file of a commit: its hunks in line order; `old_path` is the name before a rename, else empty."""

    path: str
    hunks: tuple[Hunk, ...]
    old_path: str = ""
    created: bool = False


@dataclass(frozen=True, slots=True)
class CommitPatch:
    """The files of a commit whose lines changed. Binary files and changes of mode only are absent."""

    sha: str
    files: tuple[FilePatch, ...]
