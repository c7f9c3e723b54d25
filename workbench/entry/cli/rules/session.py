"""The rules of a project opened for a command: no model, no index and no history are needed for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from workbench.config import Config
from workbench.entry.cli.frame import Invocation, current
from workbench.entry.project import OpenedProject, open_workspace
from workbench.entry.services.metrics import Measured, measure
from workbench.records.rules import Rule
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.ledger import used
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.matching.lexical import index_words
from workbench.rules.rulebook import Rulebook, visible_rules


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
        return Curator(self.store, "cli", self.opened.workspace.rule_files)


@contextmanager
def rule_session(operation: str, **flags: object) -> Iterator[RuleSession]:
    """Open the rules of the project, synced with its rule files, without indexing anything.

    What is odd about them is reported on stderr afterwards. `flags` as for `session`. Raises: WorkbenchError.
    """
    here = current()
    config = here.settings(**flags).config
    opened = open_workspace(here.project, config)
    with measure(opened, operation) as measurement:
        book, notes = opened.workspace.sync_rules()
        measurement.candidates = len(book.rules)
        yield RuleSession(here, config, opened, measurement, opened.workspace.rule_store(), book)
    for note in notes:
        here.out.warn(note)
    if measurement.note:
        here.out.warn(measurement.note)


@contextmanager
def past_session(until: str) -> Iterator[RuleSession]:
    """Open the rules as they were at a moment (ISO 8601 in UTC), with their use until then.

    The journals alone say so: rule files are not looked at. Raises: WorkbenchError.
    """
    here = current()
    config = here.settings().config
    opened = open_workspace(here.project, config)
    with measure(opened, "rules") as measurement:
        store = opened.workspace.rule_store()
        counts = store.usage(until)
        found = visible_rules(store, store.ledger(until).placed().values())
        rules = tuple(used(rule, counts) for rule in found)
        measurement.candidates = len(rules)
        yield RuleSession(here, config, opened, measurement, store, Rulebook(rules, index_words(()), until))
    if measurement.note:
        here.out.warn(measurement.note)


def report_files(work: RuleSession, rules: Iterable[Rule]) -> None:
    """Say which of the rules' files do not have what was just decided. Raises: StoreError."""
    from workbench.rules.files.drift import files_behind

    for file in files_behind(work.store, work.opened.workspace.rule_files, rules):
        work.here.out.say(f"{file} is out of date: `workbench rules drift` shows what is to be written")
