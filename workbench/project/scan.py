"""The scan: which files a project consists of, seen from outside, quickly and without trust.

Names come from a lister (version control's, or the walk of `project/directories.py`), so nothing here knows
git. Symbolic links are never followed: what they point to inside the project is listed under its own name,
and what lies outside is not the project's. Every name left out is counted under its reason.
"""

from __future__ import annotations

import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path

from workbench.errors import GitError, ProjectError
from workbench.project.admission import preference, refusal
from workbench.project.directories import walk_lister
from workbench.records.dataclass import dataclass
from workbench.records.project import FileStat, Skipped
from workbench.records.worktree import Listing

Lister = Callable[[Sequence[str] | None], Listing]
Progress = Callable[[int, int], None]

MAX_TERMS_BYTES = 400_000  # beyond this only the head is tokenised; such files are data, not code
_STEP = 1000
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """Bounds of a scan: files kept, bytes of a file, and entries of the list of skipped names."""

    max_files: int = 50_000
    max_bytes: int = 1 << 20
    max_skipped: int = 1_000


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found. `files` are sorted by path.

    `skipped` is sorted and cut at `max_skipped`; `skipped_counts` counts all of them by reason. `large`
    are the files over the size limit: not read, but watched, since they may shrink. `capped` says that
    `max_files` left some out. `started_ns` is the time before the first name was listed. `notes` say what
    could not be done as wished.
    """

    files: tuple[FileStat, ...]
    skipped: tuple[Skipped, ...]
    skipped_counts: dict[str, int]
    capped: bool
    started_ns: int
    large: tuple[FileStat, ...] = ()
    notes: tuple[str, ...] = ()
    tracked: bool = True


@dataclass(slots=True)
class _Found:
    files: list[FileStat] = field(default_factory=list)
    large: list[FileStat] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, path: str, reason: str) -> None:
        self.skipped.append(Skipped(path, reason))


def scan(
    root: Path,
    lister: Lister | None = None,
    limits: ScanLimits | None = None,
    progress: Progress | None = None,
) -> Scan:
    """Return the files of a project that are worth reading.

    Without a lister, or when it raises GitError, the directory is walked with its `.gitignore` files.
    Under `max_files` the files kept are code before prose before data, shallow before deep, then by
    name. `progress` is called with (files done, files in all), the latter 0 while names are still being
    listed. Raises ProjectError if `root` is not a directory.
    """
    limits = limits or ScanLimits()
    started = time.time_ns()
    if not root.is_dir():
        raise ProjectError(f"{root} is not a directory", hint="Name the project's directory.")
    listing, notes, tracked = list_names(root, lister, progress=progress)
    found = _Found(skipped=list(listing.skipped))
    candidates = []
    for path in listing.paths:
        reason = "unsafe name" if unsafe(path) else refusal(path, tracked=tracked)
        if reason is None:
            candidates.append(path)
        else:
            found.skip(path, reason)
    over = len(candidates) > limits.max_files
    if over:
        candidates.sort(key=preference)
    _stat_all(os.fspath(root), candidates, limits, found, progress)
    capped = over and any(entry.reason == "cap" for entry in found.skipped)
    if capped:
        notes += (f"only {limits.max_files} of {len(candidates)} files are indexed (project.max_files)",)
    found.skipped.sort(key=lambda entry: (entry.path, entry.reason))
    return Scan(
        files=tuple(sorted(found.files, key=lambda entry: entry.path)),
        skipped=tuple(found.skipped[: limits.max_skipped]),
        skipped_counts=dict(sorted(Counter(entry.reason for entry in found.skipped).items())),
        capped=capped,
        started_ns=started,
        large=tuple(sorted(found.large, key=lambda entry: entry.path)[: limits.max_files]),
        notes=notes,
        tracked=tracked,
    )


def list_names(
    root: Path, lister: Lister | None, only: Sequence[str] | None = None, progress: Progress | None = None
) -> tuple[Listing, tuple[str, ...], bool]:
    """Return (listing, notes, whether version control made it); walks if the lister is None or fails."""
    if lister is not None:
        try:
            return lister(only), (), True
        except GitError as error:
            walked = walk_lister(root, progress=progress)(only)
            return walked, (f"files are listed without git: {error.with_hint}",), False
    return walk_lister(root, progress=progress)(only), (), False


def stat_file(root: Path | str, path: str) -> FileStat | str:
    """Return a file's size and time, or why it cannot be read.

    Reasons: `missing`, `symlink`, `special` (a device, pipe or directory), `unreadable`.
    """
    try:
        found = os.lstat(f"{root}/{path}")
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except (OSError, ValueError):
        return "unreadable"
    if stat.S_ISREG(found.st_mode):
        return FileStat(path, found.st_size, found.st_mtime_ns)
    return "symlink" if stat.S_ISLNK(found.st_mode) else "special"


def read_bytes(root: Path | str, path: str, cap: int = 1 << 20) -> bytes | Skipped:
    """Return a regular file's bytes whatever they are, else why not (`large` if more than `cap` bytes)."""
    if unsafe(path):
        return Skipped(path, "unsafe name")
    if not real_directory(root, path.rpartition("/")[0]):
        return Skipped(path, "symlink")
    try:
        descriptor = os.open(os.path.join(root, path), _OPEN)
    except OSError:
        found = stat_file(root, path)
        return Skipped(path, found if isinstance(found, str) else "unreadable")
    try:
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return Skipped(path, "special")
            data = file.read(cap + 1)
    except OSError:
        return Skipped(path, "unreadable")
    return data if len(data) <= cap else Skipped(path, "large")


def decode(data: bytes) -> str:
    """Return content as text: by its byte order mark, else UTF-8, else Latin-1, which takes any bytes."""
    for mark, encoding in (
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe\0\0", "utf-32-le"),
        (b"\0\0\xfe\xff", "utf-32-be"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
    ):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def unsafe(path: str) -> bool:
    """Tell whether a name leaves the project (absolute, or with `..`), or is not a name at all."""
    return not path or path[0] == "/" or "\0" in path or (".." in path and ".." in path.split("/"))


def real_directory(root: Path | str, directory: str) -> bool:
    """Tell whether a project directory is reached without symbolic links; the root itself may be one."""
    while directory:
        try:
            mode = os.lstat(os.path.join(root, directory)).st_mode
        except (OSError, ValueError):
            return True  # whoever opens the file learns why
        if stat.S_ISLNK(mode):
            return False
        directory = directory.rpartition("/")[0]
    return True


def _stat_all(
    root: str, paths: Sequence[str], limits: ScanLimits, found: _Found, progress: Progress | None
) -> None:
    linked: dict[str, bool] = {"": False}
    for done, path in enumerate(paths):
        if progress is not None and done % _STEP == 0:
            progress(done, len(paths))
        if len(found.files) >= limits.max_files:
            found.skip(path, "cap")
            continue
        directory = path.rpartition("/")[0]
        if directory not in linked:
            linked[directory] = not real_directory(root, directory)
        entry = "symlink" if linked[directory] else stat_file(root, path)
        if isinstance(entry, str):
            found.skip(path, entry)
        elif entry.size > limits.max_bytes:
            found.large.append(entry)
            found.skip(path, "large")
        else:
            found.files.append(entry)
    if progress is not None:
        progress(len(paths), len(paths))
