"""The file of the tables: whether it is still the same, its removal with its log, its place if damaged."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from store.duck import log_file
from store.files import translate_errors

SERVER_MARK: Final = "team/tables"
"""A file that is there while the server of the team has tables of this state directory."""


def identity(path: Path) -> object:
    """Return what differs when a file was written or replaced, None without a file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def is_open(path: Path, descriptor: int) -> bool:
    """Whether an open file is still the one at a path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def remove(path: Path) -> None:
    """Remove a database, if it is there, and its log. Raises: OSError."""
    path.unlink(missing_ok=True)
    log_file(path).unlink(missing_ok=True)


def set_aside(path: Path, now: float) -> Path:
    """Move a damaged file out of the way; return where to. Only the last one is kept. Raises: StoreError."""
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = path.with_name(f"{path.name}.corrupt-{moment}")
    with translate_errors(f"setting {path} aside"):
        for old in path.parent.glob(f"{path.name}.corrupt-*"):
            old.unlink()
        log_file(path).unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.replace(path, aside)
    return aside
