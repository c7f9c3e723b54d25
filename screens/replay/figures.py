"""The figures of a run: systems by measures, gaps to the baseline, intervals, curves and gates.

Figures are computed in a job, since what judges them imports numpy; tables then ask for one row at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widget import Widget

from screens.safe_text import shown
from screens.themes import style_of
from screens.widgets.plot import Series
from screens.widgets.table import Column

if TYPE_CHECKING:
    from workbench.records.replay import Gap, ReplayRun, SystemScore
    from workbench.replay.gates import Gate

BEST: Final = "★"
BETTER, WORSE, SAME = "▲", "▼", "="
GAP_COLUMNS: Final = (
    Column("measure", "Measure", 10, priority=9),
    Column("value", "Value", 8, "right", priority=8),
    Column("interval", "95 %", 16, priority=5),
    Column("gap", "− baseline", 10, "right", priority=7),
    Column("between", "95 % of it", 20, priority=4),
    Column("p", "p", 6, "right", priority=6),
    Column("verdict", "", share=1, least=8, priority=8),
)
_FIRST: Final = ("nDCG@10", "R@10", "P@10", "packed", "tokens", "p95 ms", "MRR", "p50 ms")
"""Columns that stay longest where there is little room, the most important first."""


@dataclass(frozen=True, slots=True)
class FigureCell:
    """A figure, and whether it is the best of its column."""

    text: str
    best: bool = False


@dataclass(frozen=True, slots=True)
class SystemFigures:
    """A system and its figures, one for each column."""

    system: str
    cells: tuple[FigureCell, ...]


@dataclass(frozen=True, slots=True)
class GapLine:
    """A measure of a system with its 95 % interval, and how far it lies above the baseline.

    `verdict` is one of BETTER, WORSE and SAME, empty without a gap; `share` says that values are in [0, 1].
    """

    title: str
    measure: str
    digits: int
    value: float | None
    interval: tuple[float, float] | None
    gap: Gap | None
    verdict: str

    @property
    def share(self) -> bool:
        """Whether values lie between 0 and 1."""
        return self.digits > 0


@dataclass(frozen=True, slots=True)
class RunFigures:
    """A run's figures: column titles, systems, gaps by system, and what was replayed in words."""

    titles: tuple[str, ...]
    systems: tuple[SystemFigures, ...]
    gaps: Mapping[str, tuple[GapLine, ...]]
    head: tuple[str, ...]


def compute_figures(run: ReplayRun) -> RunFigures:
    """Return the figures of a run. Imports numpy: for a job."""
    from workbench.replay.run_report import COLUMNS, best_systems, head_text

    kept = [one for one in COLUMNS if any(getattr(score, one[1]) is not None for score in run.systems)]
    best = {name: best_systems(run.systems, name, digits, higher) for _, name, digits, higher in kept}
    systems = tuple(
        SystemFigures(
            score.system,
            tuple(
                FigureCell(_number(getattr(score, name), digits), score.system in best[name])
                for _, name, digits, _ in kept
            ),
        )
        for score in run.systems
    )
    gaps = {score.system: tuple(_gap_lines(score)) for score in run.systems}
    head = (*head_text(run).split("\n"), *run.notes)
    return RunFigures(tuple(title for title, *_ in kept), systems, gaps, head)


def system_columns(found: RunFigures) -> tuple[Column, ...]:
    """Return the columns of the table of systems."""
    rank = {title: 20 - place for place, title in enumerate(_FIRST)}
    return (
        Column("system", "System", share=1, least=12, priority=30),
        *(
            Column(title, f"{title} ", max(len(title) + 1, 7), "right", priority=rank.get(title, 1))
            for title in found.titles
        ),
    )


def system_cells(one: SystemFigures) -> tuple[Content, ...]:
    """Return a system's cells; the best of a column is marked and bold."""
    made = [
        Content.assemble(
            (cell.text, "bold" if cell.best else ""), (BEST if cell.best else " ", "$text-accent")
        )
        for cell in one.cells
    ]
    return (shown(one.system), *made)


def gap_cells(line: GapLine) -> tuple[Content, ...]:
    """Return the cells of a measure."""
    digits, gap = line.digits, line.gap
    interval = "" if line.interval is None else f"[{line.interval[0]:,.3f}, {line.interval[1]:,.3f}]"
    tone = {BETTER: "$text-success", WORSE: "$text-error"}.get(line.verdict, "$text-muted")
    return (
        shown(line.title),
        Content.styled(_number(line.value, digits), "bold"),
        shown(interval, "$text-muted"),
        shown("" if gap is None else f"{gap.value:+,.{digits}f}", tone),
        shown("" if gap is None else f"[{gap.low:+,.{digits}f}, {gap.high:+,.{digits}f}]", "$text-muted"),
        shown("" if gap is None else f"{gap.p:.4f}"),
        shown(f"{line.verdict} {VERDICTS[line.verdict]}" if line.verdict else "", tone),
    )


VERDICTS: Final = {BETTER: "better", WORSE: "worse", SAME: "no difference shown"}


def _gap_lines(score: SystemScore) -> list[GapLine]:
    from workbench.records.replay import LESS_IS_BETTER
    from workbench.replay.run_report import GAPS, shown_difference

    found = []
    for title, measure, digits in GAPS:
        name = "context_tokens_median" if measure == "context_tokens" else measure
        value, gap = getattr(score, name), score.gaps.get(measure)
        if value is None:
            continue
        verdict = ""
        if gap is not None:
            better = (gap.value > 0) != (measure in LESS_IS_BETTER)
            verdict = (BETTER if better else WORSE) if shown_difference(gap) else SAME
        label = title.removesuffix(" (median)")
        found.append(GapLine(label, measure, digits, value, score.intervals.get(measure), gap, verdict))
    return found


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


