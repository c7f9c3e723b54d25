"""What its owner wants gone is taken out of a state: journals are rewritten, what is made of them is removed.

A journal's copy goes before the journal is rewritten, so that a killed purge leaves nothing that a repair
would bring back; a purge that is run again finishes what the first began. Tables, indexes, answers of
language models and files that repairs set aside are removed: whoever asks next makes them from the journals.
`remains` reads every byte that is left.
"""

from __future__ import annotations

import gzip
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from store import locks
from store.files import read_state, translated, write_atomic
from store.journal_copies import ASIDE, copy_path
from store.journal_files import LOCK_TIMEOUT, list_streams, lock_path, stream_path
from store.journal_lines import decode_line, encode_line
from store.runs import list_runs
from store.tables import FILE as TABLES
from workbench.errors import JournalError
from workbench.ports import Entry

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


def rewrite_journals(root: Path, change: Change, other: ChangeBytes, *, dry: bool) -> dict[str, int]:
    """Write each journal again as a change leaves it; return how many lines of which are changed by it.

    `dry` only counts. Raises: JournalError, StoreError, StoreBusy.
    """
    found = {}
    for stream in list_streams(root):
        with locks.exclusive(lock_path(root, stream), timeout=LOCK_TIMEOUT):
            before = _lines(root, stream)
            after = [_changed(stream, line, change, other) for line in before]
            count = sum(old != new for old, new in zip(before, after, strict=True))
            if count:
                found[stream] = count
            if count and not dry:
                data = b"".join(filter(None, after))
                copy = copy_path(root, stream)
                copied = copy.exists()
                with translated(f"removing {copy}"):
                    copy.unlink(missing_ok=True)
                write_atomic(stream_path(root, stream), data)
                if copied:
                    write_atomic(copy, data)
    return found


def _lines(root: Path, stream: str) -> list[bytes]:
    """Return the lines of a journal, each with its newline but for an unfinished last one."""
    with translated(f"reading the journal {stream}", JournalError):
        return [line for line in re.split(rb"(?<=\n)", read_state(stream_path(root, stream))) if line]


def _changed(stream: str, line: bytes, change: Change, other: ChangeBytes) -> bytes | None:
    entry = decode_line(line)
    if not isinstance(entry, Entry):
        return other(line)
    made = change(stream, entry)
    if made is entry:
        return line
    return None if made is None else encode_line(made)


def remove_projections(root: Path) -> None:
    """Remove what can be made again from the journals and the files. Raises: StoreError, StoreBusy."""
    with translated(f"removing what was made from the journals of {root}"):
        with locks.FairLock(root / "locks", "tables", _PATIENCE).exclusive():
            for path in root.glob(f"{TABLES}*"):
                path.unlink(missing_ok=True)
        with locks.exclusive(root / "locks" / "index.lock", timeout=_PATIENCE):
            for path in (root / "index").glob("*"):
                if not path.name.startswith((f"{KEPT_INDEX}-", f"{KEPT_INDEX}.")):
                    _remove(path)
        for name in _MADE:
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
