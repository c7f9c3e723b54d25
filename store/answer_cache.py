"""Answers of language models by question (port `Cache`), in files that outlive the process that asked."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from store.files import read_state, write_atomic
from workbench.errors import StoreError

MOST: Final = 500
"""Answers that are kept; when there are more, those written first go."""

MAX_BYTES: Final = 1_000_000


class AnswerCache:
    """JSON objects in a directory, each in a file named by its key (letters and digits).

    What is damaged, unreadable or too large is a miss; what cannot be written is not kept.
    """

    def __init__(self, directory: Path, most: int = MOST) -> None:
        self.directory = directory
        self.most = most
        self._fault = ""

    @property
    def fault(self) -> str:
        """Return why the last value was not kept, empty if it was."""
        return self._fault

    def get(self, key: str) -> Mapping[str, Any] | None:
        """Return the object or None."""
        try:
            content = read_state(self._file(key))
            value = json.loads(content) if len(content) <= MAX_BYTES else None
        except (OSError, ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def put(self, key: str, value: Mapping[str, Any], weight: int = 1) -> None:
        """Keep the object in place of the one under that key."""
        del weight
        try:
            write_atomic(self._file(key), json.dumps(value).encode("ascii"))
        except StoreError as error:
            self._fault = error.message
            return
        self._fault = ""
        for file in self._files_by_age()[: -self.most]:
            self._remove(file)

    def clear(self) -> None:
        """Forget everything."""
        for file in self._files_by_age():
            self._remove(file)

    def _file(self, key: str) -> Path:
        return self.directory / f"{key}.json"

    def _files_by_age(self) -> list[str]:
        """Return the names of the files, those written first before the others."""
        found: list[tuple[int, str]] = []
        if self.directory.is_symlink():
            return []  # nothing of ours is behind a link
        with suppress(OSError), os.scandir(self.directory) as entries:
            for entry in entries:
                if entry.name.endswith(".json") and entry.is_file(follow_symlinks=False):
                    with suppress(OSError):
                        found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
        return [name for _, name in sorted(found)]

    def _remove(self, name: str) -> None:
        with suppress(OSError):
            (self.directory / name).unlink()
