"""The matching model is data: it loads, is checked, and reads scores the same way everywhere."""

from __future__ import annotations

import copy
import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import ModelError
from workbench.rules.matching.calibration import load_match_model, parse_match_model

SHIPPED: dict[str, Any] = json.loads(
    (files("workbench.models") / "data" / "rules-match-v1.json").read_text(encoding="utf-8")
)


def test_the_shipped_model_loads() -> None:
    """The model that comes with the program is whole and names what it has seen."""
    model = load_match_model()
    assert model.model_id == "rules-match-v1"
    assert model.trained_on
    with pytest.raises(ModelError, match="no matching model"):
        load_match_model("nothing-v0")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("prototype",), 1.5, "share"),
        (("prototype",), None, "malformed"),
        (("background",), 1.0, "background"),
        (("relevance", "hybrid", "slope"), 0.0, "slope"),
        (("relevance", "hybrid", "even"), float("nan"), "finite"),
        (("relevance", "dense"), None, "malformed"),
        (("words", "even"), 0.0, "positive"),
        (("words", "saturation"), -1.0, "negative"),
        (("words",), {}, "malformed"),
        (("sizes",), [1000, 10], "order"),
        (("sizes",), [1], "malformed"),
        (("lexical_share",), 1.0, "share"),
    ],
)
def test_a_model_that_cannot_be_is_refused(path: tuple[str, ...], value: object, said: str) -> None:
    """A wrong number is told with the model's name before anything is matched by it."""
    document = copy.deepcopy(SHIPPED)
    place = document
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(ModelError, match=said) as caught:
        parse_match_model(json.dumps(document), source="mine")
    assert "'mine'" in caught.value.message
    assert caught.value.hint


def test_backgrounds_go_by_id_or_name() -> None:
    """A recipe of a known model counts as that model; another model is unknown."""
    model = load_match_model()
    name = "sentence-transformers/all-MiniLM-L6-v2"
    assert model.background_of(f"{name}@int8-1") == model.background_of(name) is not None
    assert model.background_of("someone/else@int8-1") is None


@given(st.floats(0, 1), st.integers(0, 100_000), st.integers(0, 100_000))
def test_more_texts_ask_for_more(lexical: float, some: int, more: int) -> None:
    """Even odds never come cheaper for more texts, and lie between those of meaning and of words alone."""
    model = load_match_model()
    low, slope = model.curve(lexical, min(some, more))
    high, _ = model.curve(lexical, max(some, more))
    assert low <= high
    assert slope > 0
    ends = [model.curve(share, some)[0] for share in (0.0, model.lexical_share, 1.0)]
    assert min(ends) - 1e-9 <= model.curve(lexical, some)[0] <= max(ends) + 1e-9
