"""Where recording meets learning: what is called with each iteration once it is in the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from workbench.entry.memory_place import MemoryPlace
from workbench.memory.iterations import Digested
from workbench.memory.learnings.accumulating import Accumulated, accumulate
from workbench.memory.learnings.injected import InjectionReader
from workbench.memory.learnings.learningstore import LearningStore
from workbench.memory.learnings.ledger import LedgerReader
from workbench.records.iterations import IterationRecord

if TYPE_CHECKING:
    from workbench.rules.curation.rulestore import RuleStore


def learning(place: MemoryPlace) -> Callable[[IterationRecord, Digested], Accumulated]:
    """Return what learns from an iteration of a project and says what it did to the learnings.

    It is made for one run: rules and a feature's earlier iterations are read once.
    """
    store = learning_store(place)
    reader = LedgerReader((store.journal, store.home_journal))
    injected = InjectionReader(store.journal)

    @cache
    def known_rules() -> tuple[str, ...]:
        from workbench.curation.ledger import read_ledger
        from workbench.rules.curation.ledger import RuleLedger

        ledger = read_ledger(RuleLedger, ((store.journal, False), (store.home_journal, True)))
        return tuple(rule.rule for rule in ledger.live.values())

    def rules() -> Iterator[str]:
        yield from known_rules()

    @cache
    def iterations(feature: str) -> dict[int, IterationRecord]:
        return {one.record.iteration_number: one.record for one in place.feature(feature).entries}

    def learn(record: IterationRecord, found: Digested) -> Accumulated:
        known = iterations(record.feature)
        before = [known[number] for number in sorted(known) if number < record.iteration_number]
        known[record.iteration_number] = record
        return accumulate(
            record,
            found.extraction,
            found.raw,
            store,
            before=before,
            rules=rules(),
            reader=reader,
            injected=injected,
        )

    return learn


def learning_store(place: MemoryPlace) -> LearningStore:
    """Return where the learnings of a project are; a rule store is opened when it is asked for."""
    return LearningStore(
        project_id=place.project_id,
        journal=place.journal,
        home_journal=place.home_journal,
        lock=place.lock,
        now=place.clock.now,
        count_tokens=len,
        rules=lambda: _rule_store(place),
    )


def _rule_store(place: MemoryPlace) -> RuleStore:
    from workbench.config import load
    from workbench.entry.project import open_workspace

    return open_workspace(place.root, load(project=place.root).config).workspace.rule_store()
