"""Explains a task of a kept run: its files are ranked again as of when it began, with all contributions."""

from __future__ import annotations

from pathlib import Path

from workbench.config import Config
from workbench.entry.services.replay import open_past, weigh_again
from workbench.errors import UsageError
from workbench.records.replay import ReplayRun
from workbench.replay.explained import Explained, explained, find_task
from workbench.replay.pairs import counterpart
from workbench.replay.rankers import parse_systems
from workbench.replay.running import Progress

_SPARE = 2000  # tasks that may have come since the run


def explain_task(
    start: Path,
    config: Config,
    run: ReplayRun,
    task: str,
    system: str | None,
    progress: Progress = lambda done, total, told: None,
) -> Explained:
    """Return what features add to the files of a task, for a system of the run (by default its hybrid).

    Raises: UsageError for a task or a system that the run does not have; WorkbenchError.
    """
    row = find_task(run, task)
    name = system or counterpart(run)
    if name not in row.systems:
        raise UsageError(
            f"{name or 'no system'} did not do this task", hint=f"Did: {', '.join(row.systems)}."
        )
    (wanted,) = parse_systems((name,))
    among = len(run.rows) + _SPARE
    ranking = weigh_again(open_past(start), config, row, wanted, among=among, progress=progress)
    if ranking is None:
        raise UsageError(
            f"{name} cannot rank now", hint="It needs an embedding model: `workbench model list`."
        )
    return explained(run, row, name, ranking)
