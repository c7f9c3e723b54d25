"""What a claim about two systems needs: intervals by the bootstrap and paired permutation tests, seeded.

Measures of a mean resample the values. Micro-averaged F1 is not a mean over messages, so its tests resample
and exchange the messages' counts (Yeh 2000, More accurate tests for the statistical significance of result
differences).

Tasks of one session are not independent of each other, so replays of sessions resample and exchange whole
sessions (the cluster bootstrap; Field and Welsh 2007, Bootstrapping clustered data); a commit is a cluster of
its own. The scores of a system are means with intervals, and what lies between it and the baseline over the
tasks both ranked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records.replay import (
    BASELINE,
    FIRST_MEASURES,
    MEASURES,
    RANKING_MEASURES,
    Gap,
    SystemScore,
    TaskRow,
)
from workbench.replay.metrics import f1

ROUNDS = 2000
EXCHANGES = 5000
_MEDIAN_ROUNDS = 1000
_CLOSE = 1e-12  # differences that rounding alone makes
_CELLS = 2_000_000  # numbers drawn at once


def bootstrap(values: Sequence[float], *, rounds: int = ROUNDS, seed: int = 7) -> tuple[float, float]:
    """Return a 95 % percentile bootstrap interval of the mean."""
    data = np.asarray(values, dtype=np.float64)
    if not len(data):
        return 0.0, 0.0
    return _middle([data[rows].mean(axis=1) for rows in _samples(len(data), rounds, seed)])


def paired_permutation(
    first: Sequence[float], second: Sequence[float], *, rounds: int = EXCHANGES, seed: int = 7
) -> float:
    """Return the two-sided p of a paired sign-flip test on the mean difference."""
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not len(difference) or not difference.any():
        return 1.0
    random = np.random.default_rng(seed)
    extreme = 0
    for size in _blocks(rounds, len(difference)):
        signs = random.choice([-1.0, 1.0], size=(size, len(difference)))
        extreme += _extreme((signs * difference).mean(axis=1), float(difference.mean()))
    return (extreme + 1) / (rounds + 1)


def mean_difference(first: Sequence[float], second: Sequence[float], *, seed: int = 7) -> Gap:
    """Compare the means of paired values."""
    gaps = np.subtract(first, second, dtype=np.float64)
    low, high = bootstrap(gaps.tolist(), seed=seed)
    value = float(gaps.mean()) if len(gaps) else 0.0
    return Gap(value, low, high, paired_permutation(first, second, seed=seed))


def sample_difference(first: Sequence[float], second: Sequence[float], *, seed: int = 7) -> Gap:
    """Compare the means of two samples that are not paired: each is resampled, labels are exchanged for p."""
    mine, theirs = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if not len(mine) or not len(theirs):
        return Gap(0.0, 0.0, 0.0, 1.0)
    value = float(mine.mean() - theirs.mean())
    ours, others = _resampled_means(mine, seed), _resampled_means(theirs, seed + 1)
    low, high = _middle([ours - others])
    both, times = np.unique(np.concatenate([mine, theirs]), return_counts=True)
    drawn = np.random.default_rng(seed).multivariate_hypergeometric(times, len(mine), size=EXCHANGES)
    gaps = drawn @ both / len(mine) - (times - drawn) @ both / len(theirs)
    return Gap(value, low, high, (_extreme(gaps, value) + 1) / (EXCHANGES + 1))


def _resampled_means(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return the means of samples drawn with replacement, by how often each distinct value is drawn."""
    distinct, times = np.unique(values, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(values), times / len(values), size=ROUNDS)
    return np.asarray(drawn @ distinct / len(values), dtype=np.float64)


