"""What an index was made from, in a form that can be compared with the disk in milliseconds.

A file's time alone does not prove that it is unchanged: a second write within the clock's granularity leaves
size and time as they were. So every entry also keeps when it was *seen*, the moment before it was read or
listed, and whatever the file system stamps at or after that moment is compared by content (git calls such
entries racy).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ParseError
from workbench.project import directories as places
from workbench.project.scan import Scan
from workbench.records.dataclass import dataclass
from workbench.records.project import FileStat

Int64 = NDArray[np.int64]

VERSION = 1
_MAGIC = b"workbench snapshot\n"
_FINE_SLACK = 20_000_000  # kernels stamp files with a clock that ticks every 1 to 10 ms
_COARSE_SLACK = 2_000_000_000  # FAT counts in steps of two seconds
_SECOND = 1_000_000_000
_MAX_WATCHED = 2_000  # directories without project files that are watched


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files and directories an index describes.

    `sizes`, `mtimes`, `seen` are int64 [files] (bytes, ns, ns); `hashes` are `content_hash` values, empty
    where the content was not read. `directories` hold or could hold project files ("" is the root), with
    `directory_mtimes` and `directory_seen` int64 [directories]. `others` are names on disk that are no
    part of the project (ignored ones). `inputs` are (absolute path, size, mtime_ns) of what decides the
    listing from outside, (-1, -1) when missing, as of `inputs_seen`. Sequences are sorted by path.
    """

    version: int
    paths: tuple[str, ...]
    sizes: Int64
    mtimes: Int64
    seen: Int64
    hashes: tuple[str, ...]
    directories: tuple[str, ...]
    directory_mtimes: Int64
    directory_seen: Int64
    others: frozenset[str]
    inputs: tuple[tuple[str, int, int], ...]
    inputs_seen: int
    head: str | None
    capped: bool
    tracked: bool


def content_hash(data: bytes) -> str:
    """Return the digest of a content in 32 hexadecimal digits (BLAKE2b, 128 bits)."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def take_snapshot(
    root: Path, scanned: Scan, hashes: Mapping[str, str], *, head: str | None, inputs: Sequence[str] = ()
) -> Snapshot:
    """Return the snapshot of a scan whose files were then read and indexed.

    `hashes` maps paths to the hash of the bytes read, also where the content was then refused; files
    without one are watched, and any new time of them counts as a change. `inputs` are absolute paths
    of the files outside the project that decide its listing.
    """
    entries = sorted((*scanned.files, *scanned.large), key=lambda entry: entry.path)
    paths = tuple(entry.path for entry in entries)
    watched, others = _surroundings(os.fspath(root), paths, scanned)
    directories = tuple(sorted(watched))
    return Snapshot(
        version=VERSION,
        paths=paths,
        sizes=np.array([entry.size for entry in entries], np.int64),
        mtimes=np.array([entry.mtime_ns for entry in entries], np.int64),
        seen=np.full(len(entries), scanned.started_ns, np.int64),
        hashes=tuple(hashes.get(path, "") for path in paths),
        directories=directories,
        directory_mtimes=np.array([watched[path] for path in directories], np.int64),
        directory_seen=np.full(len(directories), scanned.started_ns, np.int64),
        others=others,
        inputs=tuple((path, *input_stamp(path)) for path in inputs),
        inputs_seen=scanned.started_ns,
        head=head,
        capped=scanned.capped,
        tracked=scanned.tracked,
    )


def advance(
    snapshot: Snapshot,
    indexed: Mapping[str, tuple[FileStat, str]],
    removed: Iterable[str],
    *,
    seen_ns: int,
    head: str | None,
) -> Snapshot:
    """Return the snapshot after some files were re-indexed in place.

    `indexed` maps paths to (stat, content hash or ""); both were taken after `seen_ns`, the stat before
    the content was read. `head` is the commit the index now describes.
    """
    columns = (snapshot.sizes.tolist(), snapshot.mtimes.tolist(), snapshot.seen.tolist(), snapshot.hashes)
    rows: dict[str, tuple[int, int, int, str]]
    rows = dict(zip(snapshot.paths, zip(*columns, strict=True), strict=True))
    for path in removed:
        rows.pop(path, None)
    for path, (found, digest) in indexed.items():
        rows[path] = (found.size, found.mtime_ns, seen_ns, digest)
    paths = tuple(sorted(rows))
    ordered = [rows[path] for path in paths]
    return replace(
        snapshot,
        paths=paths,
        sizes=np.array([row[0] for row in ordered], np.int64),
        mtimes=np.array([row[1] for row in ordered], np.int64),
        seen=np.array([row[2] for row in ordered], np.int64),
        hashes=tuple(row[3] for row in ordered),
        head=head,
    )


def touch(snapshot: Snapshot, touched: Mapping[int, tuple[int, int]], now: int) -> Snapshot:
    """Return the snapshot with new (size, mtime) for rows whose content was found equal at `now`."""
    sizes, mtimes, seen = snapshot.sizes.copy(), snapshot.mtimes.copy(), snapshot.seen.copy()
    rows = np.fromiter(touched, np.intp, len(touched))
    sizes[rows] = [size for size, _ in touched.values()]
    mtimes[rows] = [mtime for _, mtime in touched.values()]
    seen[rows] = now
    return replace(snapshot, sizes=sizes, mtimes=mtimes, seen=seen)


def watch(snapshot: Snapshot, watched: Mapping[str, int], gone: Iterable[str], now: int) -> Snapshot:
    """Return the snapshot with directories (and their mtime) looked into at `now`, and without those gone."""
    columns = zip(snapshot.directory_mtimes.tolist(), snapshot.directory_seen.tolist(), strict=True)
    rows: dict[str, tuple[int, int]] = dict(zip(snapshot.directories, columns, strict=True))
    for directory in gone:
        rows.pop(directory, None)
    rows |= {directory: (mtime, now) for directory, mtime in watched.items()}
    names = tuple(sorted(rows))
    return replace(
        snapshot,
        directories=names,
        directory_mtimes=np.array([rows[name][0] for name in names], np.int64),
        directory_seen=np.array([rows[name][1] for name in names], np.int64),
    )


def stamped_since(stamps: Int64, seen: Int64) -> NDArray[np.bool_]:
    """Tell per entry whether a file system's stamp (ns) may be of the moment it was seen, or later."""
    slack = np.where(stamps % _SECOND == 0, _COARSE_SLACK, _FINE_SLACK)
    return np.asarray(stamps >= seen - slack)


