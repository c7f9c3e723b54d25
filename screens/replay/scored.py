"""The figures of a run as the section shows them: systems by measures, and how far each is off the baseline.

Made in a job, since what judges figures imports numpy; the tables then ask for one row at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.safe_text import shown
from screens.widgets.table import Column

if TYPE_CHECKING:
    from workbench.records.replay import Gap, ReplayRun, SystemScore

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
class Cell:
    """A figure, and whether it is the best of its column."""

    text: str
    best: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """A system and its figures, one for each column."""

    system: str
    cells: tuple[Cell, ...]


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
class Scored:
    """A run's figures: column titles, systems, gaps by system, and what was replayed in words."""

    titles: tuple[str, ...]
    systems: tuple[Figures, ...]
    gaps: Mapping[str, tuple[GapLine, ...]]
    head: tuple[str, ...]


def scored(run: ReplayRun) -> Scored:
    """Return the figures of a run. Imports numpy: for a job."""
    from workbench.replay.run_report import COLUMNS, best_systems, head_text

    kept = [one for one in COLUMNS if any(getattr(score, one[1]) is not None for score in run.systems)]
    best = {name: best_systems(run.systems, name, digits, higher) for _, name, digits, higher in kept}
    systems = tuple(
        Figures(
            score.system,
            tuple(
                Cell(_number(getattr(score, name), digits), score.system in best[name])
                for _, name, digits, _ in kept
            ),
        )
        for score in run.systems
    )
    gaps = {score.system: tuple(_gap_lines(score)) for score in run.systems}
    head = (*head_text(run).split("\n"), *run.notes)
    return Scored(tuple(title for title, *_ in kept), systems, gaps, head)


def columns(found: Scored) -> tuple[Column, ...]:
    """Return the columns of the table of systems."""
    rank = {title: 20 - place for place, title in enumerate(_FIRST)}
    return (
        Column("system", "System", share=1, least=12, priority=30),
        *(
            Column(title, f"{title} ", max(len(title) + 1, 7), "right", priority=rank.get(title, 1))
            for title in found.titles
        ),
    )


def cells(one: Figures) -> tuple[Content, ...]:
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
