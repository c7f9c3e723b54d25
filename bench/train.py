"""Train the ranking models on the training repositories and write their model files.

    python -m bench train --repos DIR

Two models come out: one that also weighs past tasks by meaning, one for where no embedding model is at hand.
The weights of the first look (`seeds`) stay as they are, because the rows were collected with them; they were
fitted the same way, without the signals that need seeds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.collect import Row, group
from bench.fit import Float64, Group, calibrate, evaluate, fit
from bench.ranking import Say
from workbench.plan.ranking import load_model

SEMANTIC = ("affinity_semantic", "affinity_semantic_best")


def train(
    rows: Sequence[tuple[str, Row]], model_id: str, *, semantic: bool, folder: Path, say: Say
) -> dict[str, object]:
    """Fit a model on (repository, row) pairs and write it. Returns the document written."""
    without = () if semantic else SEMANTIC
    names: tuple[str, ...] = ()
    groups: list[Group] = []
    for repository, row in rows:
        names, one = group(row, repository, without=without)
        groups.append(one)
    weights = fit(groups)
    slope, offset = calibrate(groups, weights)
    document: dict[str, object] = {
        "model_id": model_id,
        "model_kind": "linear",
        "weights": _rounded(names, weights),
        "seeds": dict(load_model(model_id).seeds),
        "relevance": [round(slope, 5), round(offset, 5)],
        "trained_on": sorted({repository for repository, _ in rows}),
    }
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    (folder / f"{model_id}.json").write_text(text, encoding="utf-8")
    for repository, (gain, found) in sorted(evaluate(groups, weights).items()):
        say(f"{model_id} on {repository} (seen in training): {gain:.3f} / {found:.3f}")
    return document


def _rounded(names: Sequence[str], values: Float64) -> dict[str, float]:
    return {
        name: round(float(value), 5)
        for name, value in zip(names, np.asarray(values).tolist(), strict=True)
        if abs(value) >= 1e-4
    }
