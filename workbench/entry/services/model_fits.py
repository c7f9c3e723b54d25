"""What a model of a project is fitted to: each past task as it is ranked here, and maps of query vectors.

With an adapter, what a task is like is judged by which past tasks changed the same files here, not by words
in general. It is fitted in seconds; what takes time is to replay the tasks it is chosen by and tested on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from workbench.entry.parameters import trust
from workbench.entry.services.replay_engine import EngineSpec, held_engine
from workbench.errors import GitError, ModelError, UsageError
from workbench.plan.ranking import RankingModel, load_model
from workbench.plan.semantics import QueryAdapter, head_texts
from workbench.records.dataclass import dataclass
from workbench.records.episodes import Outcome
from workbench.replay.adapter_fitting import PENALTIES, fit_adapter
from workbench.replay.fitting import CHOICE, TEST, FittedModel, TaskSample, by_session
from workbench.replay.metrics import ndcg
from workbench.replay.statistics import paired_permutation
from workbench.replay.systems import Situation, first_files
from workbench.replay.tasks import ReplayTask
from workbench.replay.timeline import known_commit

if TYPE_CHECKING:
    from workbench.entry.services.past_project import PastProject
    from workbench.replay.engine import Vectors
    from workbench.replay.timeline import KnownTask, PastReader

FIRST: Final = 10

Measured = list[tuple["ReplayTask", tuple[float, ...]]]
Measure = Callable[[Sequence["ReplayTask"], Sequence[QueryAdapter]], Measured]

SESSION: Final = "session"  # the source of tasks that are prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedAdapter(FittedModel):
    """The map of query vectors."""

    adapter: QueryAdapter


def past_heads(past: PastProject, reader: PastReader, history: int) -> list[KnownTask]:
    """Return what plans know of the past, newest first: commits and sessions."""
    commits = islice(reader.commits, history)
    known = [task for commit in commits if (task := known_commit(commit)) is not None]
    return sorted([*known, *(session.known for session in past.sessions)], key=lambda one: -one.ended)


def train_adapter(
    tasks: Sequence[ReplayTask],
    known: Sequence[KnownTask],
    vectors: Vectors,
    measure: Measure,
    *,
    seed: int = 7,
) -> FittedAdapter:
    """Fit a map to what was known before the newest tasks, and test it on these.

    tasks: oldest first. `measure` returns nDCG@10 of each task without and with each of some maps.
    Raises: UsageError where too few past tasks have vectors or none can be replayed; ModelError where no map
    can be computed.
    """
    choice, test = int(len(tasks) * CHOICE), int(len(tasks) * TEST)
    later, newest = tasks[choice:test], tasks[test:]
    penalties, tried = _fit_each(known, vectors, later[0].at)
    values = _values(measure(later, tried))
    gains = (values[:, 1:] - values[:, :1]).mean(axis=0)
    best = int(np.argmax(gains))
    found = _fit(known, vectors, newest[0].at, penalties[best])
    chosen = bool(gains[best] > 0)
    measured = measure(newest, [found] if chosen else [])
    values = _values(measured)
    sessions = [task.session for task, _ in measured]
    theirs, ours = by_session(sessions, values[:, 0]), by_session(sessions, values[:, -1])
    return FittedAdapter(
        adapter=found,
        penalty=penalties[best] if chosen else 0.0,
        samples=test,
        held_out=len(measured),
        before=round(float(np.mean(theirs)), 6),
        after=round(float(np.mean(ours)), 6),
        p=paired_permutation(ours, theirs, seed=seed) if chosen else 1.0,
        since=tasks[0].at,
        until=tasks[test - 1].at,
    )


def _values(measured: Measured) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    if not measured:
        raise UsageError("none of the newest tasks can be replayed", hint="See `workbench --replay`.")
    return np.asarray([values for _, values in measured])


def _fit_each(
    known: Sequence[KnownTask], vectors: Vectors, before: int
) -> tuple[list[float], list[QueryAdapter]]:
    """Return the penalties under which a map can be computed, and the maps. Raises: ModelError for none."""
    fitted: dict[float, QueryAdapter] = {}
    failure: ModelError | None = None
    for penalty in PENALTIES:
        try:
            fitted[penalty] = _fit(known, vectors, before, penalty)
        except ModelError as error:
            failure = error
    if failure is not None and not fitted:
        raise failure
    return list(fitted), list(fitted.values())


def _fit(known: Sequence[KnownTask], vectors: Vectors, before: int, penalty: float) -> QueryAdapter:
    """Return the map that fits the past tasks that had ended before a second and have a vector of numbers."""
    finite = np.isfinite(vectors.matrix.sum(axis=1))
    usable = [
        (row, frozenset(change.path for change in one.task.changes))
        for one, text in zip(known, head_texts([one.head for one in known]), strict=True)
        if one.ended < before
        and one.task.changes
        and (row := vectors.rows.get(text, -1)) >= 0
        and finite[row]
    ]
    if len(usable) < FIRST:
        raise UsageError(
            f"{len(usable)} past tasks have vectors, too few to fit an adapter to",
            hint="Index more of the history (index.history_commits), or train another kind of model.",
        )
    matrix = vectors.matrix[[row for row, _ in usable]]
    return fit_adapter(matrix, [files for _, files in usable], vectors.model, penalty)


def measure_adapters(
    spec: EngineSpec, base: str, adapters: Sequence[QueryAdapter], task: ReplayTask
) -> tuple[ReplayTask, tuple[float, ...]] | None:
    """Return nDCG@10 of a packaged model without and with each of some maps, in a process of its own."""
    engine, model = held_engine(spec), load_model(base)
    try:
        seen = engine.look(task)
    except GitError:
        return None
    finally:
        engine.cache.flush()
    if seen is None:
        return None
    situation, truth = seen
    models = [model, *(replace(model, model_id=f"{base}+{n}", adapter=one) for n, one in enumerate(adapters))]
    return task, tuple(
        ndcg([path in truth for path in first_files(situation, one)[0][:FIRST]], len(truth)) for one in models
    )


def verdict_weights(past: PastProject) -> dict[str, float]:
    """Return what prompts with a verdict count, by their id."""
    rate = trust(past.place.config.sessions)
    weights = {
        Outcome.SUCCESS: rate.success,
        Outcome.PARTIAL: (1.0 + rate.failed) / 2,
        Outcome.FAILED: rate.failed,
    }
    return {
        session.id: weights.get(session.known.task.verdict, 1.0)
        for session in past.sessions
        if session.known.task.verdict is not None
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
    paths, names, features, scores = first_files(situation, base)
    wanted = frozenset(truth)
    return TaskSample(
        names=names,
        features=features.astype(np.float16),
        scores=scores,
        relevant=np.asarray([path in wanted for path in paths], dtype=np.bool_),
        total=len(wanted),
        at=task.at,
        session=task.session,
        text=task.text,
        prompt=task.source == SESSION,
        trust=trusted,
    )
