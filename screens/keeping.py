"""Keeps the place as it changes, so that it is there again however the app ends.

What people type, press and click may change it; a moment after that the place is looked at, and what differs
is written in a thread. Only what was changed here is written, over what the file has by then: of two apps on
a project the one that was used last has the say about a section, whichever is left last.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from screens.resume import Place, changed_over, read_place, write_place
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from textual.app import App
    from textual.timer import Timer

SOON: Final = 0.3
"""Seconds from the first change on until it is written."""


class Keeper:
    """Writes what `look` returns to a file. Everything but the writing runs on the event loop."""

    def __init__(self, app: App[Any], file: Path, found: Place, look: Callable[[], Place]) -> None:
        self._app = app
        self._file = file
        self._found = found.section, found.theme
        self._look = look
        self._begun = False
        self._due: Timer | None = None
        self._number = 0
        self._writing = threading.Lock()
        self._written = (0, Place())  # number and place of what was written last; at first, what was there

    def touch(self) -> None:
        """Note that a person does something, before it is done: the place may change by it."""
        if not self._begun:
            self._begun = True
            section, theme = self._found
            self._written = (0, replace(self._now(), section=section, theme=theme))
        self.look_soon()

    def look_soon(self) -> None:
        """Look for changes in a moment, once a person did something."""
        if self._begun and self._due is None:
            self._due = self._app.set_timer(SOON, self._look_now, name="keep-place")

    def keep(self) -> None:
        """Write what changed, now. Raises: WorkbenchError."""
        if self._begun:
            self._number += 1
            self._write(self._number, self._now())

    def _now(self) -> Place:
        return read_place(write_place(self._look()))  # as it will be read: lists for tuples, and a copy

    def _look_now(self) -> None:
        self._due = None
        self._number += 1
        now = self._now()
        if now != self._written[1]:
            work = partial(self._write_quietly, self._number, now)
            self._app.run_worker(work, thread=True, group="keep", exit_on_error=False)

    def _write_quietly(self, number: int, now: Place) -> None:
        try:
            self._write(number, now)
        except WorkbenchError:
            return  # said at the end, if it still cannot be written then

    def _write(self, number: int, now: Place) -> None:
        from workbench.entry.project import update_place_file

        with self._writing:
            last, before = self._written
            if number > last and now != before:
                update_place_file(self._file, partial(changed_over, before, now))
                self._written = (number, now)
