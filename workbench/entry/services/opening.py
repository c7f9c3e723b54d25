"""Which project a directory is in, and a project that a long-lived face keeps open."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Event, RLock
from typing import TYPE_CHECKING, Any, Final, TypeVar

from workbench.errors import ProjectError, UsageError
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.entry.services.metrics import Measured
    from workbench.entry.services.team_exchange import TeamListener

Progress = Callable[[str, int, int], None]
T = TypeVar("T")

CALLER: Final[ContextVar[Progress | None]] = ContextVar("CALLER", default=None)
"""What the call of this thread reports its progress to, where a server keeps the project open."""


class CallEnd(Event):
    """Set once nobody waits for a call any more, which then `then` is called for, too."""

    def __init__(self) -> None:
        super().__init__()
        self._then: Callable[[], object] | None = None

    def then(self, call: Callable[[], object]) -> None:
        """Have a function called when it is set, at once if it is."""
        self._then = call
        if self.is_set():
            call()

    def set(self) -> None:
        """Set it."""
        super().set()
        if self._then is not None:
            self._then()


ENDED: Final[ContextVar[CallEnd | None]] = ContextVar("ENDED", default=None)
"""Set once nobody waits for the call of this thread any more."""


class CallEnded(BaseException):
    """Nobody waits for a call any more: raised where its turn comes and where it reports progress."""


def require_wanted() -> None:
    """Raise CallEnded if nobody waits for the call of this thread any more."""
    ended = ENDED.get()
    if ended is not None and ended.is_set():
        raise CallEnded


def report_progress(stage: str, done: int, total: int) -> None:
    """Report progress to who asked in this thread. Raises: CallEnded."""
    require_wanted()
    caller = CALLER.get()
    if caller is not None:
        caller(stage, done, total)


def find_project(given: str = "", start: Path | None = None) -> Path:
    """Return the directory given, else the nearest upwards with `.git`, else with `.workbench`, else here.

    State that is somebody else's, or that is in the home directory or in one that everybody writes to, is no
    sign of a project for what is below.
    Raises: ProjectError if the given directory does not exist.
    """
    if given:
        path = Path(given).expanduser()
        if not path.is_dir():
            raise ProjectError(f"{given} is not a directory", hint="--project takes the project's root.")
        return path.resolve()
    try:
        here = (start or Path.cwd()).resolve()
    except FileNotFoundError:
        raise ProjectError(
            "The current directory no longer exists", hint="Change to one that does, or pass --project."
        ) from None
    places = (here, *here.parents)
    repository = next((place for place in places if (place / ".git").exists()), None)
    if repository is not None:  # counts before any state, which may be in a directory far above
        return repository
    if (here / ".workbench").exists():
        return here
    return next((place for place in here.parents if _has_state(place)), here)


def _has_state(place: Path) -> bool:
    """Whether a directory outside of any repository holds the state of what is below, too."""
    try:
        state, around = (place / ".workbench").lstat(), place.stat()
    except OSError:
        return False
    own = not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
    shared = around.st_mode & stat.S_IWOTH or place in (Path.home(), Path(place.anchor))
    return stat.S_ISDIR(state.st_mode) and own and not shared


@dataclass(frozen=True, slots=True)
class Operation:
    """A project while something is asked of it, and the measurement of that."""

    project: OpenedProject
    measurement: Measured


class ProjectHost:
    """A project that is kept open: one question at a time, each measured; others wait for their turn.

    `by` is the face that acts. `progress` is called while something takes long, in the thread that asks, with
    a stage and how much of how much is done (0: unknown).
    """

    def __init__(self, project: OpenedProject, by: str, progress: Progress | None = None) -> None:
        self.root = project.root
        self.by = by
        self.progress = progress
        self._project: OpenedProject | None = project
        self._turn = RLock()
        self._listener: TeamListener | None = None
        self._kept: dict[object, Any] = {}

    @property
    def project(self) -> OpenedProject:
        """The project. Raises: UsageError once it is closed."""
        if self._project is None:
            raise UsageError(f"the project {self.root} is closed", hint="Open it again.")
        return self._project

    def close(self) -> None:
        """Free what is held, once nobody asks any more."""
        with self._turn:
            if self._listener is not None:
                self._listener.stop()
            if self._project is not None:
                self._project.close()
            self._project = None

    def keep(self, make: Callable[[ProjectHost], T]) -> T:
        """Return what `make` made of the project when it was first asked for, with its caches."""
        with self._turn:
            found: T = self._kept.get(make) or self._kept.setdefault(make, make(self))
            return found

    @contextmanager
    def operation(self, name: str) -> Iterator[Operation]:
        """Hold the project for an operation that is recorded under a name. Raises: WorkbenchError.

        What could not be recorded of it is reported to the log.
        """
        from workbench.entry.services.metrics import measure

        with self.turn() as project, measure(project, name, self.by) as measurement:
            yield Operation(project, measurement)
        if measurement.note:
            report(measurement.note)

    @contextmanager
    def turn(self) -> Iterator[OpenedProject]:
        """Hold the project for what is no operation and not measured. Raises: UsageError if closed."""
        with self._turn:
            require_wanted()
            self._listener = listener = listen_to_team(self.project, self._listener)
            yield self.project
        if listener is not None:
            listener.notice()


def listen_to_team(project: OpenedProject, listener: TeamListener | None) -> TeamListener | None:
    """Return what keeps the records of a project's team up to date, begun where there is a team by now."""
    if not project.has_team:
        return listener
    if listener is None or not listener.is_listening:
        from workbench.entry.services.team_exchange import TeamListener, is_asked  # where there is a team

        return TeamListener(project) if is_asked() else None
    return listener


def host_project(
    path: Path, settings: Mapping[str, object], by: str, progress: Progress | None = None
) -> ProjectHost:
    """Open the project that a directory is in; `settings` {`section.key`: value} come before all others.

    Its state is found and nothing is read of its files. Raises: ProjectError for no directory and for
    a bare repository; ConfigError; Unasked; StoreError.
    """
    from workbench.config_layers import load
    from workbench.entry.project import open_workspace

    if not path.is_dir():
        raise ProjectError(f"{path} is not a directory", hint="Give one in the project.")
    root = find_project(start=path)
    loaded = load(project=root, flags=settings)
    for warning in loaded.warnings:
        report(warning)
    return ProjectHost(open_workspace(root, loaded.config), by, progress)


def report(sentence: str) -> None:
    """Log what a person should know and no answer holds, as a warning of the logger `workbench`."""
    import logging  # which no command needs

    logging.getLogger("workbench").warning("%s", sentence)
