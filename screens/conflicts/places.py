"""What a side says where it comes from: the file it stands in, read to be shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from screens.conflicts.pair import Side
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
    path = Path.home() / side.file[2:] if side.file.startswith("~/") else root / side.file
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES)
    except OSError as error:
        raise UsageError(
            f"{side.file} cannot be read: {error.strerror}", hint="It may have been moved since: press f5."
        ) from error
    return Place(side.file, data.decode("utf-8", "replace"), side.lines)
