"""The projects that the server answers for: found below its allowed roots, opened when asked about."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from workbench.config import project_file, user_file
from workbench.entry.http.failures import RequestRefused
from workbench.entry.services.opening import find_project, host_project, report_progress
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.entry.services.opening import ProjectHost

BY: Final = "http"
"""What journals name as the face that acted."""

MOST_OPEN: Final = 16
"""Projects that are kept open; the one that was asked about longest ago is closed for another."""


@dataclass(eq=False)
class OpenProject:
    """A project of the server. Who wants its turn waits for `turn`; `asked` are those who do."""

    root: Path
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    asked: int = 0
    opening: Lock = field(default_factory=Lock)
    _host: ProjectHost | None = None
    _settings: tuple[object, ...] = ()

    def host(self) -> ProjectHost:
        """Return the project, kept open until its settings change. Raises: WorkbenchError."""
        with self.opening:
            settings = tuple(map(_stamp, (user_file(), project_file(self.root))))
            if self._host is not None and self._settings != settings:
                self._host.close()
                self._host = None
            if self._host is None:
                self._host, self._settings = host_project(self.root, {}, BY, report_progress), settings
            return self._host

    @property
    def is_open(self) -> bool:
        """Whether anything was asked of it yet."""
        return self._host is not None

    def close(self) -> None:
        """Free what is held, once nobody asks any more."""
        with self.opening:
            if self._host is not None:
                self._host.close()
            self._host = None


class ServedProjects:
    """Which projects may be asked about: those in `roots`, resolved; `usual` where a request names none."""

    def __init__(self, roots: Sequence[Path], usual: Path | None) -> None:
        self.roots = tuple(dict.fromkeys(Path(os.path.realpath(root)) for root in roots))
        self.usual = usual
        self._open: OrderedDict[Path, OpenProject] = OrderedDict()

    def find(self, given: str) -> OpenProject:
        """Return the project that a directory is in; nothing of a directory outside of the roots is revealed.

        Raises: UsageError, RequestRefused, ProjectError.
        """
        root = self._root(given)
        found = self._open.get(root)
        if found is None:
            found = self._open[root] = OpenProject(root)
        self._open.move_to_end(root)
        self._make_room()
        return found

    def _root(self, given: str) -> Path:
        if not given:
            if self.usual is None:
                raise UsageError("project_root is missing", hint="Give the directory of a project.")
            return self.usual
        if not os.path.isabs(given) or not given.isprintable() or len(given) > 4096:
            raise UsageError("project_root is not an absolute path", hint='Such as "/home/me/code/shop".')
        try:
            place = Path(os.path.realpath(given))
        except (OSError, ValueError) as error:
            raise UsageError(f"project_root cannot be a path: {error}", hint="Correct it.") from error
        self._require_allowed(place)
        if not place.is_dir():
            raise RequestRefused(
                404, "not_found", f"{given} is not a directory", "Give the directory of a project."
            )
        root = find_project(start=place)
        self._require_allowed(root)
        return root

    def _require_allowed(self, place: Path) -> None:
        if not any(place.is_relative_to(root) for root in self.roots):
            raise RequestRefused(
                403,
                "outside",
                "project_root is outside of the directories that this server answers for",
                "Start it with `workbench serve --root DIRECTORY`.",
            )

    def _make_room(self) -> None:
        for root, one in [*self._open.items()][: max(0, len(self._open) - MOST_OPEN)]:
            if not one.asked and not one.turn.locked():
                del self._open[root]
                one.close()

    @property
    def open_count(self) -> int:
        """How many projects are open."""
        return sum(one.is_open for one in self._open.values())

    def opened(self) -> tuple[OpenProject, ...]:
        """Return the projects that were asked about."""
        return tuple(one for one in self._open.values() if one.is_open)

    def close(self) -> None:
        """Close all of them."""
        for one in self._open.values():
            one.close()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
