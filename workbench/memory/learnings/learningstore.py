"""Where the learnings of a project and of its user come from and go to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Final

from workbench.curation.store import CurationStore
from workbench.memory.learnings.kinds import STREAMS
from workbench.memory.learnings.pairs import PairCache
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from workbench.memory.learnings.ledger import LearningLedger
    from workbench.rules.curation.rulestore import RuleStore

LOCK: Final = "learnings"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningStore(CurationStore["LearningLedger"]):
    """Where learnings come from and go to.

    `rules` opens the store of rules, into which learnings are promoted. `collisions` finds the pairs of texts
    that repeat or contradict each other and remembers them.
    """

    rules: Callable[[], RuleStore]
    collisions: PairCache = field(default_factory=PairCache, compare=False)

    def empty_ledger(self) -> LearningLedger:
        """Return a ledger without learnings."""
        from workbench.memory.learnings.ledger import LearningLedger  # plans do without

        return LearningLedger()

    def ledger(self, until: str = "") -> LearningLedger:
        """Return the fold of the journals, up to and with a moment; a much longer one than is saved is saved.

        Raises: StoreError.
        """
        found = CurationStore.ledger(self, until)
        if not until:
            self.reader.save()
        return found

    def revision(self) -> str:
        """Return a short text that differs when what the journals say differs."""
        found = []
        for journal, _ in self.all_journals:
            streams = [stream for stream in journal.streams() if stream.startswith(STREAMS)]
            found.append(",".join(f"{stream}={journal.revision(stream)}" for stream in streams))
        return ";".join(found)


def store_of(rules: RuleStore) -> LearningStore:
    """Return the store of learnings beside a store of rules: the same journals, lock and clock."""
    return LearningStore(
        project_id=rules.project_id,
        journal=rules.journal,
        home_journal=rules.home_journal,
        latest=rules.latest,
        publish=rules.publish,
        lock=rules.lock,
        now=rules.now,
        count_tokens=rules.count_tokens,
        peers=rules.peers,
        names=rules.names,
        machine=rules.machine,
        rules=lambda: rules,
        collisions=PairCache(rules.latest, rules.publish),
    )
