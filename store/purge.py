"""What its owner wants gone is taken out of a state: journals are rewritten, what is made of them is removed.

A journal's copy goes before the journal is rewritten, so that a killed purge leaves nothing that a repair
would bring back; a purge that is run again finishes what the first began. Tables, indexes, answers of
language models and files that repairs set aside are removed: whoever asks next makes them from the journals.
`remains` reads every byte that is left.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import IO, Final

from store import locks
from store.files import open_state, read_state, sync_data, sync_dir, translated, write_atomic
from store.journal_copies import ASIDE, catch_up, copy_path
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
from store.runs import list_runs
from store.tables import FILE as TABLES
from workbench.errors import JournalError, StoreBusy, StoreError
from workbench.ports import Entry
from workbench.records.dataclass import dataclass

KEPT_INDEX: Final = "transcripts"
"""What imports saw: without it the sessions that were taken out would be imported again."""
_MADE: Final = ("answers", "replay", "spill", ASIDE)
_PATIENCE: Final = 60.0  # seconds
_BLOCK: Final = 1 << 20
_GZIP: Final = ".gz"

Change = Callable[[str, Entry], Entry | None]
"""What becomes of an entry of a stream: itself, another one, or None if it goes."""

ChangeBytes = Callable[[bytes], bytes | None]
"""What becomes of a file or of a line that no entry can be read from; None if it goes."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """How many lines of a journal became others or went, and how many bytes fewer it has."""

    lines: int
    freed: int


def rewrite_journals(root: Path, change: Change, other: ChangeBytes, *, dry: bool) -> dict[str, int]:
    """Write each journal again as a change leaves it; return how many lines of which are changed by it.

    `dry` only counts. Raises: JournalError, StoreError, StoreBusy.
    """
    found = {}
    for stream in list_streams(root):
        done = rewrite_stream(root, stream, partial(_changed, stream, change=change, other=other), dry=dry)
        if done.lines:
            found[stream] = done.lines
    return found


def rewrite_stream(root: Path, stream: str, change: ChangeBytes, *, dry: bool) -> Rewriting:
    """Write a journal again as `change` leaves each of its lines, and its copy; `dry` only counts.

    A line is given with its newline, but for an unfinished last one. What is there at first is read while
    others may append; they wait for what they appended meanwhile. A process that is killed leaves the journal
    as it was or as it is to be, and at worst no copy, which the next append makes.
    Raises: JournalError, StoreError, StoreBusy.
    """
    path, copy = stream_path(root, stream), copy_path(root, stream)
    beside = path.with_name(f".{path.name}.rewrite")
    with ExitStack() as held, translated(f"rewriting the journal {stream}", JournalError):
        try:
            source = held.enter_context(os.fdopen(open_state(path, os.O_RDONLY | BINARY), "rb"))
        except FileNotFoundError:
            return Rewriting(0, 0)
        if dry:
            return _rewrite_lines(source, None, change)
        held.enter_context(locks.exclusive(root / "locks" / "rewrite.lock", timeout=LOCK_TIMEOUT))
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | BINARY
        target = held.enter_context(os.fdopen(open_state(beside, flags), "wb"))
        held.callback(beside.unlink, missing_ok=True)
        end = readable_end(source)
        source.seek(0)
        first = _rewrite_lines(source, target, change, end)
        held.enter_context(locks.exclusive(lock_path(root, stream), timeout=LOCK_TIMEOUT))
        if not os.path.samestat(os.fstat(source.fileno()), path.stat()):
            raise StoreBusy(f"the journal {stream} was replaced meanwhile", hint="Run it again.")
        rest = _rewrite_lines(source, target, change)
        done = Rewriting(first.lines + rest.lines, first.freed + rest.freed)
        if not done.lines:
            return done
        target.flush()
        sync_data(target.fileno())
        copied = copy.exists()
        if copied and not catch_up(root, stream):
            raise StoreError(
                f"the journal {stream} is not what was written into it",
                hint="`workbench doctor --repair` brings it back, --accept keeps it; then run this again.",
            )
        copy.unlink(missing_ok=True)
        os.replace(beside, path)
        sync_dir(path.parent)
        if copied:
            catch_up(root, stream)
    return done


def _rewrite_lines(
    source: IO[bytes], target: IO[bytes] | None, change: ChangeBytes, end: int | None = None
) -> Rewriting:
    """Write what becomes of the lines from where a file is, up to `end` or its end."""
    at = source.tell()
    lines = freed = 0
    while (end is None or at < end) and (line := source.readline()):
        at += len(line)
        made = change(line)
        if made != line:
            lines += 1
            freed += len(line) - len(made or b"")
        if target is not None and made:
            target.write(made)
    return Rewriting(lines, freed)


def _changed(stream: str, line: bytes, *, change: Change, other: ChangeBytes) -> bytes | None:
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


def remove_projections(root: Path, kinds: Sequence[str] = ()) -> None:
    """Remove what can be made again from the journals and the files, of indexes these kinds or all.

    Raises: StoreError, StoreBusy.
    """
    with translated(f"removing what was made from the journals of {root}"):
        with locks.FairLock(root / "locks", "tables", _PATIENCE).exclusive():
            for path in root.glob(f"{TABLES}*"):
                path.unlink(missing_ok=True)
        with locks.exclusive(root / "locks" / "index.lock", timeout=_PATIENCE):
            for path in (root / "index").glob("*"):
                kind = re.split(r"[-.]", path.name)[0]
                if kind in kinds if kinds else kind != KEPT_INDEX:
                    _remove(path)
        for name in () if kinds else _MADE:
            _remove(root / name)


def remove_runs(root: Path, change: ChangeBytes, *, dry: bool) -> int:
    """Remove the kept replays that a change alters: they can be made again. Returns how many; `dry` counts.

    Raises: StoreError.
    """
    count = 0
    for run in list_runs(root):
        with translated(f"reading {run.path}"):
            content = gzip.decompress(read_state(run.path))
            if change(content) != content:
                count += 1
                if not dry:
                    run.path.unlink(missing_ok=True)
    return count


def rewrite_files(paths: Iterable[Path], change: ChangeBytes, *, dry: bool) -> int:
    """Write files of the user's home as a change leaves them, or remove them. Returns how many; `dry` counts.

    Raises: StoreError.
    """
    count = 0
    for path in paths:
        with translated(f"rewriting {path}"), suppress(FileNotFoundError):
            before = read_state(path)
            after = change(before)
            count += after != before
            if after != before and not dry:
                path.unlink() if after is None else write_atomic(path, after)
    return count


def remains(roots: Sequence[Path], needles: Sequence[bytes]) -> list[Path]:
    """Return the files below directories that hold one of some texts, packed ones unpacked; sorted.

    What imports saw, names of files among it, and what cannot be read are left out.
    """
    found = []
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.is_symlink() or not path.is_file() or path.parent.name.startswith(f"{KEPT_INDEX}-"):
                continue
            with suppress(OSError, EOFError, zlib.error):
                if _holds(path, needles):
                    found.append(path)
    return found


def _holds(path: Path, needles: Sequence[bytes]) -> bool:
    overlap = max(map(len, needles), default=1) - 1
    rest = b""
    with gzip.open(path, "rb") if path.suffix == _GZIP else path.open("rb") as file:
        while block := file.read(_BLOCK):
            rest += block
            if any(needle in rest for needle in needles):
                return True
            rest = rest[len(rest) - overlap :] if overlap else b""
    return False


def _remove(path: Path) -> None:
    """Remove a file or all of a directory, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
