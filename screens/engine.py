"""The engine as screens ask it: one project, opened when first needed, one question at a time each.

Every method here may take long and is called from a job's thread, never from the event loop. Planning and
rules are opened separately, so that browsing rules does not wait for an index that is being built. A thread
watches the revisions of the journals and posts what other processes changed.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from textual.message import Message

from workbench.config import Config
from workbench.config_layers import Settings, load
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from textual.app import App

    from workbench.entry.project import OpenedProject
    from workbench.entry.services.metrics import Measured
    from workbench.entry.services.running import RunningSessions
    from workbench.entry.services.team_exchange import TeamListener
    from workbench.lists.tables import TableRebuild
    from workbench.memory.learnings.service import LearningService
    from workbench.plan.workspace import Progress
    from workbench.rules.curation.curator import Curator
    from workbench.rules.curation.rulestore import RuleStore
    from workbench.rules.keptbook import Rulebook
    from workbench.stash.service import StashService

BY: Final = "tui"


@dataclass(frozen=True, slots=True)
class Planning:
    """A project opened for planning, and the measurement of what is done with it."""

    opened: OpenedProject
    measurement: Measured


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in force, synced with their files, and the service that changes them."""

    opened: OpenedProject
    store: RuleStore
    book: Rulebook
    notes: tuple[str, ...]
    measurement: Measured

    @property
    def curator(self) -> Curator:
        """The service that changes rules in the name of the app."""
        from workbench.rules.curation.curator import Curator

        return Curator(self.store, BY, self.opened.workspace.rule_files)


@dataclass
class AppEngine:
    """A project as the app works with it. `flags` are settings given on the command line."""

    root: Path
    flags: Mapping[str, object] = field(default_factory=dict)
    _plans: threading.Lock = field(default_factory=threading.Lock)
    _rules: threading.Lock = field(default_factory=threading.Lock)
    _opening: threading.Lock = field(default_factory=threading.Lock)
    _opened: OpenedProject | None = None
    _lists: OpenedProject | None = None
    _workspace: OpenedProject | None = None
    _running: RunningSessions | None = None
    _listener: TeamListener | None = None
    follows_transcripts: bool = False
    """Whether somebody looks at running sessions: only then are transcripts looked at for changes."""

    @cached_property
    def settings(self) -> Settings:
        """The settings with the place each came from. Raises: ConfigError."""
        return load(project=self.root, flags=self.flags)

    @property
    def config(self) -> Config:
        """The settings. Raises: ConfigError."""
        return self.settings.config

    @contextmanager
    def open_project(self, progress: Progress | None = None) -> Iterator[OpenedProject]:
        """Hold the project opened for planning, for questions that are no operation and not measured."""
        from workbench.entry.project import open_project

        with _hold_lock(self._plans, progress):
            if self._opened is None:
                self._opened = open_project(self.root, self.config)
            yield self._opened

    @contextmanager
    def planning(self, operation: str, progress: Progress | None = None) -> Iterator[Planning]:
        """Hold the project opened for planning, and record how long `operation` took.

        Nothing is synced with the disk until the caller plans or syncs. `progress` is asked while another
        question is waited for. Raises: WorkbenchError.
        """
        from workbench.entry.services.metrics import measure

        with self.open_project(progress) as opened, measure(opened, operation, BY) as measurement:
            yield Planning(opened, measurement)

    @contextmanager
    def rules(
        self, operation: str, progress: Progress | None = None, *, rebuild: bool = False
    ) -> Iterator[Rules]:
        """Hold the rules synced with their files, and record how long `operation` took.

        Raises: WorkbenchError.
        """
        from workbench.entry.services.metrics import measure

        with _hold_lock(self._rules, progress), _pause_collector():
            opened = self._open_workspace()
            with measure(opened, operation, BY) as measurement:
                book, notes = opened.workspace.sync_rules(rebuild=rebuild)
                measurement.candidates = len(book.rules)
                yield Rules(opened, opened.workspace.rule_store(), book, notes, measurement)

    @contextmanager
    def workspace(self, progress: Progress | None = None) -> Iterator[OpenedProject]:
        """Hold the project without syncing it: for what journals and tables alone answer."""
        with _hold_lock(self._rules, progress), _pause_collector():
            yield self._open_workspace()

    @contextmanager
    def learnings(self, progress: Progress | None = None) -> Iterator[LearningService]:
        """Hold the service that curates learnings in the name of the app. Raises: WorkbenchError."""
        from workbench.entry.services.learnings import learning_service

        with self.workspace(progress) as opened:
            yield learning_service(opened, BY)

    @contextmanager
    def stash(self, progress: Progress | None = None) -> Iterator[StashService]:
        """Hold the service that keeps the stash in the name of the app. Raises: WorkbenchError."""
        from workbench.entry.services.stash import stash_service

        with self.workspace(progress) as opened:
            yield stash_service(opened, BY)

    def lists(self) -> OpenedProject:
        """Return the project whose lists are read, all by one connection to its tables.

        Its tables have locks of their own: who reads them waits neither for a sync nor for a step.
        """
        from workbench.entry.project import open_workspace

        with self._opening:
            if self._lists is None:
                self._lists = open_workspace(self.root, self.config)
                self._lists.kept_tables.keep_attached()
            return self._lists

    def running(self) -> RunningSessions:
        """Return what knows the running sessions, one for all looks: it reads transcripts as they grow."""
        from workbench.entry.services.running import RunningSessions

        if self._running is None:
            self._running = RunningSessions(self.lists())
        return self._running

    def listen(self) -> None:
        """Keep the records of the team up to date from now on, where there is one and it is not done yet."""
        from workbench.entry.services.opening import listen_to_team

        if (opened := self._workspace or self._opened) is not None:
            self._listener = listen_to_team(opened, self._listener)

    def close(self) -> None:
        """Free the connections to tables, without waiting for jobs: who still reads opens one for that."""
        for opened in (self._opened, self._lists, self._workspace):
            if opened is not None:
                opened.close()
        if self._listener is not None:
            self._listener.stop()

    def let_go(self) -> None:
        """Let other processes write to the tables, whatever this one was about to ask."""
        if self._lists is not None:
            self._lists.kept_tables.let_go()

    @property
    def table_rebuild(self) -> TableRebuild | None:
        """The last rebuild of the tables by this app, also while it goes on; waits for nothing."""
        return None if self._lists is None else self._lists.table_rebuild

    def revisions(self) -> Mapping[str, str]:
        """Return {stream: revision} of all journals; it differs when another process wrote something.

        Empty before the project was opened. Takes no lock, so that watching never waits.
        """
        opened = self._workspace or self._opened
        if opened is None:
            return {}
        found = {
            f"{origin}/{name}": journal.revision(name)
            for origin, journal in opened.journals.items()
            for name in journal.streams()
        }
        if self._running is not None and self.follows_transcripts:
            found["agents/transcripts"] = self._running.traces()
        return found

    def _open_workspace(self) -> OpenedProject:
        from workbench.entry.project import open_workspace

        if self._workspace is None:
            self._workspace = open_workspace(self.root, self.config)
        return self._workspace


