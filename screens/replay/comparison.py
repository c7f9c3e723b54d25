"""Two runs compared, as they are shown: measures of each system, then the tasks that changed most. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from textual.content import Content

from screens.replay.scored import BETTER, SAME, WORSE
from screens.safe_text import shown
from screens.widgets.table import Column
from workbench.text.counts import counted

CHANGE_COLUMNS: Final = (
    Column("mark", "", 1, priority=9),
    Column("system", "System", share=1, least=12, priority=9),
    Column("measure", "Measure", 16, priority=8),
    Column("before", "Before", 7, "right", priority=5),
    Column("after", "After", 7, "right", priority=6),
    Column("change", "Change", 8, "right", priority=7),
    Column("between", "95 %", 18, priority=3),
    Column("p", "p", 6, "right", priority=4),
    Column("verdict", "", 19, priority=2),
)
TASK_COLUMNS: Final = (
    Column("mark", "", 1, priority=9),
    Column("before", "Before", 6, "right", priority=5),
    Column("after", "After", 6, "right", priority=6),
    Column("change", "Change", 7, "right", priority=7),
    Column("task", "Task", share=2, least=16, priority=8),
    Column("files", "Gold lost − and found + in the first ten", share=1, least=20, priority=3),
)
_VALUE: Final = 40  # characters of a setting
_MARKS: Final = {"better": BETTER, "worse": WORSE}
_TONES: Final = {BETTER: "$text-success", WORSE: "$text-error", SAME: "$text-muted"}


@dataclass(frozen=True, slots=True)
class Change:
    """A measure of a system in both runs; `gap` is (after - before, low, high, p)."""

    system: str
    measure: str
    before: float
    after: float
    gap: tuple[float, float, float, float]
    verdict: str


@dataclass(frozen=True, slots=True)
class TaskChange:
    """A task whose measure changed, with the right files it lost and found."""

    id: str
    head: str
    before: float
    after: float
    lost: tuple[str, ...]
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """Two runs, what was said of them, and what changed."""

    before: str
    after: str
    system: str
    measure: str
    head: tuple[str, ...]
    changes: tuple[Change, ...]
    tasks: tuple[TaskChange, ...]
    less_is_better: bool = False


def compared(document: Mapping[str, Any]) -> Compared:
    """Return what `workbench runs compare --json` printed; tasks that changed most come first."""
    from workbench.records.replay import LESS_IS_BETTER

    tasks = [
        TaskChange(
            one["id"],
            one["head"],
            one["before"],
            one["after"],
            tuple(one.get("lost", ())),
            tuple(one.get("found", ())),
        )
        for one in document["tasks"]
    ]
    tasks.sort(key=lambda one: (-abs(one.after - one.before), one.id))
    return Compared(
        document["before"],
        document["after"],
        document["system"],
        document["measure"],
        tuple(_head(document)),
        tuple(_change(one) for one in document["changes"]),
        tuple(tasks),
        document["measure"] in LESS_IS_BETTER,
    )


def _change(one: Mapping[str, Any]) -> Change:
    gap = one["gap"]
    parts = (gap["value"], gap["low"], gap["high"], gap["p"])
    return Change(one["system"], one["measure"], one["before"], one["after"], parts, one["verdict"])


def _head(found: Mapping[str, Any]) -> Sequence[str]:
    lines = [
        f"{found['after'][:8]} against {found['before'][:8]}: {counted(found['common'], 'task')} in both"
    ]
    others = [
        f"{found[key]:,} {what}"
        for key, what in (
            ("only_before", "only in the first"),
            ("only_after", "only in the second"),
            ("answers", "with other right answers"),
        )
        if found[key]
    ]
    if others:
        lines[0] += f"; left out {', '.join(others)}"
    lines += [
        f"set otherwise: {name}: {_brief(old)} → {_brief(new)}"
        for name, (old, new) in found["settings"].items()
    ]
    return lines


def change_cells(one: Change) -> tuple[Content, ...]:
    """Return the cells of a measure."""
    digits = 0 if one.measure == "context_tokens" else 3
    mark = _MARKS.get(one.verdict, SAME)
    tone = _TONES[mark]
    value, low, high, p = one.gap
    return (
        Content.styled(mark, tone),
        shown(one.system),
        shown(one.measure),
        shown(f"{one.before:,.{digits}f}"),
        shown(f"{one.after:,.{digits}f}", "bold"),
        shown(f"{value:+,.{digits}f}", tone),
        shown(f"[{low:+,.{digits}f}, {high:+,.{digits}f}]", "$text-muted"),
        shown(f"{p:.4f}"),
        shown(one.verdict, tone),
    )


def task_cells(one: TaskChange, *, less_is_better: bool) -> tuple[Content, ...]:
    """Return the cells of a task."""
    change = one.after - one.before
    mark = WORSE if (change > 0) == less_is_better else BETTER
    files = [f"−{path}" for path in one.lost] + [f"+{path}" for path in one.found]
    return (
        Content.styled(mark, _TONES[mark]),
        shown(f"{one.before:,.3f}"[:7]),
        shown(f"{one.after:,.3f}"[:7]),
        shown(f"{change:+,.3f}"[:8], _TONES[mark]),
        shown(one.head or "(no text)", limit=400),
        shown("  ".join(files), "$text-muted"),
    )


def _brief(value: object) -> str:
    text = str(value)
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"
