"""Which past tasks speak for a file in a task: those that a plan means by "changed in similar past tasks"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.plan.signals import task_weights
from workbench.sessions.past import Past


@dataclass(frozen=True, slots=True)
class SimilarTask:
    """A past task that touched a file: its first line, when it was in seconds, its similarity in [0, 1]."""

    head: str
    at: int
    similarity: float


def similar_tasks(past: Past, terms: Mapping[str, float], path: str, limit: int) -> tuple[SimilarTask, ...]:
    """Return the past tasks that touched a file and have words of a task, the most similar first.

    A file that was renamed has its tasks under its present name.
    """
    history = past.history
    if path not in history.paths:
        return ()
    touching = history.tasks[history.files == history.paths.index(path)].tolist()
    similarity = task_weights(history, terms)[0]
    found = sorted((-float(similarity[task]), task) for task in set(touching) if similarity[task] > 0)
    return tuple(
        SimilarTask(past.heads[task], int(history.times[task]), -score) for score, task in found[:limit]
    )
