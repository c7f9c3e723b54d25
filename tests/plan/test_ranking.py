"""The ranking is a weighted sum that can be checked by hand, the same every time, and its models are data."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from workbench.errors import ModelError
from workbench.plan.intent import parse_intent
from workbench.plan.ranking import (
    DEFAULT_MODEL,
    LEXICAL_MODEL,
    RankingModel,
    load_model,
    log_odds,
    parse_model,
    rank_files,
)
from workbench.plan.view import view_project
from workbench.project.extraction import extract_facts
from workbench.project.index import ProjectIndex
from workbench.project.updates import build_index
from workbench.sessions.history import empty_history

TREE = {
    "a/token.py": "def refresh_token(): ...\n",
    "b/token.py": "def refresh_token(): ...\n",
    "b/other.py": "import os\n",
    "README.md": "token\n",
}
MODEL = RankingModel("test", {"bm25_body": 2.0, "path_named": 1.0}, {"bm25_body": 1.0}, (1.0, 0.0))
TASK = parse_intent("refresh the token")


def indexed(tree: dict[str, str]) -> ProjectIndex:
    paths = sorted(tree)
    return build_index(paths, [extract_facts(path, tree[path].encode()) for path in paths], [1] * len(paths))


def test_a_score_is_the_sum_of_its_contributions() -> None:
    """What is said to have moved a file adds up to its score."""
    ranked = rank_files(view_project(indexed(TREE), empty_history()), TASK, MODEL)
    assert ranked
    for found in ranked:
        assert sum(found.contributions.values()) == pytest.approx(found.score, abs=1e-3)
        assert set(found.contributions) <= set(MODEL.weights)
        assert found.sources


def test_ties_are_broken_by_path() -> None:
    """Files that score the same stand in the order of their paths, and the order never varies."""
    view = view_project(indexed(TREE), empty_history())
    first = rank_files(view, TASK, MODEL)
    assert [found.path for found in first[:2]] == ["a/token.py", "b/token.py"]
    assert first[0].score == first[1].score
    assert rank_files(view, TASK, MODEL) == first
    assert [found.score for found in first] == sorted((found.score for found in first), reverse=True)
    assert rank_files(view, TASK, MODEL, limit=1) == first[:1]


def test_a_row_is_a_mapping() -> None:
    """What is not zero has its name, the seven features always have, and the row goes to another process."""
    found = rank_files(view_project(indexed(TREE), empty_history()), TASK, MODEL)[-1]
    row = found.features
    assert sum(name.startswith("f_") for name in row) == 7
    assert row["f_semantic_score"] == 0.0
    assert {name: value for name, value in row.items() if not name.startswith("f_") and not value} == {}
    assert dict(row) == {name: row[name] for name in row} == {**row}
    assert all(found.contributions.values())
    assert pickle.loads(pickle.dumps(row)) == row


def test_nothing_to_rank_is_no_error() -> None:
    """A project without files has an empty ranking."""
    assert rank_files(view_project(indexed({}), empty_history()), TASK, MODEL) == ()


def test_a_better_score_is_more_likely_needed() -> None:
    """Relevance lies between 0 and 1 and grows with the score, also far out."""
    values = (1 / (1 + np.exp(-log_odds(MODEL, [-1e9, -1.0, 0.0, 1.0, 1e9])))).tolist()
    assert values == sorted(values)
    assert 0 < values[0] < values[2] == 0.5 < values[-1] <= 1


@pytest.mark.parametrize("name", [DEFAULT_MODEL, LEXICAL_MODEL])
def test_the_models_that_are_shipped_load(name: str) -> None:
    """Each has weights, seeds and the repositories it was trained on."""
    model = load_model(name)
    assert model.model_id == name
    assert model.weights
    assert model.seeds


def test_an_unknown_model_is_an_error() -> None:
    """The name is in the message, and where to look in the hint."""
    with pytest.raises(ModelError, match="no-such-model") as caught:
        load_model("no-such-model")
    assert caught.value.hint


VALID = {"model_id": "m", "weights": {"a": 1}, "seeds": {}, "relevance": [1, 0]}


@pytest.mark.parametrize(
    "change",
    [
        {"weights": None},
        {"weights": {"a": "heavy"}},
        {"weights": {"a": float("nan")}},
        {"relevance": [1]},
        {"relevance": [float("inf"), 0]},
        {"seeds": []},
    ],
)
def test_a_malformed_model_is_an_error(change: dict[str, object]) -> None:
    """A model file with a weight that is none, or without its parts, is refused by name."""
    with pytest.raises(ModelError, match="mine"):
        parse_model(json.dumps(VALID | change), source="mine")
    assert parse_model(json.dumps(VALID), source="mine").weights == {"a": 1.0}


@pytest.mark.parametrize("text", ["", "[]", "7", "{", '"x"', "null"])
def test_what_is_no_model_is_an_error(text: str) -> None:
    """Any other JSON, and what is none, is refused."""
    with pytest.raises(ModelError, match="mine"):
        parse_model(text, source="mine")
