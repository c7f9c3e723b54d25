"""The journals of a record type folded into a ledger: as a whole, or again and again, each line once.

Streams of several journals are merged by their entries' ids. A `LedgerReader` begins with what was saved
of an earlier fold and folds what was appended since; what does not follow on that is folded as a whole.

Journals of a team's other machines arrive late: with entries that come before some that are folded already. A
fold of those is therefore kept in two parts, a base and the entries after it. What arrives late is put among
these, and they are folded again onto a copy of the base.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from heapq import merge
from pathlib import Path
from threading import RLock
from typing import Any, Final, Generic, TypeVar

from workbench.curation.ledger import L
from workbench.curation.records import RecordType
from workbench.curation.saved import SavedFold, StreamPlace, open_fold, write_fold
from workbench.errors import JournalError, StoreError
from workbench.ports import Entry, Journal
from workbench.records.dataclass import dataclass
from workbench.records.ids import new_id

FEW: Final = 1_000
"""Entries that are folded again by every process: some 25 ms."""
_PART: Final = 20
"""And if more were saved, this part of them: saving takes as long as there is to save."""
_FILE: Final = "fold"
RECENT: Final = 1_000
"""Entries of a team after the base of a fold, at least: what arrives so late costs no more than these."""
LATELY: Final = 64
"""Entries of a team after which the fold is kept beside: what arrives late is late by few of them."""
_FORKED: Final = 200
"""Records for each of which so many entries are folded as fast as all are copied."""
_REFOLDS: Final = 256
"""Refolds that are remembered."""

Found = TypeVar("Found")

Place = tuple[str, int, str]
"""Where an entry is in the order of all: by its id, its journal and its stream."""


class _Replaced(Exception):
    """A stream was replaced since it was read: all is to be read again."""


@dataclass(slots=True)
class StreamReader:
    """Where the reading of a stream has come to: its last entry, where that begins and ends, its sort key."""

    journal: Journal
    number: int
    name: str
    home: bool
    start: int = 0
    end: int = 0
    last: str = ""
    key: str = ""
    revision: str = ""

    def read(self, kinds: frozenset[str]) -> Iterator[tuple[Place, Entry, bool]]:
        """Yield (place, entry, home) of what was appended since the last time, of some kinds.

        Raises: _Replaced if the stream is not the one that was read before; StoreError.
        """
        revision = self.journal.revision(self.name)
        if revision == self.revision:
            return  # most machines of a team have written nothing since
        entries = self.journal.read(self.name, self.start)
        if self.last:
            try:
                known = next(entries, None)
            except JournalError as error:
                raise _Replaced from error
            if known is None or known[1].id != self.last:
                raise _Replaced
        for following, entry in entries:
            self.start, self.end, self.last = self.end, following, entry.id
            # The clock of a writer may have gone back: what comes later in a stream happened later.
            self.key = max(self.key, entry.id)
            if entry.kind in kinds:
                yield (self.key, self.number, self.name), entry, self.home
        self.revision = revision

    def place(self) -> StreamPlace:
        """Return up to where the stream is read, with the checksum of that part. Raises: StoreError."""
        crc = self.journal.checksum(self.name, self.end)
        return StreamPlace(self.number, self.name, self.start, self.end, self.last, self.key, crc)


@dataclass(frozen=True, slots=True)
class _Taken:
    """An entry after the base of a fold, and up to where its stream was read with it."""

    place: Place
    entry: Entry
    home: bool
    stream: tuple[int, int, str, str]


@dataclass(frozen=True, slots=True)
class _Checkpoint(Generic[L]):
    """The fold of a base and of the first `count` of the entries after it, of which `place` is the last."""

    ledger: L
    place: Place
    count: int


@dataclass(frozen=True, slots=True)
class Refold:
    """What became of a ledger that was folded again: up to `progress` it stayed, `ids` were changed after.

    `progress` is as in `Ledger.progress`; `ids` are those of records that the ledger before had changed.
    """

    progress: tuple[int, ...]
    ids: frozenset[str]


class LedgerReader(Generic[L]):
    """Folds the journals of a project and of its user (given with `home`), again and again, each line once.

    `empty` makes a ledger without entries. `latest` and `publish` keep a generation of a kind: what was
    folded is saved there by `save`. `peers` are the journals of a team's other machines, by machine.
    Any number of threads may use it. `folded` counts the entries that were brought into ledgers so far;
    `lineage` is of ledgers that go on from one another, in any process.
    """

    def __init__(
        self,
        empty: Callable[[], L],
        journals: Sequence[tuple[Journal, bool]],
        latest: Callable[[str], Path | None] = lambda kind: None,
        publish: Callable[[str, Callable[[Path], None]], object] | None = None,
        peers: Callable[[], Mapping[str, Journal]] = dict,
    ) -> None:
        self._empty = empty
        self._journals = tuple(journals)
        self._find = latest
        self._publish = publish
        self._peers = peers
        self._lock = RLock()  # who reads may ask what was folded again
        self._streams: dict[tuple[int, str], StreamReader] = {}
        self._machines: list[str] = []  # in the order in which they came
        self._ledger: L | None = None
        self._latest: Place = ("", 0, "")
        self._entries = 0  # that the ledger is the fold of
        self._saved = 0
        self._base: L | None = None  # of a team
        self._based: Place = ("", 0, "")
        self._ends: dict[tuple[int, str], StreamReader] = {}  # up to where the base has the streams
        self._recent: list[_Taken] = []
        self._checkpoints: list[_Checkpoint[L]] = []  # two at most, after the base
        self._refolds: deque[Refold] = deque(maxlen=_REFOLDS)
        self._refolded = 0
        self.folded = 0
        self.lineage = ""

    def ledger(self) -> L:
        """Return the fold of the journals as they are now, for the caller alone. Raises: StoreError."""
        return self.read(lambda ledger: ledger.fork())

    def read(self, work: Callable[[L], Found]) -> Found:
        """Return what `work` finds in the fold of the journals as they are now, and must not change.

        Nothing is copied: it is for types of which there are very many. Raises: StoreError; what `work` does.
        """
        with self._lock:
            # Folded again if it fails half-way.
            ledger, self._ledger = self._ledger or self._open_saved(), None
            try:
                found = None if ledger is None else self._fold(ledger)
            except _Replaced:
                found = None
            if found is None:
                found = self._fold(self._begin())
            assert found is not None  # nothing comes before nothing
            found.refolds = self._refolded
            self._ledger = found
            return work(found)

    def refolds(self, since: int, until: int) -> list[Refold] | None:
        """Return what was folded again between ledgers with so many `refolds`; None if that is forgotten."""
        with self._lock:
            known = list(self._refolds)
            first = self._refolded - len(known)
        return known[since - first : until - first] if first <= since <= until else None

    def forget(self) -> None:
        """Fold everything the next time, whatever was saved, and save that."""
        with self._lock:
            self._ledger = self._begin()
            self._saved = -FEW

    def save(self) -> None:
        """Save the fold if much was folded since the last one that was saved; nobody waits for it.

        What cannot be written is folded again. Raises: StoreError for what cannot be read.
        """
        with self._lock:
            ledger, entries, latest, streams = self._ledger, self._entries, self._latest, self._streams
            if ledger is not None and self._base is not None:
                entries -= len(self._recent)
                ledger, latest, streams = self._base, self._based, self._ends
            since = entries - self._saved
            if self._publish is None or ledger is None or since < max(FEW, self._saved // _PART):
                return
            self._saved = entries
            state = (latest, entries, self.lineage, tuple(self._machines))
            read = [replace(stream) for stream in streams.values()]
            copied = ledger.fork()
        fold = SavedFold(copied, tuple(stream.place() for stream in read), *state)
        with suppress(StoreError):
            self._publish(_kind(copied.type), lambda directory: write_fold(directory / _FILE, fold))

    def _begin(self) -> L:
        """Return a ledger to fold everything into."""
        self._streams, self._latest, self.lineage = {}, ("", 0, ""), new_id()
        self._entries = self._saved = 0
        self._machines, self._base, self._recent, self._checkpoints = [], None, [], []
        self._refolds.clear()
        self._refolded += 1
        return self._empty()

    def _open_saved(self) -> L | None:
        """Return what was saved if the journals still begin with what it is the fold of."""
        empty = self._begin()
        directory = self._find(_kind(empty.type))
        fold = None if directory is None else open_fold(directory / _FILE, empty)
        if fold is None:
            return None
        journals = self._journals_by_number(fold.machines)
        for at in fold.streams:
            journal, home = journals.get(at.number, (None, False))
            if journal is None or journal.checksum(at.name, at.end) != at.checksum:
                return None
            reader = StreamReader(journal, at.number, at.name, home, at.start, at.end, at.last, at.key)
            self._streams[at.number, at.name] = reader
        self._latest, self._entries, self._saved = fold.latest, fold.entries, fold.entries
        self.lineage, self._machines = fold.lineage, list(fold.machines)
        return fold.ledger

    def _journals_by_number(self, machines: Sequence[str]) -> dict[int, tuple[Journal, bool]]:
        """Return the journals by their numbers, those of machines that are there no more left out."""
        found = dict(enumerate(self._journals))
        peers = self._peers() if machines else {}
        first = len(self._journals)
        return found | {
            number: (peers[name], False) for number, name in enumerate(machines, first) if name in peers
        }

    def _fold(self, ledger: L) -> L | None:
        """Return the ledger with what was appended; None if some of it comes before what stays folded."""
        peers = self._peers()
        if not peers and not self._machines:
            streams = merge_streams(self._open(ledger, {}), ledger.type.kinds)
            for place, entry, home in streams:
                if place < self._latest:
                    return None
                self._latest = place
                self._take(ledger, entry, home)
                self._entries += 1
            return ledger
        if not peers.keys() >= set(self._machines):
            return None
        self._machines += [name for name in peers if name not in self._machines]
        return self._fold_team(ledger, peers)

    def _fold_team(self, ledger: L, peers: Mapping[str, Journal]) -> L | None:
        """Fold onto the base what comes after it: the last entries again where one comes before some."""
        if self._base is None:
            self._base, self._based, self._recent = ledger, self._latest, []
            self._ends = {key: replace(stream) for key, stream in self._streams.items()}
        late: Place | None = None
        for place, entry, home in merge_streams(self._open(ledger, peers), ledger.type.kinds):
            if place < self._based:
                return None
            stream = self._streams[place[1], place[2]]
            taken = _Taken(place, entry, home, (stream.start, stream.end, stream.last, stream.key))
            self._entries += 1
            if place < self._latest:
                late = min(place, late or place)
            self._latest = max(self._latest, place)
            insort(self._recent, taken, key=lambda one: one.place)
            if ledger is not self._base and late is None:
                self._take(ledger, entry, home)
                self._keep_checkpoint(ledger, len(self._recent))
            if len(self._recent) > 2 * RECENT:
                self._settle(self._base)
        return self._refold(ledger, late) if ledger is self._base or late is not None else ledger

    def _refold(self, before: L, late: Place | None) -> L:
        """Return the fold of all entries from the last checkpoint, or the base, before a late one on."""
        assert self._base is not None
        self._checkpoints = [one for one in self._checkpoints if late is not None and one.place < late]
        at = self._checkpoints[-1] if self._checkpoints else _Checkpoint(self._base, self._based, 0)
        progress = at.ledger.progress
        if late is not None:
            if late <= self._based:  # it is in the base by now, which is none of the ledger before
                self._refolds.clear()
            else:
                self._refolds.append(Refold(progress, frozenset(before.ids_since(progress))))
            self._refolded += 1
        whole = at.ledger.fork()
        whole.lasting = self._base.progress
        for count, taken in enumerate(self._recent[at.count :], start=at.count + 1):
            self._take(whole, taken.entry, taken.home)
            if count > len(self._recent) - 2 * LATELY:
                self._keep_checkpoint(whole, count)
        return whole

    def _keep_checkpoint(self, ledger: L, count: int) -> None:
        """Keep the fold of the first `count` recent entries beside, seldom where copying it takes long."""
        last = self._checkpoints[-1].count if self._checkpoints else 0
        if count - last >= max(LATELY, len(ledger.versions) // _FORKED):
            self._checkpoints.append(_Checkpoint(ledger.fork(), self._recent[count - 1].place, count))
            del self._checkpoints[:-2]

    def _settle(self, base: L) -> None:
        """Bring all but the last of the recent entries into the base."""
        settled = len(self._recent) - RECENT
        for one in self._recent[:settled]:
            self._take(base, one.entry, one.home)
            _, number, name = self._based = one.place
            stream = self._streams[number, name]
            start, end, last, key = one.stream
            self._ends[number, name] = replace(stream, start=start, end=end, last=last, key=key)
        del self._recent[:settled]
        moved = (replace(checkpoint, count=checkpoint.count - settled) for checkpoint in self._checkpoints)
        self._checkpoints = [one for one in moved if one.count > 0]

    def _take(self, ledger: L, entry: Entry, home: bool) -> None:
        self.folded += 1
        ledger.take(entry, home)

    def _open(self, ledger: L, peers: Mapping[str, Journal]) -> list[StreamReader]:
        journals = (*self._journals, *((peers[name], False) for name in self._machines))
        for stream in open_streams(ledger.type, journals):
            self._streams.setdefault((stream.number, stream.name), stream)
        return list(self._streams.values())


def _kind(kind: RecordType[Any]) -> str:
    return f"{kind.noun}_fold"


def read_ledger(empty: Callable[[], L], journals: Sequence[tuple[Journal, bool]], until: str = "") -> L:
    """Fold journals, given with whether they are the home's, up to and with the moment `until` (ISO 8601).

    Raises: StoreError.
    """
    ledger = empty()
    for _, entry, home in merge_streams(open_streams(ledger.type, journals), ledger.type.kinds):
        if not until or entry.at <= until:
            ledger.take(entry, home)
    return ledger


def open_streams(kind: RecordType[Any], journals: Sequence[tuple[Journal, bool]]) -> list[StreamReader]:
    """Return readers of all streams that hold records of a type."""
    return [
        StreamReader(journal, number, name, home)
        for number, (journal, home) in enumerate(journals)
        for name in kind.streams(journal)
    ]


def merge_streams(
    streams: Sequence[StreamReader], kinds: frozenset[str]
) -> Iterator[tuple[Place, Entry, bool]]:
    """Yield (place, entry, home) of what is new in streams, in order, of some kinds of entries."""
    return merge(*(stream.read(kinds) for stream in streams), key=lambda item: item[0])
