"""Statements contradict each other only where all else they say agrees."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.comparison.contrast import Contrast, contrast
from workbench.comparison.statements import statements


def between(left: str, right: str) -> Contrast | None:
    """Return the contrast between two one-clause texts."""
    (mine,), (theirs,) = statements(left), statements(right)
    return contrast(mine, theirs)


@pytest.mark.parametrize(
    ("left", "right", "test"),
    [
        ("Use semicolons", "Never use semicolons", "negation"),
        ("Never commit directly to main", "Commit directly to main for small fixes", "negation"),
        ("Use `typing.Optional` instead of `X | None`", "Never use `typing.Optional`", "negation"),
        ("Use yarn instead of npm", "Use npm instead of yarn", "alternative"),
        ("Use tabs for indentation", "Indent with spaces", "choice"),
        ("Enable strict mode", "Disable strict mode", "antonym"),
        ("Lines have at most 80 characters", "Keep lines under 120 characters", "number"),
        ("Put tests in `tests/`", "Tests live in `src/tests/`", "path"),
        ("Run the linter before the tests", "Run the tests before the linter", "order"),
    ],
)
def test_each_test_finds_its_contradiction(left: str, right: str, test: str) -> None:
    """Every kind of contrast is named by the test that found it."""
    found = between(left, right)
    assert found is not None
    assert found.test == test


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Use tabs", "Never use spaces"),
        ("Do not forget to run the tests", "Run the tests"),
        ("Use `any` in tests", "Never use `any` in services"),
        ("Never commit secrets", "Commit a secrets rotation for each release"),
        ("Never use `any` for services", "Use `any` for test doubles"),
        ("Do not log tokens for users", "Log tokens for debugging"),
        ("When writing SQL, use uppercase", "When writing CSS, use lowercase"),
        ("Use Python 3", "Use Python 3.12"),
        ("Use at least Node 18", "Use at most Node 22"),
        ("Do not commit", "Log errors"),
        ("Avoid unnecessary braces", "Use braces"),
    ],
)
def test_what_can_both_be_followed_is_no_contradiction(left: str, right: str) -> None:
    """Agreement, other conditions, other subjects and bounds that fit each other are no contrast."""
    assert between(left, right) is None


def test_bounds_that_no_value_meets_collide() -> None:
    """At least 30 and at most 20 of the same cannot both hold."""
    assert between("Use at least Node 22", "Use at most Node 18") is not None


WORDS = st.sampled_from(
    "use never not avoid tabs spaces tests before after lint commit 80 120 characters lines npm yarn always "
    "prefer over instead of enable disable strict mode unless when in `any` coverage % at least most".split()
)
CLAUSES = st.lists(WORDS, min_size=1, max_size=9).map(" ".join)


@given(CLAUSES, CLAUSES)
def test_the_mirrored_pair_has_the_mirrored_contrast(left: str, right: str) -> None:
    """Which side is named first changes neither the verdict nor the score."""
    for mine in statements(left):
        for theirs in statements(right):
            one, other = contrast(mine, theirs), contrast(theirs, mine)
            assert (one is None) == (other is None)
            if one is not None and other is not None:
                assert (one.test, one.score, one.left, one.right) == (
                    other.test,
                    other.score,
                    other.right,
                    other.left,
                )


@example("tabs not tabs")
@given(CLAUSES)
def test_nothing_contradicts_itself(text: str) -> None:
    """A statement agrees with itself."""
    assert [found for one in statements(text) if (found := contrast(one, one)) is not None] == []
