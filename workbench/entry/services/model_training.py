"""Training a model on a project's own past: tasks with what was known before each, a fit, and a test [img 9].

Tasks are commits and recorded prompts, replayed as `workbench --replay` does: the files and the history are
those of the moment before. What is trained is a `linear` model, held to the packaged one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import structs, to_builtins

from workbench.entry.parameters import trust
from workbench.entry.services.models import (
    TRAINING_LOCK,
    activate_model,
    packaged_ranking,
    register_model,
)
from workbench.entry.services.replay import (
    ReplayOptions,
    engine_spec,
    open_past,
    past_tasks,
    task_vectors,
)
from workbench.entry.services.replay_engine import (
    COMMITS,
    EngineSpec,
    engine_version,
    held_engine,
    open_reader,
    release,
)
from workbench.errors import GitError, UsageError
from workbench.models.registry import STREAM, TRAINED
from workbench.plan.features import feature_matrix, feature_names
from workbench.plan.own_models import BASES, LINEAR, SCHEMA
from workbench.plan.ranking import LEXICAL_MODEL, RankingModel, load_model, score_rows
from workbench.project.workers import spread, worker_count
from workbench.records.answers.models import ModelProvenance, TrainingReport
from workbench.records.dataclass import dataclass
from workbench.records.episodes import Outcome
from workbench.replay.engine import BATCH
from workbench.replay.fitting import FILES, FittedWeights, TaskSample, fit_weights, require_samples
from workbench.replay.packs import RuleHistory
from workbench.replay.systems import Situation
from workbench.replay.tasks import ReplayTask, TaskSource
from workbench.replay.timeline import PastReader

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.entry.services.replay import PastProject

MOST: Final = 10_000  # tasks, the newest ones
LEAST: Final = 500
SHARE: Final = 0.2  # of plans that a new model is tried on

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """What a user asks a training for: tasks begun `since` a second, at least so many of them.

    `activate` lets plans rank with a model that is better beyond chance.
    """

    since: int = 0
    min_samples: int = LEAST
    seed: int = 7
    activate: bool = True
    workers: int | None = None


def train_model(
    project: OpenedProject,
    wanted: TrainingOptions,
    *,
    by: str,
    progress: Progress = lambda done, total, stage: None,
) -> TrainingReport:
    """Fit a model to a project's past and register it where it is better beyond chance on the newest tasks.

    It is then tried on a share of plans, or active at once where no session is recorded that could score it.
    Raises: UsageError where there are too few tasks; ProjectError, GitError, StoreError; StoreBusy while
    another training goes on.
    """
    with project.lock(TRAINING_LOCK, 0):
        base, samples = collect_samples(project, wanted, progress)
        started = time.perf_counter()
        try:
            found = fit_weights(samples, least=wanted.min_samples, seed=wanted.seed)
        except UsageError as error:  # whoever asked for it may look at the status alone
            project.journal.append(STREAM, TRAINED, [{"reason": error.message}], by=by)
            raise
        seconds = time.perf_counter() - started
        report = _finish(project, wanted, base, found, samples, seconds, by)
        project.journal.append(STREAM, TRAINED, [to_builtins(structs.replace(report, seconds=0.0))], by=by)
    return report


def start_training(project: OpenedProject, wanted: TrainingOptions) -> TrainingReport:
    """Train in a process of its own; what comes of it is in the status afterwards.

    Raises: UsageError while a training goes on, where there are too few tasks, or where no process can be
    started; ProjectError, GitError.
    """
    from workbench.entry.os.background import run_in_background

    if is_training(project):
        raise UsageError("a training goes on already", hint="See `workbench model status`.")
    past = open_past(project.root, project.environment)
    with ExitStack() as stack:
        count = len(_tasks_since(past, open_reader(past.repository, 2 * MOST, stack), wanted))
    require_samples(count, wanted.min_samples)
    arguments = ["model", "train", "--min-samples", str(wanted.min_samples), "--seed", str(wanted.seed)]
    if wanted.since:
        arguments += ["--since", datetime.fromtimestamp(wanted.since, UTC).isoformat()]
    arguments += [] if wanted.activate else ["--no-activate"]
    if not run_in_background(project.root, *arguments):
        raise UsageError("no process could be started", hint="Train without --async.")
    reason = "training goes on in a process of its own: `workbench model status` says what came of it"
    return TrainingReport("", 0, 0, 0.0, 0.0, 1.0, False, "running", reason, 0.0, True)


def is_training(project: OpenedProject) -> bool:
    """Whether a process trains a model of the project now."""
    return any(name == TRAINING_LOCK for name, *_ in project.held_locks())


def collect_samples(
    project: OpenedProject, wanted: TrainingOptions, progress: Progress
) -> tuple[RankingModel, list[TaskSample]]:
    """Return the packaged model that ranks here, and past tasks as it ranked them, oldest first.

    Raises: as `train_model`.
    """
    past = open_past(project.root, project.environment)
    config, history = project.config, max(project.config.index.history_commits, 0)
    options = ReplayOptions(TaskSource.ALL, MOST, (), config.plan.budget, packs=0)
    commits = max(COMMITS, 2 * MOST)
    with ExitStack() as stack:
        reader = open_reader(past.repository, commits, stack)
        tasks = _tasks_since(past, reader, wanted)
        require_samples(len(tasks), wanted.min_samples)
        vectors, _, _ = task_vectors(past, config, reader, tasks, history, progress)
    base = load_model(packaged_ranking(project) if vectors is not None else LEXICAL_MODEL)
    if base.model_id not in BASES:
        raise UsageError(
            f"models.ranking is {base.model_id}, which no model of a project starts from",
            hint="Unset it: `workbench config unset models.ranking`.",
        )
    version = engine_version()
    spec = engine_spec(past, config, options, (), commits, version, vectors, RuleHistory())
    samples: list[TaskSample] = []
    verdicts = _verdicts(past, project)
    results = spread(
        partial(sample_task, spec, base.model_id, verdicts),
        tasks[::-1],
        workers=min(worker_count(wanted.workers), max(1, len(tasks) // BATCH)),
        batch=BATCH,
        failed=_nothing,
    )
    done = 0
    try:
        for batch in results:
            done += len(batch)
            samples += [one for one in batch if one is not None]
            progress(done, len(tasks), "Replaying tasks")
    finally:
        release()
    return base, samples


def _tasks_since(past: PastProject, reader: PastReader, wanted: TrainingOptions) -> list[ReplayTask]:
    options = ReplayOptions(TaskSource.ALL, MOST, (), budget=0, packs=0)
    return [task for task in past_tasks(past, reader, options) if task.at >= wanted.since]


def _nothing(task: ReplayTask) -> TaskSample | None:
    return None


def _verdicts(past: PastProject, project: OpenedProject) -> dict[str, float]:
    """Return what prompts with a verdict count, by their id."""
    rate = trust(project.config.sessions)
    weights = {
        Outcome.SUCCESS: rate.success,
        Outcome.PARTIAL: (1.0 + rate.failed) / 2,
        Outcome.FAILED: rate.failed,
    }
    return {
        one.id: weights.get(one.known.task.verdict, 1.0)
        for one in past.sessions
        if one.known.task.verdict is not None
    }


def sample_task(
    spec: EngineSpec, base: str, verdicts: dict[str, float], task: ReplayTask
) -> TaskSample | None:
    """Return a past task as a packaged model ranks it, in a process of its own; None without a right file."""
    engine = held_engine(spec)
    try:
        seen = engine.look(task)
    except GitError:
        return None
    finally:
        engine.cache.flush()
    return (
        None
        if seen is None
        else make_sample(seen[0], seen[1], load_model(base), task, verdicts.get(task.id, 1.0))
    )


def make_sample(
    situation: Situation, truth: tuple[str, ...], base: RankingModel, task: ReplayTask, trusted: float = 1.0
) -> TaskSample:
    """Return the first files that a packaged model ranks for a task, with their features."""
    candidates = situation.candidates(base)
    names, matrix = feature_names(candidates.names), feature_matrix(candidates)
    index = situation.moment.view.index
    paths = [index.paths[position] for position in candidates.positions.tolist()]
    scores, _ = score_rows(base, names, matrix, paths)
    rounded = np.round(scores, 6).tolist()
    order = sorted(range(len(paths)), key=lambda row: (-rounded[row], paths[row]))[:FILES]
    wanted = frozenset(truth)
    return TaskSample(
        names=tuple(names),
        features=matrix[order].astype(np.float16),
        scores=np.asarray([rounded[row] for row in order]),
        relevant=np.asarray([paths[row] in wanted for row in order], dtype=np.bool_),
        total=len(wanted),
        at=task.at,
        session=task.session,
        text=task.text,
        prompt=task.source == "session",
        trust=trusted,
    )


def _finish(
    project: OpenedProject,
    wanted: TrainingOptions,
    base: RankingModel,
    found: FittedWeights,
    samples: list[TaskSample],
    seconds: float,
    by: str,
) -> TrainingReport:
    report = TrainingReport(
        model_id="",
        samples=found.samples,
        held_out=found.held_out,
        before=found.before,
        after=found.after,
        p=found.p,
        better=found.better,
        state="rejected",
        reason=_reason(found),
        seconds=round(seconds, 3),
    )
    if not found.better:
        return report
    name = register_model(
        project,
        LINEAR,
        {"schema": SCHEMA, "weights": {base.model_id: dict(found.weights)}},
        ModelProvenance(
            base=base.model_id,
            since=max(found.since, 0),
            until=max(found.until, 0),
            samples=found.samples,
            sessions=sum(one.prompt for one in samples),
            metrics={
                "before": found.before,
                "after": found.after,
                "p": found.p,
                "held_out": found.held_out,
                "penalty": found.penalty,
            },
            code_version=engine_version(),
            seed=wanted.seed,
        ),
        by=by,
    )
    if not wanted.activate:
        state, then = "registered", "it is registered and not used"
    elif any(one.prompt for one in samples):
        activate_model(project, name, share=SHARE, by=by)
        state, then = "canary", f"it is tried on {SHARE:.0%} of plans"
    else:
        activate_model(project, name, by=by)
        state, then = "active", "it is active"
    return structs.replace(report, model_id=name, state=state, reason=f"{report.reason}; {then}")


def _reason(found: FittedWeights) -> str:
    if not found.weights:
        return "no weights were better on later tasks than the packaged ranking, which stays"
    change = f"nDCG@10 {found.before:.3f} -> {found.after:.3f}"
    gain = f"{change} on the {found.held_out} newest tasks (p = {found.p:.3f})"
    return gain if found.better else f"{gain}: not better beyond chance, the ranking stays as it is"
