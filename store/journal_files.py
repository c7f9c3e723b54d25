"""The files of journals: where they are, what of them can be read, how lines are added and set aside."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Final

from store.files import disk_hint, open_state, sync_data, sync_dir, translate_errors
from store.journal_lines import MAX_LINE
from workbench.errors import JournalError
from workbench.records.dataclass import dataclass
from workbench.records.ids import new_id

SUFFIX: Final = ".jsonl"
BINARY: Final = getattr(os, "OBINARY", 0)
LOCK_TIMEOUT: Final = 30.0  # seconds

_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_STREAM = re.compile(rf"{_PART}(/{_PART})?")
_TAIL_BLOCK = 64 * 1024
_REASON_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Rotation:
    """How a stream forgets.

    Before it grows past `max_bytes` it is set aside as the stream `<stream>-<id>`; the newest `keep` stay.
    """

    max_bytes: int
    keep: int


ROTATED: Final[Mapping[str, Rotation]] = {"metrics": Rotation(max_bytes=4 * 1024 * 1024, keep=3)}


def stream_path(root: Path, stream: str) -> Path:
    """Return the file of a stream. Raises: JournalError for a name that could lead anywhere else."""
    check_name(stream)
    return root / "journal" / f"{stream}{SUFFIX}"


def check_name(stream: str) -> None:
    """Raise JournalError for what cannot be the name of a stream."""
    if not _STREAM.fullmatch(stream):
        raise JournalError(
            f"{stream[:_REASON_LENGTH]!r} cannot be the name of a journal",
            hint="Use letters, digits, dots, dashes and underscores, with one slash at most.",
        )


def lock_path(root: Path, stream: str) -> Path:
    """Return the lock that whoever writes to a stream holds."""
    return root / "locks" / f"journal.{stream.replace('/', '~')}.lock"


def list_streams(root: Path) -> list[str]:
    """Return the names of the streams under a state directory, sorted."""
    return sorted(stream_sizes(root))


def stream_sizes(root: Path) -> dict[str, int]:
    """Return how many bytes the files of the streams under a state directory have; none is opened."""
    return _sizes_in(f"{root}/journal", "", 1)


def _sizes_in(directory: str, before: str, deeper: int) -> dict[str, int]:
    found: dict[str, int] = {}
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            name = before + entry.name
            if deeper and entry.is_dir():
                found |= _sizes_in(entry.path, f"{name}/", deeper - 1)
            elif name.endswith(SUFFIX) and _STREAM.fullmatch(name[: -len(SUFFIX)]) and entry.is_file():
                found[name[: -len(SUFFIX)]] = entry.stat().st_size
    return found


@contextmanager
def reading_stream(root: Path, stream: str) -> Iterator[IO[bytes] | None]:
    """Open a stream to be read inside, None for one that does not exist. Raises: JournalError."""
    with translate_errors(f"reading the journal {stream}", JournalError):
        try:
            file = os.fdopen(open_state(stream_path(root, stream), os.O_RDONLY | BINARY), "rb")
        except FileNotFoundError:
            file = None
        with file or nullcontext():
            yield file


def readable_end(file: IO[bytes]) -> int:
    """Return the offset after the last newline."""
    end = os.fstat(file.fileno()).st_size
    step = 1  # nearly always the last byte is the newline
    while end > 0:
        begin = max(0, end - step)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end, step = begin, _TAIL_BLOCK
    return 0


def lines_between(file: IO[bytes], start: int, stop: int) -> Iterator[tuple[int, int, bytes | None]]:
    """Yield (offset, offset after, line) between two bytes, None for a line that is over the limit.

    Such a line is never held in memory.
    """
    file.seek(start)
    offset = start
    while offset < stop:
        line = file.readline(MAX_LINE + 1)
        after = offset + len(line)
        if not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)
                after += len(line)
            if not line:
                return
            yield offset, after, None
        else:
            yield offset, after, line if len(line) <= MAX_LINE else None
        offset = after


def write_lines(path: Path, data: bytes, *, sync: bool) -> tuple[os.stat_result, bytes]:
    """Append whole lines to a stream's file, all or none, under its lock.

    Returns how the file was before, and what was written: a newline first where a line was unfinished.
    Raises: JournalError.
    """
    with translate_errors(f"writing the journal {path.stem}", JournalError):
        descriptor = open_state(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | BINARY)
        try:
            before = os.fstat(descriptor)
            end = before.st_size
            if end:
                os.lseek(descriptor, end - 1, os.SEEK_SET)
                if os.read(descriptor, 1) != b"\n":
                    data = b"\n" + data
            _write_whole(descriptor, data, end, path.stem, sync_data if sync else None)
        finally:
            os.close(descriptor)
        if sync and not end:
            sync_dir(path.parent)
    return before, data


def _write_whole(
    descriptor: int, data: bytes, end: int, name: str, sync: Callable[[int], None] | None
) -> None:
    """Write all of `data` at `end` or nothing. Raises OSError, JournalError."""
    try:
        written = os.write(descriptor, data)
        if written == len(data) and sync is not None:
            sync(descriptor)
    except OSError:
        os.ftruncate(descriptor, end)
        raise
    if written < len(data):
        os.ftruncate(descriptor, end)
        full = OSError(28, os.strerror(28))
        raise JournalError(
            f"only {written} of {len(data)} bytes fitted into the journal {name}", hint=disk_hint(full)
        )


def rotate(root: Path, stream: str, rotation: Rotation, coming: int) -> None:
    """Set the stream aside if `coming` more bytes would be too many, and drop the oldest parts."""
    path = stream_path(root, stream)
    with translate_errors(f"rotating the journal {stream}", JournalError):
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            return
        if size == 0 or size + coming <= rotation.max_bytes:
            return
        os.rename(path, stream_path(root, f"{stream}-{new_id()}"))
        aside = [name for name in list_streams(root) if name != stream and is_part(name, stream)]
        for name in aside[: -rotation.keep] if rotation.keep else aside:
            stream_path(root, name).unlink(missing_ok=True)


def is_part(name: str, stream: str) -> bool:
    """Whether a stream is another one, or was set aside from it."""
    return name == stream or (name.startswith(f"{stream}-") and len(name) == len(stream) + 27)
