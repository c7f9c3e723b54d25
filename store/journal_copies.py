"""A second file of each journal's lines, so that what one of them loses is noticed and brought back.

`<root>/journal-copy/<stream>.jsonl` is byte for byte the journal, written after it under the same lock, and
not waited for. A journal as long as its copy, and not written after it, is as it was left: every command
looks. Else the bytes are compared. A copy that is only behind, because its writer was killed or was an
earlier program, catches up. A copy that the journal does not begin with is evidence: nobody writes into it
until `repair` or `accept`. Metrics, which forget by themselves, have no copy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from store import locks
from store.files import open_state, private_dir, read_state, translate_errors, write_atomic
from store.journal_files import BINARY, LOCK_TIMEOUT, SUFFIX, lock_path, stream_path, write_lines
from store.journal_lines import OTHER_VERSION, decode_line
from workbench.errors import JournalError, StoreBusy, StoreError
from workbench.ports import Entry
from workbench.records.dataclass import dataclass

DIRECTORY: Final = "journal-copy"
ASIDE: Final = "set-aside"
_BLOCK: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class JournalDamage:
    """How a journal differs from its copy: entries that it lacks, that were altered, lines of no entry.

    `offset` is the first byte of the first line that differs.
    """

    root: Path
    stream: str
    offset: int
    missing: int
    altered: int
    unreadable: int


def append_lines(root: Path, stream: str, data: bytes, *, sync: bool) -> None:
    """Append whole lines to a journal, all or none, and to its copy, under its lock. Raises: JournalError."""
    before, written = write_lines(stream_path(root, stream), data, sync=sync)
    with suppress(OSError, StoreError):  # a copy that cannot be written is caught up with later
        _follow(root, stream, before, written)


def damaged_streams(root: Path) -> list[str]:
    """Return the streams whose journals are not what was written into them, sorted.

    A look at the files tells mostly; what was changed without changing a file's time, `damages` finds.
    """
    return [
        stream
        for stream, size, written in sorted(_copies(root))
        if not (_is_as_left(root, stream, size, written) or _goes_on(root, stream))
    ]


def damages(root: Path) -> list[JournalDamage]:
    """Read journals and copies, and return how they differ. Raises: JournalError, StoreBusy."""
    found = (_damage(root, stream) for stream, _, _ in sorted(_copies(root)))
    return [one for one in found if one is not None]


def repair(found: JournalDamage, moment: str) -> Path:
    """Put together what a journal and its copy hold, and return where both are as they were.

    An entry that is in both is as the copy has it. `moment` names the place. Raises: StoreError, StoreBusy.
    """
    root, stream = found.root, found.stream
    with locks.exclusive(lock_path(root, stream), timeout=LOCK_TIMEOUT):
        journal, copy = (_read(path) for path in _files(root, stream))
        start = _common_lines(journal, copy)
        merged = _merge(_lines(journal[start:]), _lines(copy[start:]))
        return _settle(root, stream, journal[:start] + b"".join(merged), moment)


def accept(found: JournalDamage, moment: str) -> Path:
    """Let the copy be what the journal is, which was changed on purpose; return where both are as they were.

    `moment` names the place. Raises: StoreError, StoreBusy.
    """
    with locks.exclusive(lock_path(found.root, found.stream), timeout=LOCK_TIMEOUT):
        return _settle(found.root, found.stream, _read(stream_path(found.root, found.stream)), moment)


def copy_path(root: Path, stream: str) -> Path:
    """Return the file of a stream's copy."""
    return root / DIRECTORY / f"{stream}{SUFFIX}"


def _files(root: Path, stream: str) -> tuple[Path, Path]:
    return stream_path(root, stream), copy_path(root, stream)


def _copies(root: Path) -> Iterator[tuple[str, int, int]]:
    """Yield (stream, bytes, time of the last write in ns) of each copy."""
    waiting = [(root / DIRECTORY, "")]
    for directory, prefix in waiting:
        with suppress(OSError), os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(SUFFIX):
                    status = entry.stat(follow_symlinks=False)
                    yield prefix + entry.name.removesuffix(SUFFIX), status.st_size, status.st_mtime_ns
                elif not prefix and entry.is_dir(follow_symlinks=False):
                    waiting.append((Path(entry.path), f"{entry.name}/"))


def _is_as_left(root: Path, stream: str, size: int, written: int) -> bool:
    try:
        status = os.stat(stream_path(root, stream), follow_symlinks=False)
    except FileNotFoundError:
        return size == 0
    return status.st_size == size and status.st_mtime_ns <= written


def _goes_on(root: Path, stream: str) -> bool:
    """Whether a journal begins with its copy, which then catches up; so it seems while somebody writes."""
    try:
        with locks.exclusive(lock_path(root, stream), timeout=0):
            return catch_up(root, stream)
    except StoreBusy:
        return True
    except StoreError:
        return True  # a copy that cannot be read says nothing


