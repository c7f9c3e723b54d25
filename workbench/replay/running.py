"""Replays many tasks by several processes, keeps every row at once, and continues where it was stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from workbench.project.workers import spread
from workbench.records.replay import TaskRow
from workbench.replay.engine import NOTHING, failed_row
from workbench.replay.row_log import RowLog
from workbench.replay.tasks import Task

BATCH = 8  # consecutive revisions a process replays at a time: its index goes along with them
_CRASHED = "the process that replayed it ended"

Progress = Callable[[int, int, str], None]
"""Told (tasks done, tasks in all, what to say)."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """Rows in the order of the tasks; `reused` of them were known. Not `complete` after Ctrl-C."""

    rows: tuple[TaskRow, ...]
    reused: int
    complete: bool
    note: str = ""


def replay_tasks(
    function: Callable[[Task], TaskRow],
    tasks: Sequence[Task],
    keys: Sequence[str],
    log: RowLog | None,
    *,
    workers: int,
    progress: Progress = lambda done, total, text: None,
    clock: Callable[[], float] = time.monotonic,
) -> Replayed:
    """Return a row for each task. `function` must be importable by name where there are several workers.

    A task whose process ends, or for which git fails, has a row with a fault, which is not kept. After Ctrl-C
    the rows that were done come back, and are in the log.
    """
    known = {} if log is None else log.read()
    found = {key: known[key] for key in keys if key in known}
    reused = len(found)
    waiting = [(key, task) for key, task in zip(keys, tasks, strict=True) if key not in found]
    note, complete, started = "", True, clock()
    results = spread(
        function,
        [task for _, task in waiting],
        workers=min(workers, max(1, len(waiting) // BATCH)),
        batch=BATCH,
        failed=_crashed,
    )
    done = 0
    try:
        with closing(results):
            for rows in results:
                pairs = [(key, row) for (key, _), row in zip(waiting[done:], rows, strict=False)]
                done += len(rows)
                found.update(pairs)
                note = note or _keep(log, [(key, row) for key, row in pairs if row.fault in ("", NOTHING)])
                progress(reused + done, len(tasks), _eta(clock() - started, done, len(waiting)))
    except KeyboardInterrupt:
        complete = False
    return Replayed(tuple(found[key] for key in keys if key in found), reused, complete, note)


def _crashed(task: Task) -> TaskRow:
    return failed_row(task, _CRASHED)


def _keep(log: RowLog | None, rows: Sequence[tuple[str, TaskRow]]) -> str:
    if log is None or not rows:
        return ""
    try:
        log.append(rows)
    except OSError as error:
        return f"rows are not kept for the next run: {error}"
    return ""


def _eta(seconds: float, done: int, total: int) -> str:
    """Return e.g. `Replaying, 2 min left`."""
    left = seconds / done * (total - done) if done else 0.0
    if left < 1:
        return "Replaying"
    return f"Replaying, {left / 60:.0f} min left" if left >= 90 else f"Replaying, {left:.0f} s left"
