"""Measurements: recording one costs a plain append, and what they add up to is asked of the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from workbench.ports import Entry, Journal

if TYPE_CHECKING:
    from store.tables import Tables

STREAM: Final = "metrics"
KIND: Final = "op.measured"

SELECT_OPERATIONS: Final = """
SELECT operation, count(*), count(*) FILTER (NOT ok), quantile_cont(duration_ms, [0.5, 0.95, 0.99]),
    median(tokens), median(candidates), avg((len(degraded) > 0)::INTEGER)
FROM metrics WHERE "at" >= ? GROUP BY operation ORDER BY operation
"""
SELECT_LEVELS: Final = """
SELECT operation, level, sum(cache[level][1])::DOUBLE AS hits, sum(cache[level][2])::DOUBLE AS misses
FROM (SELECT operation, cache, unnest(map_keys(cache)) AS level FROM metrics WHERE "at" >= ?)
GROUP BY operation, level ORDER BY operation, level
"""
SELECT_STAGES: Final = """
SELECT operation, stage, quantile_cont(stages[stage], 0.5)
FROM (SELECT operation, stages, unnest(map_keys(stages)) AS stage FROM metrics WHERE "at" >= ?)
GROUP BY operation, stage ORDER BY operation, stage
"""
SELECT_MISSING: Final = """
SELECT operation, part, count(*)
FROM (SELECT operation, unnest(degraded) AS part FROM metrics WHERE "at" >= ?)
GROUP BY operation, part ORDER BY operation, part
"""


@dataclass(frozen=True, slots=True)
class OperationStats:
    """One operation's figures. Times are in milliseconds; ratios and rates in [0, 1].

    `hit_ratio` has the cache levels that were asked at all; `stages` the median of each stage;
    `fallback_rate` is the share of calls that were degraded, `missing` how often each part was.
    """

    operation: str
    count: int
    failed: int
    p50: float
    p95: float
    p99: float
    hit_ratio: Mapping[str, float]
    stages: Mapping[str, float]
    tokens_median: float | None
    candidates_median: float | None
    fallback_rate: float
    missing: Mapping[str, int]


def record(
    journal: Journal,
    operation: str,
    duration_ms: float,
    *,
    by: str,
    stages: Mapping[str, float] | None = None,
    cache: Mapping[str, tuple[int, int]] | None = None,
    tokens: int | None = None,
    candidates: int | None = None,
    degraded: Sequence[str] = (),
    ok: bool = True,
) -> Entry:
    """Append one measurement without waiting for the disk: losing the last ones to a power cut is no harm.

    `cache` maps a level to (hits, misses), `stages` a name to milliseconds. Raises: JournalError, StoreBusy.
    """
    body = {
        "operation": operation,
        "duration_ms": duration_ms,
        "stages": dict(stages or {}),
        "cache": {level: list(counts) for level, counts in (cache or {}).items()},
        "tokens": tokens,
        "candidates": candidates,
        "degraded": list(degraded),
        "ok": ok,
    }
    return journal.append(STREAM, KIND, [body], by=by, sync=False)[0]


def operation_stats(tables: Tables, since: float = 0.0) -> list[OperationStats]:
    """Return the figures of each operation since a time in seconds, by name. Raises: StoreError."""
    operations, levels, stages, missing = tables.read(
        lambda connection: [
            connection.execute(statement, [since]).fetchall()
            for statement in (SELECT_OPERATIONS, SELECT_LEVELS, SELECT_STAGES, SELECT_MISSING)
        ]
    )
    return [
        OperationStats(
            operation=name,
            count=count,
            failed=failed,
            p50=p50,
            p95=p95,
            p99=p99,
            hit_ratio={
                level: hits / (hits + misses)
                for owner, level, hits, misses in levels
                if owner == name and hits + misses > 0
            },
            stages={stage: median for owner, stage, median in stages if owner == name},
            tokens_median=tokens,
            candidates_median=candidates,
            fallback_rate=fallback,
            missing={part: times for owner, part, times in missing if owner == name},
        )
        for name, count, failed, (p50, p95, p99), tokens, candidates, fallback in operations
    ]