def _damage(root: Path, stream: str) -> JournalDamage | None:
    with locks.exclusive(lock_path(root, stream), timeout=LOCK_TIMEOUT):
        if catch_up(root, stream):
            return None
        journal, copy = (_read(path) for path in _files(root, stream))
    start = _common_lines(journal, copy)
    now, then = ({_key(line): line for line in _lines(data[start:])} for data in (journal, copy))
    return JournalDamage(
        root,
        stream,
        start,
        missing=len(then.keys() - now.keys()),
        altered=sum(now[key] != then[key] for key in then.keys() & now.keys()),
        unreadable=sum(line == key and not _is_entry(line) for key, line in now.items()),
    )


def _follow(root: Path, stream: str, before: os.stat_result, data: bytes) -> None:
    """Write what was appended to a journal, which was as in `before`. Raises: OSError, StoreError."""
    copy = copy_path(root, stream)
    descriptor = _open(copy, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        found = os.fstat(descriptor)
        if found.st_size == before.st_size and (not found.st_size or before.st_mtime_ns <= found.st_mtime_ns):
            os.write(descriptor, data)
            return
    finally:
        os.close(descriptor)
    catch_up(root, stream)


def catch_up(root: Path, stream: str) -> bool:
    """Add to a copy what its journal has beyond it; False if the journal does not begin with it.

    Raises: JournalError.
    """
    journal, copy = _files(root, stream)
    with translate_errors(f"reading the journal {stream}", JournalError):
        try:
            source = os.fdopen(_open(journal, os.O_RDONLY), "rb")
        except FileNotFoundError:
            return not copy.stat().st_size
        with source, os.fdopen(_open(copy, os.O_RDWR | os.O_CREAT), "r+b") as target:
            while theirs := target.read(_BLOCK):
                if source.read(len(theirs)) != theirs:
                    return False
            while ours := source.read(_BLOCK):
                target.write(ours)
            target.flush()
            written = os.fstat(source.fileno()).st_mtime_ns
            if os.fstat(target.fileno()).st_mtime_ns < written:  # touched, or a clock went back
                os.utime(copy, ns=(written, written), follow_symlinks=False)
    return True


def _settle(root: Path, stream: str, data: bytes, moment: str) -> Path:
    """Put journal and copy aside and let both be `data`; return where they are. Raises: StoreError."""
    aside = root / ASIDE / moment
    for path in _files(root, stream):
        if path.exists():
            write_atomic(aside / path.relative_to(root), _read(path))
    for path in _files(root, stream):
        write_atomic(path, data)
    return aside


def _common_lines(journal: bytes, copy: bytes) -> int:
    """Return how many bytes of whole lines two files begin with alike."""
    low, high = 0, min(len(journal), len(copy))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if journal[low:middle] == copy[low:middle] else (low, middle - 1)
    return journal.rfind(b"\n", 0, low) + 1


def _lines(data: bytes) -> list[bytes]:
    """Return the whole lines of a file, each with its newline."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def _key(line: bytes) -> bytes:
    """Return what identifies a line: its entry's id, or all of a line that no entry can be read from."""
    entry = decode_line(line)
    return entry.id.encode(errors="surrogatepass") if isinstance(entry, Entry) else line


def _is_entry(line: bytes) -> bool:
    """Whether a line holds an entry, of this version of the program or of another one."""
    found = decode_line(line)
    return isinstance(found, Entry) or found.startswith(OTHER_VERSION)


def _after_id(line: bytes) -> bytes:
    return line[line.find(b'"at":') :]


def _merge(journal: list[bytes], copy: list[bytes]) -> list[bytes]:
    """Return the lines of a copy, with those that only the journal has before what they precede there.

    What was appended to the journal follows all. Lines that no version reads an entry from are left out, and
    those that are one of the copy's with another id: they are in the files that were set aside.
    """
    kept = [line for line in copy if _is_entry(line)]
    known = {_key(line) for line in kept}
    bodies = {_after_id(line) for line in kept}
    waiting: list[bytes] = []
    preceding: dict[bytes, list[bytes]] = {}
    for line in journal:
        if (key := _key(line)) in known:
            preceding.setdefault(key, []).extend(waiting)
            waiting = []
        elif _is_entry(line) and _after_id(line) not in bodies:
            waiting.append(line)
    return [*(one for line in kept for one in (*preceding.pop(_key(line), []), line)), *waiting]


def _read(path: Path) -> bytes:
    with translate_errors(f"reading {path}", JournalError), suppress(FileNotFoundError):
        return read_state(path)
    return b""


def _open(path: Path, flags: int) -> int:
    if flags & os.O_CREAT:
        private_dir(path.parent)
    return open_state(path, flags | BINARY)
