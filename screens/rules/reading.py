"""What the screen reads of rules: the rules in force, their history, their use. Asked in jobs only."""

from __future__ import annotations

from dataclasses import dataclass

from screens.engine import Engine
from screens.jobs import Job
from screens.rules.telling import summary
from workbench.rules.curation.differences import Told, story
from workbench.rules.curation.ledger import RuleLedger, Use, read_uses
from workbench.rules.curation.versions import past_ids
from workbench.rules.rulebook import Rulebook


@dataclass(frozen=True, slots=True)
class Loaded:
    """The rules in force, how many there are in a line, and what is odd about their files."""

    book: Rulebook
    summary: str
    warnings: tuple[str, ...] = ()

    @property
    def odd(self) -> str:
        """What is odd in one note: many at once would cover what they are about."""
        if not self.warnings:
            return ""
        first, more = self.warnings[0], len(self.warnings) - 1
        return f"{first}\n… and {more:,} more: `workbench rules list` tells them" if more else first


class Library:
    """Reads rules; keeps the fold of the journals for as long as they stay the same."""

    def __init__(self) -> None:
        self._ledger: tuple[str, RuleLedger] | None = None

    def read(self, engine: Engine, job: Job) -> Loaded:
        """Return the rules in force, in step with their files. Raises: WorkbenchError."""
        with engine.rules("rules", job.progress) as work:
            book, notes = work.book, work.notes
        return Loaded(book, summary(book), tuple(dict.fromkeys((*notes, *book.warnings))))

    def story(self, engine: Engine, identifier: str, job: Job) -> tuple[Told, ...]:
        """Return what was done to a rule and its earlier versions, oldest first. Raises: WorkbenchError."""
        ledger = self._fold(engine, job)
        return story(ledger, identifier)

    def uses(self, engine: Engine, identifier: str, job: Job) -> tuple[Use, ...]:
        """Return every use of a rule and its earlier versions. Raises: WorkbenchError."""
        ledger = self._fold(engine, job)
        rule = ledger.current(identifier)
        wanted = {identifier} if rule is None else {rule.id, *past_ids(rule)}
        with engine.workspace(job.progress) as opened:
            store = opened.workspace.rule_store()
            return tuple(
                use for use in read_uses((store.journal, store.home_journal)) if use.rule_id in wanted
            )

    def _fold(self, engine: Engine, job: Job) -> RuleLedger:
        with engine.workspace(job.progress) as opened:
            store = opened.workspace.rule_store()
            stamp = f"{store.journal.revision('rules')} {store.home_journal.revision('rules')}"
            if self._ledger is None or self._ledger[0] != stamp:
                self._ledger = stamp, store.ledger()
            return self._ledger[1]
