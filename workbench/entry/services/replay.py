"""A project's past replayed: what decides the rows of its tasks, their scores, and why a file ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from workbench.config import Config
from workbench.entry.parameters import excluded_patterns, trust
from workbench.entry.project import second_stage, shallow_edge
from workbench.entry.services.past_project import (
    PER_TASK,
    PastProject,
    ReplayOptions,
    engine_spec,
    open_past,
    own_rankings,
    past_rules,
    past_tasks,
    task_vectors,
)
from workbench.entry.services.replay_engine import (
    COMMITS,
    engine_version,
    open_engine,
    open_reader,
    release,
    replay_one,
)
from workbench.errors import UsageError
from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL
from workbench.project.segment_cache import tidy
from workbench.project.workers import worker_count
from workbench.records.ids import new_id
from workbench.records.replay import ReplayRun, TaskRow
from workbench.replay.engine import Progress, Replayed, replay_tasks
from workbench.replay.row_log import RowLog, row_keys
from workbench.replay.run_report import counterpart
from workbench.replay.statistics import system_scores
from workbench.replay.systems import OwnRankings, System, SystemRanking, parse_systems
from workbench.replay.task_rows import Explanation, find_task, looked_at, weigh_files
from workbench.replay.tasks import ReplayTask, TaskSource
from workbench.sessions.importers.git import unreadable_sentence

_SPARE_TASKS = 2000  # tasks that may have come since a run


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """The outcome of a replay: its tasks, their rows, and what was missing on the way."""

    tasks: tuple[ReplayTask, ...]
    replayed: Replayed
    settings: Mapping[str, Any]
    degraded: tuple[str, ...]
    notes: tuple[str, ...]


def replay_past(
    project: PastProject,
    config: Config,
    wanted: ReplayOptions,
    *,
    workers: int | None = None,
    progress: Progress = lambda done, total, stage: None,
) -> ReplayOutcome:
    """Replay a project's past. Ctrl-C while tasks are replayed gives back what is done.

    Raises: GitError, StoreError, ModelError, ProjectError if there is no task.
    """
    history = max(config.index.history_commits, 0)
    commits = max(COMMITS, PER_TASK * wanted.tasks + history)
    with ExitStack() as stack:
        reader = open_reader(project.repository, commits, stack)
        tasks = past_tasks(project, reader, wanted)
        vectors, model, missing = task_vectors(project, config, reader, tasks, history, progress)
    rules = past_rules(project, config, tasks)
    systems = tuple(system for system in wanted.systems if vectors is not None or system.kind != "vector")
    notes = [*project.notes, *([unreadable_sentence(reader.unreadable)] if reader.unreadable else [])]
    if len(systems) < len(wanted.systems):
        notes.append("vector was left out: it needs an embedding model")
    stage = None
    if any(system.second for system in systems):
        place = project.place
        stage = second_stage(config, place.answer_cache, place.counter.count, place.active_reranker())
    if stage is None and any(system.second for system in systems):
        systems = tuple(system for system in systems if not system.second)
        notes.append("full was left out: it needs a second stage (models.llm, rerank.cross_encoder)")
    version = engine_version()
    own = own_rankings(project, config.models.ranking or DEFAULT_MODEL, systems)
    settings = _settings(project, config, wanted, systems, model, version, history, own)
    if stage is not None:
        settings["second"] = f"{stage.model} {stage.top} {stage.weight:g} {stage.timeout:g}"
    tidy(project.state / "replay" / "facts", version)
    log = RowLog(project.state / "replay" / "rows", settings)
    if wanted.fresh:
        log.path.unlink(missing_ok=True)
    spec = engine_spec(project, config, wanted, systems, commits, version, vectors, rules)
    keys = row_keys(tasks, project.sessions, rules.at)
    try:
        replayed = replay_tasks(
            partial(replay_one, spec), tasks, keys, log, workers=worker_count(workers), progress=progress
        )
    finally:
        release()
    log.tidy()
    degraded = () if vectors is not None else ("embeddings",)
    notes += [missing] if missing and vectors is None else []
    notes += [replayed.note] if replayed.note else []
    return ReplayOutcome(tuple(tasks), replayed, settings, degraded, tuple(notes))


def weigh_again(
    project: PastProject,
    config: Config,
    row: TaskRow,
    system: System,
    *,
    among: int,
    progress: Progress = lambda done, total, stage: None,
) -> tuple[SystemRanking, dict[str, tuple[str, ...]]] | None:
    """Rank the files of a task that was replayed once more, keeping all that features add to each, and why.

    The task is looked for among the newest `among` of its source and seen from its own past, as a replay sees
    it. None if the system lacks what it needs. Raises: UsageError if there is no such task; GitError,
    StoreError, ModelError, ProjectError.
    """
    source = TaskSource.SESSIONS if row.source == "session" else TaskSource.COMMITS
    wanted = ReplayOptions(source, among, (system,), config.plan.budget, packs=0)
    history = max(config.index.history_commits, 0)
    commits = max(COMMITS, PER_TASK * among + history)
    with ExitStack() as stack:
        reader = open_reader(project.repository, commits, stack)
        tasks = [task for task in past_tasks(project, reader, wanted) if task.id == row.id]
        if not tasks:
            raise UsageError(
                f"the task {row.id} is not in the past of {project.name}",
                hint="It is of another project, or was rewritten or forgotten since.",
            )
        vectors, _, _ = task_vectors(project, config, reader, tasks, history, progress)
        rules = past_rules(project, config, tasks)
        spec = engine_spec(project, config, wanted, (system,), commits, engine_version(), vectors, rules)
        engine = open_engine(spec, stack)
        weighed = engine.weigh(tasks[0], system, looked_at(row, system.name))
        engine.cache.flush()
    return weighed


def _settings(
    project: PastProject,
    config: Config,
    wanted: ReplayOptions,
    systems: Sequence[System],
    model: str,
    version: str,
    history: int,
    own: OwnRankings,
) -> dict[str, Any]:
    """Return what decides rows besides the tasks themselves."""
    return {
        "engine": version,
        "systems": [system.name for system in systems],
        "budget": wanted.budget,
        "tokenizer": config.plan.tokenizer,
        "ranking": own.used_id(config.models.ranking or DEFAULT_MODEL),
        **({"plain": plain} if (plain := own.used_id(LEXICAL_MODEL)) != LEXICAL_MODEL else {}),
        "embedding": model,
        "history": history,
        "trust": repr(trust(config.sessions)),
        "excluded": list(excluded_patterns(config)),
        "edge": "" if project.repository is None else shallow_edge(project.repository),
    }


def score_replay(project: PastProject, found: ReplayOutcome) -> ReplayRun:
    """Return what a replay found as a run, scored."""
    rows = found.replayed.rows
    measured = [row for row in rows if not row.fault]
    return ReplayRun(
        id=new_id(),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        project=project.name,
        version=str(found.settings["engine"]),
        settings=found.settings,
        systems=system_scores(measured, found.settings["systems"]),
        rows=rows,
        notes=found.notes,
        degraded=found.degraded,
        complete=found.replayed.complete,
    )


def explain_task(
    start: Path,
    config: Config,
    run: ReplayRun,
    task: str,
    system: str | None,
    progress: Progress = lambda done, total, stage: None,
) -> Explanation:
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
    among = len(run.rows) + _SPARE_TASKS
    weighed = weigh_again(open_past(start), config, row, wanted, among=among, progress=progress)
    if weighed is None:
        raise UsageError(
            f"{name} cannot rank now", hint="It needs an embedding model: `workbench model list`."
        )
    return weigh_files(run, row, name, *weighed)