def input_stamp(path: str) -> tuple[int, int]:
    """Return (size, mtime_ns) of a file, (-1, -1) when it is missing."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return -1, -1
    return found.st_size, found.st_mtime_ns


def pack(snapshot: Snapshot) -> bytes:
    """Return a snapshot as bytes for `unpack`."""
    texts = [
        "\0".join(texts)
        for texts in (snapshot.paths, snapshot.hashes, snapshot.directories, sorted(snapshot.others))
    ]
    arrays = _arrays(snapshot)
    encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
    header = {
        "version": snapshot.version,
        "files": len(snapshot.paths),
        "directories": len(snapshot.directories),
        "others": len(snapshot.others),
        "texts": [len(text) for text in encoded],
        "inputs": [list(entry) for entry in snapshot.inputs],
        "inputs_seen": snapshot.inputs_seen,
        "head": snapshot.head,
        "capped": snapshot.capped,
        "tracked": snapshot.tracked,
    }
    parts = [*encoded, *(column.astype("<i8").tobytes() for column in arrays)]
    return _MAGIC + json.dumps(header).encode("ascii") + b"\n" + b"".join(parts)


def unpack(data: bytes) -> Snapshot:
    """Return the snapshot that `pack` wrote; an empty one with its version if that is not ours.

    Raises ParseError for anything else.
    """
    try:
        return _unpack(data)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ParseError(f"the index snapshot is damaged: {error}", hint="Run: workbench rebuild") from error


def empty_snapshot(version: int = VERSION) -> Snapshot:
    """Return a snapshot of nothing."""
    none = np.zeros(0, np.int64)
    return Snapshot(version, (), none, none, none, (), (), none, none, frozenset(), (), 0, None, False, True)


def _unpack(data: bytes) -> Snapshot:
    if not data.startswith(_MAGIC):
        raise ValueError("it does not start as one")
    end = data.index(b"\n", len(_MAGIC))
    header = json.loads(data[len(_MAGIC) : end])
    if header["version"] != VERSION:
        return empty_snapshot(int(header["version"]))
    at = end + 1
    texts = []
    for length in header["texts"]:
        texts.append(data[at : at + length].decode("utf-8", "surrogateescape"))
        at += length
    files, directories = int(header["files"]), int(header["directories"])
    counts = (files, files, directories, int(header["others"]))
    names = [tuple(text.split("\0")) if count else () for text, count in zip(texts, counts, strict=True)]
    numbers = np.frombuffer(data, "<i8", offset=at).astype(np.int64)
    if [len(name) for name in names] != list(counts) or len(numbers) != 3 * files + 2 * directories:
        raise ValueError("its parts do not add up")
    sizes, mtimes, seen, *rest = np.split(numbers, [files, 2 * files, 3 * files, 3 * files + directories])
    return Snapshot(
        VERSION,
        names[0],
        sizes,
        mtimes,
        seen,
        names[1],
        names[2],
        rest[0],
        rest[1],
        frozenset(names[3]),
        tuple((str(path), int(size), int(mtime)) for path, size, mtime in header["inputs"]),
        int(header["inputs_seen"]),
        header["head"],
        bool(header["capped"]),
        bool(header["tracked"]),
    )


def _arrays(snapshot: Snapshot) -> tuple[Int64, ...]:
    return (
        snapshot.sizes,
        snapshot.mtimes,
        snapshot.seen,
        snapshot.directory_mtimes,
        snapshot.directory_seen,
    )


def _surroundings(root: str, paths: Sequence[str], scanned: Scan) -> tuple[dict[str, int], frozenset[str]]:
    """Return the directories to watch with their mtime_ns, and the names on disk that the lister left out.

    A name counts as left out only where its directory has not changed since the listing began; elsewhere
    it may be newer than the listing, and the first check asks about it.
    """
    holding = places.list_ancestors(paths)
    known = set(paths)
    watched: dict[str, int] = {}
    others: set[str] = set()
    empty: list[str] = []
    for directory in sorted(holding):
        times = places.stamp(root, directory)
        if times is None:
            continue
        watched[directory] = times[0]
        inside = places.entries(root, directory, scanned.tracked)
        if inside is None:
            continue
        empty += [path for path in inside.directories if path not in holding]
        stamps = np.array(times, np.int64)
        if not stamped_since(stamps, np.full(2, scanned.started_ns, np.int64)).any():
            others.update(path for path in inside.files if path not in known)
    for directory in empty:
        if len(watched) < len(holding) + _MAX_WATCHED:
            watched |= places.list_below(root, directory, scanned.tracked)
    return watched, frozenset(others)
