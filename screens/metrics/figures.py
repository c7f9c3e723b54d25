"""What the metrics show: spans of time to look back over, rows of tables, a headline, charts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.safe_text import safe
from screens.widgets.plot import Chart, Point, Series
from workbench.text.counts import abbreviate, milliseconds, plural, shown_figure
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import Call, Measurements
    from workbench.records.answers.project import OperationStats
    from workbench.records.answers.usage import UsageResponse


@dataclass(frozen=True, slots=True)
class LookBack:
    """A time to look back: its name as `workbench stats --since` takes it, and both lengths in seconds."""

    name: str
    seconds: int
    step: int


SPANS: Final = (
    LookBack("15m", 900, 15),
    LookBack("1h", 3_600, 60),
    LookBack("6h", 6 * 3_600, 300),
    LookBack("24h", 24 * 3_600, 900),
    LookBack("7d", 7 * 86_400, 6 * 3_600),
    LookBack("30d", 30 * 86_400, 86_400),
    LookBack("90d", 90 * 86_400, 2 * 86_400),
)
_A_DAY: Final = 3
PLAN: Final = "plan"


def find_span(name: object) -> int:
    """Return the place of a span by its name, that of a day for one there is not."""
    return next((place for place, span in enumerate(SPANS) if span.name == name), _A_DAY)


def headline(found: Measurements, span: str) -> str:
    """Return the figures of all calls in one line."""
    totals = found.totals
    if not totals.calls:
        return f"nothing was measured in the last {span}"
    parts = [f"last {span}", plural(totals.calls, "call")]
    if totals.failed:
        parts.append(f"✗ {totals.failed:,} failed")
    if totals.degraded:
        parts.append(f"! {totals.degraded / totals.calls:.0%} degraded")
    if totals.tokens:
        parts.append(f"{abbreviate(totals.tokens, 'token')} packed")
    if totals.tokens_saved:
        share = totals.tokens_saved / (totals.tokens_saved + totals.tokens)
        parts.append(f"{abbreviate(totals.tokens_saved)} left out of the files shown ({share:.0%})")
    return " · ".join(parts)


def figure_lines(figures: Mapping[str, float], meanings: Mapping[str, str], span: str) -> str:
    """Return figures by name, each above what it means; a figure without evidence says so."""
    return "\n\n".join(
        f"{name}  {shown_figure(figures[name]) if name in figures else 'no evidence yet'}\n  "
        + meaning.format(span=span)
        for name, meaning in meanings.items()
    )


def operation_cells(one: OperationStats) -> tuple[Content, ...]:
    """Return an operation's row: name, calls, failures, percentiles, cache hits and degraded calls."""
    hits = ", ".join(f"{level} {ratio:.0%}" for level, ratio in sorted(one.hit_ratio.items()))
    missing = ", ".join(f"{part} {times:,}×" for part, times in sorted(one.missing.items()))
    reranked = f"reranked {one.rerank_rate:.0%}" if one.rerank_rate else "·"
    return (
        safe(one.operation, "bold"),
        Content(f"{one.count:,}"),
        Content.styled(f"✗ {one.failed:,}", "$text-error") if one.failed else Content("·"),
        *(Content(milliseconds(value)) for value in (one.p50, one.p95, one.p99)),
        Content("·" if one.tokens_median is None else abbreviate(one.tokens_median)),
        safe(hits or "·"),
        safe(f"! {missing}", "$text-warning") if missing else Content(reranked),
    )


def call_cells(call: Call) -> tuple[Content, ...]:
    """Return a call's row: when, what, how long, by which face, and what was missing."""
    when = datetime.fromtimestamp(call.at).strftime("%m-%d %H:%M:%S")
    note = safe(f"! {call.degraded}", "$text-warning") if call.degraded else Content("")
    if not call.ok:
        note = Content.styled("✗ failed", "$text-error")
    return (
        Content(when),
        safe(call.operation, "bold"),
        Content(milliseconds(call.duration_ms)),
        safe(call.by, "$text-muted"),
        Content("" if call.candidates is None else f"{call.candidates:,}"),
        note,
    )


def call_story(call: Call) -> str:
    """Return everything that is known of a call, one fact a line."""
    import json

    lines = [
        f"operation   {visible_line(call.operation)}",
        f"at          {datetime.fromtimestamp(call.at).astimezone().isoformat(timespec='milliseconds')}",
        f"took        {milliseconds(call.duration_ms)}{'' if call.ok else ', and failed'}",
        f"asked by    {visible_line(call.by)}",
    ]
    for name, value in (
        ("tokens", call.tokens),
        ("left out", call.tokens_saved),
        ("candidates", call.candidates),
    ):
        if value is not None:
            lines.append(f"{name:<11} {value:,}")
    if call.degraded:
        lines.append(f"without     {visible_line(call.degraded)}")
    stages = sorted(json.loads(call.stages).items(), key=lambda pair: (-pair[1], pair[0]))
    lines += (
        ["", "stages", *(f"  {visible_line(name):<16} {milliseconds(ms)}" for name, ms in stages)]
        if stages
        else []
    )
    return "\n".join(lines)


def busiest(operations: Sequence[OperationStats]) -> str:
    """Return plans, else the operation with the most calls, by name where equal; empty without any."""
    best = min(operations, key=lambda one: (one.operation != PLAN, -one.count, one.operation), default=None)
    return best.operation if best else ""


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
        _points("packed", _sum_points((one.start, one.tokens) for one in found.latency), own=True),
        _points("left out", _sum_points((one.start, one.tokens_saved) for one in found.latency)),
    ]
    shown = series if saved else series[:1]
    return Chart(title, tuple(shown), y_label="tokens", times=True, between=between)


def degraded_chart(found: Measurements, between: Point) -> Chart:
    """Return the share of plans that a part was missing for."""
    points = [one for one in found.latency if one.operation == PLAN]
    calls, degraded = sum(one.count for one in points), sum(one.count * one.fallback_rate for one in points)
    if not calls:
        return Chart("Degraded plans", empty="Nothing was planned in this time.")
    plans = plural(calls, "plan")
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
        f"{opened:,} of {plural(given, 'file')} given opened, {missed:,} edited without",
        tuple(
            _points(
                name,
                _sum_points((math.floor(at / step) * step, value) for at, value in points),
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


def _sum_points(points: Iterable[Point]) -> list[Point]:
    """Return points with one of each x, the y of all added up, in the order of x."""
    sums: dict[float, float] = defaultdict(float)
    for x, y in points:
        sums[x] += y
    return sorted(sums.items())
