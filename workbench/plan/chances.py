"""How likely each ranked file is needed, seen beside the others.

The model's probability of a file knows nothing of the other files; where all of them are small, as in a
project with little past or for a task in other words than the code's, it is far too small for the first ones.
A task that is given to an agent needs some files, two on average over public histories whatever the sum of
their probabilities was: so the log-odds of all are raised alike until the sum is two. It is never lowered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.plan.ranking import LinearModel, log_odds
from workbench.records.plan import RankedFile

NEEDED: Final = 2.0  # files a task needs at least: the likeliest value on public histories
SUMMED: Final = 100  # files whose chances are summed: the long tail of a large project is as good as zero
_STEPS: Final = 40


def needed_chances(
    model: LinearModel, files: Sequence[RankedFile], pinned: Collection[str] = ()
) -> dict[str, float]:
    """Return the chance in (0, 1] that a task needs each file, by path; that of pinned ones is 1."""
    free = [found for found in files if found.path not in pinned]
    odds = log_odds(model, [found.score for found in free])
    chances = {found.path: chance for found, chance in zip(free, raised(odds).tolist(), strict=True)}
    return {found.path: chances.get(found.path, 1.0) for found in files}


def raised(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities for log-odds, best first, raised as little as makes the first sum to enough."""
    first = odds[:SUMMED]
    wanted = min(NEEDED, len(first) / 2.0)
    rise = 0.0
    if _probability(first).sum() < wanted:
        low, high = 0.0, 60.0
        for _ in range(_STEPS):
            rise = (low + high) / 2.0
            low, high = (rise, high) if _probability(first + rise).sum() < wanted else (low, rise)
    return np.round(_probability(odds + rise), 9)


def _probability(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))
