"""The charts of the metrics, each under a title that says what there is to see."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from screens.metrics.figures import PLAN
from screens.widgets.plot import Chart, Point, Series
from workbench.text.counts import abbreviate, counted, milliseconds

if TYPE_CHECKING:
    from workbench.entry.project import Measurements
    from workbench.records.answers.usage import UsageResponse

CHARTS: Final = ("latency", "cache hits", "tokens", "degraded", "usage")


def draw_charts(
    found: Measurements, usage: UsageResponse | None, operation: str, between: Point, step: float
) -> dict[str, Chart]:
    """Return all charts by name; that of latency is of one operation. A point is of `step` seconds."""
    return {
        "latency": latency_chart(found, operation, between),
        "cache hits": hits_chart(found, between),
        "tokens": tokens_chart(found, between),
        "degraded": degraded_chart(found, between),
        "usage": usage_chart(usage, between, step),
    }


def latency_chart(found: Measurements, operation: str, between: Point) -> Chart:
    """Return the percentiles of an operation's times."""
    one = next((each for each in found.operations if each.operation == operation), None)
    points = [point for point in found.latency if point.operation == operation]
    if one is None or not points:
        return Chart("Latency", empty="No call was measured in this time.")
    plan = operation == PLAN
    title = (
        f"{'Plans' if plan else f'Calls of {operation}'} take {milliseconds(one.p50)} in the median, "
        f"{milliseconds(one.p95)} at the 95th percentile"
    )
    if one.count == 1:
        title = f"{'One plan' if plan else f'One call of {operation}'} took {milliseconds(one.p50)}"
    return Chart(
        title,
        tuple(
            _points(name, [(point.start, getattr(point, field)) for point in points], own=field == "p50")
            for name, field in (("median", "p50"), ("95th", "p95"), ("99th", "p99"))
        ),
        y_label="ms",
        times=True,
        between=between,
    )


def hits_chart(found: Measurements, between: Point) -> Chart:
    """Return how much of what was asked of each cache it answered."""
    levels = list(dict.fromkeys(hit.level for hit in found.hits))
    if not levels:
        return Chart("Cache hits", empty="No cache was asked in this time.")
    hits, asked = sum(one.hits for one in found.hits), sum(one.hits + one.misses for one in found.hits)
    return Chart(
        f"Caches answer {hits / asked:.0%} of what they are asked",
        tuple(
            _points(
                level,
                [
                    (one.start, 100 * one.hits / (one.hits + one.misses))
                    for one in found.hits
                    if one.level == level
                ],
            )
            for level in levels
        ),
        y_label="%",
        times=True,
        between=between,
        top=100.0,
    )


def tokens_chart(found: Measurements, between: Point) -> Chart:
    """Return the tokens that were packed, and what was left out of the files shown."""
    packed, saved = found.totals.tokens, found.totals.tokens_saved
    if not packed:
        return Chart("Tokens", empty="Nothing was packed in this time.")
    title = f"{abbreviate(packed, 'token')} packed"
    if saved:
        title += f", {abbreviate(saved)} left out of the files shown ({saved / (packed + saved):.0%})"
    series = [
        _points("packed", _summed((one.start, one.tokens) for one in found.latency), own=True),
        _points("left out", _summed((one.start, one.tokens_saved) for one in found.latency)),
    ]
    shown = series if saved else series[:1]
    return Chart(title, tuple(shown), y_label="tokens", times=True, between=between)


def degraded_chart(found: Measurements, between: Point) -> Chart:
    """Return the share of plans that a part was missing for."""
    points = [one for one in found.latency if one.operation == PLAN]
    calls, degraded = sum(one.count for one in points), sum(one.count * one.fallback_rate for one in points)
    if not calls:
        return Chart("Degraded plans", empty="Nothing was planned in this time.")
    plans = counted(calls, "plan")
    missing = next((one.missing for one in found.operations if one.operation == PLAN), {})
    parts = ", ".join(sorted(missing, key=lambda part: (-missing[part], part))[:2])
    return Chart(
        f"{round(degraded):,} of {plans} degraded: without {parts}"
        if degraded
        else f"None of {plans} degraded",
        (_points("degraded", [(one.start, 100 * one.fallback_rate) for one in points], own=True),),
        y_label="% of plans",
        times=True,
        between=between,
        top=100.0,
    )


def usage_chart(usage: UsageResponse | None, between: Point, step: float) -> Chart:
    """Return what sessions were given, what of it they opened, and what they edited without."""
    sessions = [] if usage is None else [one for one in usage.sessions if one.session_id]
    if not sessions:
        return Chart("Usage", empty="No session was given anything in this time.")
    counts = {
        "opened": [(one.started_at, one.opened) for one in sessions],
        "given": [(one.started_at, one.files) for one in sessions],
        "not given": [(one.started_at, len(one.missed)) for one in sessions],
    }
    opened, given, missed = (sum(value for _, value in points) for points in counts.values())
    return Chart(
        f"{opened:,} of {counted(given, 'file')} given opened, {missed:,} edited without",
        tuple(
            _points(
                name,
                _summed((math.floor(at / step) * step, value) for at, value in points),
                own=name == "opened",
            )
            for name, points in counts.items()
        ),
        y_label="files",
        times=True,
        between=between,
    )


def _points(name: str, points: Sequence[Point], *, own: bool = False) -> Series:
    return Series(name, [x for x, _ in points], [y for _, y in points], "scatter", own=own)


def _summed(points: Iterable[Point]) -> list[Point]:
    """Return points with one of each x, the y of all added up, in the order of x."""
    sums: dict[float, float] = defaultdict(float)
    for x, y in points:
        sums[x] += y
    return sorted(sums.items())
