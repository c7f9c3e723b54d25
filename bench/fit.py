"""Tasks in the form that models are fitted to, and scores as probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workbench.plan.ranking import FIRST

Float64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Group:
    """One task: features float32 [c, f], relevant bool [c], and how many files are relevant in all."""

    features: NDArray[np.float32]
    relevant: NDArray[np.bool_]
    total: int
    repository: str


def first_files(group: Group, names: Sequence[str], weights: Mapping[str, float]) -> Group:
    """Return a task with the candidates alone that trees look at: the first of the linear order."""
    scores = group.features.astype(np.float64) @ np.asarray([weights.get(name, 0.0) for name in names])
    first = np.sort(np.argsort(-scores, kind="stable")[:FIRST])
    return replace(group, features=group.features[first], relevant=group.relevant[first])


def importance(groups: Sequence[Group]) -> Float64:
    """Return a weight for each task, so that every repository weighs the same."""
    names = [group.repository for group in groups]
    counts = {name: names.count(name) for name in names}
    return np.asarray([len(groups) / len(counts) / counts[name] for name in names])


def calibrate(groups: Sequence[Group], given: Sequence[Float64]) -> tuple[float, float]:
    """Return (slope, offset) of the logistic that turns a score into the probability of being relevant."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    scores = np.concatenate(given)
    labels = np.concatenate([group.relevant for group in groups]).astype(np.float64)

    def loss(parameters: Float64) -> tuple[float, Float64]:
        logits = np.clip(parameters[0] * scores + parameters[1], -30, 30)
        chance = 1 / (1 + np.exp(-logits))
        value = -np.mean(labels * np.log(chance + 1e-12) + (1 - labels) * np.log(1 - chance + 1e-12))
        return value, np.asarray([np.mean((chance - labels) * scores), np.mean(chance - labels)])

    found = minimize(loss, np.asarray([1.0, 0.0]), jac=True, method="L-BFGS-B").x
    return float(found[0]), float(found[1])
