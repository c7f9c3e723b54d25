"""Measures agree with independent implementations: ir-measures, and the definition spelt out."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, P, R, SetF, SetP, SetR, nDCG

from workbench.replay.metrics import Counts, auroc, f1, ndcg, precision, recall, reciprocal_rank

SCORES = st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9]), max_size=12)


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(0, 5))
def test_ranking_measures_agree_with_ir_measures(hits: list[bool], missed: int) -> None:
    """P@10, nDCG@10, R@1, R@5, R@10 and RR are those of ir-measures, relevant items not ranked included."""
    relevant = sum(hits) + missed
    if relevant == 0:
        assert ndcg(hits, 0) == recall(hits, 0) == reciprocal_rank(hits) == 0.0
        return
    judged = [ir_measures.Qrel("q", f"d{rank}", int(hit)) for rank, hit in enumerate(hits)]
    judged += [ir_measures.Qrel("q", f"m{number}", 1) for number in range(missed)]
    run = [ir_measures.ScoredDoc("q", f"d{rank}", -float(rank)) for rank in range(len(hits))]
    found = ir_measures.calc_aggregate([P @ 10, nDCG @ 10, R @ 1, R @ 5, R @ 10, RR], judged, run)
    assert ndcg(hits, relevant) == pytest.approx(found[nDCG @ 10])
    assert reciprocal_rank(hits) == pytest.approx(found[RR])
    assert precision(hits) == pytest.approx(found[P @ 10])
    for k in (1, 5, 10):
        assert recall(hits, relevant, k) == pytest.approx(found[R @ k])


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.integers(0, 5))
def test_set_measures_agree_with_ir_measures(hits: list[bool], missed: int) -> None:
    """Precision, recall and F1 of what was returned are ir-measures' set measures."""
    found = Counts(sum(hits), len(hits) - sum(hits), missed)
    if not any(hits) and not missed:
        assert (found.precision, found.recall, found.f1) == (0.0, 0.0, 0.0)
        return
    judged = [ir_measures.Qrel("q", f"d{rank}", int(hit)) for rank, hit in enumerate(hits)]
    judged += [ir_measures.Qrel("q", f"m{number}", 1) for number in range(missed)]
    run = [ir_measures.ScoredDoc("q", f"d{rank}", -float(rank)) for rank in range(len(hits))]
    theirs = ir_measures.calc_aggregate([SetP, SetR, SetF], judged, run)
    assert found.precision == pytest.approx(theirs[SetP])
    assert found.recall == pytest.approx(theirs[SetR])
    assert found.f1 == pytest.approx(theirs[SetF])


def test_abstaining_where_nothing_is_right_is_right() -> None:
    """F1 is 1 for nothing returned and nothing expected, 0 where one of the two is something."""
    assert f1(np.array([0, 0, 0]), np.array([0, 1, 0]), np.array([0, 0, 1])).tolist() == [1.0, 0.0, 0.0]
    assert Counts(0, 0, 0).f1 == 1.0
    assert (Counts(0, 0, 2).precision, Counts(0, 3, 0).recall) == (0.0, 0.0)


@given(SCORES, SCORES)
def test_auroc_is_the_chance_of_the_right_order(positive: list[float], negative: list[float]) -> None:
    """Over all pairs, ties count half; without pairs it is even odds."""
    pairs = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    assert auroc(positive, negative) == pytest.approx(sum(pairs) / len(pairs) if pairs else 0.5)
