"""Trees give what their arrays say, split it by feature, and are refused when damaged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.grow import export
from workbench.errors import ModelError
from workbench.plan.ranking import FIRST, RankingModel, score_rows
from workbench.plan.trees import MOST_LEAVES, Trees, parse_trees

LEAVES = {
    "left_child": {"leaf_value": -1.0, "leaf_count": 3},
    "right_child": {"leaf_value": 3.0, "leaf_count": 1},
}
GROWN: list[dict[str, Any]] = [
    {"tree_structure": {"split_feature": 1, "threshold": 0.5, **LEAVES}},
    {
        "tree_structure": {
            "split_feature": 0,
            "threshold": 2.0,
            "left_child": {"split_feature": 1, "threshold": -1.0, **LEAVES},
            "right_child": {"leaf_value": 0.5, "leaf_count": 4},
        }
    },
    {"tree_structure": {"leaf_value": 0.25}},
]
NAMES = ("bm25_body", "affinity.rank")


def trees(**changed: list[Any]) -> Trees:
    """Return the trees above, read as a model file has them."""
    return parse_trees({**export(GROWN, NAMES), **changed}, "test")


def walk(node: dict[str, Any], row: list[float]) -> float:
    """Return what LightGBM's own form of a tree gives a row."""
    while "split_feature" in node:
        node = node["left_child" if row[node["split_feature"]] <= node["threshold"] else "right_child"]
    return float(node["leaf_value"])


@given(st.lists(st.lists(st.floats(-3, 3, width=16), min_size=2, max_size=2), min_size=1, max_size=20))
def test_a_score_is_what_the_leaves_say(rows: list[list[float]]) -> None:
    """What the features contribute adds up to the leaves less the mean, in any order of columns."""
    found = trees()
    mean = found.means[found.roots].sum()
    wanted = [sum(walk(tree["tree_structure"], row) for tree in GROWN) - mean for row in rows]
    matrix = np.asarray(rows, dtype=np.float32)
    assert found.contribute(NAMES, matrix).sum(axis=1) == pytest.approx(wanted, abs=1e-5)
    turned = found.contribute(NAMES[::-1], matrix[:, ::-1])
    assert turned[:, ::-1] == pytest.approx(found.contribute(NAMES, matrix))


def test_a_feature_that_is_not_asked_for_contributes_nothing() -> None:
    """Features that the trees lack give nothing, and those left out count as 0 without a contribution."""
    matrix = np.asarray([[9.0, 1.0, 3.0]], dtype=np.float32)
    assert trees().contribute(("depth", "affinity.rank", "bm25_body"), matrix)[0, 0] == 0.0
    left = trees().leave_out(frozenset({"affinity"}))
    assert left.contribute(NAMES, matrix[:, 1:])[0, 1] == 0.0


def chain(leaves: int) -> dict[str, Any]:
    """Return a tree in which the value `n - 0.5` is in leaf n, the first and the last on different sides."""
    node: dict[str, Any] = {"leaf_value": float(leaves - 1), "leaf_count": 1}
    for number in range(leaves - 2, -1, -1):
        left = {"leaf_value": float(number), "leaf_count": 1}
        node = {"split_feature": 0, "threshold": float(number), "left_child": left, "right_child": node}
    return {"tree_structure": node}


@pytest.mark.parametrize("leaves", [1, 2, 8, 9, 16, 17, 33, MOST_LEAVES])
def test_trees_have_as_many_leaves_as_there_are_bits(leaves: int) -> None:
    """Each leaf is found in a tree of any size, beside smaller ones."""
    found = parse_trees(export([*GROWN, chain(leaves)], NAMES), "test")
    matrix = np.zeros((leaves, 2), dtype=np.float32)
    matrix[:, 0] = np.arange(leaves) - 0.5
    rows = matrix.tolist()
    wanted = [sum(walk(tree["tree_structure"], row) for tree in GROWN) + row[0] + 0.5 for row in rows]
    assert found.score(NAMES, matrix) == pytest.approx(wanted)
    assert found.contribute(NAMES, matrix).sum(axis=1) + found.mean == pytest.approx(wanted)


def test_a_tree_with_too_many_leaves_is_refused() -> None:
    """A tree that has more leaves than a number has bits names how many."""
    with pytest.raises(ModelError, match=f"{MOST_LEAVES + 1} leaves"):
        parse_trees(export([chain(MOST_LEAVES + 1)], NAMES), "test")


@pytest.mark.parametrize(
    "changed",
    [
        {"columns": [7] * 9},
        {"low": [0] * 9},
        {"high": [99] * 9},
        {"means": [float("nan")] * 9},
        {"limits": [0.5]},
        {"roots": [-1]},
    ],
)
def test_damaged_trees_are_refused(changed: dict[str, list[Any]]) -> None:
    """A node that leads out of the trees or back is refused, and so is a number that is not finite."""
    assert len(trees().columns) == 9
    with pytest.raises(ModelError, match="damaged"):
        trees(**changed)


def test_trees_order_the_first_and_leave_the_others_behind_them() -> None:
    """The weights choose which candidates the trees look at; the rest keep their order below."""
    count = FIRST + 20
    matrix = np.zeros((count, 2), dtype=np.float32)
    matrix[:, 0] = np.linspace(1.0, 0.0, count)
    matrix[FIRST - 1, 1] = 1.0  # the last that is looked at
    matrix[FIRST, 1] = 1.0
    model = RankingModel("m", {"bm25_body": 1.0}, {}, (1.0, 0.0))
    paths = [f"{number:03}" for number in range(count)]
    scores, parts = score_rows(replace(model, trees=trees()), NAMES, matrix, paths)
    assert int(np.argmax(scores)) == FIRST - 1
    assert (np.diff(scores[FIRST:]) < 0).all()
    assert scores[FIRST] < scores[:FIRST].min()
    assert [parts.of(row).sum() for row in range(FIRST)] == pytest.approx(scores[:FIRST])
