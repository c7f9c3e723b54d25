"""Training linear weights on a project's past: what a fit is made of, each past task as it is ranked here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from workbench.entry.parameters import trust
from workbench.entry.services.replay_engine import EngineSpec, held_engine
from workbench.errors import GitError
from workbench.plan.ranking import RankingModel, load_model
from workbench.records.episodes import Outcome
from workbench.replay.fitting import TaskSample
from workbench.replay.systems import Situation, first_files
from workbench.replay.tasks import ReplayTask

if TYPE_CHECKING:
    from workbench.entry.services.replay import PastProject

SESSION: Final = "session"  # the source of tasks that are prompts


def verdict_weights(past: PastProject) -> dict[str, float]:
    """Return what prompts with a verdict count, by their id."""
    rate = trust(past.place.config.sessions)
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
