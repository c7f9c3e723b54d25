"""Train the ranking models on the training repositories and write their model files.

    python -m bench train --repos DIR

Two models come out: one that also weighs past tasks by meaning, one for where no embedding model is at hand.
The tasks are commits of every age of a repository in the shapes of `bench/shapes.py`, and prompts. The trees
are grown on what they will look at, the first of the linear order. That order stays without `--linear`, as it
has 98 % of the right files of repositories it has not seen among the first fifty; the weights of the first
look (`seeds`) stay because the rows were collected with them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.collect import Row, group
from bench.confidence import fit_confidence, ranked_task, tasks_of
from bench.fit import Float64, Group, calibrate, evaluate, first_files, fit
from bench.grow import grow
from bench.ranking import Say
from workbench.plan.ranking import load_model, parse_model, score_rows

SEMANTIC = ("affinity_semantic", "affinity_semantic_best")


def train(
    rows: Sequence[tuple[str, Row]], model_id: str, *, semantic: bool, linear: bool, folder: Path, say: Say
) -> dict[str, object]:
    """Grow the trees of a model on (repository, row) pairs and write it. Returns the document written.

    `linear`: whether the linear order is fitted to these rows, too, or is that of the model as it was.
    """
    without = () if semantic else SEMANTIC
    names: tuple[str, ...] = ()
    groups: list[Group] = []
    for repository, row in rows:
        names, one = group(row, repository, without=without)
        groups.append(one)
    former = load_model(model_id)
    weights = _rounded(names, fit(groups)) if linear else dict(former.weights)
    document: dict[str, object] = {
        "model_id": model_id,
        "model_kind": "trees",
        "weights": weights,
        "seeds": dict(former.seeds),
        "relevance": [1.0, 0.0],
        "trained_on": sorted({repository for repository, _ in rows}),
        "trees": grow([first_files(one, names, weights) for one in groups], names),
    }
    model = parse_model(json.dumps(document), source=model_id)
    scores = [
        score_rows(model, names, one.features, row.paths)[0]
        for one, (_, row) in zip(groups, rows, strict=True)
    ]
    slope, offset = calibrate(groups, scores)
    document["relevance"] = [round(slope, 5), round(offset, 5)]
    model = parse_model(json.dumps(document), source=model_id)
    tasks = [
        ranked_task(model, np.round(given, 6), one.relevant, one.total)
        for given, one in zip(scores, groups, strict=True)
    ]
    document["confidence"] = fit_confidence(tasks)
    (folder / f"{model_id}.json").write_text(_text(document), encoding="utf-8")
    for repository, (gain, found) in sorted(evaluate(groups, scores).items()):
        say(f"{model_id} on {repository} (seen in training): {gain:.3f} / {found:.3f}")
    return document


def calibrate_model(rows: Sequence[Row], path: Path) -> tuple[float, float, float]:
    """Fit the confidence of a model's file on training tasks and write it there."""
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    found = fit_confidence(tasks_of(parse_model(text, source=path.stem), rows))
    path.write_text(_text(document | {"confidence": found}), encoding="utf-8")
    return found


def _text(document: dict[str, object]) -> str:
    """Return it as JSON to be read by people, but for the nodes of trees: a line an array."""
    trees = document["trees"]
    assert isinstance(trees, dict)
    arrays = {key: json.dumps(value, separators=(",", ":")) for key, value in sorted(trees.items())}
    text = json.dumps({**document, "trees": {key: f"@{key}" for key in arrays}}, indent=1, sort_keys=True)
    for key, array in arrays.items():
        text = text.replace(f'"@{key}"', array, 1)
    return text + "\n"


def _rounded(names: Sequence[str], values: Float64) -> dict[str, float]:
    return {
        name: round(float(value), 5)
        for name, value in zip(names, np.asarray(values).tolist(), strict=True)
        if abs(value) >= 1e-4
    }
