"""How much room the state of a project takes, by kind, and how fast that grows. Nothing is locked."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

from store.journal_copies import copy_path
from store.journal_files import (
    ROTATED,
    is_part,
    list_streams,
    readable_end,
    reading_stream,
    stream_path,
)
from store.journal_lines import decode_line
from workbench.ports import Entry
from workbench.records.dataclass import dataclass

SPAN: Final = 30.0
"""Days that growth is measured over, fewer where nothing is as old."""
_DAY: Final = 86_400.0
_BLOCK: Final = 1 << 20
_LOOKS: Final = 64


@dataclass(frozen=True, slots=True)
class StoredSize:
    """The bytes of a kind of what is kept, its records, and how many bytes a day were added.

    None if unknown: of a day alone nothing is said about days.
    """

    name: str
    bytes: int
    records: int | None = None
    growth: float | None = None


def journal_sizes(root: Path, now: float) -> list[StoredSize]:
    """Return the journals with their copies: features of memory and parts of metrics as one each, by name.

    `now` is in seconds. Raises: JournalError.
    """
    found: defaultdict[str, list[StoredSize]] = defaultdict(list)
    for stream in list_streams(root):
        name = next((whole for whole in ROTATED if is_part(stream, whole)), stream.partition("/")[0])
        found[name].append(_journal_size(root, stream, now))
    return [
        StoredSize(
            name,
            sum(part.bytes for part in parts),
            sum(part.records or 0 for part in parts),
            None if all(part.growth is None for part in parts) else sum(part.growth or 0.0 for part in parts),
        )
        for name, parts in sorted(found.items())
    ]


def _journal_size(root: Path, stream: str, now: float) -> StoredSize:
    size = _file_size(stream_path(root, stream))
    both = size + _file_size(copy_path(root, stream))
    with reading_stream(root, stream) as file:
        end = 0 if file is None else readable_end(file)
        if file is None or not end:
            return StoredSize(stream, both, 0, 0.0)
        first = _moment_after(file, 0, end)
        span = min(SPAN, 0.0 if first is None else (now - first[1]) / _DAY)
        if span < 1:
            return StoredSize(stream, both, _count_lines(file, end))
        recent = end - _offset_of(file, now - span * _DAY, end)
        return StoredSize(stream, both, _count_lines(file, end), recent * (both / size) / span)


def _count_lines(file: IO[bytes], end: int) -> int:
    file.seek(0)
    return sum(block.count(b"\n") for block in _blocks(file, end))


def _blocks(file: IO[bytes], left: int) -> Iterator[bytes]:
    while left > 0 and (block := file.read(min(left, _BLOCK))):
        left -= len(block)
        yield block


def _offset_of(file: IO[bytes], moment: float, end: int) -> int:
    """Return about where the entries since a moment begin; entries are taken to be in the order of time."""
    low, high = 0, end
    for _ in range(_LOOKS):
        if low >= high:
            break
        middle = (low + high) // 2
        found = _moment_after(file, middle, end)
        if found is None or found[1] >= moment:
            high = middle
        else:
            low = max(found[0], middle + 1)
    return min(low, end)


def _moment_after(file: IO[bytes], offset: int, end: int) -> tuple[int, float] | None:
    """Return the end of the first entry that begins at an offset or later, and its time; None without any."""
    file.seek(max(0, offset - 1))
    if offset:
        file.readline()
    while file.tell() < end:
        entry = decode_line(file.readline())
        if isinstance(entry, Entry):
            with suppress(ValueError):
                return file.tell(), datetime.fromisoformat(entry.at).astimezone(UTC).timestamp()
    return None


def directory_sizes(root: Path, now: float) -> list[StoredSize]:
    """Return what else is in a state directory: indexes by kind, tables, caches, copies of transcripts."""
    found: defaultdict[str, list[os.stat_result]] = defaultdict(list)
    for directory, folders, files in os.walk(root):
        place = Path(directory).relative_to(root).parts
        if not place:
            folders[:] = [folder for folder in folders if folder not in ("journal", "journal-copy")]
        for name in files:
            with suppress(FileNotFoundError):
                found[_kind(place, name)].append(Path(directory, name).lstat())
    since = now - SPAN * _DAY
    return [
        StoredSize(
            name,
            sum(one.st_size for one in ones),
            len(ones) if name in ("archive", "runs") else None,
            sum(one.st_size for one in ones if one.st_mtime >= since) / SPAN
            if name in ("archive", "runs")
            else None,
        )
        for name, ones in sorted(found.items())
    ]


def _kind(place: tuple[str, ...], name: str) -> str:
    if place[:1] == ("index",):
        kind = (place[1] if len(place) > 1 else name).rpartition("." if len(place) == 1 else "-")[0]
        return f"index of {kind or name}"
    return place[0] if place else ("tables" if name.startswith("tables") else "other")


def _file_size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
