"""The state of a project that cannot be written: read from a copy of its journals, and added to there.

A copy in the user's home, an overlay, is a state directory like any other. Entries have ids that are never
given twice, so that both sides are brought together by them, in whatever order that is tried and however
often: what the project's state has gained is taken over whenever the overlay is used, and what was added to
the overlay is brought back when the project can be written again. Kept replays go the same ways. Figures for
`workbench stats` stay where they were measured.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from store import locks
from store.files import private_dir, read_state, translated, write_atomic
from store.journal import (
    ROTATED,
    list_streams,
    lock_path,
    open_stream,
    readable_end,
    stream_path,
    write_lines,
)
from store.journal import decode_line as decoded
from store.run_files import list_runs
from workbench.errors import JournalError
from workbench.ports import Entry
from workbench.records.conversion import decode_json

MARK: Final = "overlay.json"
_LOCK = "overlay.lock"
_RUN = "run "  # before the id of a kept replay, where a stream has its name


class _Sizes(msgspec.Struct):
    """Bytes of each stream and replay that were taken over from the project, and brought back to it."""

    taken: dict[str, int] = {}
    brought: dict[str, int] = {}


def is_overlay(root: Path) -> bool:
    """Tell whether a state directory was used in place of a project's that could not be written."""
    return (root / MARK).is_file()


def take_over(state: Path, overlay: Path) -> None:
    """Add to an overlay what the project's state has that it lacks; the state may not exist.

    Raises: StoreError, StoreBusy.
    """
    with locks.exclusive(overlay / "locks" / _LOCK):
        sizes = _sizes(overlay)
        if sizes is None:
            sizes = _Sizes()
            _save(overlay, sizes)
        ends = _ends(state)
        if ends == sizes.taken:
            return
        _carry_all(state, overlay, ends, sizes.taken)
        _save(overlay, _Sizes(ends, sizes.brought))


def bring_back(overlay: Path, state: Path) -> int:
    """Add to the project's state what was added to an overlay, and return how many entries that were.

    The overlay stays: another process may still be writing to it. Raises: StoreError, StoreBusy.
    """
    if not is_overlay(overlay):
        return 0
    with locks.exclusive(overlay / "locks" / _LOCK):
        sizes = _sizes(overlay) or _Sizes()
        ends = _ends(overlay)
        if ends == sizes.brought:
            return 0
        count = _carry_all(overlay, state, ends, sizes.brought)
        _save(overlay, _Sizes(sizes.taken, ends))
        return count


def _carry_all(source: Path, target: Path, ends: dict[str, int], before: dict[str, int]) -> int:
    """Carry what changed since `before`; return the number of entries."""
    changed = [name for name, end in ends.items() if end != before.get(name, 0)]
    runs = {name.removeprefix(_RUN) for name in changed if name.startswith(_RUN)}
    if runs:
        _carry_runs(source, target, runs)
    return sum(_carry(source, target, name) for name in changed if not name.startswith(_RUN))


def _carry(source: Path, target: Path, stream: str) -> int:
    """Append the entries of a stream that the other one lacks, in their order; return their number."""
    path = stream_path(target, stream)
    private_dir(path.parent)
    with locks.exclusive(lock_path(target, stream)):
        known = {entry.id for _, entry in _entries(target, stream)}
        lines = [line for line, entry in _entries(source, stream) if entry.id not in known]
        if lines:
            write_lines(path, b"".join(line + b"\n" for line in lines), sync=True)
        return len(lines)


def _entries(root: Path, stream: str) -> list[tuple[bytes, Entry]]:
    """Return the lines of a stream that can be read, with their entries."""
    with translated(f"reading the journal {stream}", JournalError):
        try:
            file = open_stream(stream_path(root, stream))
        except FileNotFoundError:
            return []
        with file:
            end = readable_end(file)
            file.seek(0)
            lines = file.read(end).split(b"\n")
    found = ((line, decoded(line)) for line in lines)
    return [(line, entry) for line, entry in found if isinstance(entry, Entry)]


def _ends(root: Path) -> dict[str, int]:
    """Return how many bytes each stream that is carried has for readers, and each kept replay."""
    found = {f"{_RUN}{run.id}": run.size for run in list_runs(root)}
    for stream in list_streams(root):
        if stream.split("-")[0] in ROTATED:
            continue
        with (
            translated(f"reading the journal {stream}", JournalError),
            suppress(FileNotFoundError),
            open_stream(stream_path(root, stream)) as file,
        ):
            found[stream] = readable_end(file)
    return found


def _carry_runs(source: Path, target: Path, runs: set[str]) -> None:
    """Copy kept replays that the other state lacks, as old as they are."""
    there = {run.id for run in list_runs(target)}
    for run in list_runs(source):
        if run.id in runs - there:
            copy = target / "runs" / run.path.name
            write_atomic(copy, read_state(run.path))
            os.utime(copy, ns=(run.written, run.written))


def _sizes(overlay: Path) -> _Sizes | None:
    """Return what was carried so far; nothing is known of what cannot be read, and that is only slower."""
    try:
        return decode_json(read_state(overlay / MARK), _Sizes)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError):
        return _Sizes()


def _save(overlay: Path, sizes: _Sizes) -> None:
    write_atomic(overlay / MARK, msgspec.json.encode(sizes))
