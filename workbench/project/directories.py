"""The directories of a project: walked where no version control lists them, and watched for new names.

A walk honours the `.gitignore` files, and goes level by level in the order of names, so what a bound cuts off
is always the deepest part. A directory's time changes when a name is added, removed or replaced in it, so a
file that nobody has indexed yet is found by looking at the few directories whose time moved.
"""

from __future__ import annotations

import os
import re
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.project.admission import directory_refusal, refusal
from workbench.records.dataclass import dataclass
from workbench.records.project import Skipped
from workbench.records.worktree import Listing

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_IGNORE_FILE = ".gitignore"
_IGNORE_BYTES = 1 << 20
_STEP = 5000
_NAMES = 20_000  # of a project, whose verdict is remembered


@dataclass(slots=True)
class _Rules:
    """The ignore files of a tree, read when first needed. Keys are directories ("" for the root)."""

    root: str
    specs: dict[str, GitIgnoreSpec | None] = field(default_factory=dict)

    def spec(self, directory: str) -> GitIgnoreSpec | None:
        if directory not in self.specs:
            files = [os.path.join(self.root, directory, _IGNORE_FILE)]
            if not directory:
                files.insert(0, os.path.join(self.root, ".git", "info", "exclude"))
            lines = [line for file in files for line in _lines(file)]
            self.specs[directory] = _spec(lines) if lines else None
        return self.specs[directory]

    def ignores(self, path: str, is_directory: bool) -> bool:
        """Tell whether the deepest ignore file that speaks about a path excludes it."""
        directory = path.rpartition("/")[0]
        while True:
            spec = self.spec(directory)
            if spec is not None:
                inside = path[len(directory) + 1 :] if directory else path
                verdict = spec.check_file(inside + "/" if is_directory else inside).include
                if verdict is not None:
                    return verdict
            if not directory:
                return False
            directory = directory.rpartition("/")[0]


def path_filter(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return what admits the paths that match none of some gitignore patterns."""
    if not patterns:
        return lambda path: True
    excludes = _matcher(tuple(patterns))
    return lambda path: not excludes(path)


@lru_cache(maxsize=4)
def _matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Return what matches a path. The app lists the names of a project at each step: few are new."""
    import pathspec

    # Python's own expressions, whatever engine is installed: names may hold what is no UTF-8.
    return lru_cache(_NAMES)(pathspec.GitIgnoreSpec.from_lines(patterns, backend="simple").match_file)


def exclude_paths(
    lister: Callable[[Sequence[str] | None], Listing], patterns: Sequence[str]
) -> Callable[[Sequence[str] | None], Listing]:
    """Return a lister without the paths that match gitignore patterns: their content is never read."""
    if not patterns:
        return lister

    admits = cache(lambda: path_filter(patterns))  # when something is listed

    def listed(only: Sequence[str] | None) -> Listing:
        found = lister(only)
        return Listing(tuple(filter(admits(), found.paths)), found.skipped)

    return listed


def walk_lister(
    root: Path, max_names: int = 400_000, progress: Callable[[int, int], None] | None = None
) -> Callable[[Sequence[str] | None], Listing]:
    """Return a lister that walks `root`; `progress` is called with (names so far, 0) now and then.

    Asked with None it lists everything, asked with paths only those (a directory means all files below it).
    Vendored, tool and output directories and repositories are not entered but reported; links are listed and
    not followed.
    After `max_names` names the walk ends and `.` is in `skipped` with the reason `walk cap`.
    """
    top = os.fspath(root)

    def list_names(only: Sequence[str] | None) -> Listing:
        rules = _Rules(top)
        skipped: list[Skipped] = []
        paths: list[str] = []
        names = _walk(top, [""], rules, skipped) if only is None else _some(top, only, rules, skipped)
        for path in names:
            if len(paths) >= max_names:
                skipped.append(Skipped(".", "walk cap"))
                break
            paths.append(path)
            if progress is not None and len(paths) % _STEP == 0:
                progress(len(paths), 0)
        return Listing(tuple(sorted(set(paths))), tuple(sorted(skipped, key=lambda entry: entry.path)))

    return list_names


def _some(root: str, only: Sequence[str], rules: _Rules, skipped: list[Skipped]) -> Iterator[str]:
    for path in sorted(set(only)):
        is_directory = os.path.isdir(full := os.path.join(root, path)) and not os.path.islink(full)
        if not os.path.lexists(full) or _below_ignored(path, is_directory, rules):
            continue
        if is_directory:
            yield from _walk(root, [path], rules, skipped)
        else:
            yield path


def _below_ignored(path: str, is_directory: bool, rules: _Rules) -> bool:
    parts = path.split("/")
    above = ("/".join(parts[:end]) for end in range(1, len(parts)))
    return any(
        directory_refusal(directory, False)
        or rules.ignores(directory, True)
        or os.path.lexists(os.path.join(rules.root, directory, ".git"))
        for directory in above
    ) or rules.ignores(path, is_directory)


def _walk(root: str, level: list[str], rules: _Rules, skipped: list[Skipped]) -> Iterator[str]:
    while level:
        deeper: list[str] = []
        for directory in level:
            found = _entries(root, directory, skipped)
            if directory and any(path == f"{directory}/.git" for path, _ in found):
                skipped.append(Skipped(directory, "nested repository"))
                continue
            for path, is_directory in found:
                if is_directory and (reason := directory_refusal(path, False)):
                    skipped.append(Skipped(path, reason))
                elif rules.ignores(path, is_directory):
                    continue
                elif is_directory:
                    deeper.append(path)
                else:
                    yield path
        level = deeper


def _entries(root: str, directory: str, skipped: list[Skipped]) -> list[tuple[str, bool]]:
    prefix = f"{directory}/" if directory else ""
    try:
        with os.scandir(os.path.join(root, directory)) as entries:
            return sorted((prefix + entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except OSError:
        skipped.append(Skipped(directory or ".", "unreadable"))
        return []


def _spec(lines: list[str]) -> GitIgnoreSpec:
    """Compile ignore lines; one that is no pattern matches nothing, as in git."""
    from pathspec import GitIgnoreSpec

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about brackets that people write into patterns
        try:
            return GitIgnoreSpec.from_lines(lines, backend="simple")
        except (ValueError, re.error):
            return GitIgnoreSpec.from_lines([line for line in lines if _is_pattern(line)], backend="simple")


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line], backend="simple")
    except (ValueError, re.error):
        return False
    return True


def _lines(file: str) -> list[str]:
    """Return the lines of an ignore file; none if it is missing, a link (as in git) or no file."""
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):
            return []
        with open(file, "rb") as stream:
            return stream.read(_IGNORE_BYTES).decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []


MAX_ENTRIES = 20_000  # names looked at in one directory
MAX_BELOW = 64  # directories watched below one that holds no project files


@dataclass(frozen=True, slots=True)
class Entries:
    """Regular files and real directories directly in a directory, as project paths, sorted."""

    files: tuple[str, ...]
    directories: tuple[str, ...]


def list_ancestors(paths: Iterable[str]) -> set[str]:
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


def list_below(root: str, directory: str, tracked: bool) -> dict[str, int]:
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
