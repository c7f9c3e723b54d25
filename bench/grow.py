"""Grow the trees of a ranking model: LambdaRank on the features of candidates, by LightGBM.

LightGBM is needed here alone (the dependency group `train`): the product reads the arrays of nodes
that this writes, and walks them with numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from bench.fit import Float64, Group

TREES = 300
LEAVES = 15
PARAMETERS: dict[str, Any] = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 15,
    "learning_rate": 0.05,
    "min_data_in_leaf": 100,
    "lambda_l2": 5.0,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "max_bin": 127,
    "seed": 7,
    "num_threads": 1,
    "deterministic": True,
    "verbose": -1,
}


def grow(
    groups: Sequence[Group],
    names: Sequence[str],
    weights: Sequence[float],
    *,
    starts: Sequence[Float64] = (),
    count: int = TREES,
    leaves: int = LEAVES,
) -> dict[str, list[Any]]:
    """Return the document that `workbench.plan.trees.parse_trees` reads.

    weights: what each task counts; starts: scores that the trees go on from.
    """
    lightgbm: Any = import_module("lightgbm")
    useful = [number for number, group in enumerate(groups) if group.relevant.any()]
    sizes = [len(groups[number].relevant) for number in useful]
    shares = np.asarray([weights[number] for number in useful])
    rows = lightgbm.Dataset(
        np.concatenate([groups[number].features for number in useful]),
        np.concatenate([groups[number].relevant for number in useful]).astype(np.int32),
        group=sizes,
        weight=np.repeat(shares / shares.mean(), sizes),
        init_score=np.concatenate([starts[number] for number in useful]) if starts else None,
    )
    trees = lightgbm.train(PARAMETERS | {"num_leaves": leaves}, rows, count).dump_model()["tree_info"]
    return export(trees, names)


def export(grown: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the arrays of nodes of LightGBM's trees, each root before what is below it."""
    used: dict[str, int] = {}
    keys = ("columns", "limits", "low", "high", "means")
    found: dict[str, list[Any]] = {key: [] for key in (*keys, "roots")}

    def add(node: dict[str, Any]) -> tuple[int, int]:
        place = len(found["columns"])
        for key, value in zip(keys, (-1, 0.0, place, place, 0.0), strict=True):
            found[key].append(value)
        if "split_feature" not in node:
            found["means"][place] = round(float(node["leaf_value"]), 6)
            return place, int(node.get("leaf_count", 1))
        found["columns"][place] = used.setdefault(names[node["split_feature"]], len(used))
        found["limits"][place] = float(f"{np.float32(node['threshold']):.9g}")
        (low, below), (high, above) = add(node["left_child"]), add(node["right_child"])
        found["low"][place], found["high"][place] = low, high
        mean = (found["means"][low] * below + found["means"][high] * above) / (below + above)
        found["means"][place] = round(mean, 6)
        return place, below + above

    for tree in grown:
        found["roots"].append(add(tree["tree_structure"])[0])
    return {"features": list(used), **found}
