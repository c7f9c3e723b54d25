"""What version control reports: the head of a work tree, the names in it, and what changed in which lines."""

from __future__ import annotations

from msgspec import Struct

from workbench.records.dataclass import dataclass
from workbench.records.episodes import Commit, FileChange
from workbench.records.project import Skipped


@dataclass(frozen=True, slots=True)
class HeadState:
    """What is checked out. `sha` is None when no commit exists yet; `branch` is None when detached."""

    sha: str | None
    branch: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """Names a lister offers to the scan, project-relative with posix separators, sorted.

    `skipped` are names it saw and left out on purpose (submodules, nested repositories).
    """

    paths: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()


class Hunk(Struct, frozen=True, forbid_unknown_fields=True):
    """A run of changed lines, without context. Lines are 1-based.

    With a count of 0 the start names the line *before* the place, as in unified diffs.
    """

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int


@dataclass(frozen=True, slots=True)
class FilePatch:
    """One file of a commit: its hunks in line order; `old_path` is the name before a rename, else empty.

    `whole` is whether the commit created or removed the file.
    """

    path: str
    hunks: tuple[Hunk, ...]
    old_path: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class CommitPatch:
    """The files of a commit whose lines changed, and its time in seconds.

    Binary files and changes of mode only are absent.
    """

    sha: str
    at: int
    files: tuple[FilePatch, ...]


ABSENT = (-1, 0)
"""The stamp of a file that is not there."""


@dataclass(frozen=True, slots=True)
class DiskState:
    """What differs from a commit on disk: (bytes, time in ns) per path; `new` ones are in no commit."""

    head: str | None
    files: dict[str, tuple[int, int]]
    new: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class WorkChanges:
    """Everything that differs between a revision and the files on disk.

    `committed` is base..head as one difference, `uncommitted` is head..disk (staged or not, without
    `untracked`). `commits` are base..head, oldest first, without those `unreadable` to git.
    """

    base: str
    head: str | None
    commits: tuple[Commit, ...]
    committed: tuple[FileChange, ...]
    uncommitted: tuple[FileChange, ...]
    untracked: tuple[FileChange, ...]
    unreadable: int = 0
