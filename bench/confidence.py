"""Whether a plan's confidence is right: fitted with every model, measured on repositories no model has seen.

    python -m bench confidence --repos DIR        reliability, Brier score and abstention by age of history

`python -m bench train` fits it with the model, on scores of training tasks by trees that do not know their
repository, and `python -m bench.chunk_training` for files that were read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.collect import Row, order_row
from bench.fit import Float64
from workbench.plan.planner import FIRST_FILES, confidence_inputs
from workbench.plan.ranking import RankingModel, log_odds
from workbench.plan.reading import after_reading
from workbench.plan.trees import ReadModel

SIZES: Final = (1, 3, 5, 10, 20)  # first files that may hold all right ones
PROMPTS: Final = "prompts"
_BINS: Final = 5
_COVERED: Final = (1.0, 0.8, 0.6, 0.4, 0.2)
_L2: Final = 1e-4


@dataclass(frozen=True, slots=True)
class RankedTask:
    """A task as a model ranked it: log-odds best first, and how many of the first files hold all right ones.

    `needed` is 0 where a right file is no candidate.
    """

    odds: Float64
    needed: int
    first: bool

    def holds(self, size: int) -> bool:
        """Whether all right files are among the first."""
        return 0 < self.needed <= size


def ranked_task(model: RankingModel, scores: Float64, relevant: NDArray[np.bool_], total: int) -> RankedTask:
    """Return a task whose candidates have these scores; `total` counts right files, candidates or not."""
    order = np.lexsort((np.arange(len(scores)), -scores))
    right = np.flatnonzero(relevant[order])
    whole = len(right) == total and total > 0
    odds = log_odds(model, scores[order].tolist())
    return RankedTask(odds, int(right[-1]) + 1 if whole else 0, bool(len(right)) and right[0] == 0)


def inputs_of(tasks: Sequence[RankedTask], size: int) -> Float64:
    """Return float64 [t, 2], the inputs of the confidence that all right files are among the first."""
    return np.asarray([confidence_inputs(one.odds, np.arange(len(one.odds)) < size) for one in tasks])


def fit_confidence(tasks: Sequence[RankedTask]) -> tuple[float, float, float]:
    """Return slopes and offset of the logistic of `workbench/plan/planner.py`, over all sizes."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    rows = np.concatenate([inputs_of(tasks, size) for size in SIZES])
    rows = np.column_stack([rows, np.ones(len(rows))])
    labels = np.asarray([float(one.holds(size)) for size in SIZES for one in tasks])

    def loss(weights: Float64) -> tuple[float, Float64]:
        logits = np.clip(rows @ weights, -30, 30)
        chance = 1 / (1 + np.exp(-logits))
        value = float(np.mean(np.logaddexp(0.0, logits) - labels * logits)) + _L2 * float(weights @ weights)
        return value, np.asarray(rows.T @ (chance - labels) / len(labels) + 2 * _L2 * weights)

    first, second, offset = minimize(loss, np.zeros(3), jac=True, method="L-BFGS-B").x.tolist()
    return round(first, 5), round(second, 5), round(offset, 5)


def chances_of(model: RankingModel, tasks: Sequence[RankedTask], size: int) -> Float64:
    """Return float64 [t], the confidence of a calibrated model that all right files are among the first."""
    assert model.confidence is not None
    first, second, offset = model.confidence
    rows = inputs_of(tasks, size)
    return np.asarray(1 / (1 + np.exp(-(rows @ np.asarray([first, second]) + offset))))


def tasks_of(model: RankingModel, rows: Sequence[Row], files: ReadModel | None = None) -> list[RankedTask]:
    """Return replayed tasks as a model ranks them, once their first files were read with `files`."""
    after = model if files is None else after_reading(model, files)
    tasks = []
    for row in rows:
        _, scores = order_row(row, model, files)
        relevant = np.asarray([path in row.truth for path in row.paths], dtype=np.bool_)
        tasks.append(ranked_task(after, scores, relevant, len(row.truth)))
    return tasks


def report(model: RankingModel, by_age: dict[str, list[RankedTask]]) -> Iterator[str]:
    """Yield tables in Markdown: Brier score by age and of prompts, reliability of all ages, abstention."""
    yield f"\n## Confidence of {model.model_id}\n"
    yield "| history | tasks | confidence | right | Brier | of the base rate | calibration error |"
    yield "|---|---|---|---|---|---|---|"
    whole = [task for age, tasks in by_age.items() if age != PROMPTS for task in tasks]
    for age, tasks in (*by_age.items(), ("all ages", whole)):
        chance = chances_of(model, tasks, FIRST_FILES)
        right = np.asarray([one.holds(FIRST_FILES) for one in tasks], dtype=np.float64)
        base = right.mean() * (1 - right.mean())
        yield (
            f"| {age} | {len(tasks)} | {chance.mean():.3f} | {right.mean():.3f} "
            f"| {np.mean((chance - right) ** 2):.3f} | {base:.3f} | {_error(chance, right):.3f} |"
        )
    chance = chances_of(model, whole, FIRST_FILES)
    right = np.asarray([one.holds(FIRST_FILES) for one in whole], dtype=np.float64)
    yield "\nReliability, a fifth of the tasks each:\n\n| confidence | right | tasks |\n|---|---|---|"
    for part in np.array_split(np.argsort(chance, kind="stable"), _BINS):
        yield f"| {chance[part].mean():.2f} | {right[part].mean():.2f} | {len(part)} |"
    first = np.asarray([one.first for one in whole], dtype=np.float64)
    yield "\nWhere the least confident are left out:\n"
    yield "| answered | all right files in the first ten | the first file right | least confidence |"
    yield "|---|---|---|---|"
    order = np.argsort(-chance, kind="stable")
    for share in _COVERED:
        kept = order[: round(share * len(order))]
        yield (
            f"| {share:.0%} | {right[kept].mean():.3f} | {first[kept].mean():.3f} | {chance[kept[-1]]:.2f} |"
        )


def _error(chance: Float64, right: Float64) -> float:
    """Return the mean distance of confidence and share right over equal parts, weighed by their tasks."""
    parts = np.array_split(np.argsort(chance, kind="stable"), _BINS)
    return float(sum(len(one) * abs(chance[one].mean() - right[one].mean()) for one in parts) / len(chance))
