"""What an alignment shows, as numbers, and what keeps statements together."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.comparison.alignment import align
from workbench.comparison.features import antonym_features, denial_features, duplicate_features
from workbench.comparison.negation import read_scope
from workbench.comparison.verdicts import TextVerdict, judge


@pytest.mark.parametrize(
    ("model", "features", "more"),
    [
        ("denial", denial_features, {"contrast"}),
        ("antonym", antonym_features, {"contrast"}),
        ("repetition", duplicate_features, set()),
        ("repetition by meaning", duplicate_features, {"meaning"}),
    ],
)
def test_each_feature_has_a_weight(
    model: str, features: Callable[..., dict[str, float]], more: set[str]
) -> None:
    """No weight is left over, and none is missing."""
    path = files("workbench.comparison") / "data" / "weights.json"
    weights = json.loads(path.read_text(encoding="utf-8"))[model]
    shown = features(align(read_scope("The cache is warm"), read_scope("The cache is not cold")))
    assert shown.keys() | more | {"bias"} == weights.keys()


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_order_of_two_texts_makes_no_difference(left: str, right: str) -> None:
    """Mirrored alignments show the same."""
    assert judge(left, right) == judge(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The index did not rise on Monday", "The index did not drop on Monday"),
        ("Taxes have not been stable under Clinton", "Taxes have been volatile under Clinton"),
        ("The tasks were sorted into five groups", "The tasks were not sorted into ten groups"),
    ],
)
def test_statements_that_go_together_are_no_conflict(left: str, right: str) -> None:
    """Contraries may both be denied, a denial may be stated as an opposite, a number need not be another."""
    assert TextVerdict.UNIQUE is judge(left, right).verdict
