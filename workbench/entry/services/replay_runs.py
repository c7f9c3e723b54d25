"""A project's past replayed, scored and kept, in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from workbench.entry.project import OpenedProject
from workbench.entry.services.replay import PACKS, ReplayOptions, open_past, replay_past, score_replay
from workbench.entry.services.runs import keep_run
from workbench.errors import StoreError
from workbench.records.replay import ReplayRun
from workbench.replay.systems import DEFAULT_SYSTEMS, parse_systems
from workbench.replay.tasks import TaskSource
from workbench.sessions.episodes_checks import one_of

TASKS: Final = 150


def run_replay(  # noqa: PLR0913 - the options of a replay
    project: OpenedProject,
    *,
    source: str = "all",
    tasks: int = TASKS,
    systems: Sequence[str] = (),
    budget: int | None = None,
    packs: int | None = None,
    fresh: bool = False,
    workers: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> ReplayRun:
    """Replay the newest tasks of a project for some systems, keep the run and return it.

    Raises: ProjectError where there is no past; UsageError for an unknown system or source; GitError,
    StoreError, ModelError.
    """
    config = project.config
    wanted = ReplayOptions(
        source=one_of(TaskSource, source, "source of tasks"),
        tasks=tasks,
        systems=parse_systems(systems or DEFAULT_SYSTEMS),
        budget=budget or config.plan.budget,
        packs=PACKS if packs is None else packs,
        fresh=fresh,
    )

    def report(done: int, total: int, stage: str = "") -> None:
        if progress is not None:
            progress(stage, done, total)

    past = open_past(project.root, project.environment)
    run = score_replay(past, replay_past(past, config, wanted, workers=workers, progress=report))
    try:
        return keep_run(past.state, run, spare=(config.gates.reference,))
    except StoreError as error:
        return replace(run, notes=(*run.notes, f"this run is not kept: {error.message}"))
