"""Ingesting: from files of stream-json and transcripts to records in the journal of a feature."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final

from workbench.entry.project import OpenedProject
from workbench.entry.services.memory import Learn, Novelty, Summary, digest_of, feature_of, learner, record
from workbench.errors import UsageError
from workbench.memory.iterations import DigestedOutput
from workbench.memory.journal import feature_stream
from workbench.memory.transcripts import TranscriptReading, read_iterations
from workbench.records.iterations import Task
from workbench.sessions.importers.lines import open_transcript
from workbench.sessions.importers.transcripts import find_transcripts

INGEST: Final = "ingest"
_TOGETHER = 50  # iterations of a file written at once
_HELD = 8 << 20  # characters of tools' answers among them

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class FileReport:
    """What was read of a file. `source` is empty for what no known agent wrote."""

    path: str
    source: str
    bytes: int
    lines: int
    iterations: int
    unknown: dict[str, int]
    fault: str = ""


def ingest(
    project: OpenedProject,
    paths: Sequence[Path],
    task: Task,
    summary: Summary,
    *,
    progress: Progress | None = None,
) -> Iterator[FileReport]:
    """Record the iterations of files, yielding a report of each. Raises: UsageError, StoreError.

    Of directories the JSONL files below them are read. Without a feature each iteration belongs to the branch
    that its transcript names. Journals are synced once, in the end: what a failing machine loses is in the
    files still.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist", hint="Give output of stream-json or a transcript.")
    paths = [path for path in find_transcripts(paths) if path.is_file()]
    learn = learner(project)
    written: set[str] = set()
    try:
        yield from _each(project, paths, task, summary, learn, progress, written)
    finally:
        for feature in sorted(written):
            project.journal.sync(feature_stream(feature))


def _each(
    project: OpenedProject,
    paths: Sequence[Path],
    task: Task,
    summary: Summary,
    learn: Learn,
    progress: Progress | None,
    written: set[str],
) -> Iterator[FileReport]:
    """Record the iterations of each file; `written` gets the features whose journals have to be synced."""
    total = sum(path.stat().st_size for path in paths)
    before = 0
    for path in paths:
        size = path.stat().st_size
        reading = TranscriptReading()
        count = 0
        fault = ""
        try:
            with open_transcript(path) as handle:
                outputs = _digests(project, handle, reading, progress, before, total)
                for group in _groups(outputs):
                    count += len(group)
                    _record(project, group, task, summary, learn, written)
        except (OSError, EOFError, zlib.error) as error:
            fault = getattr(error, "strerror", None) or str(error) or type(error).__name__
        seen = reading.seen
        yield FileReport(str(path), reading.source, size, seen.lines, count, seen.reasons, fault)
        before += size


def _digests(
    project: OpenedProject,
    handle: IO[bytes],
    reading: TranscriptReading,
    progress: Progress | None,
    before: int,
    total: int,
) -> Iterator[DigestedOutput]:
    """Yield the iterations of a file with what they hold."""
    for raw in read_iterations(handle, reading):
        if progress is not None:
            progress(before + handle.tell(), total)
        yield digest_of(project, raw)


def _groups(found: Iterator[DigestedOutput]) -> Iterator[list[DigestedOutput]]:
    """Yield iterations in groups that are written at once, of bounded number and size."""
    group: list[DigestedOutput] = []
    held = 0
    for one in found:
        group.append(one)
        held += sum(len(use.result or "") for use in one.raw.tool_uses)
        if len(group) >= _TOGETHER or held >= _HELD:
            yield group
            group, held = [], 0
    if group:
        yield group


def _record(
    project: OpenedProject,
    group: Sequence[DigestedOutput],
    task: Task,
    summary: Summary,
    learn: Learn,
    written: set[str],
) -> None:
    features: dict[str, list[DigestedOutput]] = {}
    for one in group:
        features.setdefault(feature_of(task.feature, one.raw.branch, project.branch), []).append(one)
    for feature, found in features.items():
        kept = record(project, found, replace(task, feature=feature), by=INGEST, learn=learn, sync=False)
        if any(one.novelty is not Novelty.UNCHANGED for one in kept):
            written.add(feature)
        summary.add(kept)
