"""Grow the trees that order the first files again once they were read, and fit what takes their scores.

They go on from the score that a file had, as models gave it that do not know the repository: of scores that
are too good, trees would learn to leave them alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from bench.collect import order_row
from bench.confidence import fit_confidence, ranked_task
from bench.fit import Float64, Group, calibrate
from bench.grow import grow
from bench.train import groups_of
from bench.training import FOLDS, Replayed, fold_of, task_weights
from workbench.plan.ranking import CHUNK_MODEL, RankingModel
from workbench.plan.reading import SIGNALS
from workbench.plan.trees import ReadModel, parse_trees

TREES: Final = 400
LEAVES: Final = 7


def grow_files(rows: Replayed, models: Mapping[str, RankingModel]) -> tuple[dict[str, Any], ReadModel]:
    """Return the document of trees that add to the scores of first files, and the whole of it.

    models: for each repository one that does not know it, which ranked the files that were read.
    """
    names, groups = groups_of(rows)
    columns = (*names, *SIGNALS)
    document = _grow(rows, groups, models, columns, rows)
    fold = fold_of(rows)
    tasks: list[tuple[Group, Float64]] = []
    for number in range(FOLDS):
        others = [key for key in rows if fold[key[0]] != number]
        trees = parse_trees(_grow(rows, groups, models, columns, others), CHUNK_MODEL)
        grown = ReadModel(trees, (1.0, 0.0), (0.0, 0.0, 0.0))
        tasks += [
            (group, order_row(row, models[key[0]], grown)[1])
            for key in rows
            if fold[key[0]] == number
            for row, group in zip(rows[key], groups[key], strict=True)
        ]
    slope, offset = calibrate([group for group, _ in tasks], [scores for _, scores in tasks])
    relevance = (round(slope, 5), round(offset, 5))
    after = replace(next(iter(models.values())), relevance=relevance)
    ranked = [ranked_task(after, scores, group.relevant, group.total) for group, scores in tasks]
    return document, ReadModel(parse_trees(document, CHUNK_MODEL), relevance, fit_confidence(ranked))


def _grow(
    rows: Replayed,
    groups: Mapping[tuple[str, str], Sequence[Group]],
    models: Mapping[str, RankingModel],
    columns: Sequence[str],
    keys: Collection[tuple[str, str]],
) -> dict[str, Any]:
    shares = task_weights({key: rows[key] for key in keys})
    used: list[Group] = []
    starts: list[Float64] = []
    for key in keys:
        model = models[key[0]]
        for row, group in zip(rows[key], groups[key], strict=True):
            read = row.read[model.model_id]
            places = [*read.places]
            features = np.hstack([np.round(group.features[places], 4), read.signals])
            used.append(replace(group, features=features, relevant=group.relevant[places]))
            starts.append(order_row(row, model)[1][places])
    weights = [shares[key] for key in keys for _ in rows[key]]
    return grow(used, columns, weights, starts=starts, count=TREES, leaves=LEAVES)
