"""How long operations took and what they used: recorded, and shown by `workbench stats`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING, Final

from workbench.errors import StoreError, UsageError
from workbench.records.dataclass import dataclass
from workbench.records.project import CacheStatus

if TYPE_CHECKING:
    from workbench.entry.project import Measurements, OpenedProject
    from workbench.plan.workspace import Synced
    from workbench.records.answers.project import LockWaits, OperationStats
    from workbench.records.replay import SystemScore


@dataclass(slots=True)
class Measured:
    """What an operation reports of itself while it runs.

    `stages` maps names to milliseconds, `cache` a level (index, contents, embeddings) to (hits, misses).
    `note` says what could not be recorded of it, and afterwards whether that is the measurement itself.
    """

    stages: dict[str, float] = field(default_factory=dict)
    cache: dict[str, tuple[int, int]] = field(default_factory=dict)
    tokens: int | None = None
    tokens_saved: int | None = None
    candidates: int | None = None
    degraded: tuple[str, ...] = ()
    note: str = ""

    def note_sync(self, found: Synced) -> None:
        """Add what a sync did; what had to be updated or built counts as a miss of its level.

        `index` is that of files, `saved` are past tasks and rules as the last process left them.
        """
        self.stages.update(found.stages)
        self.cache["index"] = (1, 0) if found.cache is CacheStatus.HIT else (0, 1)
        self.note_saved(renewed=found.renewed)

    def note_saved(self, *, renewed: bool) -> None:
        """Add whether past tasks or rules were as they were saved, or read from journals and files again."""
        self.cache["saved"] = (0, 1) if renewed else (1, 0)

    def level(self, name: str, hits: int, misses: int) -> None:
        """Add a cache level that was asked at all."""
        if hits or misses:
            self.cache[name] = (hits, misses)


@contextmanager
def measure(project: OpenedProject, operation: str, by: str = "cli") -> Iterator[Measured]:
    """Measure an operation and record it, a failed one too, unless the settings turn that off.

    What it waited for locks is a stage, and so is what of that was each one's. A disk that is full or
    read-only never breaks the operation: the reason is left in `note`.
    """
    from workbench.entry.project import LOCK, LOCKS, lock_waits

    measurement = Measured()
    started, before = time.perf_counter(), lock_waits()
    try:
        try:
            yield measurement
        finally:
            after = lock_waits()
            waits = {name: round((after[name] - before.get(name, 0.0)) * 1000, 3) for name in after}
            for name, waiting in sorted(waits.items()):
                if waiting:
                    measurement.stages[LOCK + name] = waiting
                    measurement.stages[LOCKS] = round(measurement.stages.get(LOCKS, 0.0) + waiting, 3)
    except Exception:
        _record(project, operation, by, started, measurement, ok=False)
        raise
    _record(project, operation, by, started, measurement, ok=True)


def _record(
    project: OpenedProject, operation: str, by: str, started: float, measurement: Measured, *, ok: bool
) -> None:
    if not project.config.store.metrics:
        return
    from workbench.entry.project import record_call

    try:
        record_call(
            project.journal,
            operation,
            round((time.perf_counter() - started) * 1000, 3),
            by=by,
            stages=measurement.stages,
            cache=measurement.cache,
            tokens=measurement.tokens,
            tokens_saved=measurement.tokens_saved,
            candidates=measurement.candidates,
            degraded=measurement.degraded,
            ok=ok,
        )
    except (StoreError, OSError) as error:
        unmeasured = f"the measurement of this {operation} was not recorded: {error}"
        measurement.note = f"{measurement.note}; {unmeasured}" if measurement.note else unmeasured


def statistics(project: OpenedProject, since: float) -> list[OperationStats]:
    """Return the figures of each operation since a time in seconds. Raises: StoreError."""
    with project.journal_tables() as tables:
        return tables.operation_stats(since)


def waits_for_locks(project: OpenedProject, since: float) -> list[LockWaits]:
    """Return how long calls waited for locks since a time in seconds. Raises: StoreError."""
    with project.journal_tables() as tables:
        return tables.lock_waits(since)


def cold_plans(project: OpenedProject, since: float) -> tuple[int, float]:
    """Return how many plans the command line made since a time, each in its own process, and their p95.

    That is milliseconds of what was measured in the project, with models where these are set up, and first
    calls that index. Raises: StoreError.
    """
    with project.journal_tables() as tables:
        return tables.calls_in_use("plan", "cli", since)


def recorded_events(project: OpenedProject, since: float) -> dict[str, int]:
    """Return how much of each kind was recorded since a time in seconds. Raises: StoreError."""
    with project.journal_tables() as tables:
        return tables.event_counts(since)


def measurements_between(
    project: OpenedProject, *, since: float, until: float, step: float, operation: str = ""
) -> Measurements:
    """Return what was measured between two times in seconds, see `store.metrics`. Raises: StoreError."""
    with project.journal_tables() as tables:
        return tables.measurements(since=since, until=until, step=step, operation=operation)


OURS: Final = "hybrid"
"""The system of a replay whose figures are shown: the program as it is."""


FIGURES: Final = {
    "plan_context_p50_ms": "Median time of a plan, by any face, in the last {span}.",
    "plan_context_p95_ms": "95th percentile of the time of a plan in the last {span}.",
    "context_tokens_median": "Median of the tokens of packs in the last {span}.",
    "fallback_rate_ml_unavailable": (
        "Share of plans that went without a model or program they wanted in the last {span}."
    ),
    "causal_trace_completeness": "Share of ended sessions with a task, reads, edits and an outcome.",
    "first_pass_success_rate": (
        "Share of judged sessions of the last {span} that succeeded with what they were given; "
        "without one, share of tasks whose pack sufficed in the last replay."
    ),
    "affinity_hit_rate": (
        "Share of sessions of the last {span} with edits that were given, and edited, a file that past tasks "
        "spoke for; without one, share of tasks for which they found a right file in the last replay."
    ),
    "cache_hit_rate": (
        "Share of what calls of the last {span} asked caches, saved ones too, that these answered."
    ),
    "rerank_invocation_rate": "Share of plans that asked a second stage in the last {span}.",
}
"""The figures of [img §13] by their names, and what each is, of a {span} of time."""


def specified_figures(project: OpenedProject, plans: OperationStats | None, since: float) -> dict[str, float]:
    """Return the figures of [img §13] by their names; what there is no evidence for is left out.

    `plans` is what was measured of plans. Stories are those of all sessions, first passes and affinity those
    of sessions since a time in seconds; without one that can be judged, of the last replay.
    Raises: StoreError.
    """
    from workbench.entry.services.sessions import session_completeness
    from workbench.entry.services.usage import session_rates

    found: dict[str, float] = {}
    if plans is not None:
        found["plan_context_p50_ms"], found["plan_context_p95_ms"] = plans.p50, plans.p95
        if plans.tokens_median is not None:
            found["context_tokens_median"] = plans.tokens_median
        found["fallback_rate_ml_unavailable"] = plans.model_fallback_rate
        found["rerank_invocation_rate"] = plans.rerank_rate
    with project.journal_tables() as tables:
        answered = tables.cache_hit_rate(since)
    if answered is not None:
        found["cache_hit_rate"] = answered
    share = session_completeness(project).share
    if share is not None:
        found["causal_trace_completeness"] = share
    score = _last_score(project)
    passed, backed = session_rates(project, since)
    if score is not None:
        passed = score.first_pass_success if passed is None else passed
        backed = score.affinity_hit_rate if backed is None else backed
    rates = {"first_pass_success_rate": passed, "affinity_hit_rate": backed}
    return found | {name: rate for name, rate in rates.items() if rate is not None}


def _last_score(project: OpenedProject) -> SystemScore | None:
    from workbench.entry.services.runs import load_run

    with suppress(UsageError, StoreError):  # there is none, or it is damaged: `workbench runs` says so
        run = load_run(project.state, "last")
        return next((system for system in run.systems if system.system == OURS), None)
    return None
