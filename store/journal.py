"""Journals: append-only JSON lines, the source of truth everything else is projected from.

One file a stream, `<root>/journal/<stream>.jsonl`; one line an entry,
`{"v":1,"id":…,"at":…,"kind":…,"by":…,"body":{…}}`. A batch is one `write` under the stream's lock, so that
the lines of several processes never mix, and it is on disk when `append` returns, unless the caller said it
need not be. A line that a killed writer left unfinished is invisible to readers. The next writer ends it
with a newline, and from then on it is a quarantined line like every other one that cannot be read: skipped,
counted, reported by `verify`.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from store import locks
from store.files import open_state, private_dir, read_state, sync_data, sync_dir, translate_errors
from store.journal_copies import append_lines
from store.journal_files import (
    BINARY,
    LOCK_TIMEOUT,
    ROTATED,
    Rotation,
    is_part,
    lines_between,
    list_streams,
    lock_path,
    readable_end,
    reading_stream,
    rotate,
    stream_path,
    write_lines,
)
from store.journal_lines import (
    FIRST,
    LAST,
    OTHER_VERSION,
    check_batch,
    decode_line,
    encode_line,
    make_entries,
    revision_text,
)
from workbench.errors import JournalError
from workbench.ports import Clock, Entry
from workbench.records.dataclass import dataclass
from workbench.records.ids import IdSource, is_id

PROJECT: Final = "project"
HOME: Final = "home"
HEAD: Final = 256
"""Bytes that distinguish the beginning of a stream from that of another."""
"""Where journals come from; those of a team's machines have the machines' ids."""

_BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A line that cannot be read. `line` is 1-based, 0 where not counted; `offset` is its first byte."""

    stream: str
    line: int
    offset: int
    reason: str

    @property
    def is_later(self) -> bool:
        """Whether another version of the program wrote it, and can read it."""
        return self.reason.startswith(OTHER_VERSION)


class FileJournal:
    """The journals under a state directory (port `Journal`). Any number of processes may use them at once.

    `floor` is a file with an id, if it is there, that all new ids come after.
    """

    def __init__(
        self,
        root: Path,
        clock: Clock,
        *,
        rotated: Mapping[str, Rotation] = ROTATED,
        floor: Path | None = None,
    ) -> None:
        self._root = root
        self._clock = clock
        self._rotated = rotated
        self._floor = floor
        self._ids = IdSource(lambda: int(clock.now() * 1000))

    @property
    def root(self) -> Path:
        """The state directory whose journals these are."""
        return self._root

    def append(
        self, stream: str, kind: str, bodies: Sequence[Mapping[str, Any]], *, by: str, sync: bool = True
    ) -> list[Entry]:
        """Append one entry per body with a single write; on disk when this returns, if `sync`.

        Secrets in texts are masked, whoever wrote them, in all but `Verbatim` bodies. Numbers that are not
        finite become null, as JSON has none of them.
        Raises: JournalError, and then nothing of the batch is in the stream; StoreBusy.
        """
        return self.append_all(stream, [(kind, body) for body in bodies], by=by, sync=sync)

    def sync(self, stream: str) -> None:
        """Bring what was appended without `sync` to disk. Raises: JournalError."""
        path = stream_path(self._root, stream)
        with translate_errors(f"writing the journal {stream}", JournalError):
            descriptor = open_state(path, os.O_RDWR | BINARY)
            try:
                sync_data(descriptor)
            finally:
                os.close(descriptor)
            sync_dir(path.parent)

    def append_all(
        self, stream: str, drafts: Sequence[tuple[str, Mapping[str, Any]]], *, by: str, sync: bool = True
    ) -> list[Entry]:
        """Append entries of several kinds, given as (kind, body), with a single write: all or none.

        Raises as `append`.
        """
        path = stream_path(self._root, stream)
        if not drafts:
            return []
        entries = make_entries(drafts, self._new_ids(len(drafts)), self._clock.now(), by)
        data = b"".join([encode_line(entry) for entry in entries])
        check_batch(stream, len(data))
        private_dir(path.parent)
        with locks.exclusive(self._lock(stream), timeout=LOCK_TIMEOUT):
            if stream in self._rotated:
                rotate(self._root, stream, self._rotated[stream], len(data))
                write_lines(path, data, sync=sync)
            else:
                append_lines(self._root, stream, data, sync=sync)
        return entries

    def read(self, stream: str, start: int = 0) -> Iterator[tuple[int, Entry]]:
        """Yield (offset after the line, entry) from byte `start` to what was the end at the first step.

        Lines that cannot be read are left out here; `scan` yields them too.
        Raises: JournalError if `start` is not the beginning of a line of this stream.
        """
        for _, after, entry in self.scan(stream, start):
            if isinstance(entry, Entry):
                yield after, entry

    def scan(
        self, stream: str, start: int = 0, end: int | None = None
    ) -> Iterator[tuple[int, int, Entry | Quarantined]]:
        """Yield (offset of the line, offset after it, entry or quarantined line) from `start` to `end`."""
        with reading_stream(self._root, stream) as file:
            if file is None:
                return
            stop = self._readable_end(file, stream) if end is None else end
            _check_start(file, stream, start)
            for offset, after, line in lines_between(file, start, stop):
                entry = decode_line(line)
                if isinstance(entry, Entry):
                    yield offset, after, entry
                elif entry:
                    yield offset, after, Quarantined(stream, 0, offset, entry)

    def size(self, stream: str) -> int:
        """Return how many bytes a reader may consume now, 0 for a stream that does not exist."""
        with reading_stream(self._root, stream) as file:
            return 0 if file is None else self._readable_end(file, stream)

    def settled_size(self, stream: str) -> int:
        """Return the size while no writer is at work: what is there now is never rolled back.

        Raises: StoreBusy.
        """
        with locks.exclusive(self._lock(stream), timeout=LOCK_TIMEOUT):
            return self.size(stream)

    def revision(self, stream: str) -> str:
        """Return a short text that differs when what a reader may consume differs.

        Besides the size it holds the first line and the end of the last one, in which the entries' ids are: a
        journal that another one of the same size took the place of has another revision.
        """
        return self._look(stream)[1]

    def _look(self, stream: str) -> tuple[int, str, bytes]:
        """Return the size and the revision of a stream, and its first `HEAD` bytes."""
        with reading_stream(self._root, stream) as file:
            if file is None:
                return 0, "0", b""
            end = self._readable_end(file, stream)
            file.seek(0)
            head = file.read(HEAD)
            file.seek(max(0, end - LAST))
            last = file.read(min(end, LAST))
        return end, revision_text(end, head[: min(end, FIRST)], last), head

    def checksum(self, stream: str, end: int) -> int:
        """Return the CRC-32 of the first `end` bytes, -1 for a stream that is shorter."""
        with reading_stream(self._root, stream) as file:
            if file is None:
                return -1 if end else 0
            crc = 0
            while end and (block := file.read(min(end, _BLOCK))):
                crc, end = zlib.crc32(block, crc), end - len(block)
            return -1 if end else crc

    def streams(self) -> list[str]:
        """Return the names of the streams that exist, sorted."""
        return list_streams(self._root)

    def prefix(self, stream: str, length: int) -> bytes:
        """Return the first `length` bytes of a stream, fewer if it is shorter: they identify it."""
        with reading_stream(self._root, stream) as file:
            return b"" if file is None else file.read(length)

    def begins_line(self, stream: str, position: int) -> bool:
        """Whether a line of a stream begins at a byte, or the first one does."""
        with reading_stream(self._root, stream) as file:
            return file is None or _begins_line(file, position)

    def _readable_end(self, file: IO[bytes], stream: str) -> int:
        """Return how many bytes of a stream's file a reader may consume."""
        del stream
        return readable_end(file)

    def _lock(self, stream: str) -> Path:
        return lock_path(self._root, stream)

    def _new_ids(self, count: int) -> list[str]:
        after = ""
        if self._floor is not None:
            with suppress(OSError):
                after = read_state(self._floor).decode(errors="replace")
        return self._ids.several(count, after if is_id(after) else "")


