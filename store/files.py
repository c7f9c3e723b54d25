"""Files on disk: private directories, atomic replacement, and disk errors said so that a person can act."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from workbench.errors import StoreError
from workbench.records.ids import new_id

PRIVATE_DIR: Final = 0o700
PRIVATE_FILE: Final = 0o600

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextlib.contextmanager
def translated(what: str, raising: type[StoreError] = StoreError) -> Iterator[None]:
    """Turn an OSError inside into `raising`, saying what was being done and what to try."""
    try:
        yield
    except OSError as error:
        raise raising(f"{what} failed: {error.strerror or error}", hint=disk_hint(error)) from error


def disk_hint(error: OSError) -> str:
    """Return the next step for a failed file operation."""
    if error.errno in _FULL:
        return "The disk, quota or file size limit is full: free some space and run the same again."
    if error.errno in _REFUSED:
        return "Check the owner and permissions, or set WORKBENCH_HOME to a directory you can write."
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return "Too many files are open: raise `ulimit -n` or close other programs."
    return "Check the disk, then run `workbench doctor`."


def private_dir(path: Path) -> Path:
    """Make the directory and its missing parents, readable by their owner alone. Returns it.

    Raises: StoreError.
    """
    if path.is_dir():
        return path
    with translated(f"making the directory {path}"):
        missing = [path]
        while not missing[-1].parent.is_dir():
            missing.append(missing[-1].parent)
        for directory in reversed(missing):
            # Another process may make it at the same moment.
            directory.mkdir(mode=PRIVATE_DIR, exist_ok=True)
    return path


def write_atomic(path: Path, data: bytes) -> None:
    """Replace the file's content: readers see the old bytes or the new ones, also after a power cut.

    Raises: StoreError; then the old content stands.
    """
    private_dir(path.parent)
    temporary = path.with_name(f".{path.name}.{new_id()}.tmp")
    with translated(f"writing {path}"):
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                sync_data(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_dir(path.parent)


def replace_file(path: Path, data: bytes | None, *, expected: bytes | None) -> None:
    """Replace a file of the user's that has the content `expected`, or make it where that is None.

    With `data` None the file is removed. Permissions stay, links are followed.
    Raises: StoreError; then what was there still is.
    """
    target = path.resolve()
    with translated(f"writing {path}"):
        try:
            found: bytes | None = target.read_bytes()
        except FileNotFoundError:
            found = None
        if found != expected:
            raise StoreError(
                f"{path} changed while it was about to be written", hint="Nothing was written: run it again."
            )
        if data is None:
            path.unlink()
            return
        mode = target.stat().st_mode & 0o7777 if found is not None else None
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{new_id()}.tmp")
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                if mode is not None:
                    temporary.chmod(mode)
                sync_data(file.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_dir(target.parent)


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
