"""Collecting and ingesting: from a stream or a file to records in the journal of a feature.

`collect` first of all passes its stream through. A project that cannot be opened, or a journal that cannot be
written, is told when the stream has ended; it never holds the stream up.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Final

from workbench.entry.memory_place import MemoryPlace, memory_place
from workbench.entry.memory_recording import Kept, Learn, Summary, digest_of, feature_of, record
from workbench.entry.passing import Passed, pass_through, stoppable
from workbench.errors import UsageError, WorkbenchError
from workbench.memory.collecting import Assembler
from workbench.memory.extraction.outcome import INTERRUPTED, TERMINATED, TRUNCATED
from workbench.memory.iterations import Digested, Task
from workbench.memory.lines import LineFeeder
from workbench.memory.transcripts import Reading, read_iterations
from workbench.records.iterations import RawIterationOutput
from workbench.sessions.importers.transcripts import find_transcripts
from workbench.sessions.importers.trimming import open_transcript

BY: Final = "collect"
INGEST: Final = "ingest"
_TOGETHER = 50  # iterations of a file written at once
_HELD = 8 << 20  # characters of tools' answers among them
_INTERRUPT = 2  # SIGINT

Learning = Callable[[MemoryPlace], Learn | None]
Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Collected:
    """What became of a stream: how it was passed on, what was recorded, why not if it was not."""

    passed: Passed = field(default_factory=lambda: Passed(0))
    kept: list[Kept] = field(default_factory=list)
    lines: int = 0
    events: int = 0
    unknown: dict[str, int] = field(default_factory=dict)
    failure: WorkbenchError | None = None


class Collector:
    """Listens to a stream and holds the iterations that have ended until they are recorded."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.pending: list[RawIterationOutput] = []
        self.assembler = Assembler()
        self._feeder = LineFeeder()
        self._clock = clock
        self._began: float | None = None

    def look(self, chunk: bytes) -> None:
        """Take what came."""
        if self._began is None:
            self._began = self._clock()
        for found in self._feeder.feed(chunk):
            self._keep(self.assembler.take(found))

    def finish(self, stopped: str) -> None:
        """The stream is over; `stopped` says why if its run did not come to its end."""
        last = self._feeder.finish()
        if last is not None:
            self._keep(self.assembler.take(last))
        self._keep(self.assembler.finish(stopped))

    def _keep(self, raw: RawIterationOutput | None) -> None:
        if raw is None:
            return
        now = self._clock()
        spent = None if self._began is None else int((now - self._began) * 1000)
        self.pending.append(replace(raw, elapsed_ms=spent))
        self._began = now


def collect(start: Callable[[], Path], task: Task, source: int, sink: int, learning: Learning) -> Collected:
    """Pass a stream through and record its iterations, also of one that breaks off or that nobody reads.

    Iterations that ended are recorded when the stream is silent, so that a loop of many runs in one pipe is
    remembered as it goes. `start` finds the project; it is asked when there is something to record.
    """
    done = Collected()
    collector = Collector()
    recorder = _Recorder(start, task, learning)

    def idle() -> None:
        if collector.pending:
            recorder.record(collector.pending, done)

    with stoppable() as stops:
        done.passed = pass_through(source, sink, collector.look, stops, idle)
        collector.finish(_why_stopped(done.passed))
        recorder.record(collector.pending, done)
    seen = collector.assembler.seen
    done.lines, done.events, done.unknown = seen.lines, seen.events, seen.reasons
    return done


def _why_stopped(passed: Passed) -> str:
    if not passed.signal:
        return TRUNCATED
    return INTERRUPTED if passed.signal == _INTERRUPT else TERMINATED


class _Recorder:
    """Records what a collector holds; what could not be recorded stays there."""

    def __init__(self, start: Callable[[], Path], task: Task, learning: Learning) -> None:
        self._start = start
        self._task = task
        self._learning = learning
        self._place: MemoryPlace | None = None

    def record(self, pending: list[RawIterationOutput], done: Collected) -> None:
        if not pending:
            return
        try:
            place = self._place = self._place or memory_place(self._start())
            feature = feature_of(self._task.feature, place.branch)
            found = [digest_of(place, raw) for raw in pending]
            learn = self._learning(place)
            done.kept += record(place, found, replace(self._task, feature=feature), by=BY, learn=learn)
            done.failure = None
            pending.clear()
        except WorkbenchError as error:
            done.failure = error


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
    place: MemoryPlace,
    paths: Sequence[Path],
    task: Task,
    summary: Summary,
    *,
    learning: Learning,
    progress: Progress | None = None,
) -> Iterator[FileReport]:
    """Record the iterations of files, yielding a report of each. Raises: UsageError, StoreError.

    Of directories the JSONL files below them are read. Without a feature each iteration belongs to the branch
    that its transcript names.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist", hint="Give output of stream-json or a transcript.")
    paths = [path for path in find_transcripts(paths) if path.is_file()]
    learn = learning(place)
    total = sum(path.stat().st_size for path in paths)
    before = 0
    for path in paths:
        size = path.stat().st_size
        reading = Reading()
        count = 0
        fault = ""
        try:
            with open_transcript(path) as handle:
                found = _digests(place, handle, reading, progress, before, total)
                for group in _groups(found):
                    count += len(group)
                    _record(place, group, task, summary, learn)
        except (OSError, EOFError, zlib.error) as error:
            fault = getattr(error, "strerror", None) or str(error) or type(error).__name__
        seen = reading.seen
        yield FileReport(str(path), reading.source, size, seen.lines, count, seen.reasons, fault)
        before += size


def _digests(
    place: MemoryPlace,
    handle: IO[bytes],
    reading: Reading,
    progress: Progress | None,
    before: int,
    total: int,
) -> Iterator[Digested]:
    """Yield the iterations of a file with what they tell."""
    for raw in read_iterations(handle, reading):
        if progress is not None:
            progress(before + handle.tell(), total)
        yield digest_of(place, raw)


def _groups(found: Iterator[Digested]) -> Iterator[list[Digested]]:
    """Yield iterations in groups that are written at once, of bounded number and size."""
    group: list[Digested] = []
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
    place: MemoryPlace, group: Sequence[Digested], task: Task, summary: Summary, learn: Learn | None
) -> None:
    features: dict[str, list[Digested]] = {}
    for one in group:
        features.setdefault(feature_of(task.feature, one.raw.branch, place.branch), []).append(one)
    for feature, found in features.items():
        summary.add(record(place, found, replace(task, feature=feature), by=INGEST, learn=learn))