_MANY: Final = 20_000  # objects from which on looking through all of them is felt


@contextmanager
def _pause_collector() -> Iterator[None]:
    """Keep the collector of garbage away while very many objects are made, and from those that stay.

    It looks through all of them again and again, half a second each time with a hundred thousand rules, in
    which no other thread runs. Rules are in no cycles: they go when nothing refers to them.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > _MANY:
            gc.freeze()
        gc.enable()


_WAIT_EVERY: Final = 0.05  # seconds between two looks whether the one who waits was cancelled


@contextmanager
def _hold_lock(lock: threading.Lock, progress: Callable[[str, int, int], None] | None) -> Iterator[None]:
    """Hold a lock; whoever waits for it with a `progress` can be cancelled meanwhile."""
    if progress is None:
        lock.acquire()
    else:
        while not lock.acquire(timeout=_WAIT_EVERY):
            progress("Waiting", 0, 0)
    try:
        yield
    finally:
        lock.release()


_WATCH_EVERY: Final = 0.5  # seconds


@dataclass
class StoreChanged(Message):
    """Journals changed since the last look; `streams` names them, without where they are."""

    streams: frozenset[str]


class Watcher:
    """Looks at the journals until it is stopped."""

    def __init__(self, app: App[Any], engine: AppEngine) -> None:
        self._app = app
        self._engine = engine
        self._stop = threading.Event()
        self._seen: Mapping[str, str] = {}

    def start(self) -> None:
        """Begin to look."""
        threading.Thread(target=self._run, name="watcher", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()

    def look(self) -> None:
        """Look once, and post what changed since the last time."""
        try:
            now = self._engine.revisions()
        except (WorkbenchError, OSError):
            return  # the store is away for a moment; the question itself will say so when it is asked
        if self._seen and now:
            changed = {name for name in {*now, *self._seen} if now.get(name) != self._seen.get(name)}
            if changed:
                self._app.post_message(StoreChanged(frozenset(name.partition("/")[2] for name in changed)))
        self._seen = now or self._seen

    def _run(self) -> None:
        while not self._stop.wait(_WATCH_EVERY):
            self._engine.listen()
            self.look()
