"""Plots of a replay for a terminal: systems as bars, and the ranking by the age of the tasks.

plotext draws into one figure of the whole process, so these are called from one thread only.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from workbench.records.replay import BASELINE, ReplayRun, SystemScore
from workbench.replay.run_report import counterpart
from workbench.text.figures import drawn, new_figure
from workbench.text.sanitize import visible_line

LEAST_COLUMNS: Final = 60
"""Narrower terminals get no plot: labels would leave no room for bars."""

_MOST_COLUMNS = 100
_SYSTEMS = 12
_PERIODS = 8
_LEAST_IN_PERIOD = 5
_LINE_ROWS = 12
_LONG = 240 * 86_400  # seconds from which months distinguish periods
_LATEST = 253_402_300_799  # the last second of the year 9999
_MARKS = ("o", "x")  # apart without colours, too

_BARS = (("Recall@10", "recall_at_10"), ("nDCG@10", "ndcg_at_10"))


def plot_run(run: ReplayRun, columns: int, *, color: bool) -> str:
    """Return the plots of a run at most `columns` wide, empty where there is nothing to draw or no room."""
    if columns < LEAST_COLUMNS:
        return ""
    width = min(columns, _MOST_COLUMNS)
    scores = [score for score in run.systems if score.tasks][:_SYSTEMS]
    parts = [_bars(title, measure, scores, width, color) for title, measure in _BARS] if scores else []
    return "\n\n".join(filter(None, [*parts, _by_age(run, width, color)]))


def periods(run: ReplayRun, systems: Sequence[str]) -> list[tuple[int, tuple[float, ...]]]:
    """Return (middle second, mean nDCG@10 of each system) of up to eight periods, oldest first.

    Each holds as many tasks as the others; tasks that lack one of the systems are left out.
    """
    rows = sorted(
        (row.at, row.id, tuple(row.systems[name].measures["ndcg_at_10"] for name in systems))
        for row in run.rows
        if all(
            "ndcg_at_10" in row.systems[name].measures if name in row.systems else False for name in systems
        )
    )
    count = min(_PERIODS, len(rows) // _LEAST_IN_PERIOD)
    found = []
    for number in range(count):
        part = rows[number * len(rows) // count : (number + 1) * len(rows) // count]
        means = tuple(sum(row[2][one] for row in part) / len(part) for one in range(len(systems)))
        found.append((part[len(part) // 2][0], means))
    return found


def _bars(title: str, measure: str, scores: Sequence[SystemScore], width: int, color: bool) -> str:
    values = [float(getattr(score, measure)) for score in scores]
    names = [visible_line(score.system)[: width // 3] for score in scores]
    longest = max(map(len, names))
    labels = [f"{name:<{longest}} {value:.3f} " for name, value in zip(names, values, strict=True)]
    figure = new_figure(width, len(scores) + 1, color=color)
    bars = figure.bar(labels[::-1], values[::-1], orientation="h", width=0.4)
    figure.draw(bars)
    figure.axes(False)
    figure.ruler("x").lim(0, 1)
    figure.ruler("y").lim(0.5, len(scores) + 0.5)
    return f"{title}\n{drawn(figure, color=color)}"


def _by_age(run: ReplayRun, width: int, color: bool) -> str:
    systems = [name for name in (BASELINE, counterpart(run)) if name]
    found = periods(run, systems)
    if len(found) < 2 or found[0][0] == found[-1][0] or len(systems) < 2:
        return ""
    figure = new_figure(width, _LINE_ROWS, color=color)
    places = list(range(1, len(found) + 1))
    for number, mark in enumerate(_MARKS):
        line = figure.signal(places, [means[number] for _, means in found], marker=mark)
        line.lines()
        figure.draw(line)
    pattern = "%Y-%m" if found[-1][0] - found[0][0] > _LONG else "%m-%d"
    figure.ruler("x").ticks(places, [_date(at, pattern) for at, _ in found])
    figure.ruler("y").lim(0, 1)
    names = ", ".join(f"{mark} {visible_line(name)}" for mark, name in zip(_MARKS, systems, strict=True))
    return f"nDCG@10 by age of the tasks ({names})\n{drawn(figure, color=color)}"


def _date(second: int, pattern: str) -> str:
    return datetime.fromtimestamp(min(max(second, 0), _LATEST), UTC).strftime(pattern)
