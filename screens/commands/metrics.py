"""Commands of the metrics."""

from __future__ import annotations

from typing import Final

from screens.commands.model import ACT, VIEW, Command

METRICS: Final = (
    Command(
        "metrics.chart",
        "Chart",
        "Show the next chart: latency, cache hits, degraded calls; on a small screen the slowest calls, too.",
        ("c",),
        group=VIEW,
        rank=1,
    ),
    Command(
        "metrics.longer",
        "Longer",
        "Look further back: up to 90 days.",
        ("right_square_bracket",),
        "workbench stats --since 7d",
        ACT,
        rank=2,
    ),
    Command(
        "metrics.shorter",
        "Shorter",
        "Look at a shorter time: down to 15 minutes.",
        ("left_square_bracket",),
        "workbench stats --since 15m",
        ACT,
        rank=3,
    ),
    Command(
        "metrics.pause",
        "Pause",
        "Stop following what other processes write, and follow again.",
        ("p", "space"),
        group=VIEW,
        rank=4,
    ),
    Command(
        "metrics.one",
        "Only this",
        "Show the charts and the slowest calls of the operation under the cursor alone, and of all again.",
        ("o",),
        group=VIEW,
        rank=5,
    ),
    Command(
        "metrics.doctor",
        "Doctor",
        "Check everything the workbench stands on.",
        ("d",),
        "workbench doctor",
        ACT,
        rank=6,
    ),
)
