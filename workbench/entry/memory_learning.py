"""Where recording meets learning: what is called with each iteration once it is in the journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workbench.entry.memory_place import MemoryPlace
from workbench.memory.iterations import Digested
from workbench.memory.learnings.accumulating import accumulate
from workbench.memory.learnings.learningstore import LearningStore
from workbench.records.iterations import IterationRecord
from workbench.records.learnings import FeatureLearning
from workbench.rules.curation.ledger import read_ledger
from workbench.rules.curation.rulestore import RuleStore


def learning(place: MemoryPlace) -> Callable[[IterationRecord, Digested], Sequence[FeatureLearning]]:
    """Return what learns from an iteration of a project and gives the learnings it added."""
    store = learning_store(place)

    def learn(record: IterationRecord, found: Digested) -> Sequence[FeatureLearning]:
        ledger = read_ledger(((store.journal, False), (store.home_journal, True)))
        rules = [rule.rule for rule in ledger.live.values()]
        entries = place.feature(record.feature).entries
        before = [one.record for one in entries if one.record.iteration_number < record.iteration_number]
        done = accumulate(record, found.extraction, found.raw, store, before=before, rules=rules)
        return (*done.added, *done.conflicts)

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
    from workbench.entry.bootstrap import open_workspace

    return open_workspace(place.root, load(project=place.root).config).workspace.rule_store()
