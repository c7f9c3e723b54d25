"""Two runs compared: what changed by system and measure, and the tasks that changed most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.replay.figures import BETTER, SAME, WORSE
from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.records.replay import LESS_IS_BETTER, MeasureChange, RunComparison, TaskMeasureChange
from workbench.text.counts import plural

CHANGE_COLUMNS: Final = (
    Column("mark", "", "▲ better, ▼ worse, = no difference shown.", 1, priority=9),
    Column("system", "System", "What ranked in both runs.", share=1, least=12, priority=9),
    Column("measure", "Measure", "What is measured.", 16, priority=8),
    Column("before", "Before", "The value in the first run.", 7, "right", priority=5),
    Column("after", "After", "The value in the second run.", 7, "right", priority=6),
    Column("change", "Change", "The second value less the first.", 8, "right", priority=7),
    Column("between", "95 % interval", "Where the change lies with 95 % confidence.", 18, priority=3),
    Column("p", "p value", "How likely so large a change is by chance.", 7, "right", priority=4),
    Column("verdict", "Verdict", "Whether a change is shown.", 19, priority=2),
)
TASK_COLUMNS: Final = (
    Column("mark", "", "▲ better, ▼ worse.", 1, priority=9),
    Column("before", "Before", "The task's value in the first run.", 6, "right", priority=5),
    Column("after", "After", "The task's value in the second run.", 6, "right", priority=6),
    Column("change", "Change", "The second value less the first.", 7, "right", priority=7),
    Column("task", "Task", "What was asked for.", share=2, least=16, priority=8),
    Column(
        "files",
        "Right files lost − and found +",
        "Right files that went out of the first ten −, or came in +.",
        share=1,
        least=20,
        priority=3,
    ),
)
_VALUE: Final = 40  # characters of a setting
_MARKS: Final = {"better": BETTER, "worse": WORSE}
_TONES: Final = {BETTER: "$text-success", WORSE: "$text-error", SAME: "$text-muted"}


def comparison_head(found: RunComparison) -> list[str]:
    """Return which runs were compared, what was left out, and the settings that differ, a line each."""
    common = plural(found.common, "task")
    lines = [f"before {found.before[:8]} · after {found.after[:8]}: {common} in both"]
    others = [
        f"{count:,} {what}"
        for count, what in (
            (found.only_before, f"only in {found.before[:8]}"),
            (found.only_after, f"only in {found.after[:8]}"),
            (found.answers, "with other right answers"),
        )
        if count
    ]
    if others:
        lines[0] += f"; left out {', '.join(others)}"
    return lines + [
        f"different settings: {name}: {_brief(old)} → {_brief(new)}"
        for name, (old, new) in found.settings.items()
    ]


def measure_title(measure: str) -> str:
    """Return what a measure is called among the systems of a run; changes are of means, also of tokens."""
    from workbench.replay.run_report import COLUMNS

    titles = {name: title for title, name, *_ in COLUMNS}
    return "tokens (mean)" if measure == "context_tokens" else titles.get(measure, measure)


def largest_changes(found: RunComparison) -> tuple[TaskMeasureChange, ...]:
    """Return the tasks that changed most first, for better or worse."""
    return tuple(sorted(found.tasks, key=lambda one: (-abs(one.after - one.before), one.id)))


def change_cells(one: MeasureChange) -> tuple[Content, ...]:
    """Return the cells of a measure."""
    digits = 0 if one.measure == "context_tokens" else 3
    mark = _MARKS.get(one.verdict, SAME)
    tone = _TONES[mark]
    gap = one.gap
    return (
        Content.styled(mark, tone),
        safe(one.system),
        safe(measure_title(one.measure)),
        safe(f"{one.before:,.{digits}f}"),
        safe(f"{one.after:,.{digits}f}", "bold"),
        safe(f"{gap.value:+,.{digits}f}", tone),
        safe(f"[{gap.low:+,.{digits}f}, {gap.high:+,.{digits}f}]", "$text-muted"),
        safe(f"{gap.p:.4f}"),
        safe(one.verdict, tone),
    )


def task_cells(one: TaskMeasureChange, *, less_is_better: bool) -> tuple[Content, ...]:
    """Return the cells of a task."""
    change = one.after - one.before
    mark = WORSE if (change > 0) == less_is_better else BETTER
    files = [f"−{path}" for path in one.lost] + [f"+{path}" for path in one.found]
    return (
        Content.styled(mark, _TONES[mark]),
        safe(f"{one.before:,.3f}"[:7]),
        safe(f"{one.after:,.3f}"[:7]),
        safe(f"{change:+,.3f}"[:8], _TONES[mark]),
        safe(one.head or "(no text)", limit=400),
        safe("  ".join(files), "$text-muted"),
    )


def _brief(value: object) -> str:
    text = str(value)
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"


class ComparePanel(Vertical):
    """A comparison; enter on a measure lists the tasks by it, on a task opens it in the later run."""

    DEFAULT_CSS = style_of("ComparePanel")

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
        self.found: RunComparison | None = None

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

    def show(self, found: RunComparison) -> None:
        """Show a comparison."""
        self.found = found
        self.query_one("#compare-head", Static).update(
            Content("\n").join([safe(line) for line in comparison_head(found)])
        )
        keys = [f"{one.system}\n{one.measure}" for one in found.changes]
        places = list(range(len(keys)))
        table = self.table
        wanted = f"{found.system}\n{found.measure}"
        table.set_rows(
            ListRows(places, key=lambda at: keys[at], cells=lambda at: change_cells(found.changes[at])),
            wanted,
        )
        title = f"Tasks that changed: {found.system}, {measure_title(found.measure)} ({len(found.tasks):,})"
        self.query_one("#changed-head", Static).update(safe(title))
        drawn = partial(task_cells, less_is_better=found.measure in LESS_IS_BETTER)
        self.query_one("#changed", VirtualTable).set_rows(
            ListRows(found.tasks, key=lambda one: one.id, cells=drawn)
        )

    @on(VirtualTable.Opened, "#changes")
    def _measure(self, event: VirtualTable.Opened) -> None:
        event.stop()
        system, _, measure = event.key.partition("\n")
        self.post_message(self.MeasureOpened(system, measure))

    @on(VirtualTable.Opened, "#changed")
    def _handle_open(self, event: VirtualTable.Opened) -> None:
        event.stop()
        if self.found is not None:
            self.post_message(self.TaskOpened(self.found.after, event.key))
