"""Finished replays as files, `<root>/runs/<id>.jsonl.gz`: written whole, listed newest first, bounded.

What a file holds is the engine's business. A state directory keeps the newest `KEPT` runs in at most
`MAX_BYTES`; a run that is written again counts as new.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from store import locks
from store.files import open_state, private_dir, translated, write_atomic
from workbench.errors import StoreError

KEPT: Final = 50
MAX_BYTES: Final = 256 * 1024 * 1024
MAX_RUN: Final = 64 * 1024 * 1024  # bytes of one file

_ID = re.compile(r"[0-9a-f]{8,64}")
_SUFFIX = ".jsonl.gz"
_BINARY = getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class RunFile:
    """A kept run: its id, its size in bytes and when it was written, in nanoseconds."""

    id: str
    path: Path
    size: int
    written: int


def put_run(root: Path, identifier: str, data: bytes, *, spare: Collection[str] = ()) -> RunFile:
    """Keep a run, and drop the oldest beyond the bounds but for those to spare.

    Raises: StoreError, StoreBusy.
    """
    if not _ID.fullmatch(identifier):
        raise StoreError(f"{identifier[:80]!r} is no id of a run", hint="Ids are hexadecimal digits.")
    if len(data) > MAX_RUN:
        raise StoreError(
            f"a run of {len(data):,} bytes is too large to keep; {MAX_RUN:,} is the most",
            hint="Replay fewer tasks or systems at once.",
        )
    directory = private_dir(root / "runs")
    with locks.exclusive(root / "locks" / "runs.lock"):
        path = directory / f"{identifier}{_SUFFIX}"
        write_atomic(path, data)
        _prune(root, {identifier, *spare})
    return next(found for found in list_runs(root) if found.id == identifier)


def list_runs(root: Path) -> list[RunFile]:
    """Return the kept runs, the newest first. Raises: StoreError."""
    found = []
    with translated("listing the kept runs"), contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(root / "runs"):
            name = entry.name.removesuffix(_SUFFIX)
            if name == entry.name or not _ID.fullmatch(name):
                continue
            with contextlib.suppress(FileNotFoundError):  # dropped by another process meanwhile
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    found.append(RunFile(name, Path(entry.path), status.st_size, status.st_mtime_ns))
    return sorted(found, key=lambda one: (-one.written, one.id))


def open_run(root: Path, identifier: str) -> IO[bytes]:
    """Return the open file of a run. Raises: StoreError if there is none."""
    if not _ID.fullmatch(identifier):
        raise StoreError(f"{identifier[:80]!r} is no id of a run", hint="Ids are hexadecimal digits.")
    with translated(f"reading the run {identifier}"):
        return open(open_state(root / "runs" / f"{identifier}{_SUFFIX}", os.O_RDONLY | _BINARY), "rb")


def _prune(root: Path, spare: Collection[str]) -> None:
    total = 0
    for number, one in enumerate(list_runs(root)):
        total += one.size
        if one.id not in spare and (number >= KEPT or total > MAX_BYTES):
            total -= one.size
            with translated(f"dropping the run {one.id}"):
                one.path.unlink(missing_ok=True)
