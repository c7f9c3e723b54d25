"""Measurements and what they add up to."""

from __future__ import annotations

from pathlib import Path

import pytest

from store.journal import FileJournal, segments
from store.journal_files import Rotation
from store.metrics import (
    LOCK,
    LOCKS,
    cache_hit_rate,
    calls_in_use,
    event_counts,
    lock_waits,
    measurements,
    operation_stats,
    record_call,
)
from store.table_queries import ProjectSpan, project_spans
from tests.adapters import ManualClock
from tests.store.engines import open_tables


def test_figures_of_an_operation(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> None:
    """Percentiles, hit ratios by level, medians and the share of degraded calls come from the journal."""
    for n in range(1, 101):
        record_call(
            journal,
            "plan",
            float(n),
            by="cli",
            stages={"rank": n / 2},
            cache={"l1": (3, 1), "unused": (0, 0)},
            tokens=n * 10,
            degraded=["embeddings"] if n <= 25 else [],
            ok=n != 7,
        )
    record_call(journal, "index", 5.0, by="hook")

    index, plan = operation_stats(open_tables(tmp_path, {"project": journal}, clock))

    assert (plan.operation, plan.count, plan.failed) == ("plan", 100, 1)
    assert (plan.p50, plan.p95, plan.p99) == pytest.approx((50.5, 95.05, 99.01))
    assert plan.hit_ratio == {"l1": 0.75}
    assert plan.stages == {"rank": 25.25}
    assert plan.tokens_median == 505
    assert plan.fallback_rate == 0.25
    assert plan.missing == {"embeddings": 25}
    assert (index.count, index.hit_ratio, index.tokens_median, index.fallback_rate) == (1, {}, None, 0)


def test_shares_of_reranked_plans_and_of_those_without_a_model(
    journal: FileJournal, tmp_path: Path, clock: ManualClock
) -> None:
    """A plan that asked a second stage has its stage; one that missed several models counts once."""
    asked = {"rank": 3.0, "reranking": 80.0}
    record_call(journal, "plan", 90.0, by="cli", stages=asked)
    record_call(journal, "plan", 90.0, by="cli", stages=asked, degraded=["reranking", "embeddings"])
    record_call(journal, "plan", 9.0, by="cli", stages={"rank": 3.0}, degraded=["history"])
    record_call(journal, "plan", 9.0, by="cli")
    [plan] = operation_stats(open_tables(tmp_path, {"project": journal}, clock))
    assert (plan.rerank_rate, plan.model_fallback_rate, plan.fallback_rate) == (0.5, 0.25, 0.5)


def test_calls_in_use_are_those_of_a_face(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> None:
    """Those of other faces, other operations, failed ones and earlier ones do not count."""
    record_call(journal, "plan", 9000.0, by="cli")
    clock.advance(100)
    for number in range(1, 22):
        record_call(journal, "plan", 100.0 * number, by="cli")
    record_call(journal, "plan", 1.0, by="http")
    record_call(journal, "plan", 1.0, by="cli", ok=False)
    record_call(journal, "search", 1.0, by="cli")
    tables = open_tables(tmp_path, {"project": journal}, clock)
    count, p95 = calls_in_use(tables, "plan", "cli", clock.now() - 50)
    assert count == 21
    assert p95 == pytest.approx(2000.0)
    assert calls_in_use(tables, "plan", "mcp") == (0, 0.0)


def test_views_keep_the_tables_that_are_specified(
    journal: FileJournal, tmp_path: Path, clock: ManualClock
) -> None:
    """Cache questions by call and level, all that was recorded by kind, and the project of the records."""
    record_call(journal, "plan", 5.0, by="cli", cache={"index": (1, 0), "embeddings": (7, 3)})
    record_call(journal, "search", 5.0, by="cli")
    at = int(clock.now())
    begun = {"session_id": "s", "project_id": "p", "task_text": "fix", "task_fingerprint": "f"}
    journal.append(
        "sessions", "episode.started", [{**begun, "query_type": "bugfix", "started_at": at}], by="x"
    )
    event = {"session_id": "s", "event_type": "edit", "timestamp": at + 1, "file_path": "a.py"}
    journal.append("sessions", "episode.event", [event, {**event, "event_type": "delta"}], by="x")
    journal.append(
        "sessions", "episode.ended", [{"session_id": "s", "ended_at": at + 9, "outcome": "success"}], by="x"
    )
    tables = open_tables(tmp_path, {"project": journal}, clock)
    assert tables.query("SELECT level, hits, misses FROM cache_stats ORDER BY level") == [
        ("embeddings", 7, 3),
        ("index", 1, 0),
    ]
    assert cache_hit_rate(tables) == pytest.approx(8 / 11)
    assert cache_hit_rate(tables, at + 5) is None
    assert event_counts(tables) == {"call": 2, "delta": 1, "edit": 1, "ended": 1, "started": 1}
    assert event_counts(tables, at + 5) == {"ended": 1}
    assert tables.query("SELECT about FROM events WHERE kind = 'ended'") == [("success",)]
    assert project_spans(tables) == [ProjectSpan("p", 1, at, at + 9)]


def test_figures_since_a_time(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> None:
    """Only what was measured since then counts."""
    record_call(journal, "plan", 1000.0, by="cli")
    clock.advance(3600)
    record_call(journal, "plan", 1.0, by="cli")

    [recent] = operation_stats(open_tables(tmp_path, {"project": journal}, clock), since=clock.now() - 60)

    assert (recent.count, recent.p99) == (1, 1.0)


def test_measurements_over_time(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> None:
    """The course of an operation, its hits and its slowest calls come by stretches of time."""
    start = clock.now() // 60 * 60
    clock.advance(start + 60 - clock.now())
    for minute in range(2):
        for n in range(1, 4):
            saved = n * 10 if minute else None
            record_call(journal, "plan", n * 10.0**minute, by="cli", cache={"l1": (n, 0)}, tokens_saved=saved)
        record_call(journal, "index", 500.0, by="hook", degraded=["git"], ok=False)
        clock.advance(60)

    found = measurements(
        open_tables(tmp_path, {"project": journal}, clock),
        since=start,
        until=clock.now(),
        step=60,
        operation="plan",
        limit=2,
    )

    assert (found.totals.calls, found.totals.failed, found.totals.degraded) == (8, 2, 2)
    assert found.totals.tokens_saved == 60
    assert [(point.start - start, point.count, point.p50) for point in found.latency] == [
        (60, 3, 2.0),
        (120, 3, 20.0),
    ]
    assert [(hit.level, hit.hits, hit.misses) for hit in found.hits] == [("l1", 6.0, 0.0)] * 2
    assert [(call.duration_ms, call.by) for call in found.slowest] == [(30.0, "cli"), (20.0, "cli")]
    assert [operation.operation for operation in found.operations] == ["index", "plan"]


def test_nothing_measured_is_nothing(journal: FileJournal, tmp_path: Path, clock: ManualClock) -> None:
    """Without a measurement there are no figures and no last call."""
    found = measurements(open_tables(tmp_path, {"project": journal}, clock), since=0, until=1, step=1)

    assert (found.totals.calls, found.totals.last, found.operations, found.slowest) == (0, None, (), ())


def test_waits_for_locks_are_counted_together_and_by_lock(tmp_path: Path, clock: ManualClock) -> None:
    """Waits of all calls together, by lock and by operation; stages leave out what is one lock's."""
    journal = FileJournal(tmp_path, clock)
    tables = open_tables(tmp_path, {"project": journal}, clock)
    assert not lock_waits(tables)
    for _ in range(3):
        record_call(journal, "plan", 9.0, by="cli", stages={"rank": 1.0})
    waits = {LOCKS: 80.0, LOCK + "tables": 60.0, LOCK + "index": 20.0}
    record_call(journal, "stats", 90.0, by="cli", stages=waits)

    together, *each = lock_waits(tables)
    assert (together.lock, together.calls, together.p50, together.longest) == ("", 4, 0.0, 80.0)
    assert [(one.lock, one.calls, one.p95) for one in each] == [("index", 1, 20.0), ("tables", 1, 60.0)]
    plan, stats = operation_stats(tables)
    assert (plan.lock_wait_p95, stats.lock_wait_p95) == (0.0, 80.0)
    assert (plan.stages, stats.stages) == ({"rank": 1.0}, {LOCKS: 80.0})


def test_tables_follow_a_rotated_stream(tmp_path: Path, clock: ManualClock) -> None:
    """When measurements are forgotten the tables forget them too, and equal a rebuild at every step."""
    journal = FileJournal(tmp_path, clock, rotated={"metrics": Rotation(max_bytes=3_000, keep=1)})
    tables = open_tables(tmp_path, {"project": journal}, clock)
    for n in range(60):
        record_call(journal, "plan", float(n), by="hook")
        if n % 7 == 0:
            tables.catch_up()

    kept = sum(1 for part in segments(journal, "metrics") for _ in journal.read(part))
    assert tables.query("SELECT count(*) FROM metrics") == [(kept,)]
    assert kept < 60
    before = tables.digest()
    tables.rebuild()
    assert tables.digest() == before
