"""The benchmark's measures agree with an independent implementation."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import R, nDCG

from bench.measures import bootstrap, ndcg, paired_permutation, recall


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(0, 5))
def test_ndcg_and_recall_agree_with_ir_measures(hits: list[bool], missed: int) -> None:
    """nDCG@10 and R@10 are those of ir-measures, relevant items that were not ranked included."""
    relevant = sum(hits) + missed
    if relevant == 0:
        assert ndcg(hits, 0) == recall(hits, 0) == 0.0
        return
    judged = [ir_measures.Qrel("q", f"d{rank}", int(hit)) for rank, hit in enumerate(hits)]
    judged += [ir_measures.Qrel("q", f"m{number}", 1) for number in range(missed)]
    run = [ir_measures.ScoredDoc("q", f"d{rank}", -float(rank)) for rank in range(len(hits))]
    found = ir_measures.calc_aggregate([nDCG @ 10, R @ 10], judged, run)
    assert ndcg(hits, relevant) == pytest.approx(found[nDCG @ 10])
    assert recall(hits, relevant) == pytest.approx(found[R @ 10])


def test_the_interval_holds_the_mean_and_is_the_same_every_time() -> None:
    """A bootstrap interval contains the mean and does not depend on the run."""
    values = np.random.default_rng(1).random(50).tolist()
    low, high = bootstrap(values)
    assert low < float(np.mean(values)) < high
    assert bootstrap(values) == (low, high)


def test_a_permutation_test_tells_a_clear_difference_from_none() -> None:
    """Equal systems differ with p = 1, clearly better ones with a small p."""
    base = np.random.default_rng(2).random(40)
    assert paired_permutation(base.tolist(), base.tolist()) == 1.0
    assert paired_permutation((base + 0.3).tolist(), base.tolist()) < 0.01
