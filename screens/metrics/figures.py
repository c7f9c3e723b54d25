"""What the metrics show: spans of time to look back over, rows of tables and a headline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.safe_text import shown
from workbench.text.counts import abbreviate, counted, milliseconds, shown_figure
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import Call, Measurements
    from workbench.records.answers.project import OperationStats


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
    parts = [f"last {span}", counted(totals.calls, "call")]
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
        shown(one.operation, "bold"),
        Content(f"{one.count:,}"),
        Content.styled(f"✗ {one.failed:,}", "$text-error") if one.failed else Content("·"),
        *(Content(milliseconds(value)) for value in (one.p50, one.p95, one.p99)),
        Content("·" if one.tokens_median is None else abbreviate(one.tokens_median)),
        shown(hits or "·"),
        shown(f"! {missing}", "$text-warning") if missing else Content(reranked),
    )


def call_cells(call: Call) -> tuple[Content, ...]:
    """Return a call's row: when, what, how long, by which face, and what was missing."""
    when = datetime.fromtimestamp(call.at).strftime("%m-%d %H:%M:%S")
    note = shown(f"! {call.degraded}", "$text-warning") if call.degraded else Content("")
    if not call.ok:
        note = Content.styled("✗ failed", "$text-error")
    return (
        Content(when),
        shown(call.operation, "bold"),
        Content(milliseconds(call.duration_ms)),
        shown(call.by, "$text-muted"),
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
