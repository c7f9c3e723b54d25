"""The corrections over the screen: what agents were asked to do otherwise, what became of it, the quotes."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from screens.commands import widget_bindings
from screens.curation.dialog import ListDialog
from screens.engine import AppEngine
from screens.jobs import Job
from screens.safe_text import shown, shown_lines
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.memory.learnings.corrections.report import (
    CorrectionReport,
    CorrectionStatus,
    report_corrections,
    texts_in_force,
)
from workbench.records.learnings import FeatureLearning

_STYLES: Final = {
    CorrectionStatus.SUGGESTED: "bold $text-success",
    CorrectionStatus.CONTRADICTS: "bold $text-error",
    CorrectionStatus.IGNORED: "$text-warning",
}
_OPEN: Final = frozenset(CorrectionStatus) - {CorrectionStatus.RULE, CorrectionStatus.DECIDED}
"""Where a person may still make a rule."""


def read_corrections(engine: AppEngine, job: Job) -> tuple[CorrectionReport, ...]:
    """Return the corrections, suggested rules first. Raises: WorkbenchError."""
    from workbench.memory.learnings.learningstore import store_of

    with engine.workspace(job.progress) as opened:
        store = store_of(opened.workspace.rule_store())
        return report_corrections(store.ledger(), texts_in_force(store))


def learning_of(engine: AppEngine, one: CorrectionReport, job: Job) -> FeatureLearning | None:
    """Return the learning that a correction became, None while it is none. Raises: WorkbenchError."""
    row = engine.lists().learning_list.record(one.learning_id) if one.learning_id else None
    return None if row is None else row.learning


class CorrectionsView(ListDialog[CorrectionReport, CorrectionReport | None]):
    """Corrections above their quotes; gives the one that a rule is to be made of, or None."""

    DEFAULT_CSS = f"""CorrectionsView {{
        {DIALOG_CSS}
        & > .dialog {{ width: 112; height: 90%; }}
        & VirtualTable {{ height: 2fr; min-height: 4; }}
        & .quotes {{ height: 1fr; min-height: 4; border-top: solid $panel; }}
        & .quotes Static {{ height: auto; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("corrections")

    def __init__(self, found: tuple[CorrectionReport, ...]) -> None:
        super().__init__()
        self.entries = found

    def compose(self) -> ComposeResult:
        """Lay out the list above the quotes of the one under the cursor."""
        waiting = sum(one.status is CorrectionStatus.SUGGESTED for one in self.entries)
        title = f"Corrections in prompts: {len(self.entries):,}, {waiting:,} suggested as rules"
        with self.box(title):
            yield VirtualTable(
                (
                    Column("status", "Status", "What became of the suggestion.", 11, priority=9),
                    Column(
                        "text",
                        "What was said, as a rule",
                        "What was said in a prompt, worded as a rule.",
                        priority=8,
                        share=3,
                        least=24,
                    ),
                    Column("times", "Times", "How often it was said.", 5, align="right", priority=5),
                    Column("id", "Learning", "The learning it is kept as.", 9, priority=2),
                ),
                empty="Nothing was said of how things are done in prompts that were ingested.",
            )
            with VerticalScroll(classes="quotes"):
                yield Static()
            yield Static(shown("P or enter makes a rule of it · escape closes"), classes="dialog-hint")

    def on_mount(self) -> None:
        """List them."""
        self.table.set_rows(ListRows(self.entries, key=lambda one: one.said[0].key, cells=_cells))
        self.table.focus()
        self.show_here()

    def open_here(self) -> None:
        """Make a rule of the correction."""
        self.action_promote()

    def action_promote(self) -> None:
        """Make a rule of the one under the cursor, unless that was decided."""
        here = self.here
        if here is not None and here.status in _OPEN:
            self.dismiss(here)

    def action_leave(self) -> None:
        """Close, and change nothing."""
        self.dismiss(None)

    def show_here(self) -> None:
        """Show the quotes of the correction."""
        here = self.here
        lines = [] if here is None else [here.text, here.why, ""]
        for one in () if here is None else here.said:
            session = f"session {one.session_id[:8]}, " if one.session_id else ""
            lines.append(f"{one.at[:10]}  {session}prompt {one.prompt}: “{' '.join(one.quote.split())}”")
        self.query_one(".quotes Static", Static).update(shown_lines("\n".join(lines)))


def _cells(one: CorrectionReport) -> tuple[Content | str, ...]:
    return (
        shown(one.status.value, _STYLES.get(one.status, "$text-muted")),
        shown(" ".join(one.text.split())),
        shown(f"{one.tally.times:,}", "$text-muted"),
        shown(one.learning_id.removeprefix("learning-")[:8], "$text-muted"),
    )
