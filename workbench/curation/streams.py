"""The streams of a type of record, read in the order of their journals, each line once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Any

from workbench.curation.recordtype import RecordType
from workbench.curation.saved import StreamPlace
from workbench.errors import JournalError
from workbench.ports import Entry, Journal
from workbench.records.dataclass import dataclass

Place = tuple[str, int, str]
"""Where an entry is in the order of all: by its id, its journal and its stream."""


class StreamReplaced(Exception):
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

        Raises: StreamReplaced if the stream is not the one that was read before; StoreError.
        """
        revision = self.journal.revision(self.name)
        if revision == self.revision:
            return  # most machines of a team have written nothing since
        entries = self.journal.read(self.name, self.start)
        if self.last:
            try:
                known = next(entries, None)
            except JournalError as error:
                raise StreamReplaced from error
            if known is None or known[1].id != self.last:
                raise StreamReplaced
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
