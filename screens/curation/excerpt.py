"""The file that a record comes from, read to be shown at its lines."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from screens.widgets.code import Details
from workbench.beneath import open_beneath, open_plain
from workbench.errors import UsageError

MOST_BYTES: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A file's text, and the lines of it that a record is made of; (0, 0) if it has none."""

    file: str
    text: str
    lines: tuple[int, int]


def read_excerpt(root: Path, file: str, lines: tuple[int, int]) -> Excerpt:
    """Return a file of a project, or of the user (`~/`). Raises: UsageError where it cannot be read."""
    try:
        with open_file(root, file) as found:
            data = found.read(MOST_BYTES)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}", hint="It may have been moved since: press f5."
        ) from error
    return Excerpt(file, data.decode("utf-8", "replace"), lines)


def excerpt_view(found: Excerpt) -> Details:
    """Return the dialog that shows an excerpt."""
    line = f":{found.lines[0]}" if found.lines[0] else ""
    return Details(f"{found.file}{line}", found.text, path=found.file, lines=found.lines)


def open_file(root: Path, file: str) -> IO[bytes]:
    """Open a file: one of the project as long as it stays there, one of the user's wherever it leads."""
    if file.startswith("~/"):
        return open_plain(Path.home() / file[2:])
    if os.path.isabs(file):
        return open_plain(file)
    return open(open_beneath(str(root), file), "rb")
