"""The replay of a project's own history as a table for the terminal: systems by measures, then the gaps.

The best of each column is marked; what lies between a system and the baseline comes with its interval and is
called no difference where none was shown. Plots draw into one figure of the whole process, so they are called
from one thread only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from workbench.records.replay import Gap, ReplayRun, SystemScore
from workbench.text.charts import color_glyph, draw_figure, new_figure, number_text, round_ticks
from workbench.text.counts import plural, shorten_middle
from workbench.text.sanitize import visible_line

SIGNIFICANT: Final = 0.05
BEST: Final = "*"

COLUMNS: Final = (
    ("P@10", "precision_at_10", 3, True),
    ("R@1", "recall_at_1", 3, True),
    ("R@3", "recall_at_3", 3, True),
    ("R@5", "recall_at_5", 3, True),
    ("R@10", "recall_at_10", 3, True),
    ("MRR", "mrr", 3, True),
    ("nDCG@10", "ndcg_at_10", 3, True),
    ("packed", "packed_recall", 3, True),
    ("lines", "line_coverage", 3, True),
    ("first pass", "first_pass_success", 3, True),
    ("tokens", "context_tokens_median", 0, False),
    ("affinity", "affinity_hit_rate", 3, True),
    ("fallback", "fallback_rate", 3, False),
    ("p50 ms", "latency_p50_ms", 1, False),
    ("p95 ms", "latency_p95_ms", 1, False),
)
"""Title, field of `SystemScore`, digits, and whether more is better."""

GAPS: Final = (
    ("P@10", "precision_at_10", 3),
    ("R@10", "recall_at_10", 3),
    ("nDCG@10", "ndcg_at_10", 3),
    ("packed", "packed_recall", 3),
    ("lines", "line_coverage", 3),
    ("first pass", "first_pass_success", 3),
    ("tokens (median)", "context_tokens", 0),
)
"""Title, measure and digits of what is compared with the baseline."""

_FOUND: Final = (
    ("R@1", "recall_at_1", 3),
    ("R@3", "recall_at_3", 3),
    ("R@5", "recall_at_5", 3),
    ("R@10", "recall_at_10", 3),
    ("MRR", "mrr", 3),
    ("nDCG@10", "ndcg_at_10", 3),
)
"""The same, where segments of the stash are found; by kind of question, too."""

HYBRID: Final = "hybrid"

LEAST_COLUMNS: Final = 60
"""Narrower terminals get no plot: labels would leave no room for bars."""

_MOST_COLUMNS = 100
_SYSTEMS = 12
_PERIODS = 8
_LEAST_IN_PERIOD = 5
_LINE_ROWS = 12
_LONG = 240 * 86_400  # seconds from which months distinguish periods
_LATEST = 253_402_300_799  # the last second of the year 9999
_OWN, _OTHER = "blue+", "orange"
_MARKS = (("o", _OTHER), ("x", _OWN))  # apart without colours, too

_BARS = (("Recall@10", "recall_at_10"), ("nDCG@10", "ndcg_at_10"))


def run_text(run: ReplayRun) -> str:
    """Return a run as lines of text."""
    parts = [head_text(run)]
    if run.systems:
        parts.append(_scores(run.systems))
        parts += [_gaps(score, run) for score in run.systems if score.gaps]
        parts += [_kind(kind, run) for kind in run.kinds]
    if run.notes:
        parts.append("\n".join(visible_line(note) for note in run.notes))
    return "\n\n".join(parts)


def shown_difference(gap: Gap) -> bool:
    """Whether a gap is one by its test and by its interval."""
    return gap.p < SIGNIFICANT and not gap.low <= 0.0 <= gap.high


def head_text(run: ReplayRun) -> str:
    """Return what was replayed: tasks by source, what was left out, packs, embeddings."""
    measured = [row for row in run.rows if not row.fault]
    names = {"commit": "commit", "session": "prompt", "stash": "question"}
    counts = {source: sum(row.source == source for row in measured) for source in names}
    counts_of = (plural(count, names[source]) for source, count in counts.items() if count)
    tasks = " and ".join(counts_of) or "no task"
    clusters = len({row.session for row in measured})
    lines = [
        f"{visible_line(run.project)}: {tasks} in {plural(clusters, 'cluster')}, each as of its start"
        + ("" if run.complete else " (interrupted)")
    ]
    faults: dict[str, int] = {}
    for row in run.rows:
        if row.fault:
            faults[row.fault] = faults.get(row.fault, 0) + 1
    lines += [f"left out {count}: {visible_line(why)}" for why, count in sorted(faults.items())]
    if not run.kinds:
        lines.append(_packs(run))
    lines.append(f"embeddings: {run.settings.get('embedding') or 'none'}")
    if run.degraded:
        lines.append(f"degraded: {', '.join(run.degraded)}")
    return "\n".join(lines)


def _packs(run: ReplayRun) -> str:
    budget = run.settings.get("budget")
    packed = max((score.packed_tasks for score in run.systems), default=0)
    return (
        f"packs of {budget:,} tokens ({run.settings.get('tokenizer')}) for {plural(packed, 'task')}"
        if packed and isinstance(budget, int)
        else "no packs"
    )


def _scores(systems: Sequence[SystemScore]) -> str:
    columns = [
        column for column in COLUMNS if any(getattr(score, column[1]) is not None for score in systems)
    ]
    best = {name: best_systems(systems, name, digits, higher) for _, name, digits, higher in columns}
    rows = [
        [
            score.system,
            *(
                _cell(getattr(score, name), digits, score.system in best[name])
                for _, name, digits, _ in columns
            ),
        ]
        for score in systems
    ]
    head = ["", *(f"{title} " for title, *_ in columns)]
    return f"Means over tasks; tokens are medians, milliseconds percentiles ({BEST} best)\n" + table(
        head, rows
    )


def best_systems(systems: Sequence[SystemScore], name: str, digits: int, higher: bool) -> frozenset[str]:
    """Return the systems with the best value as shown; nobody where all are alike."""
    values = {
        score.system: round(float(value), digits)
        for score in systems
        if (value := getattr(score, name)) is not None
    }
    if len(set(values.values())) < 2:
        return frozenset()
    wanted = max(values.values()) if higher else min(values.values())
    return frozenset(system for system, value in values.items() if value == wanted)


def _cell(value: float | None, digits: int, best: bool) -> str:
    return "- " if value is None else f"{value:,.{digits}f}{BEST if best else ' '}"


def _kind(kind: str, run: ReplayRun) -> str:
    """Return a table of the questions of a kind; R@5 has its interval and its p against the baseline."""
    scores = run.kinds[kind]
    rows = []
    for score in scores:
        gap, interval = score.gaps.get("recall_at_5"), score.intervals.get("recall_at_5", (0.0, 0.0))
        rows.append(
            [
                score.system,
                *(_cell(getattr(score, name), digits, False).rstrip() for _, name, digits in _FOUND),
                f"[{interval[0]:.3f}, {interval[1]:.3f}]",
                "" if gap is None else f"{gap.value:+.3f}",
                "" if gap is None else f"{gap.p:.4f}",
            ]
        )
    head = ["", *(title for title, *_ in _FOUND), "95 % of R@5", f"- {run.baseline}", "p"]
    tasks = max(score.tasks for score in scores)
    return f"{visible_line(kind)}: {plural(tasks, 'question')}\n" + table(head, rows)


def _gaps(score: SystemScore, run: ReplayRun) -> str:
    rows = []
    for title, name, digits in _FOUND if run.kinds else GAPS:
        gap = score.gaps.get(name)
        if gap is not None:
            interval = f"[{gap.low:+,.{digits}f}, {gap.high:+,.{digits}f}]"
            verdict = "" if shown_difference(gap) else "no difference shown"
            rows.append([title, f"{gap.value:+,.{digits}f}", interval, f"{gap.p:.4f}", verdict])
    head = ["", "gap", "95 %", "p", ""]
    return f"{score.system} - {run.baseline}\n" + table(head, rows)


def counterpart(run: ReplayRun) -> str:
    """Return the system to show beside the baseline: hybrid, else one that begins so, else the last.

    Empty if nothing but the baseline was run.
    """
    names = [score.system for score in run.systems if score.system != run.baseline]
    if HYBRID in names or not names:
        return HYBRID if names else ""
    return next((name for name in names if name.startswith(f"{HYBRID}+")), names[-1])


def isolate_system(run: ReplayRun, system: str, name: str) -> ReplayRun:
    """Return a run of one of its systems under a name: what two systems did can then be compared."""
    return replace(
        run,
        systems=tuple(replace(one, system=name) for one in run.systems if one.system == system),
        rows=tuple(
            replace(row, systems={name: row.systems[system]} if system in row.systems else {})
            for row in run.rows
        ),
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns two blanks apart, the first to the left and the others to the right."""
    lines = [tuple(head), *map(tuple, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def plot_run(run: ReplayRun, columns: int, *, color: bool) -> str:
    """Return the plots of a run at most `columns` wide, empty where there is nothing to draw or no room."""
    if columns < LEAST_COLUMNS:
        return ""
    width = min(columns, _MOST_COLUMNS)
    scores = [score for score in run.systems if score.tasks][:_SYSTEMS]
    own = counterpart(run) or run.baseline
    parts = [_bars(title, measure, scores, own, width, color) for title, measure in _BARS] if scores else []
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


def _bars(title: str, measure: str, scores: Sequence[SystemScore], own: str, width: int, color: bool) -> str:
    values = [float(getattr(score, measure)) for score in scores]
    names = [shorten_middle(visible_line(score.system), width // 3) for score in scores]
    longest = max(map(len, names))
    labels = [f"{name:<{longest}} {value:.3f} " for name, value in zip(names, values, strict=True)]
    figure = new_figure(width, len(scores) + 1, color=color)
    tones = [_OWN if score.system == own else _OTHER for score in scores]
    blocks = [color_glyph("█", tone) if color else "█" for tone in tones]
    figure.draw(figure.bar(labels[::-1], values[::-1], orientation="h", width=0.4, marker=blocks[::-1]))
    figure.axes(False)
    figure.ruler("x").lim(0, 1)
    figure.ruler("x").ticks(*_scale())
    figure.ruler("y").lim(0.5, len(scores) + 0.5)
    pairs = zip(names, values, strict=True)
    return f"{values_title(title, pairs, visible_line(own))}\n{draw_figure(figure, color=color)}"


def _by_age(run: ReplayRun, width: int, color: bool) -> str:
    own = counterpart(run)
    found = periods(run, [run.baseline, own]) if own else []
    if len(found) < 2 or found[0][0] == found[-1][0]:
        return ""
    figure = new_figure(width, _LINE_ROWS, color=color)
    places = list(range(1, len(found) + 1))
    for number, (mark, tone) in enumerate(_MARKS):  # the product's own over the other
        marker = color_glyph(mark, tone) if color else mark
        figure.draw(figure.signal(places, [means[number] for _, means in found], marker=marker))
    pattern = "%Y-%m" if found[-1][0] - found[0][0] > _LONG else "%m-%d"
    figure.ruler("x").ticks(places, [_date(at, pattern) for at, _ in found])
    figure.ruler("y").lim(0, 1)
    figure.ruler("y").ticks(*_scale())
    names = ", ".join(
        f"{mark} {visible_line(name)}" for (mark, _), name in zip(_MARKS, (run.baseline, own), strict=True)
    )
    return f"{age_title(run, own)}\nnDCG@10: {names}\n{draw_figure(figure, color=color)}"


def values_title(measure: str, values: Iterable[tuple[str, float]], own: str, digits: int = 3) -> str:
    """Return a measure with the product's own value and the first other one: `R@10: hybrid 0.8, bm25 0.6`."""
    first = sorted(values, key=lambda pair: pair[0] != own)[:2]
    return f"{measure}: {', '.join(f'{name} {value:,.{digits}f}' for name, value in first)}"


def age_title(run: ReplayRun, own: str) -> str:
    """Return in how many periods of a run the product's own system ranks better than the baseline."""
    found = periods(run, [run.baseline, own])
    if not found or own == run.baseline:
        return "nDCG@10 by age of the tasks"
    better = sum(means[1] > means[0] for _, means in found)
    names = visible_line(own), visible_line(run.baseline)
    return f"{names[0]} ranks better than {names[1]} in {better} of {plural(len(found), 'period')}"


def _scale() -> tuple[list[float], list[str]]:
    places = round_ticks(0, 1, 6)
    return places, list(map(number_text, places))


def _date(second: int, pattern: str) -> str:
    return datetime.fromtimestamp(min(max(second, 0), _LATEST), UTC).strftime(pattern)
