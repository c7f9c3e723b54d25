"""Samples of searches are fixed, and all of them together is everything."""

from __future__ import annotations

import pytest

from tests import deep
from tests.deep import sample, times


def test_a_sample_is_spread_and_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has as many cases as asked for, at even distances, and others where another one is first."""
    monkeypatch.setattr(deep, "DEEP", False)
    cases = list(range(10))
    assert sample(cases, 3) == [0, 3, 6]
    assert sample(cases, 3, first=1) == [1, 4, 7]
    assert sorted([*sample(cases, 5), *sample(cases, 5, first=1)]) == cases
    assert sample(cases, 10) == sample(cases, 11) == cases
    assert times(2, 8) == 2


def test_nothing_is_left_out_of_a_whole_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make deep` tries everything."""
    monkeypatch.setattr(deep, "DEEP", True)
    assert sample("abc", 1) == "abc"
    assert times(2, 8) == 8
