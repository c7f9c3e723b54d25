"""Collecting: from a stream that passes through to records in the journal of a feature.

The stream comes first. A project that cannot be opened, or a journal that cannot be written, is reported when
it has ended, and what recording needs is imported when there is something to record: nothing holds it up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.entry.os.pipes import Passed, pass_through, stoppable
from workbench.errors import WorkbenchError
from workbench.memory.assembly import Assembler
from workbench.memory.extraction.extract import INTERRUPTED, TERMINATED, TRUNCATED
from workbench.memory.transcripts import LineFeeder
from workbench.records.iterations import RawIterationOutput, Task

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.entry.services.memory import KeptIteration

BY: Final = "collect"
_INTERRUPT = 2  # SIGINT


@dataclass(slots=True)
class Collected:
    """What became of a stream: how it was passed on, what was recorded, why not if it was not."""

    passed: Passed = field(default_factory=lambda: Passed(0))
    kept: list[KeptIteration] = field(default_factory=list)
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


def collect(start: Callable[[], Path], task: Task, source: int, sink: int) -> Collected:
    """Pass a stream through and record its iterations, also of one that breaks off or that nobody reads.

    Iterations that ended are recorded when the stream is silent, so that a loop of many runs in one pipe is
    remembered as it goes. `start` finds the project; it is asked when there is something to record.
    """
    done = Collected()
    collector = Collector()
    recorder = _Recorder(start, task)

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

    def __init__(self, start: Callable[[], Path], task: Task) -> None:
        self._start = start
        self._task = task
        self._project: OpenedProject | None = None

    def record(self, pending: list[RawIterationOutput], done: Collected) -> None:
        if not pending:
            return
        from workbench.entry.project import find_state
        from workbench.entry.services.memory import digest_of, feature_of, learner, record

        try:
            project = self._project = self._project or find_state(self._start())
            feature = feature_of(self._task.feature, project.branch)
            found = [digest_of(project, raw) for raw in pending]
            learn = learner(project)
            done.kept += record(project, found, replace(self._task, feature=feature), by=BY, learn=learn)
            done.failure = None
            pending.clear()
        except WorkbenchError as error:
            done.failure = error
