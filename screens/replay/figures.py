"""The figures of a run: systems by measures, gaps to the baseline with their intervals, gates.

They are computed in a job, since what judges them imports numpy; tables then ask for one row at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.safe_text import safe
from screens.widgets.plot import OWN
from screens.widgets.table import Column

if TYPE_CHECKING:
    from workbench.records.replay import Gap, ReplayRun, SystemScore
    from workbench.replay.gates import Gate


BEST: Final = "★"
BETTER, WORSE, SAME = "▲", "▼", "="
GAP_COLUMNS: Final = (
    Column("measure", "Measure", "What is measured; for tokens and times less is better.", 10, priority=9),
    Column("value", "Value", "The mean over all tasks, or the median.", 8, "right", priority=8),
    Column("interval", "95 % interval", "Where the value lies with 95 % confidence.", 16, priority=5),
    Column("gap", "Difference", "The system's value less that of the baseline.", 10, "right", priority=7),
    Column(
        "between", "95 % of difference", "Where the difference lies with 95 % confidence.", 20, priority=4
    ),
    Column("p", "p value", "How likely so large a difference is by chance.", 7, "right", priority=6),
    Column(
        "verdict", "Verdict", "Whether the difference is shown, and for whom.", share=1, least=8, priority=8
    ),
)
MEASURES: Final = {
    "P@10": "The share of the first ten files that are right.",
    "R@1": "The share of the right files that is first.",
    "R@3": "The share of the right files that is among the first three.",
    "R@5": "The share of the right files that is among the first five.",
    "R@10": "The share of the right files that is among the first ten.",
    "MRR": "One divided by the place of the first right file.",
    "nDCG@10": "How high the right files are among the first ten, 1 at best.",
    "packed": "The share of the right files that is in the pack.",
    "lines": "The share of the changed lines that is in the pack.",
    "first pass": "The share of tasks whose pack has every right file.",
    "tokens": "Tokens of the pack, in the median.",
    "affinity": "The share of tasks with a right file that past tasks suggested.",
    "fallback": "The share of tasks ranked without a model that was wanted.",
    "p50 ms": "Half of the tasks took no longer.",
    "p95 ms": "95 % of the tasks took no longer.",
}
"""What each column of the systems has, by its title."""
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
        Column(
            "system",
            "System",
            "What ranked: ★ marks the best of each column.",
            share=1,
            least=12,
            priority=30,
        ),
        *(
            Column(
                title,
                f"{title} ",
                MEASURES[title],
                max(len(title) + 1, 7),
                "right",
                priority=rank.get(title, 1),
            )
            for title in found.titles
        ),
    )


def system_cells(one: SystemFigures, own: str) -> tuple[Content, ...]:
    """Return a system's cells; the best of a column is marked and bold, the product's own has its colour."""
    made = [
        Content.assemble(
            (cell.text, "bold" if cell.best else ""), (BEST if cell.best else " ", "$text-accent")
        )
        for cell in one.cells
    ]
    return (safe(one.system, f"bold {OWN}" if one.system == own else ""), *made)


def gap_cells(line: GapLine) -> tuple[Content, ...]:
    """Return the cells of a measure."""
    digits, gap = line.digits, line.gap
    interval = "" if line.interval is None else f"[{line.interval[0]:,.3f}, {line.interval[1]:,.3f}]"
    tone = {BETTER: "$text-success", WORSE: "$text-error"}.get(line.verdict, "$text-muted")
    return (
        safe(line.title),
        Content.styled(_number(line.value, digits), "bold"),
        safe(interval, "$text-muted"),
        safe("" if gap is None else f"{gap.value:+,.{digits}f}", tone),
        safe("" if gap is None else f"[{gap.low:+,.{digits}f}, {gap.high:+,.{digits}f}]", "$text-muted"),
        safe("" if gap is None else f"{gap.p:.4f}"),
        safe(f"{line.verdict} {VERDICTS[line.verdict]}" if line.verdict else "", tone),
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


_STATES: Final = {
    "pass": ("✓", "$text-success"),
    "fail": ("✗", "bold $text-error"),
    "missing": ("?", "bold $text-warning"),
}


def gates_text(gates: Sequence[Gate] | None) -> Content:
    """Return a line for each gate, below it the reason of one that is not passed; None: not judged yet."""
    if gates is None:
        return safe("Not judged yet: D judges the gates G1 to G7 of this run.", "$text-muted italic")
    names = max((len(gate.name) for gate in gates), default=0)
    lines = [Content.styled("Gates", "bold")]
    for gate in gates:
        mark, tone = _STATES[str(gate.state)]
        lines.append(
            Content.assemble(
                (f"{mark} ", tone),
                safe(f"{gate.id} {gate.name:<{names}}  ", "bold"),
                safe(gate.measured),
                safe(f"   wanted: {gate.wanted}", "$text-muted"),
            )
        )
        if gate.reason and str(gate.state) != "pass":
            lines.append(safe(f"     {gate.reason}", "$text-muted"))
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
