"""Turn files on disk into facts: read, refuse what is no text, extract; in several processes when it pays."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workbench.project.admission import content_refusal
from workbench.project.facts import extract_facts
from workbench.project.scan import read_bytes, stat_file
from workbench.project.snapshot import content_hash
from workbench.records.project import FileFacts, FileStat, Skipped

Progress = Callable[[int, int], None]

_CHUNK = 24
_PARALLEL_FROM = 150  # below this, starting processes costs more than they save


@dataclass(frozen=True, slots=True)
class Extracted:
    """One file read: its stat from before the read, its content hash, and its facts or why it has none."""

    stat: FileStat
    digest: str
    facts: FileFacts | None
    skipped: Skipped | None = None


@dataclass(slots=True)
class Extraction:
    """Files read: facts by path in path order, hashes of every content read, and what was refused."""

    facts: dict[str, FileFacts] = field(default_factory=dict)
    stats: dict[str, FileStat] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)


def extract_file(root: str, path: str, cap: int) -> Extracted | Skipped:
    """Read one file and extract its facts."""
    found = stat_file(root, path)
    if isinstance(found, str):
        return Skipped(path, found)
    data = read_bytes(root, path, cap)
    if isinstance(data, Skipped):
        return Extracted(found, "", None, data)
    digest = content_hash(data)
    refused = content_refusal(path, data)
    if refused is not None:
        return Extracted(found, digest, None, Skipped(path, refused))
    return Extracted(found, digest, extract_facts(path, data))


def extract_all(
    root: Path,
    paths: Sequence[str],
    *,
    cap: int,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Extraction:
    """Read files and extract their facts. Ctrl-C stops the workers and is raised on."""
    result = Extraction()
    done = 0
    for batch in _batches(os.fspath(root), paths, cap, workers):
        for path, item in batch:
            if isinstance(item, Skipped):
                result.skipped.append(item)
                continue
            result.stats[path] = item.stat
            result.hashes[path] = item.digest
            if item.facts is not None:
                result.facts[path] = item.facts
            elif item.skipped is not None:
                result.skipped.append(item.skipped)
        done += len(batch)
        if progress is not None:
            progress(done, len(paths))
    return result


_Batch = list[tuple[str, Extracted | Skipped]]


def _batches(root: str, paths: Sequence[str], cap: int, workers: int | None) -> Iterator[_Batch]:
    chunks = [(root, list(paths[at : at + _CHUNK]), cap) for at in range(0, len(paths), _CHUNK)]
    count = workers if workers is not None else min(os.cpu_count() or 1, 8)
    if count < 2 or len(paths) < _PARALLEL_FROM:
        yield from map(_extract_chunk, chunks)
        return
    context = multiprocessing.get_context(_start_method())
    with context.Pool(count, initializer=_ignore_interrupts) as pool:
        yield from pool.imap(_extract_chunk, chunks)


def _start_method() -> str:
    # A fork with other threads alive can inherit their locks; without any it is the fastest start.
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _extract_chunk(chunk: tuple[str, Iterable[str], int]) -> _Batch:
    root, paths, cap = chunk
    return [(path, extract_file(root, path, cap)) for path in paths]
