"""The place the app was left at: a small file for each project in the user's home.

Here as well: what a project's state looks like at a glance, before anything of the engine is loaded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from store.files import private_dir, write_atomic
from store.generations import pointer
from store.locks import exclusive
from store.project_state import PROJECT_INDEX
from workbench.places import state_places, user_home

_MAX_BYTES = 1_000_000
_HASH_LENGTH = 16
_PATIENCE = 2.0  # seconds to wait for another app that writes its place


def place_file(root: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the file that keeps the app's place in a project, which need not exist."""
    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:_HASH_LENGTH]
    return user_home(environment) / "places" / f"{name}.json"


def read_place_file(path: Path) -> bytes | None:
    """Return what a place file holds, None where nothing can be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return None


def update_place_file(path: Path, change: Callable[[bytes | None], bytes]) -> None:
    """Replace a place file by what `change` makes of it, whole or not at all; other apps wait.

    Raises: StoreError.
    """
    private_dir(path.parent)
    with exclusive(path.parent / ".lock", timeout=_PATIENCE):
        write_atomic(path, change(read_place_file(path)))


def seems_indexed(root: Path, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether a project has an index by the look of its state directory, without opening either.

    It may prove unusable when it is opened: this decides what is painted first, not what is done.
    """
    return any(os.path.isfile(pointer(place, PROJECT_INDEX)) for place in state_places(root, environment))
