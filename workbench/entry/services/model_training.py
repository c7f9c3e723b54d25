"""Training a model on a project's own past: tasks with what was known before each, a fit, and a test [img 9].

Tasks are commits and recorded prompts, replayed as `workbench --replay` does: the files and the history are
those of the moment before. What is trained is a `linear` model, held to the packaged one, or an `adapter`
of the vectors of tasks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import structs, to_builtins

from workbench.entry.services.model_fits import (
    SESSION,
    measure_adapters,
    past_heads,
    sample_task,
    train_adapter,
    verdict_weights,
)
from workbench.entry.services.models import TRAINING_LOCK, activate_model, packaged_ranking, register_model
from workbench.entry.services.past_project import (
    ReplayOptions,
    engine_spec,
    open_past,
    past_tasks,
    task_vectors,
)
from workbench.entry.services.replay_engine import COMMITS, EngineSpec, engine_version, open_reader, release
from workbench.errors import ModelError, UsageError
from workbench.models.registry import STREAM, TRAINED
from workbench.plan.own_models import ADAPTER, BASES, LINEAR, SCHEMA, adapter_params
from workbench.plan.ranking import LEXICAL_MODEL, RankingModel, load_model
from workbench.project.workers import spread, worker_count
from workbench.records.answers.models import ModelProvenance, TrainingReport
from workbench.records.dataclass import dataclass
from workbench.replay.engine import BATCH
from workbench.replay.fitting import FittedModel, TaskSample, fit_weights, require_samples
from workbench.replay.packs import RuleHistory
from workbench.replay.tasks import ReplayTask, TaskSource
from workbench.replay.timeline import KnownTask, PastReader

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.entry.services.past_project import PastProject

MOST: Final = 10_000  # tasks, the newest ones
LEAST: Final = 500
SHARE: Final = 0.2  # of plans that a new model is tried on

T = TypeVar("T")
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """What a user asks a training for: tasks begun `since` a second, at least so many of them.

    `kind` is `linear` or `adapter`; `activate` lets plans rank with a model that is better beyond chance.
    """

    since: int = 0
    min_samples: int = LEAST
    seed: int = 7
    activate: bool = True
    workers: int | None = None
    kind: str = LINEAR


@dataclass(frozen=True, slots=True)
class PastTasks:
    """The tasks to train on, oldest first, and what replaying them takes; `base` is what ranks them."""

    base: RankingModel
    past: PastProject
    tasks: Sequence[ReplayTask]
    spec: EngineSpec
    known: Sequence[KnownTask]
    options: TrainingOptions
    progress: Progress

    def replay(self, function: Callable[[ReplayTask], T | None], tasks: Sequence[ReplayTask]) -> list[T]:
        """Return what a function of this module makes of tasks in processes, without what failed."""
        workers = min(worker_count(self.options.workers), max(1, len(tasks) // BATCH))
        results = spread(function, tasks, workers=workers, batch=BATCH, failed=_nothing)
        found: list[T] = []
        done = 0
        try:
            for batch in results:
                done += len(batch)
                found += [one for one in batch if one is not None]
                self.progress(done, len(tasks), "Replaying tasks")
        finally:
            release()
        return found


def train_model(
    project: OpenedProject,
    wanted: TrainingOptions,
    *,
    by: str,
    progress: Progress = lambda done, total, stage: None,
) -> TrainingReport:
    """Fit a model to a project's past and register it where it is better beyond chance on the newest tasks.

    It is then tried on a share of plans, or active at once where no session is recorded that could score it.
    Raises: UsageError where there are too few tasks; ModelError where no model fits them; ProjectError,
    GitError, StoreError; StoreBusy while another training goes on.
    """
    with project.lock(TRAINING_LOCK, 0):
        past = collect_tasks(project, wanted, progress)
        try:
            trained = _FITS[wanted.kind](past)
        except (ModelError, UsageError) as error:  # whoever asked for it may look at the status alone
            project.journal.append(STREAM, TRAINED, [{"reason": error.message}], by=by)
            raise
        report = _finish(project, past, trained, by)
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
    require_samples(count_tasks(project, wanted), wanted.min_samples)
    arguments = ["model", "train", "--kind", wanted.kind, "--seed", str(wanted.seed)]
    arguments += ["--min-samples", str(wanted.min_samples)]
    if wanted.since:
        arguments += ["--since", datetime.fromtimestamp(wanted.since, UTC).isoformat()]
    arguments += [] if wanted.activate else ["--no-activate"]
    if not run_in_background(project.root, *arguments):
        raise UsageError("no process could be started", hint="Train without --async.")
    reason = "training goes on in a process of its own: `workbench model status` says what came of it"
    return TrainingReport("", 0, 0, 0.0, 0.0, 1.0, False, "running", reason, 0.0, True)


def count_tasks(project: OpenedProject, wanted: TrainingOptions) -> int:
    """Return how many past tasks a training would begin with. Raises: ProjectError, GitError."""
    past = open_past(project.root, project.environment)
    with ExitStack() as stack:
        return len(_tasks_since(past, open_reader(past.repository, 2 * MOST, stack), wanted))


def is_training(project: OpenedProject) -> bool:
    """Whether a process trains a model of the project now."""
    return any(name == TRAINING_LOCK for name, *_ in project.held_locks())


def collect_tasks(project: OpenedProject, wanted: TrainingOptions, progress: Progress) -> PastTasks:
    """Return past tasks and the packaged model that ranks here. Raises: as `train_model`."""
    past = open_past(project.root, project.environment)
    config, history = project.config, max(project.config.index.history_commits, 0)
    options = ReplayOptions(TaskSource.ALL, MOST, (), config.plan.budget, packs=0)
    commits = max(COMMITS, 2 * MOST)
    with ExitStack() as stack:
        reader = open_reader(past.repository, commits, stack)
        tasks = _tasks_since(past, reader, wanted)
        require_samples(len(tasks), wanted.min_samples)
        vectors, _, missing = task_vectors(past, config, reader, tasks, history, progress)
        if wanted.kind == ADAPTER and vectors is None:
            raise UsageError(f"an adapter maps embeddings: {missing}", hint="Train a linear model.")
        known = past_heads(past, reader, history) if wanted.kind == ADAPTER else []
    base = load_model(packaged_ranking(project) if vectors is not None else LEXICAL_MODEL)
    if base.model_id not in BASES[: 1 if wanted.kind == ADAPTER else 2]:
        raise UsageError(
            f"models.ranking is {base.model_id}, which no model of a project starts from",
            hint="Unset it: `workbench config unset models.ranking`.",
        )
    version = engine_version()
    spec = engine_spec(past, config, options, (), commits, version, vectors, RuleHistory())
    return PastTasks(base, past, tasks[::-1], spec, known, wanted, progress)


@dataclass(frozen=True, slots=True)
class TrainedParams:
    """What a fit found, as parameters of its kind, in how many seconds, and how many tasks were prompts."""

    found: FittedModel
    params: Mapping[str, object]
    prompts: int
    seconds: float


def collect_samples(past: PastTasks) -> list[TaskSample]:
    """Return tasks as the packaged model ranks them, oldest first."""
    verdicts = verdict_weights(past.past)
    return past.replay(partial(sample_task, past.spec, past.base.model_id, verdicts), past.tasks)


def _fit_linear(past: PastTasks) -> TrainedParams:
    samples = collect_samples(past)
    started = time.perf_counter()
    weights = fit_weights(samples, least=past.options.min_samples, seed=past.options.seed)
    params = {"schema": SCHEMA, "weights": {past.base.model_id: dict(weights.weights)}}
    prompts = sum(sample.prompt for sample in samples)
    return TrainedParams(weights, params, prompts, time.perf_counter() - started)


def _fit_adapter(past: PastTasks) -> TrainedParams:
    assert past.spec.vectors is not None
    started = time.perf_counter()
    adapter = train_adapter(
        past.tasks,
        past.known,
        past.spec.vectors,
        lambda tasks, maps: past.replay(
            partial(measure_adapters, past.spec, past.base.model_id, maps), tasks
        ),
        seed=past.options.seed,
    )
    prompts = sum(task.source == SESSION for task in past.tasks)
    return TrainedParams(adapter, adapter_params(adapter.adapter), prompts, time.perf_counter() - started)


_FITS: Final[Mapping[str, Callable[[PastTasks], TrainedParams]]] = {
    LINEAR: _fit_linear,
    ADAPTER: _fit_adapter,
}


def _tasks_since(past: PastProject, reader: PastReader, wanted: TrainingOptions) -> list[ReplayTask]:
    options = ReplayOptions(TaskSource.ALL, MOST, (), budget=0, packs=0)
    return [task for task in past_tasks(past, reader, options) if task.at >= wanted.since]


def _nothing(task: ReplayTask) -> None:
    return None


def _finish(project: OpenedProject, past: PastTasks, trained: TrainedParams, by: str) -> TrainingReport:
    wanted, found = past.options, trained.found
    left = {"model_id": "", "state": "rejected", "running": False}
    report = TrainingReport.of(found, reason=_reason(found), seconds=round(trained.seconds, 3), **left)
    if not found.better:
        return report
    name = register_model(
        project,
        wanted.kind,
        trained.params,
        ModelProvenance(
            base=past.base.model_id,
            since=max(found.since, 0),
            until=max(found.until, 0),
            samples=found.samples,
            sessions=trained.prompts,
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
    elif trained.prompts:
        activate_model(project, name, share=SHARE, by=by)
        state, then = "canary", f"it is tried on {SHARE:.0%} of plans"
    else:
        activate_model(project, name, by=by)
        state, then = "active", "it is active"
    return structs.replace(report, model_id=name, state=state, reason=f"{report.reason}; {then}")


def _reason(found: FittedModel) -> str:
    if not found.penalty:
        return "nothing was better on later tasks than the packaged ranking, which stays"
    change = f"nDCG@10 {found.before:.3f} -> {found.after:.3f}"
    gain = f"{change} on the {found.held_out} newest tasks (p = {found.p:.3f})"
    return gain if found.better else f"{gain}: not better beyond chance, the ranking stays as it is"
