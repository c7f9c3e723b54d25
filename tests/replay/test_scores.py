"""Scores are means over tasks with intervals over clusters, and gaps say what they show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records.replay import Gap, ReplayRun, SystemRow, TaskRow
from workbench.replay.run_report import run_text, shown_difference
from workbench.replay.statistics import (
    bootstrap,
    clustered_means,
    clustered_p,
    median_difference,
    paired_permutation,
    system_scores,
)


def row(number: int, gains: dict[str, float], session: str = "", tokens: float | None = 100.0) -> TaskRow:
    systems = {}
    for name, gain in gains.items():
        measures = {
            "precision_at_10": gain / 10,
            "recall_at_5": gain,
            "recall_at_10": gain,
            "mrr": gain,
            "ndcg_at_10": gain,
            "affinity_hit_rate": 1.0,
            "rerank_invocation_rate": 0.0,
            "fallback_rate": 0.0,
            "cache_hit_ratio": 1.0,
            "latency_ms": float(number),
        }
        if tokens is not None:
            measures |= {"context_tokens": tokens + number, "packed_recall": gain, "first_pass_success": gain}
        systems[name] = SystemRow(("a.py",), measures)
    return TaskRow(
        f"t{number}", session or f"t{number}", "commit", "do", "r", "c", 1, "bugfix", ("a.py",), systems
    )


def run(rows: Sequence[TaskRow], names: Sequence[str]) -> ReplayRun:
    settings = {"budget": 4000, "tokenizer": "o200k_base", "embedding": ""}
    return ReplayRun("r", "now", "p\x1b[31m", "1", settings, system_scores(rows, names), tuple(rows))


def test_a_clear_gap_is_shown_and_none_is_not() -> None:
    """A system that always wins differs from the baseline; one that is the same does not."""
    rows = [row(number, {"baseline": 0.0, "hybrid": 1.0, "bm25": float(number % 2)}) for number in range(40)]
    baseline, hybrid = system_scores(rows, ("baseline", "hybrid"))
    assert (hybrid.ndcg_at_10, hybrid.intervals["ndcg_at_10"]) == (1.0, (1.0, 1.0))
    assert shown_difference(hybrid.gaps["ndcg_at_10"])
    assert hybrid.gaps["context_tokens"] == Gap(0.0, 0.0, 0.0, 1.0)
    assert not baseline.gaps
    assert (hybrid.latency_p50_ms, hybrid.packed_tasks, hybrid.line_coverage) == (19.5, 40, None)
    text = run_text(run(rows, ("baseline", "hybrid", "bm25")))
    assert "1.000*" in text
    assert "no difference shown" in text
    assert "\x1b" not in text


def test_without_packs_there_are_no_columns_of_packs() -> None:
    """What was not measured is None and not shown."""
    rows = [row(number, {"hybrid": 0.5}, tokens=None) for number in range(3)]
    (score,) = system_scores(rows, ("hybrid", "absent"))
    assert (score.packed_recall, score.context_tokens_median, score.packed_tasks) == (None, None, 0)
    text = run_text(run(rows, ("hybrid",)))
    assert "no packs" in text
    assert "first pass" not in text


def test_no_row_no_score() -> None:
    """A run without a task has a head and no table."""
    assert system_scores([], ("baseline",)) == ()
    assert run_text(run([], ())).startswith("p")


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_clusters_of_one_are_the_plain_bootstrap(values: list[float]) -> None:
    """With every task a cluster of its own, intervals are those of the plain bootstrap."""
    spread = clustered_means(np.asarray(values)[:, None], [str(number) for number in range(len(values))])
    low, high = bootstrap(values)
    assert spread.mean[0] == pytest.approx(np.mean(values))
    assert (spread.low[0], spread.high[0]) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


def test_clusters_widen_the_interval_and_weaken_the_test() -> None:
    """Twenty copies of the same three tasks say no more than three tasks do."""
    values = np.repeat([0.2, 0.3, 0.1], 20)[:, None]
    alone = [str(number) for number in range(60)]
    together = [str(number // 20) for number in range(60)]
    tight, wide = clustered_means(values, alone), clustered_means(values, together)
    assert wide.high[0] - wide.low[0] > 2 * (tight.high[0] - tight.low[0])
    assert clustered_p(values, alone)[0] < 0.01
    assert clustered_p(values, together)[0] > 0.2


def test_signs_of_single_tasks_agree_with_the_plain_test() -> None:
    """With clusters of one the p of the sign-flip test is that of `paired_permutation`, up to chance."""
    random = np.random.default_rng(1)
    gaps = random.normal(0.1, 0.5, 40)
    mine = clustered_p(gaps[:, None], [str(number) for number in range(40)])[0]
    assert mine == pytest.approx(paired_permutation(gaps.tolist(), [0.0] * 40), abs=0.03)


def test_absent_values_are_left_out() -> None:
    """NaN counts neither for means nor for differences; a column of NaN alone has no mean and p = 1."""
    values = np.asarray([[1.0, np.nan], [np.nan, np.nan], [0.0, np.nan]])
    spread = clustered_means(values, ["a", "b", "c"])
    assert spread.mean[0] == 0.5
    assert np.isnan([spread.mean[1], spread.low[1], spread.high[1]]).all()
    assert clustered_p(values, ["a", "b", "c"])[1] == 1.0


def test_medians_are_compared_by_clusters() -> None:
    """A clear difference of medians is found, equal ones are not, nothing is nothing."""
    first, second = [float(number) for number in range(50)], [float(number) + 40 for number in range(50)]
    clusters = [str(number) for number in range(50)]
    gap = median_difference(first, second, clusters)
    assert gap.value == -40.0
    assert gap.high < 0
    assert gap.p < 0.01
    assert median_difference(first, first, clusters).p == 1.0
    assert median_difference([], [], []).p == 1.0
