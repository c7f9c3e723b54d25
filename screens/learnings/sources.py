"""Two lists over the screen: the iterations of agents' runs, and what agents were asked to do otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from screens.chrome import transcripts_of
from screens.commands import widget_bindings
from screens.curation.dialog import ListDialog
from screens.engine import AppEngine
from screens.jobs import Job
from screens.safe_text import safe, shown_lines
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.memory.learnings.corrections.report import (
    CorrectionReport,
    CorrectionStatus,
    report_corrections,
    texts_in_force,
)
from workbench.records.iterations import IterationOutcome, IterationRecord
from workbench.records.learnings import FeatureLearning
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.entry.services.memory import RememberedIterations


MOST: Final = 1_000
"""Iterations that are listed, the newest."""

_TEXT: Final = 300  # characters
_OUTCOMES: Final = {
    IterationOutcome.SUCCESS: ("✓", "bold $text-success"),
    IterationOutcome.PARTIAL: ("◐", "bold $text-warning"),
    IterationOutcome.FAILURE: ("✗", "bold $text-error"),
}
_ENDED: Final = ("·", "$text-muted")


def read_iterations(engine: AppEngine, job: Job) -> RememberedIterations:
    """Return the newest iterations of all features. Raises: WorkbenchError."""
    from workbench.entry.services.memory import newest_iterations

    with engine.workspace(job.progress) as opened:
        return newest_iterations(opened, MOST)


class IterationsView(ListDialog[IterationRecord, None]):
    """Iterations above the one under the cursor, whole."""

    DEFAULT_CSS = f"""IterationsView {{
        {DIALOG_CSS}
        & > .dialog {{ width: 112; height: 90%; }}
        & VirtualTable {{ height: 1fr; min-height: 4; }}
        & .iteration {{ height: 1fr; min-height: 4; border-top: solid $panel; }}
        & .iteration Static {{ height: auto; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("iterations")

    def __init__(self, found: RememberedIterations, engine: AppEngine) -> None:
        super().__init__()
        self.entries = found.newest
        self._total = found.total
        self._features = found.features
        self._empty = f"No iteration yet.\n\n  workbench memory ingest {transcripts_of(engine.root)}"

    def compose(self) -> ComposeResult:
        """Lay out the list above the one under the cursor."""
        title = f"{plural(self._total, 'iteration')} of {plural(self._features, 'feature')}"
        with self.box(title):
            yield VirtualTable(
                (
                    Column("at", "Ended", "When it ended, in UTC.", 16, priority=6),
                    Column("feature", "Feature", "What it worked on.", 14, priority=7),
                    Column("outcome", "", "How it ended: ✓ success, ◐ partial, ✗ failure.", 1, priority=9),
                    Column("title", "Task", "What it was for.", priority=8, share=3, least=24),
                    Column("errors", "Errors", "Errors it met.", 6, align="right", priority=5),
                    Column("files", "Files", "Files it read or changed.", 5, align="right", priority=4),
                ),
                empty=shown_lines(self._empty, "$text-muted"),
            )
            with VerticalScroll(classes="iteration"):
                yield Static()
            yield Static(
                safe("workbench memory search finds them by what they were about · escape closes"),
                classes="dialog-hint",
            )

    def on_mount(self) -> None:
        """List them."""
        key = lambda one: f"{one.feature} {one.iteration_number}"  # noqa: E731 - of two fields
        self.table.set_rows(ListRows(self.entries, key=key, cells=_iteration_cells))
        self.table.focus()
        self.show_here()

    def open_here(self) -> None:
        """Show it: it is shown already."""

    def show_here(self) -> None:
        """Show the iteration under the cursor."""
        here = self.here
        text = "" if here is None else "\n".join(_lines(here))
        self.query_one(".iteration Static", Static).update(shown_lines(text))


def _iteration_cells(one: IterationRecord) -> tuple[Content | str, ...]:
    return (
        safe(one.timestamp[:16].replace("T", " "), "$text-muted"),
        safe(one.feature, "$text-primary", limit=_TEXT),
        Content.styled(*_OUTCOMES.get(one.outcome, _ENDED)),
        safe(" ".join((one.task_title or one.task_id or one.summary).split()), limit=_TEXT),
        safe(f"{len(one.errors):,}", "bold" if one.errors else "$text-muted"),
        safe(f"{len(one.files_touched):,}", "$text-muted"),
    )


def _lines(one: IterationRecord) -> Iterator[str]:
    yield f"iteration {one.iteration_number:,} of {one.feature}: {one.outcome.value}"
    if one.summary:
        yield one.summary
    yield from (f"error     {' '.join(error.message.split())}" for error in one.errors)
    for decision in one.decisions:
        why = f", because {decision.rationale}" if decision.rationale else ""
        yield f"decision  {decision.description}{why}"
    yield from (f"{touched.action.value:<9} {touched.path}" for touched in one.files_touched)


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
            yield Static(safe("P or enter makes a rule of it · escape closes"), classes="dialog-hint")

    def on_mount(self) -> None:
        """List them."""
        self.table.set_rows(ListRows(self.entries, key=lambda one: one.said[0].key, cells=_correction_cells))
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

    def show_here(self) -> None:
        """Show the quotes of the correction."""
        here = self.here
        lines = [] if here is None else [here.text, here.why, ""]
        for one in () if here is None else here.said:
            session = f"session {one.session_id[:8]}, " if one.session_id else ""
            lines.append(f"{one.at[:10]}  {session}prompt {one.prompt}: “{' '.join(one.quote.split())}”")
        self.query_one(".quotes Static", Static).update(shown_lines("\n".join(lines)))


def _correction_cells(one: CorrectionReport) -> tuple[Content | str, ...]:
    return (
        safe(one.status.value, _STYLES.get(one.status, "$text-muted")),
        safe(" ".join(one.text.split())),
        safe(f"{one.tally.times:,}", "$text-muted"),
        safe(one.learning_id.removeprefix("learning-")[:8], "$text-muted"),
    )
