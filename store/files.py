"""Files on disk: private directories, atomic replacement, and errors of the disk with a hint for people.

What is in a project's state directory, and what is written into a project, is reached without leaving it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from workbench.beneath import LeadsOut, PathBeneath, open_at, open_beneath, resolve_beneath, special_kind
from workbench.errors import StoreError
from workbench.records.ids import new_id

STATE: Final = ".workbench"
PRIVATE_DIR: Final = 0o700
PRIVATE_FILE: Final = 0o600

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_STATE_REFUSED: Final = "Check the owner and permissions, or set WORKBENCH_HOME to a directory you can write."


@contextlib.contextmanager
def translate_errors(
    what: str, raising: type[StoreError] = StoreError, *, refused: str = _STATE_REFUSED
) -> Iterator[None]:
    """Turn an OSError inside into `raising`, saying what was being done and what to try."""
    try:
        yield
    except OSError as error:
        raise raising(f"{what} failed: {error.strerror or error}", hint=disk_hint(error, refused)) from error


def disk_hint(error: OSError, refused: str = _STATE_REFUSED) -> str:
    """Return the next step for a failed file operation; `refused` is that where it is not allowed."""
    if isinstance(error, LeadsOut):
        return "Look where it leads with `ls -l`; replace it by a file, or remove it."
    if error.errno in _FULL:
        return "The disk, quota or file size limit is full: free some space and run the same again."
    if error.errno in _REFUSED:
        return refused
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return "Too many files are open: raise `ulimit -n` or close other programs."
    return "Check the disk, then run `workbench doctor`."


def private_dir(path: Path) -> Path:
    """Make the directory and its missing parents, readable by their owner alone. Returns it.

    Raises: StoreError, also if a link leads there from a state directory.
    """
    root, below = _split(path)
    with translate_errors(f"making the directory {path}"):
        if below != path.name:
            with resolve_beneath(root, f"{below}/.x", links=False, last=False, make=PRIVATE_DIR):
                return path
        if path.is_dir():
            return path
        missing = [path]
        while not missing[-1].parent.is_dir():
            missing.append(missing[-1].parent)
        for directory in reversed(missing):
            # Another process may make it at the same moment.
            directory.mkdir(mode=PRIVATE_DIR, exist_ok=True)
            with contextlib.suppress(OSError):  # what will be in it may be acknowledged; some disks cannot
                sync_dir(directory.parent)
    return path


def open_state(path: Path, flags: int = os.O_RDONLY) -> int:
    """Return a descriptor of a file of a state; no link is followed in it. Raises: OSError."""
    root, below = _split(path)
    return open_beneath(root, below, flags, PRIVATE_FILE, links=False)


def read_state(path: Path) -> bytes:
    """Return the bytes of a file of a state; no link is followed in it. Raises: OSError."""
    with open(open_state(path), "rb") as file:
        return file.read()


def file_stamp(path: Path) -> tuple[int, ...]:
    """Return what differs once a file was written or another one took its place; empty where it is not."""
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def odd_below(root: Path, *, but: str = "") -> tuple[str, str]:
    """Return the first name in a directory that is neither a file nor a directory, and what it is.

    Relative to the directory; both are empty without any but the one named.
    """
    top = os.fspath(root)
    waiting, odd = [top], []
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif not entry.is_file(follow_symlinks=False):
                        mode = entry.stat(follow_symlinks=False).st_mode
                        odd.append((entry.path[len(top) + 1 :], special_kind(mode) or "a symbolic link"))
        except OSError:
            continue  # gone meanwhile, or unreadable: then nothing is read or written there either
    return min((found for found in odd if found[0] != but), default=("", ""))


def write_atomic(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace the content: readers see the old bytes or the new ones, with `sync` also after a power cut.

    Raises: StoreError; then the old content stays.
    """
    private_dir(path.parent)
    root, below = _split(path)
    with translate_errors(f"writing {path}"), resolve_beneath(root, below, links=False, last=False) as place:
        _replace(place, data, PRIVATE_FILE, sync=sync)


def replace_file(
    path: Path, data: bytes | None, *, expected: bytes | None, inside: Path | None = None
) -> None:
    """Replace a file of the user's that has the content `expected`, or make it where that is None.

    With `data` None the file, or the link to it, is removed. Permissions stay. Links are followed, those of a
    project as long as they stay `inside` of it. Raises: StoreError; then what was there still is.
    """
    refused = "Check the owner and permissions of the file and its directory."
    with translate_errors(f"writing {path}", refused=refused):
        root, below = _target(path, inside, follow=data is not None)
        with resolve_beneath(root, below, last=data is not None, make=0 if data is None else 0o777) as place:
            found, mode = _content(place)
            if found != expected:
                raise StoreError(
                    f"{path} changed while it was about to be written",
                    hint="Nothing was written: run it again.",
                )
            if data is None:
                os.unlink(place.name, dir_fd=place.handle)
                return
            _replace(place, data, 0o666, mode)


def _target(path: Path, inside: Path | None, *, follow: bool) -> tuple[str, str]:
    """Return (directory, path below it) of a file: of the project, or where the user's own links lead."""
    if inside is not None:
        return str(inside), path.relative_to(inside).as_posix()
    found = path.resolve() if follow else path
    found.parent.mkdir(parents=True, exist_ok=True)
    return str(found.parent), found.name


def _content(place: PathBeneath) -> tuple[bytes | None, int | None]:
    """Return the bytes and the permissions of a file, None of both where there is none."""
    try:
        with open(open_at(place), "rb") as file:
            return file.read(), os.fstat(file.fileno()).st_mode & 0o7777
    except FileNotFoundError:
        return None, None


def _replace(
    place: PathBeneath, data: bytes, permissions: int, mode: int | None = None, *, sync: bool = True
) -> None:
    """Write beside a file and put it in its place. `mode` is what the file had, if it should keep that."""
    temporary = f".{place.name}.{new_id()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    try:
        with open(os.open(temporary, flags, permissions, dir_fd=place.handle), "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            if sync:
                sync_data(file.fileno())
        os.replace(temporary, place.name, src_dir_fd=place.handle, dst_dir_fd=place.handle)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=place.handle)
        raise
    if sync:
        os.fsync(place.handle)


def _split(path: Path) -> tuple[str, str]:
    """Return (directory whose links are the user's own, path below it).

    In a project that is all of its state: a repository, or an archive that was unpacked, can bring links.
    """
    parts = path.parts
    if STATE not in parts:
        return str(path.parent), path.name
    at = len(parts) - 1 - parts[::-1].index(STATE)
    return str(Path(*parts[:at])), "/".join(parts[at:])


def sync_data(descriptor: int) -> None:
    """Wait until the file's data, and its size, are on disk."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def sync_dir(path: Path) -> None:
    """Wait until the directory's entries are on disk, where the system can do that."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
