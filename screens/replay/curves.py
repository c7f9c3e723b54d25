"""The plots of a run: its ranking by the age of tasks, over tasks, and what ranking takes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from screens.widgets.plot import Series

if TYPE_CHECKING:
    from workbench.records.replay import ReplayRun

MOST: Final = 6
"""Systems in one plot; more would share glyphs and colours."""

AGE, OVER, LATENCY = "age", "over", "latency"
_LATENCY: Final = "latency_ms"


def curves_of(run: ReplayRun, systems: Sequence[str]) -> dict[str, tuple[Series, ...]]:
    """Return all plots by name."""
    return {
        AGE: by_age(run, systems),
        OVER: over_tasks(run, systems),
        LATENCY: latencies(run, systems),
    }


def by_age(run: ReplayRun, systems: Sequence[str]) -> tuple[Series, ...]:
    """Return the mean nDCG@10 of periods with as many tasks each, by the time of their middle."""
    from workbench.replay.run_report import periods

    names = systems[:MOST]
    found = periods(run, names)
    if len(found) < 2:
        return ()
    times = [float(at) for at, _ in found]
    return tuple(
        Series(name, times, [means[number] for _, means in found]) for number, name in enumerate(names)
    )


def over_tasks(run: ReplayRun, systems: Sequence[str], measure: str = "ndcg_at_10") -> tuple[Series, ...]:
    """Return the share of tasks (x, in percent) on which a system does no better than y."""
    return _curves(run, systems, measure)


def latencies(run: ReplayRun, systems: Sequence[str]) -> tuple[Series, ...]:
    """Return the share of tasks (x, in percent) that take a system no longer than y milliseconds."""
    return _curves(run, systems, _LATENCY)


def _curves(run: ReplayRun, systems: Sequence[str], measure: str) -> tuple[Series, ...]:
    found = []
    for name in systems[:MOST]:
        values = sorted(
            row.systems[name].measures[measure]
            for row in run.rows
            if name in row.systems and measure in row.systems[name].measures
        )
        if len(values) > 1:
            shares = [100 * place / (len(values) - 1) for place in range(len(values))]
            found.append(Series(name, shares, values))
    return tuple(found)
