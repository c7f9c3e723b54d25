"""Where the app keeps the place it was left at: a small file for each project in the user's home."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from store.files import private_dir, write_atomic
from store.location import user_home

_MAX_BYTES = 1_000_000
_HASH_LENGTH = 16


def place_file(root: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the file that keeps the app's place in a project, which need not exist."""
    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:_HASH_LENGTH]
    return user_home(environment) / "places" / f"{name}.json"


def kept(path: Path) -> bytes | None:
    """Return what was kept, None where nothing can be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return None


def keep(path: Path, data: bytes) -> None:
    """Keep a place in place of the last one. Raises: StoreError."""
    private_dir(path.parent)
    write_atomic(path, data)
