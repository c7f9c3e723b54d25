"""Whether an index still describes the files on disk: asked before every plan, so it takes milliseconds.

FRESH: every indexed file is as it was, no file was added or removed, and HEAD is where it was.
DIRTY: some files differ; they can be re-indexed in place.
STALE: the index as a whole is behind: HEAD moved (its history counts, too), another program version wrote it,
more files changed than are worth mending one by one, or the listing of a capped project changed.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from workbench.errors import ProjectError
from workbench.project import directories as places
from workbench.project.admission import refusal
from workbench.project.scan import Lister, list_names, read_bytes, stat_file, unsafe
from workbench.project.snapshot import (
    VERSION,
    Int64,
    Snapshot,
    advance,
    content_hash,
    input_stamp,
    stamped_since,
    touch,
    watch,
)
from workbench.records.dataclass import dataclass
from workbench.records.project import FileStat, Freshness

_MAX_OTHERS = 20_000


@dataclass(frozen=True, slots=True)
class FreshnessLimits:
    """Bounds of a check.

    Up to `max_changes` files are mended in place; up to `max_compared` are compared by content, and none
    of more than `max_bytes`.
    """

    max_changes: int = 200
    max_compared: int = 5_000
    max_bytes: int = 1 << 20


@dataclass(frozen=True, slots=True)
class FreshnessReport:
    """What differs, each sorted; `reason` says in words why the state is what it is.

    `snapshot` is the one given, with what was verified noted in it (the same object if nothing was to
    note): keep it for the next check. Changed, added and removed files are still as before in it.
    `checked_ns` is the time before the first look at the disk: `advance` wants it once the changed and
    added files were read.
    """

    state: Freshness
    changed: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    head_moved: bool
    reason: str
    snapshot: Snapshot
    checked_ns: int


@dataclass(slots=True)
class _Compared:
    """Rows of the snapshot by what became of them; `touched` maps those of equal content to (size, mtime)."""

    changed: list[int]
    removed: list[int]
    touched: dict[int, tuple[int, int]]


@dataclass(slots=True)
class _Looked:
    """What the changed directories hold: names to ask about, directories gone or new, rows seen again."""

    ask: list[str]
    gone: list[str]
    watched: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Verified:
    """What a check has verified; `unlisted` are names on disk that the lister does not give.

    `relist` says that all names were asked for, because what git ignores changed.
    """

    compared: _Compared
    looked: _Looked
    added: Sequence[str]
    large: Sequence[FileStat]
    inputs: tuple[tuple[str, int, int], ...]
    unlisted: set[str]
    relist: bool


def check(
    snapshot: Snapshot,
    root: Path,
    lister: Lister | None = None,
    *,
    head: str | None,
    limits: FreshnessLimits | None = None,
) -> FreshnessReport:
    """Compare a snapshot with the disk. `head` is the commit checked out now (None without one).

    The lister is the one the scan used; it is asked only about names that are new. Raises ProjectError
    if `root` is not a directory.
    """
    limits = limits or FreshnessLimits()
    now = time.time_ns()
    if not root.is_dir():
        raise ProjectError(f"{root} is not a directory", hint="Name the project's directory.")
    if snapshot.version != VERSION:
        return _stale(snapshot, now, "the index was written by another version")
    top = os.fspath(root)
    compared = _compare(snapshot, top, range(len(snapshot.paths)), limits)
    looked = _look(snapshot, top)
    changed = [snapshot.paths[row] for row in compared.changed]
    removed = {snapshot.paths[row] for row in compared.removed}
    removed |= {path for path in snapshot.paths if _below_any(path, looked.gone)} if looked.gone else set()
    inputs = tuple((path, *input_stamp(path)) for path, _, _ in snapshot.inputs)
    relist = _inputs_changed(snapshot, inputs) or any(
        path.endswith(".gitignore") for path in (*changed, *removed, *looked.ask)
    )
    if relist and snapshot.capped:
        return _stale(snapshot, now, "what git ignores changed in a project with more files than are indexed")
    listed, unlisted = _ask(snapshot, root, lister, looked, relist)
    if relist:
        removed |= set(snapshot.paths) - set(listed)
    known = set(snapshot.paths) if listed else set()
    added, large = _admit(top, [path for path in listed if path not in known], limits)
    verified = _Verified(compared, looked, added, large, inputs, unlisted, relist)
    refreshed = _refresh(snapshot, top, now, verified)
    changed = sorted(set(changed) - removed)
    return _report(refreshed, now, changed, sorted(added), sorted(removed), head, limits)


def _compare(snapshot: Snapshot, root: str, rows: Sequence[int], limits: FreshnessLimits) -> _Compared:
    everything = len(rows) == len(snapshot.paths)
    at = slice(None) if everything else np.array(rows, np.intp)
    paths = snapshot.paths if everything else [snapshot.paths[row] for row in rows]
    found = _stat_all(root, paths)
    sizes, mtimes, ctimes = _columns(found)
    seen = snapshot.seen[at]
    differs = (sizes != snapshot.sizes[at]) | (mtimes != snapshot.mtimes[at])
    suspects = np.nonzero(differs | stamped_since(mtimes, seen) | stamped_since(ctimes, seen))[0]
    compared = _Compared([], [], {})
    read = 0
    for position in suspects.tolist():
        row, status = rows[position], found[position]
        if status is None or not stat.S_ISREG(status.st_mode):
            compared.removed.append(row)
            continue
        digest = snapshot.hashes[row]
        if not digest:
            same = status.st_size > limits.max_bytes and int(snapshot.sizes[row]) > limits.max_bytes
        else:
            same = status.st_size == snapshot.sizes[row] and read < limits.max_compared
            read += same
            same = same and _hash_now(root, snapshot.paths[row], limits) == digest
        if same:
            compared.touched[row] = (status.st_size, status.st_mtime_ns)
        else:
            compared.changed.append(row)
    return compared


def _stat_all(root: str, paths: Sequence[str]) -> list[os.stat_result | None]:
    full = [f"{root}/{path}" for path in paths]
    try:
        return list(map(os.lstat, full))
    except OSError:
        return [_stat_or_none(path) for path in full]


def _stat_or_none(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _columns(found: Sequence[os.stat_result | None]) -> tuple[Int64, Int64, Int64]:
    """Return sizes, mtimes and ctimes; -1 for what is not there."""
    count = len(found)
    return (
        np.fromiter((-1 if entry is None else entry.st_size for entry in found), np.int64, count),
        np.fromiter((-1 if entry is None else entry.st_mtime_ns for entry in found), np.int64, count),
        np.fromiter((-1 if entry is None else entry.st_ctime_ns for entry in found), np.int64, count),
    )


def _hash_now(root: str, path: str, limits: FreshnessLimits) -> str | None:
    data = read_bytes(root, path, limits.max_bytes)
    return content_hash(data) if isinstance(data, bytes) else None


def _look(snapshot: Snapshot, root: str) -> _Looked:
    """Look into the directories whose time moved, or may have moved unseen."""
    times = [places.stamp(root, directory) for directory in snapshot.directories]
    mtimes = np.array([-1 if entry is None else entry[0] for entry in times], np.int64)
    ctimes = np.array([-1 if entry is None else entry[1] for entry in times], np.int64)
    seen = snapshot.directory_seen
    moved = (mtimes != snapshot.directory_mtimes) | stamped_since(mtimes, seen) | stamped_since(ctimes, seen)
    looked = _Looked([], [], {})
    rows = np.nonzero(moved)[0].tolist()
    known = set(snapshot.paths) if rows else set()
    watched = set(snapshot.directories) if rows else set()
    for row in rows:
        directory = snapshot.directories[row]
        if times[row] is None:
            looked.gone.append(directory)
            continue
        looked.watched[directory] = int(mtimes[row])
        inside = places.entries(root, directory, snapshot.tracked)
        if inside is None:
            continue
        looked.ask += [path for path in inside.files if path not in known and path not in snapshot.others]
        for path in inside.directories:
            if path not in watched:
                looked.ask.append(path)
                looked.watched |= places.list_below(root, path, snapshot.tracked)
    return looked


def _ask(
    snapshot: Snapshot, root: Path, lister: Lister | None, looked: _Looked, relist: bool
) -> tuple[list[str], set[str]]:
    """Return the admissible names the lister gives, and the asked ones it does not."""
    if not relist and not looked.ask:
        return [], set()
    listing, _, _ = list_names(root, lister if snapshot.tracked else None, None if relist else looked.ask)
    paths = [p for p in listing.paths if not unsafe(p) and refusal(p, tracked=snapshot.tracked) is None]
    return paths, set(looked.ask) - set(listing.paths)


def _admit(root: str, paths: Iterable[str], limits: FreshnessLimits) -> tuple[list[str], list[FileStat]]:
    """Return the names that are readable files, and the files too large to read."""
    added: list[str] = []
    large: list[FileStat] = []
    for path in paths:
        found = stat_file(root, path)
        if isinstance(found, str):
            continue
        if found.size > limits.max_bytes:
            large.append(found)
        else:
            added.append(path)
    return added, large


def _refresh(snapshot: Snapshot, root: str, now: int, verified: _Verified) -> Snapshot:
    """Return the snapshot with everything verified by this check noted in it."""
    looked, added, large, relist = verified.looked, verified.added, verified.large, verified.relist
    touched = verified.compared.touched
    if not (touched or looked.watched or looked.gone or added or large or relist):
        return snapshot
    if touched:
        snapshot = touch(snapshot, touched, now)
    # Until the added files are indexed, what led to them must lead to them again.
    unsettled = places.list_ancestors(added) if added else set()
    watched = {path: mtime for path, mtime in looked.watched.items() if path not in unsettled}
    for directory in (
        places.list_ancestors(entry.path for entry in large) - set(snapshot.directories) - unsettled
    ):
        times = places.stamp(root, directory)
        if times is not None:
            watched.setdefault(directory, times[0])
    if watched or looked.gone:
        snapshot = watch(snapshot, watched, looked.gone, now)
    if large:
        rows = {entry.path: (entry, "") for entry in large}
        snapshot = advance(snapshot, rows, (), seen_ns=now, head=snapshot.head)
    unlisted = {path for path in verified.unlisted if path not in watched}
    others = frozenset() if relist else snapshot.others | unlisted
    return replace(
        snapshot,
        others=others if len(others) <= _MAX_OTHERS else frozenset(),
        inputs=snapshot.inputs if added else verified.inputs,
        inputs_seen=now if relist and not added else snapshot.inputs_seen,
    )


def _inputs_changed(snapshot: Snapshot, inputs: tuple[tuple[str, int, int], ...]) -> bool:
    if inputs != snapshot.inputs:
        return True
    times = np.array([mtime for _, _, mtime in inputs], np.int64)
    present = times >= 0
    return bool((present & stamped_since(times, np.full(len(times), snapshot.inputs_seen))).any())


def _below_any(path: str, directories: Sequence[str]) -> bool:
    return any(path.startswith(f"{directory}/") for directory in directories)


def _report(
    snapshot: Snapshot,
    now: int,
    changed: list[str],
    added: list[str],
    removed: list[str],
    head: str | None,
    limits: FreshnessLimits,
) -> FreshnessReport:
    count = len(changed) + len(added) + len(removed)
    moved = head != snapshot.head
    what = f"{len(changed)} changed, {len(added)} added, {len(removed)} removed"
    if moved:
        state, reason = Freshness.STALE, f"HEAD moved; {what}" if count else "HEAD moved"
    elif count > limits.max_changes:
        state, reason = Freshness.STALE, f"too many files differ: {what}"
    elif count:
        state, reason = Freshness.DIRTY, what
    else:
        state, reason = Freshness.FRESH, ""
    return FreshnessReport(state, tuple(changed), tuple(added), tuple(removed), moved, reason, snapshot, now)


def _stale(snapshot: Snapshot, now: int, reason: str) -> FreshnessReport:
    return FreshnessReport(Freshness.STALE, (), (), (), False, reason, snapshot, now)
