"""How a sitting with the app ends without losing anything, and the log of what was done in it.

The place is saved as it changes and when a signal ends the program. Leaving asks first where something would
be lost: text in a form that was not saved, and work that changes something and is not done.

The place is the section with its filters, cursor and sort. What people type, press and click may change it; a
moment later it is compared with the last one and what differs is written in a thread. Only what changed here
is written, over what the file has by then: of two apps on a project the one that was used last decides about
a section. The place is a convenience: a file that cannot be read or written costs nothing else.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import msgspec
from textual import events
from textual.app import App
from textual.notifications import SeverityLevel
from textual.widgets import Input

from screens.jobs import Job, Jobs, interrupt_children
from screens.typed_keys import TypedKeys
from workbench.errors import WorkbenchError
from workbench.records.conversion import decode_json
from workbench.text.counts import plural

if TYPE_CHECKING:
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


_MOST_ACTIONS: Final = 1000


@dataclass(frozen=True, slots=True)
class LoggedAction:
    """One thing done: when (seconds since the epoch), the command line, and how it ended."""

    at: float
    command: str
    outcome: str
    failed: bool = False


@dataclass(slots=True)
class ActionLog:
    """The newest actions, the oldest first."""

    actions: deque[LoggedAction] = field(default_factory=lambda: deque(maxlen=_MOST_ACTIONS))

    def add(self, command: str, outcome: str = "", *, failed: bool = False) -> LoggedAction:
        """Note an action and return it."""
        action = LoggedAction(time.time(), command, outcome, failed)
        self.actions.append(action)
        return action


@runtime_checkable
class Unsaved(Protocol):
    """A dialog in which people write; `unsaved` while that is saved nowhere."""

    @property
    def unsaved(self) -> bool:
        """Whether closing it now would lose what was written."""
        ...


def find_losses(screens: Iterable[object], jobs: Iterable[Job]) -> list[str]:
    """Return what would be lost by leaving now, as sentences."""
    lost = []
    if any(isinstance(screen, Unsaved) and screen.unsaved for screen in screens):
        lost.append("What you wrote is not saved.")
    names = sorted({job.name for job in jobs if job.writes and not job.cancelled})
    if names:
        lost.append(f"{', '.join(names)}: not done yet, leaving cancels it.")
    return lost


_DOING: Final = (events.Key, events.Paste, events.MouseDown, events.MouseUp)
_AGAIN: Final = 5.0  # seconds within which a second ctrl+c leaves


class Sitting(TypedKeys):
    """The base of the app: what it keeps, and how it is left. Without a `keeper` nothing is kept."""

    jobs: Jobs
    log_of_actions: ActionLog

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self.keeper: PlaceKeeper | None = None
        self._interrupted = False  # whether ctrl+c was pressed just now

    # What the app gives.

    def report(self, text: str, *, severity: SeverityLevel = "information") -> None:
        """Show a short note over the screen; the text is data."""
        raise NotImplementedError

    @property
    def leading(self) -> bool:
        """Whether a job runs at whose end something opens, or rows come that keys of the list are for."""
        return self.jobs.leading or (self.jobs.listing and not isinstance(self.focused, Input))

    # What is done.

    def before_event(self, event: events.Event) -> None:
        """Note that a person does something."""
        if isinstance(event, events.Key) and event.key != "ctrl+c":
            self._interrupted = False
        if self.keeper is not None and isinstance(event, _DOING) and not event.is_forwarded:
            self.keeper.touch()

    def drop_keys(self, count: int, why: str) -> None:
        """Note it in the log."""
        self.log_of_actions.add(f"# {plural(count, 'key')} dropped", why, failed=True)

    # The end.

    def action_cancel_jobs(self) -> None:
        """Cancel what runs in the background; pressed again, leave."""
        if self._interrupted:
            self.call_later(self.action_quit)
            return
        count = self.jobs.cancel()
        done = f"cancelling {plural(count, 'job')}" if count else "nothing is running"
        self.report(f"{done}; ctrl+c again leaves")
        self._interrupted = True
        self.set_timer(_AGAIN, partial(setattr, self, "_interrupted", False))

    async def action_quit(self) -> None:
        """Leave; where something would be lost by it, ask. Asked for again, that is the answer."""
        from screens.widgets.dialogs import LeaveQuestion

        lost = find_losses(self.screen_stack, self.jobs.running)
        if not lost or isinstance(self.screen, LeaveQuestion):
            self.exit()
            return

        def answered(leave: bool | None) -> None:
            if leave:
                self.exit()

        self.push_screen(LeaveQuestion(lost), answered)

    async def action_leave(self) -> None:
        """Leave, from wherever one is."""
        await self.action_quit()

    def mind_signals(self) -> None:
        """Save the place when the terminal closes or a signal ends the program."""
        if self.is_headless or sys.platform == "win32":
            return
        for number in (signal.SIGHUP, signal.SIGTERM):  # also where they were ignored: it needs its terminal
            asyncio.get_running_loop().add_signal_handler(number, self._end_by, number)
        threading.Thread(target=_end_with_terminal, name="terminal", daemon=True).start()

    def _end_by(self, number: signal.Signals) -> None:
        self._keep_place()
        if number is signal.SIGTERM:
            self.exit(return_code=128 + number)
            return
        # The terminal is gone, and with it whatever leaving would write to: end as the signal does.
        interrupt_children()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    async def _shutdown(self) -> None:
        """Keep the place while the sections are there: they are gone before the app is unmounted."""
        self._keep_place()
        await super()._shutdown()

    def _keep_place(self) -> None:
        if self.keeper is None:
            return
        try:
            self.keeper.keep()
        except WorkbenchError as error:
            self.log_of_actions.add("# saving the place", error.message, failed=True)


def _end_with_terminal() -> None:
    """End the program when its terminal is gone and no signal said so, as where it leads no session.

    Writing to such a terminal fails, and what waits for that to be written waits for ever.
    """
    terminal = select.poll()
    terminal.register(sys.__stdin__ or 0, 0)  # a hang-up is always reported
    if any(happened & select.POLLHUP for _, happened in terminal.poll()):
        os.kill(os.getpid(), signal.SIGHUP)
        time.sleep(_AGAIN)  # the place is kept meanwhile, if the loop still turns
        os._exit(128 + signal.SIGHUP)
