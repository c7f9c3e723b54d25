"""A probability means one, and trees look at the first of the linear order."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.fit import Group, calibrate, first_files
from bench.train import mean_of
from workbench.plan.ranking import FIRST
from workbench.plan.trees import parse_trees


def _groups(count: int) -> list[Group]:
    draw = np.random.default_rng(3)
    groups = []
    for number in range(count):
        features = draw.random((30, 4)).astype(np.float32)
        relevant = np.zeros(30, dtype=np.bool_)
        relevant[np.argsort(-features[:, 2])[:3]] = True
        groups.append(Group(features, relevant, 3, f"repository{number % 3}"))
    return groups


def test_calibration_turns_scores_into_shares() -> None:
    """The mean probability over candidates is the share that is relevant."""
    groups = _groups(40)
    given = [group.features @ np.asarray([0.0, 0.0, 9.0, 0.0]) for group in groups]
    slope, offset = calibrate(groups, given)
    scores = np.concatenate(given)
    chance = 1 / (1 + np.exp(-(slope * scores + offset)))
    assert abs(float(chance.mean()) - 0.1) < 0.01


def test_trees_look_at_the_first_files() -> None:
    """The others of the linear order are left out, and files stay as they stood."""
    features = np.arange(2.0 * (FIRST + 5), dtype=np.float32).reshape(-1, 2)
    group = Group(features, features[:, 0] > FIRST, 9, "repository")
    first = first_files(group, ("a", "b"), {"a": 1.0})
    assert first.features.tolist() == features[5:].tolist()
    assert first.total == 9


def test_the_mean_of_trees_is_that_of_their_scores() -> None:
    """Trees of several models make one, whatever features each knows."""
    trees: list[dict[str, list[Any]]] = [
        {
            "features": [name],
            "columns": [0, -1, -1],
            "limits": [0.5, 0.0, 0.0],
            "roots": [0],
            "low": [1, 1, 2],
            "high": [2, 1, 2],
            "means": [0.0, -value, value],
        }
        for name, value in (("a", 1.0), ("b", 3.0))
    ]
    matrix = np.asarray([[1.0, 0.0], [1.0, 1.0]], dtype=np.float32)
    mean = parse_trees(mean_of(*trees), "both")
    assert mean.score(("a", "b"), matrix).tolist() == [-1.0, 2.0]
