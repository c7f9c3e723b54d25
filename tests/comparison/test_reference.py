"""Of whom two sentences speak."""

from __future__ import annotations

import pytest

from workbench.comparison.reference import REFERENCE, reference_features, scene
from workbench.comparison.scope import scoped
from workbench.comparison.verdicts import Verdict, judge


@pytest.mark.parametrize(
    ("text", "told"),
    [("A man is running", True), ("Dogs are barking", True), ("Run the tests", False), ("Jim ran", False)],
)
def test_a_scene_tells_what_is_going_on(text: str, told: bool) -> None:
    """Rules and statements about the past are no scenes."""
    assert told is scene(scoped(text))


def test_a_denial_of_all_is_told_from_the_denial_of_one() -> None:
    """What only one side says counts under the one or the other, never under both."""
    anyone = reference_features(
        scoped("There is no man running"), scoped("A man is running"), denied_only=1, free=0, other_only=1
    )
    this_one = reference_features(
        scoped("The man is not running"), scoped("A man is running"), denied_only=1, free=0, other_only=1
    )
    assert set(REFERENCE) == anyone.keys() == this_one.keys()
    assert anyone["of any"] == 1.0
    assert anyone["of any, denied only"] == this_one["of one, denied only"] > 0
    assert anyone["of one, denied only"] == this_one["of any, denied only"] == 0
    assert this_one["of one, definite once"] == 1.0


def test_what_may_be_is_told_from_what_is() -> None:
    """A possibility is none of the features of a pair in which both are possible."""
    can, is_not = scoped("He can win the race"), scoped("He is not winning the race")
    features = reference_features(is_not, can, denied_only=0, free=0, other_only=0)
    assert features["possible"] == 1.0
    both = reference_features(scoped("He can not win"), can, denied_only=0, free=0, other_only=0)
    assert both["possible"] == 0.0


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
    assert Verdict.UNIQUE is judge(left, right).verdict
