"""The file that a record comes from, read to be shown."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from screens.conflicts.pair import Side
from workbench.beneath import open_beneath
from workbench.errors import UsageError

MOST_BYTES: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """A file's text, and the lines of it that a side is made of; (0, 0) if it has none."""

    file: str
    text: str
    lines: tuple[int, int]


def read_place(root: Path, side: Side) -> Place:
    """Return where a side comes from. Raises: UsageError where no file is behind it or it cannot be read."""
    if not side.file:
        raise UsageError(f"{side.where}: no file is behind it", hint="Its facts are in the evidence.")
    try:
        with open(_descriptor(root, side.file), "rb") as file:
            data = file.read(MOST_BYTES)
    except OSError as error:
        raise UsageError(
            f"{side.file} cannot be read: {error.strerror}", hint="It may have been moved since: press f5."
        ) from error
    return Place(side.file, data.decode("utf-8", "replace"), side.lines)


def _descriptor(root: Path, file: str) -> int:
    """Open a file: one of the project as long as it stays there, one of the user's wherever it leads."""
    if file.startswith("~/"):
        return os.open(Path.home() / file[2:], os.O_RDONLY)
    if os.path.isabs(file):
        return os.open(file, os.O_RDONLY)
    return open_beneath(str(root), file)
