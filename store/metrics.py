"""Measurements: recording one costs a plain append, and what they add up to is asked of the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from workbench.ports import Entry, Journal
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from store.tables import Tables
    from workbench.records.answers.project import LockWaits, OperationStats

RERANKING: Final = "reranking"
"""The stage of a plan in which a second stage was asked, and the part that is missing where it failed."""

MODELS: Final = ("embeddings", "grepai", "intent", "recheck", RERANKING)
"""Parts of a plan that models and other programs provide."""

LOCKS: Final = "waiting for locks"
"""The stage of a call in which it waits for locks; what of that is a lock's has its name after `LOCK`."""
LOCK: Final = "lock "

STREAM: Final = "metrics"
KIND: Final = "op.measured"

SELECT_OPERATIONS: Final = """
SELECT operation, count(*), count(*) FILTER (NOT ok), quantile_cont(duration_ms, [0.5, 0.95, 0.99]),
    median(tokens), median(candidates), avg((len(degraded) > 0)::INTEGER),
    avg((coalesce(list_contains(map_keys(stages), $rerank), false))::INTEGER),
    avg((coalesce(list_has_any(degraded, $models), false))::INTEGER),
    quantile_cont(coalesce(stages[$locks], 0), 0.95)
FROM metrics WHERE "at" >= $since GROUP BY operation ORDER BY operation
"""
SELECT_LEVELS: Final = """
SELECT operation, level, sum(hits)::DOUBLE, sum(misses)::DOUBLE
FROM cache_stats WHERE "at" >= $since GROUP BY operation, level ORDER BY operation, level
"""
SELECT_STAGES: Final = """
SELECT operation, stage, quantile_cont(stages[stage], 0.5)
FROM (SELECT operation, stages, unnest(map_keys(stages)) AS stage FROM metrics WHERE "at" >= $since)
WHERE NOT starts_with(stage, $lock) GROUP BY operation, stage ORDER BY operation, stage
"""
SELECT_WAITS: Final = """
SELECT '' AS name, count(*) AS calls, quantile_cont(coalesce(stages[$locks], 0), [0.5, 0.95]),
    max(coalesce(stages[$locks], 0))
FROM metrics WHERE "at" >= $since HAVING count(*) > 0
UNION ALL
SELECT substr(stage, length($lock) + 1) AS name, count(*), quantile_cont(stages[stage], [0.5, 0.95]),
    max(stages[stage])
FROM (SELECT stages, unnest(map_keys(stages)) AS stage FROM metrics WHERE "at" >= $since)
WHERE starts_with(stage, $lock) GROUP BY stage ORDER BY name
"""
SELECT_MISSING: Final = """
SELECT operation, part, count(*)
FROM (SELECT operation, unnest(degraded) AS part FROM metrics WHERE "at" >= $since)
GROUP BY operation, part ORDER BY operation, part
"""
SELECT_SERIES: Final = """
SELECT operation, floor("at" / $step) * $step AS start, count(*),
    quantile_cont(duration_ms, [0.5, 0.95, 0.99]), avg((len(degraded) > 0)::INTEGER),
    coalesce(sum(tokens), 0)::BIGINT, coalesce(sum(tokens_saved), 0)::BIGINT
FROM metrics WHERE "at" >= $since AND "at" < $until AND (operation = $operation OR $operation = '')
GROUP BY operation, start ORDER BY operation, start
"""
SELECT_HITS: Final = """
SELECT level, floor("at" / $step) * $step AS start, sum(hits)::DOUBLE, sum(misses)::DOUBLE
FROM cache_stats WHERE "at" >= $since AND "at" < $until AND (operation = $operation OR $operation = '')
GROUP BY level, start HAVING sum(hits) + sum(misses) > 0 ORDER BY level, start
"""
SELECT_ANSWERED: Final = """
SELECT sum(hits)::DOUBLE, sum(misses)::DOUBLE FROM cache_stats WHERE "at" >= $since
"""
SELECT_IN_USE: Final = """
SELECT count(*), quantile_cont(duration_ms, 0.95) FROM metrics
WHERE "at" >= $since AND operation = $operation AND ok AND "by" = $face
"""
SELECT_EVENTS: Final = """
SELECT kind, count(*) FROM events WHERE "at" >= $since GROUP BY kind ORDER BY kind
"""
SELECT_SLOWEST: Final = """
SELECT id, "at", operation, duration_ms, stages::JSON::VARCHAR, tokens, tokens_saved, candidates,
    array_to_string(degraded, ', '), ok, "by"
FROM metrics WHERE "at" >= $since AND "at" < $until AND (operation = $operation OR $operation = '')
ORDER BY duration_ms DESC, id LIMIT $limit
"""
SELECT_TOTALS: Final = """
SELECT count(*), count(*) FILTER (NOT ok), coalesce(sum(tokens), 0)::BIGINT,
    coalesce(sum(tokens_saved), 0)::BIGINT, count(*) FILTER (len(degraded) > 0), max("at")
FROM metrics WHERE "at" >= $since AND "at" < $until
"""


@dataclass(frozen=True, slots=True)
class LatencyPoint:
    """The calls of an operation in a stretch of time that begins at `start`; times are milliseconds.

    `tokens` is what they packed in all, `tokens_saved` what the files shown have besides.
    """

    operation: str
    start: float
    count: int
    p50: float
    p95: float
    p99: float
    fallback_rate: float
    tokens: int
    tokens_saved: int


@dataclass(frozen=True, slots=True)
class HitPoint:
    """How often a cache level answered in a stretch of time that begins at `start`."""

    level: str
    start: float
    hits: float
    misses: float


