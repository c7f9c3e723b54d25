"""Two runs compared: what changed by system and measure, and the tasks that changed most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.replay.figures import BETTER, SAME, WORSE
from screens.safe_text import shown
from screens.widgets.table import Column, ListRows, VirtualTable
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
class ComparedMeasure:
    """A measure of a system in both runs; `gap` is (after - before, low, high, p)."""

    system: str
    measure: str
    before: float
    after: float
    gap: tuple[float, float, float, float]
    verdict: str


@dataclass(frozen=True, slots=True)
class ChangedTask:
    """A task whose measure changed, with the right files it lost and found."""

    id: str
    head: str
    before: float
    after: float
    lost: tuple[str, ...]
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownComparison:
    """Two runs, a summary of both, and what changed."""

    before: str
    after: str
    system: str
    measure: str
    head: tuple[str, ...]
    changes: tuple[ComparedMeasure, ...]
    tasks: tuple[ChangedTask, ...]
    less_is_better: bool = False


def read_comparison(document: Mapping[str, Any]) -> ShownComparison:
    """Return what `workbench runs compare --json` printed; tasks that changed most come first."""
    from workbench.records.replay import LESS_IS_BETTER

    tasks = [
        ChangedTask(
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
    return ShownComparison(
        document["before"],
        document["after"],
        document["system"],
        document["measure"],
        tuple(_head(document)),
        tuple(_change(one) for one in document["changes"]),
        tuple(tasks),
        document["measure"] in LESS_IS_BETTER,
    )


def _change(one: Mapping[str, Any]) -> ComparedMeasure:
    gap = one["gap"]
    parts = (gap["value"], gap["low"], gap["high"], gap["p"])
    return ComparedMeasure(one["system"], one["measure"], one["before"], one["after"], parts, one["verdict"])


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
        f"different settings: {name}: {_brief(old)} → {_brief(new)}"
        for name, (old, new) in found["settings"].items()
    ]
    return lines


def change_cells(one: ComparedMeasure) -> tuple[Content, ...]:
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


def task_cells(one: ChangedTask, *, less_is_better: bool) -> tuple[Content, ...]:
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


class ComparePanel(Vertical):
    """A comparison; enter on a measure lists the tasks by it, on a task opens it in the later run."""

    DEFAULT_CSS = """
    ComparePanel {
        & #compare-head { height: auto; max-height: 4; padding: 0 1; color: $text-muted; }
        & #changes { height: 1fr; }
        & #changed-head { height: 1; padding: 0 1; text-style: bold; }
        & #changed { height: 1fr; }
    }
    """

    @dataclass
    class TaskOpened(Message):
        """A task is to be looked at in the later run."""

        run: str
        task_id: str

    @dataclass
    class MeasureOpened(Message):
        """The tasks shall be those of another system and measure."""

        system: str
        measure: str

    def __init__(self) -> None:
        super().__init__(id="compare")
        self.found: ShownComparison | None = None

    def compose(self) -> ComposeResult:
        """Lay out the head, the measures and the tasks."""
        yield Static(id="compare-head", markup=False)
        yield VirtualTable(CHANGE_COLUMNS, empty="No system was measured on a common task.", id="changes")
        yield Static(id="changed-head", markup=False)
        yield VirtualTable(TASK_COLUMNS, empty="No task changed.", id="changed")

    @property
    def table(self) -> VirtualTable:
        """The measures."""
        return self.query_one("#changes", VirtualTable)

    def show(self, found: ShownComparison) -> None:
        """Show a comparison."""
        self.found = found
        self.query_one("#compare-head", Static).update(
            Content("\n").join([shown(line) for line in found.head])
        )
        keys = [f"{one.system}\n{one.measure}" for one in found.changes]
        places = list(range(len(keys)))
        table = self.table
        wanted = f"{found.system}\n{found.measure}"
        table.set_rows(
            ListRows(places, key=lambda at: keys[at], cells=lambda at: change_cells(found.changes[at])),
            wanted,
        )
        title = f"Tasks that changed: {found.system}, {found.measure} ({len(found.tasks):,})"
        self.query_one("#changed-head", Static).update(shown(title))
        drawn = partial(task_cells, less_is_better=found.less_is_better)
        self.query_one("#changed", VirtualTable).set_rows(
            ListRows(found.tasks, key=lambda one: one.id, cells=drawn)
        )

    @on(VirtualTable.Opened, "#changes")
    def _measure(self, event: VirtualTable.Opened) -> None:
        event.stop()
        system, _, measure = event.key.partition("\n")
        self.post_message(self.MeasureOpened(system, measure))

    @on(VirtualTable.Opened, "#changed")
    def _opened(self, event: VirtualTable.Opened) -> None:
        event.stop()
        if self.found is not None:
            self.post_message(self.TaskOpened(self.found.after, event.key))
