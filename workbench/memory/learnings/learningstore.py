"""Where the learnings of a project and of its user come from and go to, and how entries get there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from workbench.memory.learnings.colliding import Collisions
from workbench.memory.learnings.kinds import STREAMS
from workbench.ports import Entry, Journal
from workbench.records.ids import new_id

if TYPE_CHECKING:
    from workbench.memory.learnings.ledger import Ledger
    from workbench.rules.curation.rulestore import RuleStore

LOCK: Final = "learnings"


@dataclass(frozen=True, slots=True)
class Draft:
    """A journal entry to be written: what is said, of which feature, and whether in the home's journal."""

    kind: str
    body: Mapping[str, Any]
    feature: str
    home: bool


@dataclass(frozen=True, slots=True)
class LearningStore:
    """Where learnings come from and go to. `lock` is held while journals are read and written.

    `rules` opens the store of rules, into which learnings are promoted. `collisions` finds the pairs of texts
    that collide and remembers them.
    """

    project_id: str
    journal: Journal
    home_journal: Journal
    lock: Callable[[str], AbstractContextManager[None]]
    now: Callable[[], float]
    count_tokens: Callable[[str], int]
    rules: Callable[[], RuleStore]
    collisions: Collisions = field(default_factory=Collisions, compare=False)

    def moment(self) -> str:
        """Return the time as learnings carry it."""
        return datetime.fromtimestamp(self.now(), UTC).isoformat(timespec="seconds")

    def ledger(self, until: str = "") -> Ledger:
        """Read the journals, up to and with a moment (ISO 8601). Raises StoreError."""
        from workbench.memory.learnings.ledger import read_ledger

        return read_ledger((self.journal, self.home_journal), until)

    def revision(self) -> str:
        """Return a short text that differs when what the journals say differs."""
        found = []
        for journal in (self.journal, self.home_journal):
            streams = [stream for stream in journal.streams() if stream.startswith(STREAMS)]
            found.append(",".join(f"{stream}={journal.revision(stream)}" for stream in streams))
        return ";".join(found)


def store_of(rules: RuleStore) -> LearningStore:
    """Return the store of learnings beside a store of rules: the same journals, lock and clock."""
    return LearningStore(
        project_id=rules.project_id,
        journal=rules.journal,
        home_journal=rules.home_journal,
        lock=rules.lock,
        now=rules.now,
        count_tokens=rules.count_tokens,
        rules=lambda: rules,
        collisions=Collisions(rules.latest, rules.publish),
    )


def record(store: LearningStore, drafts: Sequence[Draft], *, by: str, sync: bool = True) -> None:
    """Write drafts, those of a journal in one piece, into the stream of the first one's feature.

    The caller holds the lock. Raises: StoreError, and then nothing is written of the journal that refused.
    """
    from workbench.memory.journal import feature_stream

    for journal, home in ((store.journal, False), (store.home_journal, True)):
        mine = [draft for draft in drafts if draft.home is home]
        if mine:
            entries = [(draft.kind, draft.body) for draft in mine]
            journal.append_all(feature_stream(mine[0].feature), entries, by=by, sync=sync)


def imagine(store: LearningStore, drafts: Iterable[Draft], *, by: str, ledger: Ledger) -> None:
    """Bring drafts into a ledger without writing them."""
    from workbench.memory.learnings.ledger import take

    at = datetime.fromtimestamp(store.now(), UTC).isoformat(timespec="microseconds")[:-6] + "Z"
    for draft in drafts:
        take(ledger, Entry(new_id(), at, draft.kind, by, draft.body))
