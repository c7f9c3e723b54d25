"""Fit the linear ranking model: a listwise softmax, then LambdaRank steps on the same weights.

A listwise loss over each task's candidates is convex and sets the scale; the LambdaRank steps that follow
weigh
pairs by what swapping them does to nDCG@10. Features are standardised inside and the weights mapped back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workbench.plan.ranking import FIRST
from workbench.replay.metrics import ndcg, recall

Float64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Group:
    """One task: features float32 [c, f], relevant bool [c], and how many files are relevant in all."""

    features: NDArray[np.float32]
    relevant: NDArray[np.bool_]
    total: int
    repository: str


def fit(
    groups: Sequence[Group], *, l2: float = 1e-3, epochs: int = 25, rate: float = 0.01, seed: int = 7
) -> Float64:
    """Return weights float64 [f]; every repository weighs the same however many tasks it has."""
    useful = [group for group in groups if group.relevant.any()]
    stacked = np.concatenate([group.features for group in useful]).astype(np.float64)
    mean, deviation = stacked.mean(axis=0), stacked.std(axis=0)
    live = deviation > 1e-8
    scale = np.where(live, deviation, 1.0)
    stacked = np.where(live, (stacked - mean) / scale, 0.0)
    bounds = np.cumsum([0, *(len(group.relevant) for group in useful)])
    shares = importance(useful)
    weights = _listwise(stacked, bounds, useful, shares, l2)
    if epochs:
        weights = _lambdarank(stacked, bounds, useful, shares, weights, l2, epochs, rate, seed)
    return np.where(live, weights / scale, 0.0)


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


def _listwise(
    stacked: Float64, bounds: NDArray[np.int64], groups: Sequence[Group], importance: Float64, l2: float
) -> Float64:
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    target = np.concatenate([group.relevant / group.relevant.sum() for group in groups])
    owner = np.repeat(np.arange(len(groups)), np.diff(bounds))
    share = importance / importance.sum()

    def loss(weights: Float64) -> tuple[float, Float64]:
        scores = stacked @ weights
        top = np.maximum.reduceat(scores, bounds[:-1])
        powers = np.exp(scores - top[owner])
        sums = np.add.reduceat(powers, bounds[:-1])
        logs = scores - top[owner] - np.log(sums)[owner]
        value = -(share[owner] * target * logs).sum() + l2 * float(weights @ weights) / 2
        return value, stacked.T @ (share[owner] * (powers / sums[owner] - target)) + l2 * weights

    start = np.zeros(stacked.shape[1])
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 400}).x)


def _lambdarank(
    stacked: Float64,
    bounds: NDArray[np.int64],
    groups: Sequence[Group],
    importance: Float64,
    weights: Float64,
    l2: float,
    epochs: int,
    rate: float,
    seed: int,
) -> Float64:
    draw = np.random.default_rng(seed)
    momentum, variance = np.zeros_like(weights), np.zeros_like(weights)
    total, kept, step = np.zeros_like(weights), 0, 0
    for epoch in range(epochs):
        order = draw.permutation(len(groups))
        for batch in np.array_split(order, max(len(order) // 50, 1)):
            gradient = l2 * weights
            for number in batch.tolist():
                rows = stacked[bounds[number] : bounds[number + 1]]
                gradient = gradient + importance[number] * _pairs(rows, groups[number], weights) / len(batch)
            step += 1
            momentum = 0.9 * momentum + 0.1 * gradient
            variance = 0.99 * variance + 0.01 * gradient**2
            corrected = momentum / (1 - 0.9**step), variance / (1 - 0.99**step)
            weights = weights - rate * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
        if epoch >= epochs // 2:
            total, kept = total + weights, kept + 1
    return np.asarray(total / kept if kept else weights)


def _pairs(rows: Float64, group: Group, weights: Float64) -> Float64:
    scores = rows @ weights
    order = np.argsort(-scores, kind="stable")
    rank = np.empty(len(scores), dtype=np.int64)
    rank[order] = np.arange(len(scores))
    good = np.flatnonzero(group.relevant)
    bad = order[:60]
    bad = bad[~group.relevant[bad]]
    if not len(bad):
        return np.zeros_like(weights)
    discount = np.where(rank < 20, 1 / np.log2(rank + 2.0), np.exp(-(rank - 20) / 20.0) / np.log2(22.0))
    ideal = (1 / np.log2(np.arange(2, min(group.total, 10) + 2))).sum()
    gain = np.abs(discount[good][:, None] - discount[bad][None]) / ideal
    margin = np.clip(scores[good][:, None] - scores[bad][None], -30, 30)
    push = gain / (1 + np.exp(margin))
    return np.asarray(push.sum(axis=0) @ rows[bad] - push.sum(axis=1) @ rows[good])


def evaluate(groups: Sequence[Group], scores: Sequence[Float64]) -> dict[str, tuple[float, float]]:
    """Return mean (nDCG@10, recall@10) per repository, of tasks whose candidates have these scores."""
    found: dict[str, list[tuple[float, float]]] = {}
    for group, given in zip(groups, scores, strict=True):
        hits = group.relevant[np.argsort(-given, kind="stable")].tolist()
        found.setdefault(group.repository, []).append((ndcg(hits, group.total), recall(hits, group.total)))
    return {name: tuple(np.mean(values, axis=0).tolist()) for name, values in found.items()}


def calibrate(groups: Sequence[Group], given: Sequence[Float64]) -> tuple[float, float]:
    """Return (slope, offset) of the logistic that turns a score into the probability of being relevant."""
    from scipy.optimize import minimize

    scores = np.concatenate(given)
    labels = np.concatenate([group.relevant for group in groups]).astype(np.float64)

    def loss(parameters: Float64) -> tuple[float, Float64]:
        logits = np.clip(parameters[0] * scores + parameters[1], -30, 30)
        chance = 1 / (1 + np.exp(-logits))
        value = -np.mean(labels * np.log(chance + 1e-12) + (1 - labels) * np.log(1 - chance + 1e-12))
        return value, np.asarray([np.mean((chance - labels) * scores), np.mean(chance - labels)])

    found = minimize(loss, np.asarray([1.0, 0.0]), jac=True, method="L-BFGS-B").x
    return float(found[0]), float(found[1])