class OriginJournals(Mapping[str, FileJournal]):
    """Journals by origin: the own ones, and those that `peers` finds each time."""

    def __init__(
        self, own: Mapping[str, FileJournal], peers: Callable[[], Mapping[str, FileJournal]]
    ) -> None:
        self._own = own
        self._peers = peers

    def __getitem__(self, origin: str) -> FileJournal:
        found = self._own.get(origin)
        return self._peers()[origin] if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter((*self._own, *self._peers()))

    def items(self) -> ItemsView[str, FileJournal]:
        """Return all of them, the peers looked up once."""
        return {**self._own, **self._peers()}.items()

    def __len__(self) -> int:
        return len(self._own) + len(self._peers())


def segments(journal: FileJournal, stream: str) -> list[str]:
    """Return the set-aside parts of a rotated stream, oldest first, then the stream itself if it exists."""
    parts = [name for name in journal.streams() if is_part(name, stream)]
    return sorted(parts, key=lambda name: (name == stream, name))


def verify(root: Path) -> list[Quarantined]:
    """Read every journal and return the lines that cannot be read, with line numbers, for `doctor`.

    An unfinished last line counts: nothing acknowledged is in it, but bytes of a killed writer are.
    """
    found: list[Quarantined] = []
    for stream in list_streams(root):
        with reading_stream(root, stream) as file:
            if file is None:
                continue  # set aside meanwhile
            stop = readable_end(file)
            for number, (offset, _, line) in enumerate(lines_between(file, 0, stop), start=1):
                reason = decode_line(line)
                if isinstance(reason, str) and reason:
                    found.append(Quarantined(stream, number, offset, reason))
            if stop < os.fstat(file.fileno()).st_size:
                found.append(Quarantined(stream, 0, stop, "the last line is unfinished"))
    return found


def _check_start(file: IO[bytes], stream: str, start: int) -> None:
    if not _begins_line(file, start):
        raise JournalError(
            f"byte {start} is not the beginning of a line of the journal {stream}",
            hint="The journal was replaced: run `workbench rebuild`.",
        )


def _begins_line(file: IO[bytes], start: int) -> bool:
    file.seek(max(0, start - 1))
    return start == 0 or file.read(1) == b"\n"
