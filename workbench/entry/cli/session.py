"""A project opened for a command: its settings, its progress line and its measurement.

Commands about rules or learnings alone open those: neither index nor model nor history is needed for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from workbench.entry.cli.frame import Invocation, current
from workbench.entry.project import OpenedProject, open_project, open_workspace
from workbench.entry.services.metrics import Measured, measure
from workbench.ports import REBUILD_WATCHER
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from workbench.config import Config
    from workbench.memory.learnings.learningstore import LearningStore
    from workbench.memory.learnings.service import LearningService
    from workbench.records.rules import Rule
    from workbench.rules.curation.curator import Curator
    from workbench.rules.curation.rulestore import RuleStore
    from workbench.rules.keptbook import Rulebook
    from workbench.sessions.episodes import EpisodeService
    from workbench.stash.service import StashService


@dataclass(frozen=True, slots=True)
class Session:
    """What a command works with. `progress` draws a line on stderr once the work takes a second."""

    here: Invocation
    opened: OpenedProject
    measurement: Measured
    progress: Callable[[str, int, int], None]

    def show_notes(self) -> None:
        """Say on stderr what is missing or elsewhere than usual: no history, state in the user's home."""
        for note in self.opened.workspace.adapters.notes:
            self.here.note(note)


@contextmanager
def _measure(here: Invocation, opened: OpenedProject, operation: str) -> Iterator[Measured]:
    """Measure and record what is done in a project, and warn where it could not be recorded; close it.

    A rebuild of the tables shows how far it is, in bytes of journals.
    """
    with (
        here.out.progress("Rebuilding the tables") as line,
        closing(opened),
        measure(opened, operation) as measurement,
    ):
        before = REBUILD_WATCHER.set(line)
        try:
            yield measurement
        finally:
            REBUILD_WATCHER.reset(before)
    if measurement.note:
        here.out.warn(measurement.note)


@contextmanager
def session(operation: str, **flags: object) -> Iterator[Session]:
    """Open the project, and measure and record what is done in it.

    `flags` are settings a command's options decide (`plan__budget=3000`). Raises: WorkbenchError.
    """
    here = current()
    with _session(here, open_project(here.project, here.settings(**flags).config), operation) as found:
        yield found


@contextmanager
def workspace_session(operation: str) -> Iterator[Session]:
    """Open the project for what asks its files alone: no model is loaded. Raises: WorkbenchError."""
    here = current()
    with _session(here, open_workspace(here.project, here.settings().config), operation) as found:
        yield found


@contextmanager
def _session(here: Invocation, opened: OpenedProject, operation: str) -> Iterator[Session]:
    with _measure(here, opened, operation) as measurement, here.out.progress("Working") as line:
        yield Session(
            here, opened, measurement, lambda stage, done, total: line(done, total, stage.capitalize())
        )


def episode_service_of(here: Invocation) -> EpisodeService:
    """Return where the project's sessions are recorded. Raises: WorkbenchError."""
    from workbench.entry.services.episodes import episode_service

    return episode_service(here.project, here.settings().config, "cli")


@dataclass(frozen=True, slots=True)
class RuleSession:
    """What a command about rules works with: the rules in force and where they come from and go to."""

    here: Invocation
    config: Config
    opened: OpenedProject
    measurement: Measured
    store: RuleStore
    book: Rulebook

    @property
    def service(self) -> Curator:
        """The service that changes rules."""
        from workbench.rules.curation.curator import Curator

        return Curator(self.store, "cli", self.opened.workspace.rule_files)


@contextmanager
def rule_session(operation: str, **flags: object) -> Iterator[RuleSession]:
    """Open the rules of the project, synced with its rule files, without indexing anything.

    What is odd about them is reported on stderr afterwards. `flags` as for `session`. Raises: WorkbenchError.
    """
    here = current()
    config = here.settings(**flags).config
    opened = open_workspace(here.project, config)
    with _measure(here, opened, operation) as measurement:
        book, notes = opened.workspace.sync_rules()
        measurement.note_saved(renewed=book.renewed)
        measurement.candidates = len(book.rules)
        yield RuleSession(here, config, opened, measurement, opened.workspace.rule_store(), book)
    for note in notes:
        here.out.warn(note)


@contextmanager
def past_session(until: str) -> Iterator[RuleSession]:
    """Open the rules as they were at a moment (ISO 8601 in UTC), with their use until then.

    The journals alone say so: rule files are not looked at. Raises: WorkbenchError.
    """
    from workbench.rules.curation.ledger import with_use
    from workbench.rules.keptbook import Rulebook
    from workbench.rules.rulebook import visible_rules
    from workbench.rules.ruleset import rule_set

    here = current()
    config = here.settings().config
    opened = open_workspace(here.project, config)
    with _measure(here, opened, "rules") as measurement:
        store = opened.workspace.rule_store()
        counts = store.usage(until)
        found = visible_rules(
            store.ledger(until).with_places().values(), store.project_id, home=store.home is not None
        )
        rules = tuple(with_use(rule, counts) for rule in found)
        measurement.candidates = len(rules)
        yield RuleSession(here, config, opened, measurement, store, Rulebook(rule_set(rules), until))


def report_files(work: RuleSession, rules: Iterable[Rule]) -> None:
    """Say which of the rules' files do not have what was just decided. Raises: StoreError."""
    from workbench.rules.files.drift import files_behind

    for file in files_behind(work.store, work.opened.workspace.rule_files, rules):
        work.here.out.say(f"{file} is out of date: `workbench rules drift` shows what is to be written")


@dataclass(frozen=True, slots=True)
class LearningSession:
    """What a command about learnings works with."""

    here: Invocation
    opened: OpenedProject
    measurement: Measured
    store: LearningStore
    service: LearningService


@contextmanager
def learning_session(operation: str) -> Iterator[LearningSession]:
    """Open the learnings of the project and of its user. Raises: WorkbenchError."""
    from workbench.memory.learnings.learningstore import store_of
    from workbench.memory.learnings.service import LearningService

    here = current()
    opened = open_workspace(here.project, here.settings().config)
    with (
        _measure(here, opened, operation) as measurement,
        here.out.progress("Comparing learnings of a feature") as line,
    ):
        store = store_of(opened.workspace.rule_store())
        store.collisions.progress = line
        yield LearningSession(here, opened, measurement, store, LearningService(store, "cli"))


@dataclass(frozen=True, slots=True)
class StashSession:
    """What a command about the stash works with."""

    here: Invocation
    opened: OpenedProject
    measurement: Measured
    service: StashService


@contextmanager
def stash_session(operation: str) -> Iterator[StashSession]:
    """Open the stash of the project. Raises: WorkbenchError."""
    from workbench.entry.services.stash import stash_service

    here = current()
    opened = open_workspace(here.project, here.settings().config)
    with _measure(here, opened, operation) as measurement:
        yield StashSession(here, opened, measurement, stash_service(opened, "cli"))