def micro_f1(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return the F1 of counts [..., n, 3] summed over n: true positives, false positives, false negatives."""
    total = np.asarray(counts, np.float64).sum(axis=-2)
    return f1(total[..., 0], total[..., 1], total[..., 2])


def micro_f1_interval(counts: NDArray[Any], *, rounds: int = ROUNDS, seed: int = 7) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of micro F1 over messages; counts int [n, 3]."""
    if not len(counts):
        return 0.0, 0.0
    return _middle([micro_f1(counts[rows]) for rows in _samples(len(counts), rounds, seed)])


def micro_f1_difference(first: NDArray[Any], second: NDArray[Any], *, seed: int = 7) -> Gap:
    """Compare the micro F1 of two systems on the same messages; counts int [n, 3].

    The interval resamples messages, the same for both; p comes from exchanging the systems' counts message by
    message. Raises ValueError if the shapes differ.
    """
    if first.shape != second.shape:
        raise ValueError(f"counts of {first.shape} cannot be paired with counts of {second.shape}")
    if not len(first):
        return Gap(0.0, 0.0, 0.0, 1.0)
    value = float(micro_f1(first) - micro_f1(second))
    samples = _samples(len(first), ROUNDS, seed)
    low, high = _middle([micro_f1(first[rows]) - micro_f1(second[rows]) for rows in samples])
    random = np.random.default_rng(seed)
    extreme = 0
    for size in _blocks(EXCHANGES, len(first)):
        exchange = random.random((size, len(first))) < 0.5
        moved = exchange.astype(np.float64) @ (second - first)
        mine, theirs = first.sum(axis=0) + moved, second.sum(axis=0) - moved
        extreme += _extreme(micro_f1(mine[:, None]) - micro_f1(theirs[:, None]), value)
    return Gap(value, low, high, (extreme + 1) / (EXCHANGES + 1))


def _samples(count: int, rounds: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield rows drawn with replacement, int64 [some rounds, count], until there are `rounds` of them."""
    random = np.random.default_rng(seed)
    for size in _blocks(rounds, count):
        yield random.integers(0, count, size=(size, count))


def _blocks(rounds: int, count: int) -> Iterator[int]:
    """Yield how many rounds to work on at once, so that memory does not grow with the number of messages."""
    most = max(1, _CELLS // count)
    for done in range(0, rounds, most):
        yield min(most, rounds - done)


def _middle(parts: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    low, high = np.percentile(np.concatenate(parts), [2.5, 97.5])
    return float(low), float(high)


def _extreme(gaps: NDArray[np.float64], value: float) -> int:
    return int((np.abs(gaps) >= abs(value) - _CLOSE).sum())


@dataclass(frozen=True, slots=True)
class Spread:
    """Means float64 [m] of columns, with their 95 % intervals float64 [m]."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def clustered_means(values: NDArray[Any], clusters: Sequence[str], *, seed: int = 7) -> Spread:
    """Return the means of the columns of values [n, m], NaN left out, with intervals over whole clusters.

    A column without any value has NaN everywhere.
    """
    sums, counts = _by_cluster(values, clusters)
    found = []
    random = np.random.default_rng(seed)
    number = len(sums)
    for size in _blocks(ROUNDS, max(number, 1)):
        drawn = random.integers(0, max(number, 1), size=(size, number))
        times = np.zeros((size, max(number, 1)))
        np.add.at(times, (np.arange(size)[:, None], drawn), 1.0)
        found.append(_ratio(times[:, :number] @ sums, times[:, :number] @ counts))
    rounds = np.concatenate(found)
    mean = _ratio(sums.sum(axis=0), counts.sum(axis=0))
    low, high = np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    full = ~np.isnan(mean)
    if full.any():  # a round in which a rare value was not drawn does not count for its column
        low[full], high[full] = np.nanpercentile(rounds[:, full], [2.5, 97.5], axis=0)
    return Spread(mean, low, high)


def clustered_p(gaps: NDArray[Any], clusters: Sequence[str], *, seed: int = 7) -> NDArray[np.float64]:
    """Return the two-sided p [m] of paired differences [n, m], their signs flipped by whole clusters.

    NaN counts as no difference; a column of those alone has p = 1.
    """
    sums, _ = _by_cluster(gaps, clusters)
    total = sums.sum(axis=0)
    extreme = np.zeros(sums.shape[1])
    random = np.random.default_rng(seed)
    for size in _blocks(EXCHANGES, max(len(sums), 1)):
        signs = random.integers(0, 2, size=(size, len(sums)), dtype=np.int8) * 2.0 - 1.0
        extreme += (np.abs(signs @ sums) >= np.abs(total) - _CLOSE * max(len(gaps), 1)).sum(axis=0)
    return np.asarray((extreme + 1) / (EXCHANGES + 1))


def median_difference(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[str], *, seed: int = 7
) -> Gap:
    """Compare the medians of paired values; clusters are resampled and exchanged whole."""
    mine, theirs = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if not len(mine):
        return Gap(0.0, 0.0, 0.0, 1.0)
    value = float(np.median(mine) - np.median(theirs))
    names, places = np.unique(np.asarray(clusters, dtype=object), return_inverse=True)
    members = [np.flatnonzero(places == number) for number in range(len(names))]
    random = np.random.default_rng(seed)
    rounds = []
    for _ in range(_MEDIAN_ROUNDS):
        rows = np.concatenate([members[number] for number in random.integers(0, len(names), len(names))])
        rounds.append(np.median(mine[rows]) - np.median(theirs[rows]))
    extreme = 0
    for _ in range(_MEDIAN_ROUNDS):
        exchange = (random.random(len(names)) < 0.5)[places]
        gap = np.median(np.where(exchange, theirs, mine)) - np.median(np.where(exchange, mine, theirs))
        extreme += int(abs(gap) >= abs(value) - _CLOSE)
    low, high = np.percentile(rounds, [2.5, 97.5])
    return Gap(value, float(low), float(high), (extreme + 1) / (_MEDIAN_ROUNDS + 1))


def _by_cluster(
    values: NDArray[Any], clusters: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (sums, counts) of values [n, m] by cluster, float64 [c, m] each; NaN is left out."""
    data = np.asarray(values, np.float64)
    names = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    places = np.asarray([names[name] for name in clusters], dtype=np.int64)
    sums, counts = np.zeros((len(names), data.shape[1])), np.zeros((len(names), data.shape[1]))
    known = ~np.isnan(data)
    np.add.at(sums, places, np.where(known, data, 0.0))
    np.add.at(counts, places, known.astype(np.float64))
    return sums, counts


def _ratio(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


COMPARED = (*RANKING_MEASURES, "packed_recall", "line_coverage", "first_pass_success", *FIRST_MEASURES)
_TOKENS = "context_tokens"
_LATENCY = "latency_ms"
_RATES = ("affinity_hit_rate", "rerank_invocation_rate", "fallback_rate", "cache_hit_ratio")


def system_scores(
    rows: Sequence[TaskRow], systems: Sequence[str], baseline: str = BASELINE
) -> tuple[SystemScore, ...]:
    """Return the score of each system that ranked any task, in the order of the names."""
    tables = {name: _table(rows, name) for name in systems}
    clusters = [row.session for row in rows]
    return tuple(
        _score(name, table, None if name == baseline else tables.get(baseline), clusters)
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
    packed, explored = int((~np.isnan(tokens)).sum()), _column(table, "explored_tokens")

    def known(measure: str) -> float | None:
        return None if np.isnan(mean[measure]) else round(mean[measure], 4)

    p50, p95 = np.percentile(latency[~np.isnan(latency)], [50, 95]).tolist()
    return SystemScore(
        system=name,
        tasks=int((~np.isnan(_column(table, "mrr"))).sum()),
        **{measure: round(mean[measure], 4) for measure in RANKING_MEASURES},
        packed_tasks=packed,
        packed_recall=known("packed_recall"),
        named_recall=known("named_recall"),
        line_coverage=known("line_coverage"),
        first_pass_success=known("first_pass_success"),
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
        recall_at_1=known("recall_at_1"),
        recall_at_3=known("recall_at_3"),
        explored_recall=known("explored_recall"),
        explored_tokens_median=None if np.isnan(explored).all() else float(np.nanmedian(explored)),
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
