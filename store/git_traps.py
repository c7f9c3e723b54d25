"""Files on which git would wait for ever, or read without end: pipes and devices where it expects text.

A clone cannot bring one, an archive can. Git opens whatever has the name, so names are looked at before. What
its own directory holds, and the top of the work tree, is looked at whenever a repository is found; all of the
work tree, whose size is anybody's guess, only once git has been silent for a while.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from workbench.beneath import special_kind
from workbench.errors import GitError

READ_IN_TREES: Final = (".gitignore", ".gitattributes", ".gitmodules", ".mailmap")
_WHOLE: Final = ("info", "objects/info", "objects/pack", "refs", "reftable", "worktrees")
_HEADS: Final = ("HEAD", "config", "commondir", "gitdir")  # read in repositories that are nested in the tree
_traps: dict[str, str] = {}  # the trap in each work tree that has one


def note_traps(root: Path, *directories: Path) -> None:
    """Look at the top of a work tree and at the git directories that belong to it, and remember a trap."""
    found = next(_traps_of(root, directories), "")
    if found:
        _traps[os.fspath(root)] = found
    else:
        _traps.pop(os.fspath(root), None)


def search_traps(directory: Path, needless: Callable[[], bool]) -> bool:
    """Look for traps in all of the work tree around a directory, unless that becomes `needless` meanwhile.

    Returns whether there is one; it is remembered.
    """
    root = next((one for one in (directory, *directory.parents) if (one / ".git").exists()), directory)
    for place, names, files in os.walk(root):
        if needless():
            return False
        repository = ".git" in names or ".git" in files
        names[:] = [name for name in names if name != ".git"]
        paths = [os.path.join(place, name) for name in READ_IN_TREES if name in files]
        if repository:
            paths += [os.path.join(place, ".git", name) for name in _HEADS] + [os.path.join(place, ".git")]
        if found := next(_special(paths), ""):
            _traps[os.fspath(root)] = found
            return True
    return False


def refuse_traps(directory: Path) -> None:
    """Look again at the trap remembered for the work tree of a directory. Raises GitError if it is there."""
    if not _traps:
        return
    for place in (directory, *directory.parents):
        found = _traps.get(os.fspath(place))
        if found is None:
            continue
        if kind := _kind(found):
            raise GitError(f"{found} is {kind}: git would wait for ever to read it", hint="Remove it.")
        del _traps[os.fspath(place)]


def _traps_of(root: Path, directories: Iterable[Path]) -> Iterator[str]:
    yield from _special(os.path.join(root, name) for name in READ_IN_TREES)
    for directory in dict.fromkeys(os.fspath(one) for one in directories):
        yield from _special(entry.path for entry in _entries(directory))
        for name in _WHOLE:
            yield from _special(_below(os.path.join(directory, name)))


def _below(directory: str) -> Iterator[str]:
    """Yield what is below a directory that is not a file of its own; most of it is known without a look."""
    waiting = [directory]
    while waiting:
        for entry in _entries(waiting.pop()):
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif not entry.is_file(follow_symlinks=False):
                yield entry.path


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            return sorted(
                (one for one in found if not one.is_file(follow_symlinks=False)), key=lambda one: one.name
            )
    except OSError:
        return []


def _special(paths: Iterable[str]) -> Iterator[str]:
    return (path for path in paths if _kind(path))


def _kind(path: str) -> str:
    try:
        return special_kind(os.stat(path).st_mode)
    except (OSError, ValueError):
        return ""
