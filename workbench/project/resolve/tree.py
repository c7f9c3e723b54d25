"""The paths of a project as lookups: by whole path, by folder, by file name, and the nearest of several."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

Resolve = Callable[[int, str], tuple[int, ...]]
MAX_NAMESAKES = 200
MAX_PACKAGE = 12  # files an import of a whole folder points at


@dataclass
class PathTree:
    """Paths of a project, posix and relative, with their languages; lookups are built when asked for."""

    paths: Sequence[str]
    languages: Sequence[str]
    files: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.files = {path: position for position, path in enumerate(self.paths)}

    @cached_property
    def folders(self) -> list[str]:
        """The folder of each path, '' for the root."""
        return [path.rpartition("/")[0] for path in self.paths]

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        """Positions by file name, in the order of the paths."""
        found: dict[str, list[int]] = {}
        for position, path in enumerate(self.paths):
            found.setdefault(path.rpartition("/")[2], []).append(position)
        return found

    @cached_property
    def by_folder(self) -> dict[str, list[int]]:
        """Positions by folder, in the order of the paths."""
        found: dict[str, list[int]] = {}
        for position, folder in enumerate(self.folders):
            found.setdefault(folder, []).append(position)
        return found

    @cached_property
    def folders_by_name(self) -> dict[str, list[str]]:
        """Folders that hold files, by their last part."""
        found: dict[str, list[str]] = {}
        for folder in sorted(self.by_folder):
            found.setdefault(folder.rpartition("/")[2], []).append(folder)
        return found

    @cached_property
    def by_tail(self) -> dict[str, list[int]]:
        """Positions by the last folder and the file name."""
        found: dict[str, list[int]] = {}
        for position, path in enumerate(self.paths):
            found.setdefault("/".join(path.rsplit("/", 2)[-2:]), []).append(position)
        return found

    def with_suffix(self, suffix: str) -> list[int]:
        """Return the positions of paths that equal `suffix` or end in a slash and it.

        A bare name that more than MAX_NAMESAKES files bear means none of them.
        """
        if "/" not in suffix:
            found = self.by_name.get(suffix, [])
            return found if len(found) <= MAX_NAMESAKES else []
        tail = "/" + suffix
        return [
            position
            for position in self.by_tail.get("/".join(suffix.rsplit("/", 2)[-2:]), ())
            if self.paths[position] == suffix or self.paths[position].endswith(tail)
        ]

    def folders_with_suffix(self, suffix: str) -> list[str]:
        """Return the folders with files that equal `suffix` or end in a slash and it."""
        tail = "/" + suffix
        return [
            folder
            for folder in self.folders_by_name.get(suffix.rpartition("/")[2], ())
            if folder == suffix or folder.endswith(tail)
        ]

    def nearest(self, importer: int, candidates: Iterable[int]) -> tuple[int, ...]:
        """Return the candidate that shares most folders with the importer, as a tuple of one or none."""
        found = list(candidates)
        if len(found) <= 1:
            return tuple(found)
        base = self.paths[importer]
        best = min(found, key=lambda position: _distance(base, self.paths[position]))
        return (best,)

    def nearest_folder(self, importer: int, candidates: Sequence[str]) -> str | None:
        """Return the folder that shares most with the importer's, None if there is none."""
        if not candidates:
            return None
        base = self.paths[importer]
        return min(candidates, key=lambda folder: _distance(base, folder + "/"))


def _distance(base: str, path: str) -> tuple[int, int, str]:
    return (-shared_folders(base, path), path.count("/"), path)


def shared_folders(first: str, second: str) -> int:
    """Number of leading folders two paths have in common."""
    count = 0
    for left, right in zip(first.split("/")[:-1], second.split("/")[:-1], strict=False):
        if left != right:
            break
        count += 1
    return count


def join_path(folder: str, relative: str) -> str | None:
    """Return the normalised project path of `relative` seen from `folder`, None if it leaves the project."""
    path = posixpath.normpath(f"{folder}/{relative}" if folder else relative)
    if path == "..":
        return None
    return None if path.startswith(("../", "/")) else path.removeprefix("./")
