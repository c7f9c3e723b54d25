"""How far what was said about outcomes is believed: the weight of each (task, file) pair of the history.

An edit of a success counts more and one of a failure less than one that nobody judged, within bounds. It
needs several judged tasks about the same file, and wears off with time, so that noise and malice move little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.records.episodes import Episode, Outcome
from workbench.sessions.episodes_fold import COMMITS

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Trust:
    """What an outcome is worth at most, and how soon.

    `success` and `failed` are weights of an edit relative to one of an unknown outcome, 1; a partial success
    stands halfway between unknown and failed. `half_life` is in days. Below `min_samples` judged tasks about
    a file nothing said of them counts for it; at so many, half of it does.
    """

    success: float = 1.25
    failed: float = 0.5
    half_life: float = 90.0
    min_samples: int = 3


def verdict_of(episode: Episode) -> Outcome | None:
    """Return what is known of an episode's outcome, None where nobody judged it.

    That a commit was made says nothing that other commits don't: only feedback on it does.
    """
    if episode.outcome is Outcome.UNKNOWN or (episode.source == COMMITS and not episode.judged):
        return None
    return episode.outcome


def pair_trust(
    verdicts: list[Outcome | None],
    times: NDArray[np.int64],
    tasks: NDArray[np.int32],
    files: NDArray[np.int32],
    trust: Trust,
) -> NDArray[np.float32]:
    """Return float32 [e], the weight of every pair, between trust.failed and trust.success; 1 is neutral.

    verdicts, times: [n] of the tasks; tasks, files: [e] ends of the pairs. With d the decay of a task's age,
    counted back from the newest task, and N the sum of d over the judged tasks of a file, a pair weighs
    1 + d · N / (N + min_samples) · (w(outcome) - 1): shrinkage towards the neutral weight, with bounded
    influence (Huber, Robust Statistics, 1981).
    """
    weights = np.ones(len(tasks), dtype=np.float32)
    judged = np.asarray([verdict is not None for verdict in verdicts], dtype=np.bool_)
    if not judged.any() or not len(tasks):
        return weights
    worth = {
        None: 1.0,
        Outcome.UNKNOWN: 1.0,
        Outcome.SUCCESS: trust.success,
        Outcome.PARTIAL: (1.0 + trust.failed) / 2.0,
        Outcome.FAILED: trust.failed,
    }
    target = np.asarray([worth[verdict] for verdict in verdicts])
    age = (times.max() - times) / _DAY
    decay = np.exp2(-age / trust.half_life) * judged
    count = int(files.max()) + 1
    samples = np.bincount(files, weights=judged[tasks], minlength=count)
    evidence = np.bincount(files, weights=decay[tasks], minlength=count)
    belief = np.where(samples >= trust.min_samples, evidence / (evidence + trust.min_samples), 0.0)
    weights += (decay[tasks] * belief[files] * (target[tasks] - 1.0)).astype(np.float32)
    return weights
