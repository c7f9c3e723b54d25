"""Where curated records come from and go to, and how drafts of entries get there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic

from workbench.curation.folding import LedgerReader, read_ledger
from workbench.curation.ledger import L, Ledger
from workbench.curation.records import AUTOMATIC, EntryDraft
from workbench.ports import Entry, Journal, Verbatim
from workbench.records.dataclass import dataclass
from workbench.records.ids import new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationStore(Generic[L]):
    """The journals of a project and of its user. `lock` is held while they are read and written.

    What was folded once is not folded again as long as the store lives, and of what is kept of it by `latest`
    and `publish`, the current generation of a kind and a new one, other processes only fold the rest.
    `peers` are the journals of a team's other machines, by the machines' ids; None where no team is used.
    `names` are what people call these machines, `machine` is the id of this one.
    """

    project_id: str
    journal: Journal
    home_journal: Journal
    latest: Callable[[str], Path | None]
    publish: Callable[[str, Callable[[Path], None]], Path]
    lock: Callable[[str], AbstractContextManager[None]]
    now: Callable[[], float]
    count_tokens: Callable[[str], int]
    peers: Callable[[], Mapping[str, Journal] | None] = lambda: None
    names: Callable[[], Mapping[str, str]] = dict
    machine: Callable[[], str] = str
    _reader: list[LedgerReader[L]] = field(init=False, default_factory=list, repr=False, compare=False)

    def empty_ledger(self) -> L:
        """Return a ledger without entries."""
        raise NotImplementedError

    @property
    def journals(self) -> tuple[tuple[Journal, bool], ...]:
        """The journals that are written here, with whether they are the home's."""
        return (self.journal, False), (self.home_journal, True)

    @property
    def all_journals(self) -> tuple[tuple[Journal, bool], ...]:
        """The same with those of a team's other machines."""
        return (*self.journals, *((journal, False) for journal in self.team.values()))

    @property
    def team(self) -> Mapping[str, Journal]:
        """The journals of a team's other machines, empty without a team."""
        return self.peers() or {}

    @property
    def reader(self) -> LedgerReader[L]:
        """What folds the journals, each entry once."""
        if not self._reader:
            kept = (self.latest, self.publish)
            self._reader.append(LedgerReader(self.empty_ledger, self.journals, *kept, lambda: self.team))
        return self._reader[0]

    @property
    def team_reader(self) -> LedgerReader[L]:
        """What folds the journals of all machines, in the order that is the same on each."""
        return self.reader

    def ledger(self, until: str = "") -> L:
        """Return the fold of the journals, up to and with a moment (ISO 8601). Raises: StoreError."""
        return read_ledger(self.empty_ledger, self.all_journals, until) if until else self.reader.ledger()

    def moment(self) -> str:
        """Return the time as records carry it."""
        return datetime.fromtimestamp(self.now(), UTC).isoformat(timespec="seconds")


def record(store: CurationStore[Any], drafts: Sequence[EntryDraft], *, by: str, sync: bool = True) -> None:
    """Write drafts, those of a journal in one piece, into the stream of its first one.

    In a team their step is this machine's, and they say what somebody had seen who decides. The caller holds
    the lock. Raises: StoreError, and then nothing is written of the journal that refused.
    """
    if store.peers() is not None:
        from workbench.curation.concurrency import bind_drafts, mark_drafts  # where a team is used

        drafts = bind_drafts(drafts, store.machine())
        if not by.startswith(AUTOMATIC):
            drafts = store.team_reader.read(lambda ledger: mark_drafts(ledger, drafts))
    for journal, home in store.journals:
        mine = [draft for draft in drafts if draft.home is home]
        if mine:
            entries = [(one.kind, Verbatim(one.body) if one.verbatim else one.body) for one in mine]
            journal.append_all(mine[0].stream, entries, by=by, sync=sync)


def preview(store: CurationStore[Any], drafts: Iterable[EntryDraft], *, by: str, ledger: Ledger[Any]) -> None:
    """Bring drafts into a ledger without writing them."""
    at = datetime.fromtimestamp(store.now(), UTC).isoformat(timespec="microseconds")[:-6] + "Z"
    for draft in drafts:
        ledger.take(Entry(new_id(), at, draft.kind, by, draft.body), draft.home)
