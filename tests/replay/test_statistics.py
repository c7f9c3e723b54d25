"""Intervals and tests are repeatable, tell clear differences from none, and agree with exact counting."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from workbench.records.replay import Gap
from workbench.replay.metrics import Counts
from workbench.replay.statistics import (
    bootstrap,
    mean_difference,
    micro_f1,
    micro_f1_difference,
    micro_f1_interval,
    paired_permutation,
)


def test_the_interval_holds_the_mean_and_is_the_same_every_time() -> None:
    """A bootstrap interval contains the mean and does not depend on the run."""
    values = np.random.default_rng(1).random(50).tolist()
    low, high = bootstrap(values)
    assert low < float(np.mean(values)) < high
    assert bootstrap(values) == (low, high)
    assert bootstrap([]) == (0.0, 0.0)


def test_the_interval_is_as_wide_as_theory_says() -> None:
    """For many draws of a normal variable it is the mean ± 1.96 standard errors, within 15 %."""
    values = np.random.default_rng(3).normal(size=400)
    low, high = bootstrap(values.tolist())
    expected = 2 * 1.96 * values.std() / np.sqrt(len(values))
    assert high - low == pytest.approx(expected, rel=0.15)


def test_a_permutation_test_tells_a_clear_difference_from_none() -> None:
    """Equal systems differ with p = 1, clearly better ones with a small p."""
    base = np.random.default_rng(2).random(40)
    assert paired_permutation(base.tolist(), base.tolist()) == 1.0
    assert paired_permutation((base + 0.3).tolist(), base.tolist()) < 0.01


def test_a_permutation_test_agrees_with_all_sign_flips() -> None:
    """With few pairs p is near the share of all sign flips that are as extreme."""
    first, second = [0.9, 0.4, 0.8, 0.7, 0.6, 0.2], [0.5, 0.5, 0.3, 0.6, 0.1, 0.1]
    gaps = np.subtract(first, second)
    every = [abs(float(np.mean(gaps * signs))) for signs in product([-1, 1], repeat=len(gaps))]
    exact = np.mean([value >= abs(float(gaps.mean())) - 1e-12 for value in every])
    assert paired_permutation(first, second) == pytest.approx(float(exact), abs=0.02)


def test_micro_f1_adds_up_counts() -> None:
    """It is the F1 of the summed counts, not the mean of F1s."""
    counts = np.array([[1, 0, 0], [0, 3, 2], [2, 1, 0]])
    assert float(micro_f1(counts)) == pytest.approx(Counts(3, 4, 2).f1)
    low, high = micro_f1_interval(counts)
    assert low <= float(micro_f1(counts)) <= high
    assert micro_f1_interval(np.zeros((0, 3), np.int64)) == (0.0, 0.0)


def test_a_difference_in_micro_f1_agrees_with_all_exchanges() -> None:
    """With few messages p is near the share of all exchanges of counts that are as extreme."""
    first = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 0, 0], [2, 0, 0], [1, 0, 0]])
    second = np.array([[0, 1, 1], [1, 2, 0], [0, 1, 2], [0, 1, 0], [1, 0, 1], [1, 0, 0]])
    found = micro_f1_difference(first, second)
    extreme = []
    for choice in product([0, 1], repeat=len(first)):
        take = np.array(choice)[:, None] == 1
        gap = micro_f1(np.where(take, second, first)) - micro_f1(np.where(take, first, second))
        extreme.append(abs(float(gap)) >= found.value - 1e-12)
    assert found.value == pytest.approx(float(micro_f1(first) - micro_f1(second)))
    assert found.low < found.value < found.high
    assert found.p == pytest.approx(float(np.mean(extreme)), abs=0.02)


def test_equal_systems_do_not_differ() -> None:
    """The difference of a system with itself is 0 with p = 1, and so is that of no messages."""
    counts = np.array([[1, 0, 0], [0, 1, 2]])
    assert micro_f1_difference(counts, counts) == Gap(0.0, 0.0, 0.0, 1.0)
    assert micro_f1_difference(counts[:0], counts[:0]) == Gap(0.0, 0.0, 0.0, 1.0)
    assert mean_difference([0.5, 1.0], [0.5, 1.0]) == Gap(0.0, 0.0, 0.0, 1.0)
    assert mean_difference([], []) == Gap(0.0, 0.0, 0.0, 1.0)


def test_differences_are_repeatable_and_signed() -> None:
    """Exchanging the systems changes the sign, running again changes nothing."""
    draw = np.random.default_rng(5)
    first, second = draw.integers(0, 3, (60, 3)), draw.integers(0, 3, (60, 3))
    forth, back = micro_f1_difference(first, second), micro_f1_difference(second, first)
    assert micro_f1_difference(first, second) == forth
    assert (back.value, back.low, back.high) == pytest.approx((-forth.value, -forth.high, -forth.low))
    assert mean_difference([1.0, 0.5, 0.9], [0.2, 0.1, 0.9]).value == pytest.approx(0.4)


def test_a_difference_from_nothing_has_the_interval_of_the_system() -> None:
    """Against a system that finds nothing the difference in F1 is the F1 itself, interval included."""
    first = np.random.default_rng(9).integers(0, 3, (50, 3))
    nothing = np.column_stack([np.zeros((50, 2), np.int64), first[:, 0] + first[:, 2]])
    gap = micro_f1_difference(first, nothing)
    assert (gap.low, gap.high) == pytest.approx(micro_f1_interval(first))


@pytest.mark.parametrize("cells", [1, 100, 7777])
def test_working_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """How much is drawn at once bounds the memory and is no part of the result."""
    draw = np.random.default_rng(4)
    first, second = draw.integers(0, 3, (31, 3)), draw.integers(0, 3, (31, 3))
    values = first[:, 0].tolist(), second[:, 0].tolist()
    whole = micro_f1_difference(first, second), mean_difference(*values), micro_f1_interval(first)
    monkeypatch.setattr("workbench.replay.statistics._CELLS", cells)
    assert whole == (
        micro_f1_difference(first, second),
        mean_difference(*values),
        micro_f1_interval(first),
    )


def test_counts_of_different_messages_cannot_be_paired() -> None:
    """A pairing needs the same messages."""
    with pytest.raises(ValueError, match="cannot be paired"):
        micro_f1_difference(np.zeros((2, 3)), np.zeros((3, 3)))
