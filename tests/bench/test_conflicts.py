"""The measurement of conflicts: the pairs are sound, and so are the measures."""

from __future__ import annotations

import numpy as np
import pytest

from bench.conflicts import TESTS, Pair, fitted, interval, labelled, measure, mismatched
from workbench.records.conflicts import ConflictKind


def test_the_pairs_are_many_distinct_and_labelled() -> None:
    """No pair stands twice, in either file or turned around, and each has a known kind."""
    seen, held = labelled(TESTS / "conflict_pairs.tsv"), labelled(TESTS / "conflict_pairs_held.tsv")
    assert len(seen) >= 150
    pairs = [frozenset((pair.left, pair.right)) for pair in (*seen, *held)]
    assert len(set(pairs)) == len(pairs)
    of_texts = {kind.value for kind in ConflictKind} - {ConflictKind.CONCURRENT}
    assert {pair.label for pair in (*seen, *held)} == {*of_texts, "none"}


def test_measures_are_those_of_the_textbook() -> None:
    """Precision, recall and F1 of three reports, two of them right, of four."""
    said, gold = np.asarray([1, 1, 1, 0, 0, 0], bool), np.asarray([1, 1, 0, 1, 1, 0], bool)
    assert measure(said, gold) == pytest.approx((2 / 3, 1 / 2, 4 / 7))
    low, high = interval(said, gold)
    assert 0 <= low <= 4 / 7 <= high <= 1


def test_a_threshold_is_fitted_where_f1_is_best() -> None:
    """Of separable scores the threshold lies at the least right one."""
    scores = np.asarray([0.1, 0.4, 0.6, 0.9])
    gold = np.asarray([False, False, True, True])
    assert fitted(scores, np.ones(4, bool), gold) == 0.6


def test_denial_on_one_side_is_seen() -> None:
    """Contractions count, denials on both sides cancel."""
    pairs = [Pair("Don't push", "Push", ""), Pair("Never push", "Do not push", ""), Pair("Push", "Pull", "")]
    assert mismatched(pairs).tolist() == [True, False, False]
