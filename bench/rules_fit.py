"""The calibration of matching, fitted: where a score means even odds, among how many texts, and how steeply.

A rule set and a message give one pair: the best rule's score, and whether the message is about that rule.
Three numbers a mode are fitted to such pairs by logistic regression, in closed steps and without chance.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.rules_cases import Case, Embedding, Intents, benchmark_case, sampled
from workbench.replay.datasets import Split
from workbench.rules.matching.calibration import Curve, MatchModel
from workbench.rules.matching.relevance import Mode, relevance_of

Float64 = NDArray[np.float64]

INSIDE: Final = 0.75
"""The share of messages that some rule is about: what even odds are reckoned with."""

SIZES: Final = (10, 30, 60)
EXAMPLES: Final = (0, 1, 5)
SEEDS: Final = (1, 2)
_STEPS: Final = 100


def fit_cases(intents: Intents, benchmark: Path | None, embedding: Embedding) -> list[list[Case]]:
    """Return the cases to fit with, a list for each source: its fit half in rule sets of several sizes."""
    names = intents.names(fit=True)
    sources = [
        [
            sampled(intents, names, rules, examples, seed, embedding)
            for rules in SIZES
            for examples in EXAMPLES
            for seed in SEEDS
        ]
    ]
    if benchmark is not None:
        sources.append(
            [
                benchmark_case(benchmark, Split.FIT, embedding, rules=rules, seed=seed)
                for rules in (10, 30, None)
                for seed in SEEDS
            ]
        )
    return sources


def background(case: Case) -> float:
    """Return the mean cosine of messages to what rules they are not about say."""
    vectors = case.index.vectors
    if vectors is None:
        return 0.0
    cosines = case.vectors @ vectors.rows[vectors.starts[:-1]].T
    return float(cosines[~case.right].mean())


def hybrids(case: Case, model: MatchModel, mode: Mode, weights: tuple[float, float] = (0.7, 0.3)) -> Float64:
    """Return the scores before calibration, float64 [messages, rules]."""
    index = case.index
    return np.stack(
        [
            relevance_of(
                index.words, text, index.vectors, vector, weights=weights, mode=mode, model=model
            ).hybrid
            for text, vector in zip(case.messages, case.vectors, strict=True)
        ]
    )


def fit_curve(sources: Sequence[Iterable[Case]], model: MatchModel, mode: Mode) -> Curve:
    """Fit a mode's curve; sources weigh the same, and in each case messages inside weigh `INSIDE`."""
    rows, labels, weights = [], [], []
    for source in sources:
        cases = list(source)
        for case in cases:
            scores = hybrids(case, model, mode)
            best = scores.argmax(axis=1)
            size = model.size(case.index.words.texts)
            rows.append(np.stack([scores.max(axis=1), np.full(len(best), size), np.ones(len(best))], axis=1))
            labels.append(case.right[np.arange(len(best)), best])
            inside = case.inside
            share = np.where(inside, INSIDE / max(inside.sum(), 1), (1 - INSIDE) / max((~inside).sum(), 1))
            weights.append(share / len(cases) / len(sources))
    slope, growth, offset = _logistic(np.concatenate(rows), np.concatenate(labels), np.concatenate(weights))
    return Curve(
        even=round(-offset / slope, 3), growth=round(max(-growth / slope, 0.0), 3), slope=round(slope, 1)
    )


def _logistic(rows: Float64, labels: NDArray[np.bool_], weights: Float64) -> tuple[float, float, float]:
    """Return the coefficients of a weighted logistic regression, by Newton's method."""
    found = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        gradient = rows.T @ (weights * (labels - chance))
        curvature = (rows * (weights * chance * (1 - chance))[:, None]).T @ rows
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(found)), gradient)
        found += step
        if np.abs(step).max() < 1e-9:
            break
    slope, growth, offset = found.tolist()
    return slope, growth, offset


def refit(model: MatchModel, sources: Sequence[Sequence[Case]]) -> MatchModel:
    return replace(
        model,
        dense=fit_curve(sources, model, "dense"),
        hybrid=fit_curve(sources, model, "hybrid"),
        sparse=fit_curve(sources, model, "sparse"),
    )


def write_model(model: MatchModel, embedding: str, trained_on: Sequence[str]) -> Path:
    """Write the curves and the embedding model's background into the model file and return its place."""
    place = Path(str(files("workbench.models") / "data" / f"{model.model_id}.json"))
    document: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    name = embedding.partition("@")[0]
    document["backgrounds"][name] = model.backgrounds[name]
    document["relevance"] = {
        mode: {"even": curve.even, "growth": curve.growth, "slope": curve.slope}
        for mode, curve in (("dense", model.dense), ("hybrid", model.hybrid), ("sparse", model.sparse))
    }
    document["trained_on"] = list(trained_on)
    place.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return place
