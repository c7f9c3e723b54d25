"""The iterations over the screen: what agents' runs were for, how they ended, what they met and decided.

Learnings are made of them; one that taught nothing is here all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

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
from screens.teaching import transcripts_of
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.records.iterations import IterationOutcome, IterationRecord
from workbench.text.counts import counted

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
        title = f"{counted(self._total, 'iteration')} of {counted(self._features, 'feature')}"
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
                shown("workbench memory search finds them by what they were about · escape closes"),
                classes="dialog-hint",
            )

    def on_mount(self) -> None:
        """List them."""
        key = lambda one: f"{one.feature} {one.iteration_number}"  # noqa: E731 - of two fields
        self.table.set_rows(ListRows(self.entries, key=key, cells=_cells))
        self.table.focus()
        self.show_here()

    def open_here(self) -> None:
        """Show it: it is shown already."""

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)

    def show_here(self) -> None:
        """Show the iteration under the cursor."""
        here = self.here
        text = "" if here is None else "\n".join(_lines(here))
        self.query_one(".iteration Static", Static).update(shown_lines(text))


def _cells(one: IterationRecord) -> tuple[Content | str, ...]:
    return (
        shown(one.timestamp[:16].replace("T", " "), "$text-muted"),
        shown(one.feature, "$text-primary", limit=_TEXT),
        Content.styled(*_OUTCOMES.get(one.outcome, _ENDED)),
        shown(" ".join((one.task_title or one.task_id or one.summary).split()), limit=_TEXT),
        shown(f"{len(one.errors):,}", "bold" if one.errors else "$text-muted"),
        shown(f"{len(one.files_touched):,}", "$text-muted"),
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
