"""Names of files as a person in a directory of the project writes them."""

from __future__ import annotations

import os
from pathlib import Path


def name_from_here(name: str, root: Path) -> str:
    """Return the path in the project that a name stands for in the current directory, else the name."""
    place = Path(os.path.abspath(name))
    if not place.exists() or not place.is_relative_to(root):
        return name
    return place.relative_to(root).as_posix()


def handle_from_here(handle: str, root: Path) -> str:
    """Return a handle whose file, if it begins with one, is as seen from the root of the project."""
    path, mark, rest = handle.partition(":")
    try:
        return name_from_here(path, root) + mark + rest if "/" in path or "." in path else handle
    except (OSError, ValueError):  # no name that a file could have
        return handle
