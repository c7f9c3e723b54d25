"""Files below a directory, reached so that nothing leads out of it: for projects of strangers.

A repository can hold a symbolic link of any name to any place. A path is walked one part at a time, each
opened relative to the handle of the directory before and never followed by the system: a link that is made
meanwhile counts like one that was there. Links that stay below the directory are resolved where the caller
allows links; every other one is refused by its name.

Other programs are found so that the directory one works in is no place to find them: an empty entry of PATH,
or a relative one such as `.`, means whatever directory a program happens to run in, where a repository of
strangers may hold a `git` of its own.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, Final

from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from pathlib import Path


MOST_LINKS: Final = 40  # as many as Linux follows in one path
PRIVATE: Final = frozenset({".git", ".workbench"})
"""Directories that no link leads into: what is there is neither prose nor the repository's to choose."""

_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_NOT_PLAIN = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}


class LeadsOut(OSError):
    """A path leads through a link that must not be followed. `link` is its path below the directory."""

    def __init__(self, link: str, reason: str) -> None:
        super().__init__(errno.ELOOP, f"the link {link} {reason}")
        self.link = link

    def __str__(self) -> str:
        return str(self.strerror)


@dataclass(frozen=True, slots=True)
class PathBeneath:
    """Where a path leads: `name` in the open directory `handle`, and `path` below where the walk began.

    The name may not exist. `linked` says whether a link led here.
    """

    handle: int
    name: str
    path: str
    linked: bool


@contextmanager
def resolve_beneath(
    root: str, path: str, *, links: bool = True, last: bool = True, make: int = 0
) -> Iterator[PathBeneath]:
    """Give the place that `path` (posix, relative) leads to below `root`, as long as the block lasts.

    Without `links` none is followed; without `last` the last part may be one and is not followed. Missing
    directories are made with the permissions `make`, if there are any.
    Raises: LeadsOut; OSError.
    """
    handles = [os.open(root, _DIRECTORY)]
    try:
        yield _walk(handles, root, path, links=links, last=last, make=make)
    finally:
        for handle in handles:
            os.close(handle)


def open_beneath(
    root: str, path: str, flags: int = os.O_RDONLY, mode: int = 0o600, *, links: bool = True, make: int = 0
) -> int:
    """Return a descriptor of the file that `path` leads to below `root`. Raises: LeadsOut; OSError."""
    with resolve_beneath(root, path, links=links, make=make) as place:
        return open_at(place, flags, mode)


def open_at(place: PathBeneath, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """Return a descriptor of the file at a place.

    Raises: LeadsOut if it has become a link; OSError, also for a named pipe, a socket or a device.
    """
    try:
        with suppress(FileNotFoundError):
            found = os.stat(place.name, dir_fd=place.handle, follow_symlinks=False)
            _require_plain(found.st_mode, place.path)
        return os.open(place.name, flags | _PLAIN, mode, dir_fd=place.handle)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise LeadsOut(place.path, "is not followed") from error
        raise


def _walk(handles: list[int], root: str, path: str, *, links: bool, last: bool, make: int) -> PathBeneath:
    """Open directory after directory onto `handles`, the last one being where the name is."""
    waiting = deque(path.split("/"))
    names: list[str] = []
    followed = ""  # the first link on the way, for messages
    count = 0
    while waiting:
        part = waiting.popleft()
        if part in ("", "."):
            continue
        if part == "..":
            if not names:
                raise LeadsOut(followed or path, "leads out of the project")
            names.pop()
            os.close(handles.pop())
            continue
        here = "/".join((*names, part))
        if followed and part.lower() in PRIVATE:
            raise LeadsOut(followed, f"leads into {part}")
        final = not any(other not in ("", ".") for other in waiting)
        target = _link(part, handles[-1]) if links and (last or not final) else None
        if target is not None:
            followed, count = followed or here, count + 1
            if count > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if target.startswith("/"):
                below = _below(target, root)
                if below is None:
                    raise LeadsOut(followed, "leads out of the project")
                while names:
                    names.pop()
                    os.close(handles.pop())
                target = below
            waiting.extendleft(reversed(target.split("/")))
            continue
        if final:
            return PathBeneath(handles[-1], part, here, bool(followed))
        handles.append(_enter(part, handles[-1], here, make))
        names.append(part)
    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)


def _link(name: str, handle: int) -> str | None:
    """Return where a link leads, None for what is not a link or not there."""
    try:
        if not stat.S_ISLNK(os.lstat(name, dir_fd=handle).st_mode):
            return None
        return os.readlink(name, dir_fd=handle)
    except FileNotFoundError:
        return None


def _below(target: str, root: str) -> str | None:
    """Return an absolute target relative to the real root, None if it is not written as one below it."""
    base = os.path.realpath(root).rstrip("/") + "/"
    return target.removeprefix(base) if target.startswith(base) else None


def _enter(name: str, handle: int, shown: str, make: int) -> int:
    try:
        return os.open(name, _DIRECTORY | _PLAIN, dir_fd=handle)
    except FileNotFoundError:
        if not make:
            raise
        with suppress(FileExistsError):  # another process may make it at the same moment
            os.mkdir(name, make, dir_fd=handle)
        with suppress(OSError):  # what is about to be in it may be acknowledged; some disks cannot
            os.fsync(handle)
        return _enter(name, handle, shown, 0)
    except OSError as error:
        if error.errno in _NOT_PLAIN and _link(name, handle) is not None:
            raise LeadsOut(shown, "is not followed") from error
        raise


def special_kind(mode: int) -> str:
    """Return what a file is by its mode where it holds no bytes of its own, empty for any other.

    Opening one can wait for ever (a pipe without a writer), never end, or make a device do something.
    """
    return _SPECIAL.get(stat.S_IFMT(mode), "")


_SPECIAL = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_STREAMS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")  # what a shell hands over with <(…)


def open_plain(path: Path | str, buffering: int = -1) -> IO[bytes]:
    """Open a file that somebody named, to read.

    Raises: OSError, also for a named pipe, a socket or a device.
    """
    name = os.fspath(path)
    if name.startswith(_STREAMS):
        return open(name, "rb", buffering)
    _require_plain(os.stat(name).st_mode, name)
    descriptor = os.open(name, os.O_RDONLY | _PLAIN & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        _require_plain(os.fstat(descriptor).st_mode, name)  # it may have been replaced
        return open(descriptor, "rb", buffering)
    except OSError:
        os.close(descriptor)
        raise


def _require_plain(mode: int, name: str) -> None:
    if kind := special_kind(mode):
        raise OSError(errno.EINVAL, f"it is {kind}, which is never opened", name)


def open_private(path: Path, mode: str) -> IO[Any]:
    """Open a file to write, for its owner alone whatever the umask, and so the directories it needs.

    Raises: OSError.
    """
    for directory in reversed([one for one in path.parents if not one.exists()]):
        directory.mkdir(mode=0o700, exist_ok=True)
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))


def safe_path(environment: Mapping[str, str] = os.environ) -> str:
    """Return PATH without the entries that depend on the current directory."""
    entries = environment.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))


def find_program(name: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the path of a program by its name, None where no directory of PATH has it.

    A name with a directory in it is the caller's own choice and taken as it is.
    """
    path = safe_path(environment)
    import shutil  # with all its archives, which few need

    return shutil.which(name, path=path) if path or os.path.dirname(name) else None
