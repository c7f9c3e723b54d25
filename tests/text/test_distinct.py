"""Distinct values."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.text.distinct import ascending, find_among, number_distinct


@pytest.mark.parametrize("values", [[], [3], [2, 1, 2, 1], [5, -1, 5, 7]])
def test_ascending_is_what_numpy_calls_unique(values: list[int]) -> None:
    """Values come in order, each once."""
    given = np.asarray(values, np.int64)
    assert ascending(given).tolist() == np.unique(given).tolist()


@pytest.mark.parametrize("values", [[], [3], [2, 1, 2, 1], [5, -1, 5, 7]])
def test_values_are_numbered_and_counted_as_numpy_does(values: list[int]) -> None:
    """The number of each value is its place among the distinct ones in order."""
    given = np.asarray(values, np.int64)
    _, numbers, counts = np.unique(given, return_inverse=True, return_counts=True)
    assert [part.tolist() for part in number_distinct(given)] == [numbers.tolist(), counts.tolist()]


@pytest.mark.parametrize("wanted", [[], [3], [1, 2, 9]])
def test_values_are_found_among_others(wanted: list[int]) -> None:
    """A value is among others where numpy says so, at its place there."""
    values = np.asarray([2, 1, 3, 9, 10, 0], np.uint32)
    among = np.asarray(wanted, np.uint32)
    at, found = find_among(values, among)
    assert found.tolist() == np.isin(values, among).tolist()
    assert among[at[found]].tolist() == values[found].tolist()