POINT, LINE, LOW, HIGH = "●", "─", "├", "┤"
_MOST_NAME: Final = 26
_LEAST_WHISKER: Final = 10


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95 % interval; `best` is marked."""

    name: str
    value: float
    low: float
    high: float
    best: bool = False


def whisker(one: Interval, low: float, high: float, width: int) -> str:
    """Return exactly `width` cells: the interval on a scale from `low` to `high`, its value a point."""

    def place(value: float) -> int:
        share = (value - low) / (high - low) if high > low else 0.0
        return min(max(round(share * (width - 1)), 0), width - 1)

    cells = [" "] * width
    start, end = place(one.low), place(one.high)
    cells[start : end + 1] = LINE * (end + 1 - start)
    if end > start:
        cells[start], cells[end] = LOW, HIGH
    cells[place(one.value)] = POINT
    return "".join(cells)


def interval_lines(rows: Sequence[Interval], width: int, *, digits: int = 3) -> list[Content]:
    """Return a line for each system and one for the scale, at most `width` cells."""
    if not rows:
        return []
    low, high = 0.0, max(1.0, *(one.high for one in rows)) if digits else max(one.high for one in rows)
    figures = [f"{one.value:,.{digits}f}" for one in rows]
    longest = max(map(len, figures)) + 1
    names = min(max(len(one.name) for one in rows), _MOST_NAME, max(width - longest - _LEAST_WHISKER - 2, 6))
    room = width - names - longest - 2
    lines = []
    for one, figure in zip(rows, figures, strict=True):
        drawn = whisker(one, low, high, room) if room >= _LEAST_WHISKER else ""
        lines.append(
            Content.assemble(
                shown(one.name).truncate(names, ellipsis=True, pad=True),
                (f" {figure:>{longest - 1}}", "bold"),
                ("★" if one.best else " ", "$text-accent"),
                (f" {drawn}", "$text-primary"),
            )
        )
    if room >= _LEAST_WHISKER:
        ends = f"{low:g}", f"{high:,.{0 if high >= 10 else 1}f}"
        scale = ends[0] + ends[1].rjust(room - len(ends[0]))
        lines.append(shown(" " * (width - room) + scale, "$text-muted"))
    return lines


class Intervals(Widget):
    """A measure of all systems with 95 % intervals."""

    DEFAULT_CSS = style_of("Intervals")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._title = ""
        self._rows: tuple[Interval, ...] = ()
        self._digits = 3

    def show(self, title: str, rows: Sequence[Interval], digits: int = 3) -> None:
        """Show a measure."""
        self._title, self._rows, self._digits = title, tuple(rows), digits
        self.refresh()

    def render(self) -> Content:
        """Return the title and the lines."""
        if not self._rows:
            return shown("No intervals: no task was measured.", "$text-muted italic")
        head = Content.assemble(shown(self._title, "bold"), ("  mean and 95 % interval", "$text-muted"))
        lines = interval_lines(self._rows, self.content_size.width, digits=self._digits)
        return Content("\n").join([head, *lines])


_MOST_CURVES: Final = 6
"""Systems in one plot; more would share glyphs and colours."""

AGE, OVER, LATENCY = "age", "over", "latency"
_LATENCY: Final = "latency_ms"


def plot_curves(run: ReplayRun, systems: Sequence[str]) -> dict[str, tuple[Series, ...]]:
    """Return all plots by name."""
    return {
        AGE: by_age(run, systems),
        OVER: over_tasks(run, systems),
        LATENCY: latencies(run, systems),
    }


def by_age(run: ReplayRun, systems: Sequence[str]) -> tuple[Series, ...]:
    """Return the mean nDCG@10 of periods with as many tasks each, by the time of their middle."""
    from workbench.replay.run_report import periods

    names = systems[:_MOST_CURVES]
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
    for name in systems[:_MOST_CURVES]:
        values = sorted(
            row.systems[name].measures[measure]
            for row in run.rows
            if name in row.systems and measure in row.systems[name].measures
        )
        if len(values) > 1:
            shares = [100 * place / (len(values) - 1) for place in range(len(values))]
            found.append(Series(name, shares, values))
    return tuple(found)


_STATES: Final = {
    "pass": ("✓", "$text-success"),
    "fail": ("✗", "bold $text-error"),
    "missing": ("?", "bold $text-warning"),
}


def gates_text(gates: Sequence[Gate] | None) -> Content:
    """Return a line for each gate, below it the reason of one that is not passed; None: not judged yet."""
    if gates is None:
        return shown("Not judged yet: e judges the gates G1 to G7 of this run.", "$text-muted italic")
    names = max((len(gate.name) for gate in gates), default=0)
    lines = [Content.styled("Gates", "bold")]
    for gate in gates:
        mark, tone = _STATES[str(gate.state)]
        lines.append(
            Content.assemble(
                (f"{mark} ", tone),
                shown(f"{gate.id} {gate.name:<{names}}  ", "bold"),
                shown(gate.measured),
                shown(f"   wanted: {gate.wanted}", "$text-muted"),
            )
        )
        if gate.reason and str(gate.state) != "pass":
            lines.append(shown(f"     {gate.reason}", "$text-muted"))
    return Content("\n").join(lines)


def gates_sentence(gates: Sequence[Gate]) -> str:
    """Return how many passed: `5 of 6 gates passed: G3 failed`."""
    passed = sum(str(gate.state) == "pass" for gate in gates)
    others = ", ".join(
        f"{gate.id} {'failed' if str(gate.state) == 'fail' else 'could not be judged'}"
        for gate in gates
        if str(gate.state) != "pass"
    )
    return f"{passed} of {len(gates)} gates passed" + (f": {others}" if others else "")
