"""Chances of being needed: as the model has them, or raised together until a task has something it needs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.plan.ranking import NEEDED, SUMMED, RankingModel, needed_chances, raise_chances
from workbench.records.plan import RankedFile

ODDS = st.lists(st.floats(-12, 8), min_size=1, max_size=150).map(lambda odds: sorted(odds, reverse=True))
MODEL = RankingModel("m", {}, {}, (1.0, 0.0))


@given(ODDS)
def test_the_first_files_are_needed_often_enough(odds: list[float]) -> None:
    """Chances sum to what a task needs or more, never fall, and keep their order."""
    chances = raise_chances(np.asarray(odds)).tolist()
    alone = [1.0 / (1.0 + math.exp(-one)) for one in odds]
    assert sum(chances[:SUMMED]) >= min(NEEDED, min(len(odds), SUMMED) / 2.0) - 1e-4
    assert all(chance >= before - 1e-6 for chance, before in zip(chances, alone, strict=True))
    assert chances == sorted(chances, reverse=True)


def test_what_is_likely_enough_is_left_as_it_is() -> None:
    """A model that expects enough is believed."""
    odds = np.asarray([3.0, 2.0, 1.0, -4.0])
    assert raise_chances(odds).tolist() == pytest.approx((1 / (1 + np.exp(-odds))).tolist(), abs=1e-8)


@pytest.mark.parametrize("place", [0, 3, 120])
def test_pinned_files_are_certain_and_the_others_gain_nothing(place: int) -> None:
    """A pin says nothing of the other files, wherever the pinned one would be; it comes first."""
    files = [RankedFile(f"{number}.py", -4.0 - number / 20, {}) for number in range(130)]
    free = needed_chances(MODEL, files)
    files.insert(0, files.pop(place))
    assert needed_chances(MODEL, files, {files[0].path}) == {**free, files[0].path: 1.0}
    assert needed_chances(MODEL, []) == {}
