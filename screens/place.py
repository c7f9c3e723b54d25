"""Where the app was left: the section, its filters, cursor and sort, so that it opens there again.

What people type, press and click may change it; a moment later the place is compared with the last one and
what differs is written in a thread, so that it survives however the app ends. Only what changed here is
written, over what the file has by then: of two apps on a project the one that was used last decides about a
section. The place is a convenience: a file that cannot be read or written costs nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from workbench.errors import WorkbenchError
from workbench.records.conversion import decode_json

if TYPE_CHECKING:
    from textual.app import App
    from textual.timer import Timer


@dataclass(slots=True)
class AppPlace:
    """The section that was shown and what each section remembers, as JSON values."""

    section: str = ""
    theme: str = ""
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of(self, section: str) -> Mapping[str, Any]:
        """Return what a section remembers."""
        return self.sections.get(section, {})


def read_place(data: bytes | None) -> AppPlace:
    """Return the place that was kept, or an empty one for what is missing or damaged."""
    if data is None:
        return AppPlace()
    try:
        return decode_json(data, AppPlace)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return AppPlace()


def write_place(place: AppPlace) -> bytes:
    """Return a place as it is kept."""
    return msgspec.json.encode(place)


def merge_changes(before: AppPlace, now: AppPlace, data: bytes | None) -> bytes:
    """Return what was kept with that replaced in which `now` differs from `before`."""
    there = read_place(data)
    changed = {name: kept for name, kept in now.sections.items() if before.sections.get(name) != kept}
    return write_place(
        AppPlace(
            section=now.section if now.section != before.section else there.section,
            theme=now.theme if now.theme != before.theme else there.theme,
            sections={**there.sections, **changed},
        )
    )


def text_of(
    kept: Mapping[str, Any], name: str, default: str = "", among: Container[str] | None = None
) -> str:
    """Return a text that a section remembers; the default for another kind or one not `among` the known."""
    value = kept.get(name)
    return value if isinstance(value, str) and (among is None or value in among) else default


def texts_of(kept: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of a list that a section remembers, none for another kind."""
    value = kept.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


SOON: Final = 0.3
"""Seconds from the first change on until it is written."""


class PlaceKeeper:
    """Writes what `look` returns to a file. Everything but the writing runs on the event loop."""

    def __init__(self, app: App[Any], file: Path, found: AppPlace, look: Callable[[], AppPlace]) -> None:
        self._app = app
        self._file = file
        self._found = found.section, found.theme
        self._look = look
        self._begun = False
        self._due: Timer | None = None
        self._number = 0
        self._writing = threading.Lock()
        self._written = (0, AppPlace())  # number and place of what was written last; at first, what was there

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

    def _now(self) -> AppPlace:
        return read_place(write_place(self._look()))  # as it will be read: lists for tuples, and a copy

    def _look_now(self) -> None:
        self._due = None
        self._number += 1
        now = self._now()
        if now != self._written[1]:
            work = partial(self._write_quietly, self._number, now)
            self._app.run_worker(work, thread=True, group="keep", exit_on_error=False)

    def _write_quietly(self, number: int, now: AppPlace) -> None:
        try:
            self._write(number, now)
        except WorkbenchError:
            return  # reported at the end, if it still cannot be written then

    def _write(self, number: int, now: AppPlace) -> None:
        from workbench.entry.project import update_place_file

        with self._writing:
            last, before = self._written
            if number > last and now != before:
                update_place_file(self._file, partial(merge_changes, before, now))
                self._written = (number, now)