@dataclass(frozen=True, slots=True)
class Call:
    """One measured call; `stages` is JSON of names to milliseconds, `degraded` names what was missing."""

    id: str
    at: float
    operation: str
    duration_ms: float
    stages: str
    tokens: int | None
    tokens_saved: int | None
    candidates: int | None
    degraded: str
    ok: bool
    by: str


@dataclass(frozen=True, slots=True)
class Totals:
    """What all calls of a stretch of time add up to; `last` is the time of the newest, None without any."""

    calls: int
    failed: int
    tokens: int
    tokens_saved: int
    degraded: int
    last: float | None


@dataclass(frozen=True, slots=True)
class Measurements:
    """Everything measured between two times: figures by operation, their course, and the slowest calls."""

    totals: Totals
    operations: tuple[OperationStats, ...]
    latency: tuple[LatencyPoint, ...]
    hits: tuple[HitPoint, ...]
    slowest: tuple[Call, ...]


def record_call(  # noqa: PLR0913 - the fields of a measurement
    journal: Journal,
    operation: str,
    duration_ms: float,
    *,
    by: str,
    stages: Mapping[str, float] | None = None,
    cache: Mapping[str, tuple[int, int]] | None = None,
    tokens: int | None = None,
    tokens_saved: int | None = None,
    candidates: int | None = None,
    degraded: Sequence[str] = (),
    ok: bool = True,
) -> Entry:
    """Append one measurement without waiting for the disk: losing the last ones to a power cut is no harm.

    `cache` maps a level to (hits, misses), `stages` a name to milliseconds; `tokens_saved` are those of the
    whole files a plan shows, less those of what it shows of them. Raises: JournalError, StoreBusy.
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
        "tokens_saved": tokens_saved,
    }
    return journal.append(STREAM, KIND, [body], by=by, sync=False)[0]


def operation_stats(tables: Tables, since: float = 0.0) -> list[OperationStats]:
    """Return the figures of each operation since a time in seconds, by name. Raises: StoreError."""
    from workbench.records.answers.project import OperationStats  # a call that is recorded does without

    span: dict[str, object] = {"since": since}
    whole = {**span, "rerank": RERANKING, "models": list(MODELS), "locks": LOCKS}
    operations, levels, stages, missing = tables.read(
        lambda connection: [
            connection.execute(statement, given).fetchall()
            for statement, given in (
                (SELECT_OPERATIONS, whole),
                (SELECT_LEVELS, span),
                (SELECT_STAGES, {**span, "lock": LOCK}),
                (SELECT_MISSING, span),
            )
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
            rerank_rate=reranked,
            model_fallback_rate=unmodelled,
            missing={part: times for owner, part, times in missing if owner == name},
            lock_wait_p95=waited,
        )
        for name, count, failed, (
            p50,
            p95,
            p99,
        ), tokens, candidates, fallback, reranked, unmodelled, waited in operations
    ]


def lock_waits(tables: Tables, since: float = 0.0) -> list[LockWaits]:
    """Return how long calls waited for locks since a time in seconds: for any, then by lock.

    Nothing where nothing was measured. Raises: StoreError.
    """
    from workbench.records.answers.project import LockWaits

    rows = tables.query(SELECT_WAITS, {"since": since, "locks": LOCKS, "lock": LOCK})
    return [LockWaits(name, calls, p50, p95, longest) for name, calls, (p50, p95), longest in rows]


def cache_hit_rate(tables: Tables, since: float = 0.0) -> float | None:
    """Return the share of questions to caches that they answered, None without one. Raises: StoreError."""
    [(hits, misses)] = tables.query(SELECT_ANSWERED, {"since": since})
    return hits / (hits + misses) if hits or misses else None


def calls_in_use(tables: Tables, operation: str, face: str, since: float = 0.0) -> tuple[int, float]:
    """Return how many calls of an operation by a face there were, and the 95th percentile of their ms.

    Raises: StoreError.
    """
    given = {"operation": operation, "face": face, "since": since}
    [(count, took)] = tables.query(SELECT_IN_USE, given)
    return count, took or 0.0


def event_counts(tables: Tables, since: float = 0.0) -> dict[str, int]:
    """Return how much of each kind was recorded since a time in seconds, by kind. Raises: StoreError."""
    return dict(tables.query(SELECT_EVENTS, {"since": since}))


def measurements(
    tables: Tables, *, since: float, until: float, step: float, operation: str = "", limit: int = 50
) -> Measurements:
    """Return what was measured from `since` to `until`, in seconds, by stretches of `step` seconds.

    With an `operation` its course, hits and slowest calls alone. Raises: StoreError.
    """
    span = {"since": since, "until": until}
    asked = {**span, "operation": operation}
    totals, series, hits, slowest = tables.read(
        lambda connection: [
            connection.execute(statement, given).fetchall()
            for statement, given in (
                (SELECT_TOTALS, span),
                (SELECT_SERIES, {**asked, "step": step}),
                (SELECT_HITS, {**asked, "step": step}),
                (SELECT_SLOWEST, {**asked, "limit": limit}),
            )
        ]
    )
    return Measurements(
        totals=Totals(*totals[0]),
        operations=tuple(operation_stats(tables, since)),
        latency=tuple(
            LatencyPoint(name, start, count, *quantiles, *rest)
            for name, start, count, quantiles, *rest in series
        ),
        hits=tuple(HitPoint(*row) for row in hits),
        slowest=tuple(Call(*row) for row in slowest),
    )
