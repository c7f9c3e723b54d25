"""The charts of a run: gaps with their intervals, and curves over age, tasks and time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from screens.replay.figures import RunFigures
from screens.widgets.plot import OWN_GLYPH, Chart, Series
from workbench.text.counts import milliseconds

if TYPE_CHECKING:
    from workbench.records.replay import ReplayRun

AGE, OVER, LATENCY = "age", "over", "latency"
_MOST_CURVES: Final = 6  # systems in one chart; more would share glyphs and colours
_NDCG, _LATENCY = "ndcg_at_10", "latency_ms"
_SHARES: Final = tuple(range(101))


def interval_chart(found: RunFigures, measure: str, own: str) -> Chart:
    """Return a measure of all systems with its 95 % intervals, a row a system."""
    from workbench.replay.run_report import values_title

    lines = [
        (one.system, line, line.value)
        for one in found.systems
        for line in found.gaps.get(one.system, ())
        if line.measure == measure and line.value is not None
    ]
    if not lines:
        return Chart(empty="No intervals: no task was measured.")
    title, digits = lines[0][1].title, lines[0][1].digits
    series = []
    for is_own, whisker, point in ((False, "─", "○"), (True, "━", OWN_GLYPH)):
        rows = [
            (len(lines) - place, line.interval or (value, value), value)
            for place, (system, line, value) in enumerate(lines)
            if (system == own) is is_own
        ]
        name = own if is_own else "others"
        ends = [end for _, interval, _ in rows for end in (*interval, math.nan)]
        series.append(Series(name, ends, [y for y, *_ in rows for _ in range(3)], "line", whisker, is_own))
        values = [value for *_, value in rows]
        series.append(Series(name, values, [y for y, *_ in rows], "scatter", point, is_own))
    return Chart(
        values_title(title, [(system, value) for system, _, value in lines], own, digits),
        tuple(series),
        y_label="mean and 95 % interval",
        rows=tuple(f"{system} {value:,.{digits}f}" for system, _, value in lines),
    )


def plot_curves(run: ReplayRun, systems: Sequence[str], own: str) -> dict[str, Chart]:
    """Return all charts by name; `own` is the system that is drawn over the others."""
    shown_systems = [name for name in systems if name != own][: _MOST_CURVES - 1]
    names = [name for name in systems if name == own or name in shown_systems]
    return {
        AGE: by_age(run, names, own),
        OVER: over_tasks(run, names, own),
        LATENCY: latencies(run, names, own),
    }


def by_age(run: ReplayRun, systems: Sequence[str], own: str) -> Chart:
    """Return the mean nDCG@10 of periods with as many tasks each, by the time of their middle."""
    from workbench.replay.run_report import age_title, periods

    found = periods(run, systems)
    if len(found) < 2:
        found = []
    times = [float(at) for at, _ in found]
    series = tuple(
        Series(name, times, [means[number] for _, means in found], "scatter", own=name == own)
        for number, name in enumerate(systems)
    )
    return Chart(
        age_title(run, own),
        series if found else (),
        y_label="nDCG@10",
        times=True,
        top=1.0,
        empty="Too few tasks, or all of one time.",
    )


def over_tasks(run: ReplayRun, systems: Sequence[str], own: str) -> Chart:
    """Return the share of tasks (x, in percent) on which a system does no better than y."""
    values = _sorted_values(run, (*systems, run.baseline), _NDCG)
    parts = [
        f"{name} {sum(value == 0 for value in values[name]) / len(values[name]):.0%}"
        for name in dict.fromkeys((own, run.baseline))
        if values.get(name)
    ]
    title = f"Tasks with no right file in the first ten: {', '.join(parts)}" if parts else ""
    return Chart(title, _curves(values, systems, own), "% of tasks, worst first", "nDCG@10", top=1.0)


def latencies(run: ReplayRun, systems: Sequence[str], own: str) -> Chart:
    """Return the share of tasks (x, in percent) that take a system no longer than y milliseconds."""
    values = _sorted_values(run, (*systems, run.baseline), _LATENCY)
    took = {score.system: score.latency_p95_ms for score in run.systems}
    named = dict.fromkeys((own, run.baseline))
    parts = [f"{name} {milliseconds(took[name])}" for name in named if values.get(name)]
    title = f"95 % of tasks take at most: {', '.join(parts)}" if parts else ""
    return Chart(title, _curves(values, systems, own), "% of tasks, fastest first", "ms")


def _sorted_values(run: ReplayRun, systems: Sequence[str], measure: str) -> dict[str, list[float]]:
    return {
        name: sorted(
            row.systems[name].measures[measure]
            for row in run.rows
            if name in row.systems and measure in row.systems[name].measures
        )
        for name in systems
    }


def _curves(values: Mapping[str, Sequence[float]], systems: Sequence[str], own: str) -> tuple[Series, ...]:
    return tuple(
        Series(name, _SHARES, [_quantile(values[name], share) for share in _SHARES], own=name == own)
        for name in systems
        if len(values[name]) > 1
    )


def _quantile(values: Sequence[float], share: int) -> float:
    """Return the least of sorted values that `share` percent of them do not exceed."""
    return values[max(math.ceil(share * len(values) / 100) - 1, 0)]
