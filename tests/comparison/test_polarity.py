"""Denials are counted, bounds and names that look like denials are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.comparison.polarity import denied, spell_out


@pytest.mark.parametrize(
    "clause",
    [
        "Never commit secrets",
        "Don't commit secrets",
        "Comments are not allowed",
        "Comments are forbidden",
        "No wildcard imports",
        "Avoid global state",
        "You can't push to main",
        "Under no circumstances push to main",
        "Skip the tests",
    ],
)
def test_what_is_ruled_out_is_denied(clause: str) -> None:
    """A clause that rules something out is denied."""
    assert denied(clause)


@pytest.mark.parametrize(
    "clause",
    [
        "Commit often",
        "Comments are allowed",
        "Do not forget to run the tests",
        "Never skip the tests",
        "Avoid not testing",
        "Never commit without running the tests",
        "Lines must not exceed 80 characters",
        "Use no more than 3 parameters",
        "Return 404 Not Found",
        "Do not only test the happy path",
        "Fail fast",
        "Document every change, no exceptions",
    ],
)
def test_what_is_asked_for_is_not_denied(clause: str) -> None:
    """Double denials, bounds and names ask for what they speak of."""
    assert not denied(clause)


def test_bounds_are_reworded() -> None:
    """A bound that is worded as a denial becomes a bound."""
    assert spell_out("Lines mustn't exceed 80") == "lines at most 80"
    assert spell_out("no fewer than two") == "at least two"


@given(st.text(max_size=200))
def test_any_text_has_a_polarity(text: str) -> None:
    """No text breaks the count, and spelling out what is spelled out changes no verdict."""
    assert denied(text) in (True, False)
    assert denied(spell_out(text)) == denied(text)
