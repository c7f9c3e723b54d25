"""How often all right files are where a plan says: the calibrated probability.

Two numbers decide: the log-odds that nothing outside is needed, each file looked at by itself, and those of
the likeliest file, which tell how well the task points at anything. A logistic over both is fitted with every
model, on the tasks it is trained on, for several sizes of what is inside; `python -m bench confidence`
measures it on repositories that no model has seen.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.plan.ranking import SUMMED, RankingModel, log_odds
from workbench.records.plan import RankedFile

FIRST_FILES: Final = 10
_BOUND: Final = 10.0  # log-odds beyond which nothing is surer


def confidence_inputs(odds: NDArray[np.float64], inside: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the log-odds that no file outside is needed, and those of the likeliest file.

    odds: float64 [n], log-odds of each file, best first; inside: bool [n].
    """
    outside = odds[:SUMMED][~inside[:SUMMED]]
    nothing = -float(np.logaddexp(0.0, outside).sum())  # the logarithm of the product of 1 - chance
    logit = nothing - math.log(-math.expm1(min(nothing, -1e-9)))
    return max(-_BOUND, min(_BOUND, logit)), float(odds.max(initial=-_BOUND))


def chance_of_all(
    model: RankingModel, files: Sequence[RankedFile], inside: Collection[str], pinned: Collection[str] = ()
) -> float | None:
    """Return the probability that all right files are inside; None for a model that was not calibrated.

    files: best first. What is pinned counts as inside and says nothing of the others.
    """
    free = [one for one in files if one.path not in pinned]
    if model.confidence is None or not free:
        return None
    within = np.asarray([one.path in inside for one in free])
    nothing, likeliest = confidence_inputs(log_odds(model, [one.score for one in free]), within)
    slope, rise, offset = model.confidence
    return round(1.0 / (1.0 + math.exp(-(slope * nothing + rise * likeliest + offset))), 4)
