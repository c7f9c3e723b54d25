"""Distinct values."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.text.distinct import ascending


@pytest.mark.parametrize("values", [[], [3], [2, 1, 2, 1], [5, -1, 5, 7]])
def test_ascending_is_what_numpy_calls_unique(values: list[int]) -> None:
    """Values come in order, each once."""
    given = np.asarray(values, np.int64)
    assert ascending(given).tolist() == np.unique(given).tolist()
