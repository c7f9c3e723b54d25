"""From rows of tasks to scores of systems: means, intervals, and what lies between each and the baseline.

Every comparison is paired over the tasks both systems ranked, and clustered: prompts of one session are
resampled and exchanged together, a commit is a cluster of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.records.replay import (
    BASELINE,
    MEASURES,
    RANKING_MEASURES,
    Gap,
    SystemScore,
    TaskRow,
)
from workbench.replay.statistics import clustered_means, clustered_p, median_difference

COMPARED = (*RANKING_MEASURES, "packed_recall", "line_coverage", "first_pass_success")
_TOKENS = "context_tokens"
_LATENCY = "latency_ms"
_RATES = ("affinity_hit_rate", "rerank_invocation_rate", "fallback_rate", "cache_hit_ratio")


def system_scores(rows: Sequence[TaskRow], systems: Sequence[str]) -> tuple[SystemScore, ...]:
    """Return the score of each system that ranked any task, in the order of the names."""
    tables = {name: _table(rows, name) for name in systems}
    clusters = [row.session for row in rows]
    return tuple(
        _score(name, table, None if name == BASELINE else tables.get(BASELINE), clusters)
        for name, table in tables.items()
        if not np.isnan(table).all()
    )


def _table(rows: Sequence[TaskRow], system: str) -> NDArray[np.float64]:
    """Return float64 [rows, measures], NaN where a system or a measure is absent."""
    found = np.full((len(rows), len(MEASURES)), np.nan)
    for number, row in enumerate(rows):
        measures = row.systems[system].measures if system in row.systems else {}
        for column, name in enumerate(MEASURES):
            found[number, column] = measures.get(name, np.nan)
    return found


def _score(
    name: str, table: NDArray[np.float64], baseline: NDArray[np.float64] | None, clusters: Sequence[str]
) -> SystemScore:
    spread = clustered_means(table, clusters)
    mean = dict(zip(MEASURES, spread.mean.tolist(), strict=True))
    bounds = zip(MEASURES, spread.low.tolist(), spread.high.tolist(), strict=True)
    tokens, latency = _column(table, _TOKENS), _column(table, _LATENCY)
    packed = int((~np.isnan(tokens)).sum())

    def pack(measure: str) -> float | None:
        return None if np.isnan(mean[measure]) else round(mean[measure], 4)

    p50, p95 = np.percentile(latency[~np.isnan(latency)], [50, 95]).tolist()
    return SystemScore(
        system=name,
        tasks=int((~np.isnan(_column(table, "mrr"))).sum()),
        **{measure: round(mean[measure], 4) for measure in RANKING_MEASURES},
        packed_tasks=packed,
        packed_recall=pack("packed_recall"),
        line_coverage=pack("line_coverage"),
        first_pass_success=pack("first_pass_success"),
        context_tokens_median=float(np.nanmedian(tokens)) if packed else None,
        **{measure: round(mean[measure], 4) for measure in _RATES},
        latency_p50_ms=round(p50, 3),
        latency_p95_ms=round(p95, 3),
        intervals={
            measure: (round(low, 4), round(high, 4))
            for measure, low, high in bounds
            if measure in COMPARED and not np.isnan(low)
        },
        gaps={} if baseline is None else _gaps(table, baseline, clusters),
    )


def _gaps(
    mine: NDArray[np.float64], theirs: NDArray[np.float64], clusters: Sequence[str]
) -> Mapping[str, Gap]:
    columns = [MEASURES.index(measure) for measure in COMPARED]
    gaps = mine[:, columns] - theirs[:, columns]
    spread, chance = clustered_means(gaps, clusters), clustered_p(gaps, clusters)
    found = {
        measure: Gap(
            *(round(float(part[number]), 4) for part in (spread.mean, spread.low, spread.high, chance))
        )
        for number, measure in enumerate(COMPARED)
        if not np.isnan(spread.mean[number])
    }
    ours, other = _column(mine, _TOKENS), _column(theirs, _TOKENS)
    both = ~np.isnan(ours) & ~np.isnan(other)
    if both.any():
        kept = [name for name, known in zip(clusters, both.tolist(), strict=True) if known]
        gap = median_difference(ours[both].tolist(), other[both].tolist(), kept)
        found[_TOKENS] = Gap(gap.value, gap.low, gap.high, round(gap.p, 4))
    return found


def _column(table: NDArray[np.float64], measure: str) -> NDArray[np.float64]:
    return table[:, MEASURES.index(measure)]
