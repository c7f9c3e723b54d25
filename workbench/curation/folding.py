"""The journals of a record type folded into a ledger: as a whole, or again and again, each line once.

Streams of several journals are merged by their entries' ids. A `LedgerReader` begins with what was saved
of an earlier fold and folds what was appended since; what does not follow on that is folded as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from heapq import merge
from pathlib import Path
from threading import Lock
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

    def read(self, kinds: frozenset[str]) -> Iterator[tuple[Place, Entry, bool]]:
        """Yield (place, entry, home) of what was appended since the last time, of some kinds.

        Raises: _Replaced if the stream is not the one that was read before; StoreError.
        """
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

    def place(self) -> StreamPlace:
        """Return up to where the stream is read, with the checksum of that part. Raises: StoreError."""
        crc = self.journal.checksum(self.name, self.end)
        return StreamPlace(self.number, self.name, self.start, self.end, self.last, self.key, crc)


class LedgerReader(Generic[L]):
    """Folds the journals of a project and of its user (given with `home`), again and again, each line once.

    `empty` makes a ledger without entries. `latest` and `publish` keep a generation of a kind: what was
    folded is saved there by `save`. Any number of threads may use it. `folded` counts the entries that were
    brought into ledgers so far; `lineage` is of ledgers that go on from one another, in any process.
    """

    def __init__(
        self,
        empty: Callable[[], L],
        journals: Sequence[tuple[Journal, bool]],
        latest: Callable[[str], Path | None] = lambda kind: None,
        publish: Callable[[str, Callable[[Path], None]], object] | None = None,
    ) -> None:
        self._empty = empty
        self._journals = tuple(journals)
        self._find = latest
        self._publish = publish
        self._lock = Lock()
        self._streams: dict[tuple[int, str], StreamReader] = {}
        self._ledger: L | None = None
        self._latest = ("", 0, "")
        self._entries = 0  # that the ledger is the fold of
        self._saved = 0
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
            ledger, self._ledger = (
                self._ledger or self._open_saved(),
                None,
            )  # folded again if it fails half-way
            try:
                whole = ledger is not None and self._fold(ledger)
            except _Replaced:
                whole = False
            if ledger is None or not whole:
                ledger = self._begin()
                self._fold(ledger)
            self._ledger = ledger
            return work(ledger)

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
            ledger, since = self._ledger, self._entries - self._saved
            if self._publish is None or ledger is None or since < max(FEW, self._saved // _PART):
                return
            self._saved = self._entries
            streams = [replace(stream) for stream in self._streams.values()]
            state = (self._latest, self._entries, self.lineage)
            copied = ledger.fork()
        fold = SavedFold(copied, tuple(stream.place() for stream in streams), *state)
        with suppress(StoreError):
            self._publish(_kind(copied.type), lambda directory: write_fold(directory / _FILE, fold))

    def _begin(self) -> L:
        """Return a ledger to fold everything into."""
        self._streams, self._latest, self.lineage = {}, ("", 0, ""), new_id()
        self._entries = self._saved = 0
        return self._empty()

    def _open_saved(self) -> L | None:
        """Return what was saved if the journals still begin with what it is the fold of."""
        empty = self._begin()
        directory = self._find(_kind(empty.type))
        fold = None if directory is None else open_fold(directory / _FILE, empty)
        if fold is None:
            return None
        for at in fold.streams:
            journal, home = self._journals[at.number]
            if journal.checksum(at.name, at.end) != at.checksum:
                return None
            reader = StreamReader(journal, at.number, at.name, home, at.start, at.end, at.last, at.key)
            self._streams[at.number, at.name] = reader
        self._latest, self._entries, self._saved = fold.latest, fold.entries, fold.entries
        self.lineage = fold.lineage
        return fold.ledger

    def _fold(self, ledger: L) -> bool:
        """Fold what was appended; False if some of it comes before what is folded already."""
        found = merge_streams(self._open(ledger), ledger.type.kinds)
        for key, entry, home in found:
            if key < self._latest:
                return False
            self._latest = key
            self._entries += 1
            self.folded += 1
            ledger.take(entry, home)
        return True

    def _open(self, ledger: L) -> list[StreamReader]:
        for stream in open_streams(ledger.type, self._journals):
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
