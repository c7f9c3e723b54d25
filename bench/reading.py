"""Grow the trees that order the first files again once they were read, and fit what takes their scores.

They go on from the score that a file had. That of a model is too good on the repositories it was trained on,
so that trees would learn to leave it alone: there, scores are those of trees grown without the repository.
Half of the weight is of commits of every kind, a third of sentences in a user's words; within each, every
repository weighs the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench import split
from bench.collect import Row, order_row
from bench.collect import group as group_of
from bench.confidence import fit_confidence, ranked_task
from bench.fit import Float64, Group, calibrate, first_files
from bench.grow import PARAMETERS, export, grow
from bench.ranking import Say, rows_of
from bench.reworded import repositories_of
from bench.train import SEMANTIC
from workbench.plan.ranking import CHUNK_MODEL, RankingModel
from workbench.plan.reading import SIGNALS
from workbench.plan.trees import ReadModel, parse_trees

FOLDS: Final = 3
TREES: Final = 400
SHARES: Final[Mapping[str, float]] = {
    "ages": 0.25,
    "life": 0.25,
    "prompts": 0.02,
    "messages": 0.15,
    "reworded": 0.33,
}
"""How much the tasks of each kind weigh together."""
_TASKS: Final = {"ages": 80, "life": 64, "prompts": 400}
_KINDS: Final[tuple[str, ...]] = ("ages", "life", "prompts")  # what ranking models are trained on
_GAP: Final = len(SIGNALS) - 1

Replayed = Mapping[tuple[str, str], Sequence[Row]]
"""Replayed tasks by repository and kind."""


def training_rows(folder: Path, *, cache: Path, say: Say) -> Replayed:
    """Return the tasks of the training repositories, with what was read of their first files."""
    names = {
        "ages": split.TRAIN,
        "life": split.TRAIN_LIFE,
        "prompts": split.PROMPTS_TRAIN,
        "messages": repositories_of("train"),
        "reworded": repositories_of("train"),
    }
    rows = {
        (name, kind): rows_of(folder, name, kind, _TASKS.get(kind, 24), cache=cache, embed=None, say=say)
        for kind in SHARES
        for name in names[kind]
    }
    return {key: replayed for key, replayed in rows.items() if replayed}


def grow_files(rows: Replayed, model: RankingModel) -> tuple[dict[str, Any], ReadModel]:
    """Return the document of trees that add to the scores of a model's first files, and the whole of it."""
    lightgbm: Any = import_module("lightgbm")
    groups = {
        key: [group_of(row, key[0], without=SEMANTIC)[1] for row in replayed]
        for key, replayed in rows.items()
    }
    first_key = next(iter(rows))
    names = group_of(rows[first_key][0], first_key[0], without=SEMANTIC)[0]
    before = _scores_before(rows, groups, names, model)
    used: list[Group] = []
    starts: list[Float64] = []
    weights: list[float] = []
    for key, replayed in rows.items():
        share = SHARES[key[1]] / sum(kind == key[1] for _, kind in rows) / len(replayed)
        for row, group, scores in zip(replayed, groups[key], before[key], strict=True):
            read = row.read[model.model_id]
            places = [*read.places]
            if not group.relevant[places].any():
                continue
            signals = read.signals.copy()
            signals[:, _GAP] = scores - scores.max()
            features = np.hstack([np.round(group.features[places], 4), signals])
            used.append(replace(group, features=features, relevant=group.relevant[places]))
            starts.append(scores)
            weights.append(share)
    data = lightgbm.Dataset(
        np.concatenate([group.features for group in used]),
        np.concatenate([group.relevant for group in used]).astype(np.int32),
        group=[len(group.relevant) for group in used],
        weight=np.repeat(np.asarray(weights) / np.mean(weights), [len(group.relevant) for group in used]),
        init_score=np.concatenate(starts),
    )
    booster = lightgbm.train(PARAMETERS | {"num_leaves": 7}, data, TREES)
    document = export(booster.dump_model()["tree_info"], [*names, *SIGNALS])
    grown = ReadModel(parse_trees(document, CHUNK_MODEL), (1.0, 0.0), (0.0, 0.0, 0.0))
    return document, _calibrate(rows, groups, model, grown)


def _scores_before(
    rows: Replayed,
    groups: Mapping[tuple[str, str], Sequence[Group]],
    names: Sequence[str],
    model: RankingModel,
) -> dict[tuple[str, str], list[Float64]]:
    """Return the scores of the read files of each task, by trees that do not know its repository."""
    seen = sorted({name for name, _ in rows if name in model.trained_on})
    drawn = np.random.default_rng(3).permutation(len(seen)).tolist()
    fold = {seen[place]: number % FOLDS for number, place in enumerate(drawn)}
    scores: dict[tuple[str, str], list[Float64]] = {}
    for number in range(FOLDS):
        others = [
            first_files(group, names, model.weights)
            for (name, kind), of_key in groups.items()
            if kind in _KINDS and fold.get(name, number) != number
            for group in of_key
        ]
        trees = parse_trees(grow(others, names), model.model_id) if others else None
        for key, replayed in rows.items():
            if trees is not None and fold.get(key[0]) == number:
                scores[key] = [
                    trees.contribute(names, group.features[[*row.read[model.model_id].places]]).sum(axis=1)
                    for row, group in zip(replayed, groups[key], strict=True)
                ]
    for key, replayed in rows.items():
        if key not in scores:
            scores[key] = [order_row(row, model)[1][[*row.read[model.model_id].places]] for row in replayed]
    return scores


def _calibrate(
    rows: Replayed,
    groups: Mapping[tuple[str, str], Sequence[Group]],
    model: RankingModel,
    grown: ReadModel,
) -> ReadModel:
    """Fit what turns scores into chances, on the tasks of repositories that the model was not trained on."""
    unseen = [key for key in rows if key[0] not in model.trained_on] or [*rows]
    tasks = [
        (group, order_row(row, model, grown)[1])
        for key in unseen
        for row, group in zip(rows[key], groups[key], strict=True)
    ]
    slope, offset = calibrate([group for group, _ in tasks], [scores for _, scores in tasks])
    relevance = (round(slope, 5), round(offset, 5))
    after = replace(model, relevance=relevance)
    ranked = [ranked_task(after, scores, group.relevant, group.total) for group, scores in tasks]
    return replace(grown, relevance=relevance, confidence=fit_confidence(ranked))
