"""Journals that are written again line by line, beside themselves while others append, then in their place.

A journal's copy goes before the journal is replaced, so that a process that is killed leaves nothing that a
repair would bring back: the journal is as it was or as it is to be, and at worst there is no copy, which the
next append makes.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import IO

from store import locks
from store.files import open_state, sync_data, sync_dir, translate_errors
from store.journal_copies import catch_up, copy_path
from store.journal_files import (
    BINARY,
    LOCK_TIMEOUT,
    list_streams,
    lock_path,
    readable_end,
    reading_stream,
    stream_path,
)
from store.journal_lines import decode_line, encode_line
from workbench.errors import JournalError, StoreBusy, StoreError
from workbench.ports import Entry
from workbench.records.dataclass import dataclass


class Again(bytes):
    """A line that is as it was, whose entry is to be read again by whatever holds what it says."""


Change = Callable[[str, Entry], Entry | None]
"""What becomes of an entry of a stream: itself, another one, or None if it goes."""

ChangeBytes = Callable[[bytes], bytes | None]
"""What becomes of a file or a line, which is given with its newline; None if it goes."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """How many lines of a journal became others or went, and how many bytes fewer it has."""

    lines: int
    freed: int


@dataclass(slots=True)
class LineMoves:
    """Where the lines of a journal went that begin before the byte `end`, which is `now` today.

    What began at `starts[i]` or later moved by `shifts[i]` bytes, None if it went or is to be read again,
    because it became another line or is an `Again`. `again` holds those lines with the byte where they begin
    today. Of the entries of both, `sessions` are the sessions and `kinds` how many there were of each kind;
    of lines of no entry the kind is empty.
    """

    starts: list[int] = field(default_factory=list)
    shifts: list[int | None] = field(default_factory=list)
    again: list[tuple[int, bytes]] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)
    end: int = 0
    now: int = 0

    def note(self, line: bytes, made: bytes | None) -> None:
        """Note what became of the line at `end`."""
        shift = self.now - self.end if made == line and not isinstance(made, Again) else None
        if not self.starts or shift != self.shifts[-1]:
            self.starts.append(self.end)
            self.shifts.append(shift)
        if shift is None:
            if made is not None:
                self.again.append((self.now, made))
            entry = decode_line(line)
            if isinstance(entry, Entry):
                self.kinds[entry.kind] += 1
                if isinstance(session := entry.body.get("session_id"), str):
                    self.sessions.add(session)
            else:
                self.kinds[""] += bool(entry)
        self.end += len(line)
        self.now += len(made or b"")

    def locate(self, offset: int) -> int | None:
        """Return where what was at a byte is today, None if its line went or is in `again`."""
        if offset >= self.end:
            return self.now if offset == self.end else None
        shift = self.shifts[bisect_right(self.starts, offset) - 1]
        return None if shift is None else offset + shift

    def entries_again(self) -> Iterator[tuple[int, int, Entry]]:
        """Yield (first byte, byte after it, entry) of the lines in `again`."""
        for offset, line in self.again:
            entry = decode_line(line)
            if isinstance(entry, Entry):
                yield offset, offset + len(line), entry


class StreamRewrite:
    """A journal as it is to be, as far as it is written; see `rewriting`."""

    def __init__(self, root: Path, stream: str, change: ChangeBytes, source: IO[bytes]) -> None:
        self._root, self._stream, self._change, self._source = root, stream, change, source
        self._target: IO[bytes] | None = None
        self._at = 0
        self._lines = self._freed = 0
        self.moves = LineMoves()

    @property
    def done(self) -> Rewriting:
        """What was changed so far."""
        return Rewriting(self._lines, self._freed)

    def write_to(self, target: IO[bytes]) -> None:
        """Write what becomes of the lines into a file from now on."""
        self._target = target

    def go_on(self, end: int | None = None, *, noted: bool = False) -> None:
        """Write what becomes of the lines before a byte, or of all; if `noted`, `moves` hold it."""
        self._source.seek(self._at)
        while (end is None or self._at < end) and (line := self._source.readline()):
            self._at += len(line)
            made = self._change(line)
            if noted:
                self.moves.note(line, made)
            if made != line:
                self._lines += 1
                self._freed += len(line) - len(made or b"")
            if made and self._target is not None:
                self._target.write(made)

    def go_on_to_readable(self, *, noted: bool = False) -> None:
        """Write what becomes of the lines that are there now, as `go_on` does."""
        self.go_on(readable_end(self._source), noted=noted)

    def sync(self) -> None:
        """Bring what is written so far to disk, so that nobody waits for that later. Raises: JournalError."""
        assert self._target is not None
        with translate_errors(f"rewriting the journal {self._stream}", JournalError):
            self._target.flush()
            sync_data(self._target.fileno())

    def put(self, before: Callable[[], None] = lambda: None) -> None:
        """Write what was appended meanwhile and replace the journal, if anything changes; `before` that.

        Raises: JournalError, StoreError, StoreBusy.
        """
        root, stream = self._root, self._stream
        path, copy = stream_path(root, stream), copy_path(root, stream)
        with (
            translate_errors(f"rewriting the journal {stream}", JournalError),
            locks.exclusive(lock_path(root, stream), timeout=LOCK_TIMEOUT),
        ):
            if not os.path.samestat(os.fstat(self._source.fileno()), path.stat()):
                raise StoreBusy(f"the journal {stream} was replaced meanwhile", hint="Run it again.")
            self.go_on()
            if not self._lines:
                return
            self.sync()
            copied = copy.exists()
            if copied and not catch_up(root, stream):
                raise StoreError(
                    f"the journal {stream} is not what was written into it",
                    hint="`workbench doctor --repair` brings it back, --accept keeps it; then try again.",
                )
            before()
            copy.unlink(missing_ok=True)
            os.replace(_beside(path), path)
            sync_dir(path.parent)
            if copied:
                catch_up(root, stream)


@contextmanager
def rewriting(root: Path, stream: str, change: ChangeBytes, *, dry: bool) -> Iterator[StreamRewrite | None]:
    """Open a journal to be written again, under `rewrite_lock`; `dry` writes nothing. None without one.

    An unfinished last line is given to `change` without a newline. Raises: JournalError.
    """
    path = stream_path(root, stream)
    with ExitStack() as held, translate_errors(f"rewriting the journal {stream}", JournalError):
        try:
            source = held.enter_context(os.fdopen(open_state(path, os.O_RDONLY | BINARY), "rb"))
        except FileNotFoundError:
            yield None
            return
        one = StreamRewrite(root, stream, change, source)
        if not dry:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | BINARY
            one.write_to(held.enter_context(os.fdopen(open_state(_beside(path), flags), "wb")))
            held.callback(_beside(path).unlink, missing_ok=True)
        yield one


def rewrite_lock(root: Path) -> AbstractContextManager[None]:
    """Return the lock of whoever writes journals again; entering it raises StoreBusy."""
    return locks.exclusive(root / "locks" / "rewrite.lock", timeout=LOCK_TIMEOUT)


def rewrite_journals(root: Path, change: Change, other: ChangeBytes, *, dry: bool) -> dict[str, int]:
    """Write each journal again as a change leaves it; return how many lines of which are changed by it.

    `dry` only counts. Raises: JournalError, StoreError, StoreBusy.
    """
    found = {}
    for stream in list_streams(root):
        done = rewrite_stream(
            root, stream, partial(_rewrite_line, stream, change=change, other=other), dry=dry
        )
        if done.lines:
            found[stream] = done.lines
    return found


def rewrite_stream(root: Path, stream: str, change: ChangeBytes, *, dry: bool) -> Rewriting:
    """Write a journal again as `change` leaves each of its lines, and its copy; `dry` only counts.

    What is there at first is read while others may append; they wait for what they appended meanwhile.
    Raises: JournalError, StoreError, StoreBusy.
    """
    with ExitStack() as held:
        if not dry:
            held.enter_context(rewrite_lock(root))
        one = held.enter_context(rewriting(root, stream, change, dry=dry))
        if one is None:
            return Rewriting(0, 0)
        if dry:
            one.go_on()
        else:
            one.go_on_to_readable()
            one.sync()
            one.put()
        return one.done


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.rewrite")


def _rewrite_line(stream: str, line: bytes, *, change: Change, other: ChangeBytes) -> bytes | None:
    entry = decode_line(line)
    if not isinstance(entry, Entry):
        return other(line)
    made = change(stream, entry)
    if made is entry:
        return line
    return None if made is None else encode_line(made)


def stream_lines(root: Path, stream: str) -> Iterator[bytes]:
    """Yield the lines of a journal as they are, each with its newline. Raises: JournalError."""
    with reading_stream(root, stream) as file:
        left = 0 if file is None else readable_end(file)
        if file is not None:
            file.seek(0)
            while left > 0 and (line := file.readline()):
                left -= len(line)
                yield line
