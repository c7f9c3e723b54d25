"""Distinct values."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.text.distinct import ascending, number_distinct


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
