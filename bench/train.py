"""Train the ranking models on the training repositories and write their model files.

    python -m bench train --repos DIR

Trees are grown on what they will look at, the first of the linear order, without past tasks by meaning. Two
models come out, one for where no embedding model is at hand: each is the mean of these trees and of those of
a former model, which have seen more commits, those of the other model with past tasks by meaning. The linear
order stays, as it has 98 % of the right files of repositories it has not seen among the first fifty, and so
do the weights of the first look (`seeds`), because the rows were collected with them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from bench.collect import group, order_row
from bench.confidence import fit_confidence, ranked_task
from bench.fit import Group, calibrate, first_files
from bench.grow import grow
from bench.ranking import Say
from bench.training import FOLDS, Replayed, fold_of, task_weights
from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL, RankingModel, load_model, parse_model
from workbench.plan.trees import parse_trees

SEMANTIC: Final = ("affinity_semantic", "affinity_semantic_best")
FORMER: Final[Mapping[str, str]] = {LEXICAL_MODEL: "files-v3-lexical", DEFAULT_MODEL: "files-v3"}
"""The model that each goes on from."""


def train(rows: Replayed, *, folder: Path, say: Say) -> None:
    """Grow trees and write the shipped models."""
    names, groups = groups_of(rows)
    former = load_model(FORMER[LEXICAL_MODEL])
    grown = grow_model(rows, groups, names, former.weights)
    folds = fold_models(rows, groups, names, former)
    say(f"grown, and {len(folds)} times without some of the repositories")
    fold = fold_of(rows)
    tasks = [
        (one, order_row(row, folds[fold[key[0]]])[1])
        for key, replayed in rows.items()
        for row, one in zip(replayed, groups[key], strict=True)
    ]
    slope, offset = calibrate([one for one, _ in tasks], [scores for _, scores in tasks])
    after = replace(former, relevance=(round(slope, 5), round(offset, 5)))
    ranked = [ranked_task(after, scores, one.relevant, one.total) for one, scores in tasks]
    confidence = fit_confidence(ranked)
    for model_id, name in FORMER.items():
        document = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        document |= {
            "model_id": model_id,
            "relevance": after.relevance,
            "confidence": confidence,
            "trained_on": sorted({*document["trained_on"], *fold}),
            "trees": mean_of(document["trees"], grown),
        }
        parse_model(json.dumps(document), source=model_id)
        (folder / f"{model_id}.json").write_text(_text(document), encoding="utf-8")


def groups_of(rows: Replayed) -> tuple[tuple[str, ...], dict[tuple[str, str], list[Group]]]:
    """Return the names of features without what embeddings say, and the tasks by repository and kind."""
    names: tuple[str, ...] = ()
    groups: dict[tuple[str, str], list[Group]] = {}
    for key, replayed in rows.items():
        for row in replayed:
            names, one = group(row, key[0], without=SEMANTIC)
            groups.setdefault(key, []).append(one)
    return names, groups


def grow_model(
    rows: Replayed,
    groups: Mapping[tuple[str, str], Sequence[Group]],
    names: Sequence[str],
    weights: Mapping[str, float],
) -> dict[str, list[Any]]:
    """Return the document of trees grown on the first files of each task."""
    shares = task_weights(rows)
    first = [first_files(one, names, weights) for key in rows for one in groups[key]]
    return grow(first, names, [shares[key] for key in rows for _ in rows[key]])


def fold_models(
    rows: Replayed,
    groups: Mapping[tuple[str, str], Sequence[Group]],
    names: Sequence[str],
    model: RankingModel,
) -> list[RankingModel]:
    """Return for each fold of the repositories a model whose trees do not know them.

    The scores of a model are too good on repositories it was trained on: what goes on from them, or says what
    they are worth, is fitted to scores of these.
    """
    fold = fold_of(rows)
    models = []
    for number in range(FOLDS):
        others = {key: replayed for key, replayed in rows.items() if fold[key[0]] != number}
        trees = parse_trees(grow_model(others, groups, names, model.weights), model.model_id)
        models.append(replace(model, model_id=f"{LEXICAL_MODEL}-fold{number}", trees=trees))
    return models


def mean_of(*documents: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the document of trees whose score is the mean of what those of several give."""
    features = list(dict.fromkeys(chain.from_iterable(one["features"] for one in documents)))
    mean: dict[str, list[Any]] = {"features": features}
    for one in documents:
        start = len(mean.get("columns", ()))
        columns = [features.index(name) for name in one["features"]]
        moved = {
            "columns": [columns[column] if column >= 0 else column for column in one["columns"]],
            "limits": one["limits"],
            "means": [round(value / len(documents), 6) for value in one["means"]],
            **{key: [place + start for place in one[key]] for key in ("low", "high", "roots")},
        }
        for key, values in moved.items():
            mean.setdefault(key, []).extend(values)
    return mean


def _text(document: Mapping[str, Any]) -> str:
    """Return it as JSON to be read by people, but for the nodes of trees: a line an array."""
    arrays = {
        key: json.dumps(value, separators=(",", ":")) for key, value in sorted(document["trees"].items())
    }
    text = json.dumps({**document, "trees": {key: f"@{key}" for key in arrays}}, indent=1, sort_keys=True)
    for key, array in arrays.items():
        text = text.replace(f'"@{key}"', array, 1)
    return text + "\n"
