"""How far what was said about outcomes is believed: the weight of each (task, file) pair of the history.

An edit of a success counts more and one of a failure less than one that nobody judged, within bounds. It
needs several judged tasks about the same file and wears off with time; verdicts that the rest of the history
contradicts are not believed, so that noise and malice move little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.records.episodes import Episode, Outcome
from workbench.sessions.episodes_fold import COMMITS

_DAY = 86_400.0
_WORTH: dict[Outcome | None, float] = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL: -0.5, Outcome.FAILED: -1.0}
_PRIOR = 0.5  # reliability of verdicts before there are enough to tell
_PRIOR_VERDICTS = 20  # so many verdicts weigh as much as the prior
_SLOPE = 5.0  # verdicts with an AUC of 0.7 are believed in full


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
    verdicts: Sequence[Outcome | None],
    terms: Sequence[Mapping[str, int]],
    times: NDArray[np.int64],
    tasks: NDArray[np.int32],
    files: NDArray[np.int32],
    trust: Trust,
) -> NDArray[np.float32]:
    """Return float32 [e], the weight of every pair, between trust.failed and trust.success; 1 is neutral.

    verdicts, terms, times: [n] of the tasks; tasks, files: [e] ends of the pairs. With d the decay of a
    task's age, counted back from the newest task, N the sum of d over the judged tasks of a file, and r how
    reliable verdicts are here, a pair weighs 1 + r · d · N / (N + min_samples) · (w(outcome) - 1): shrinkage
    towards the neutral weight, with bounded influence (Huber, Robust Statistics, 1981).
    """
    weights = np.ones(len(tasks), dtype=np.float32)
    judged = np.asarray([_WORTH.get(verdict) is not None for verdict in verdicts], dtype=np.bool_)
    if not judged.any() or not len(tasks):
        return weights
    partial = (1.0 + trust.failed) / 2.0
    worth = {Outcome.SUCCESS: trust.success, Outcome.PARTIAL: partial, Outcome.FAILED: trust.failed}
    target = np.asarray([1.0 if verdict is None else worth.get(verdict, 1.0) for verdict in verdicts])
    age = (times.max() - times) / _DAY
    decay = np.exp2(-age / trust.half_life) * judged
    count = int(files.max()) + 1
    samples = np.bincount(files, weights=judged[tasks], minlength=count)
    evidence = np.bincount(files, weights=decay[tasks], minlength=count)
    belief = np.where(samples >= trust.min_samples, evidence / (evidence + trust.min_samples), 0.0)
    good = np.asarray([_WORTH.get(verdict, 0.0) for verdict in verdicts])
    sure = reliability(good[tasks], corroboration(terms, tasks, files), int(judged.sum()))
    weights += (sure * decay[tasks] * belief[files] * (target[tasks] - 1.0)).astype(np.float32)
    return weights


def corroboration(
    terms: Sequence[Mapping[str, int]], tasks: NDArray[np.int32], files: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return float64 [e]: how much other tasks speak for each pair, whatever was said of any of them.

    It is the mean over the task's terms of the share of the other tasks with that term that touched the file.
    """
    numbers: dict[str, int] = {}
    words = [
        np.asarray([numbers.setdefault(term, len(numbers)) for term in found], dtype=np.int64)
        for found in terms
    ]
    lengths = np.asarray([len(found) for found in words], dtype=np.int64)
    if not len(numbers):
        return np.zeros(len(tasks))
    frequency = np.bincount(np.concatenate(words), minlength=len(numbers))
    pair = np.repeat(np.arange(len(tasks)), lengths[tasks])
    said = np.concatenate([words[task] for task in tasks.tolist()])
    _, place, together = np.unique(
        said * (int(files.max()) + 1) + files[pair], return_inverse=True, return_counts=True
    )
    others = (together[place] - 1) / np.maximum(frequency[said] - 1, 1)
    total = np.bincount(pair, weights=others, minlength=len(tasks))
    return np.asarray(total / np.maximum(lengths[tasks], 1), dtype=np.float64)


def reliability(good: NDArray[np.float64], support: NDArray[np.float64], judged: int) -> float:
    """Return how far verdicts are to be believed, in [0, 1].

    good: [e], above 0 for a pair of a success, below for one of a failure; support: [e], `corroboration`.
    Verdicts that are true agree with them: a pair of a failure has less support than others have. The chance
    of that (AUC), 0.5 for noise and less for malice, takes the place of a prior as verdicts become many.
    """
    bad, rest = good < 0, good >= 0
    if not bad.any():
        bad, rest = good == 0, good > 0
    if not bad.any() or not rest.any() or support.max() == support.min():
        return _PRIOR  # there is nothing to compare
    agreement = _auc(support[rest], support[bad])
    seen = min(max(_SLOPE * (agreement - 0.5), 0.0), 1.0)
    return (_PRIOR * _PRIOR_VERDICTS + seen * judged) / (_PRIOR_VERDICTS + judged)


def _auc(above: NDArray[np.float64], below: NDArray[np.float64]) -> float:
    """Return the chance that one of `above` exceeds one of `below`, ties counting half (Mann and Whitney)."""
    ordered = np.sort(below)
    less, at_most = np.searchsorted(ordered, above, "left"), np.searchsorted(ordered, above, "right")
    return float((less + at_most).sum() / (2 * len(above) * len(below)))
