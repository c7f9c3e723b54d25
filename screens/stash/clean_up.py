"""What retention gives up, over the screen: each segment with the reason, before anything is removed."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from screens.commands import widget_bindings
from screens.curation.dialog import ListDialog
from screens.safe_text import shown
from screens.stash.segment_list import TYPES, short_id
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.stash.lifecycle import Disposal, StashCollection
from workbench.text.counts import counted


class CleanUp(ListDialog[Disposal, bool]):
    """Segments that would go, with why; gives whether they are to go."""

    DEFAULT_CSS = f"""CleanUp {{
        {DIALOG_CSS}
        & > .dialog {{ width: 100; height: 80%; }}
        & VirtualTable {{ height: 1fr; min-height: 4; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("clean-up")

    def __init__(self, found: StashCollection) -> None:
        super().__init__()
        self.entries = found.disposals
        self._found = found

    def compose(self) -> ComposeResult:
        """Lay out the numbers, the list and the reason of the one under the cursor."""
        found = self._found
        with self.box(f"Clean up: {counted(len(found.disposals), 'segment')} would go"):
            yield Static(shown(_summary(found)))
            yield VirtualTable(
                (
                    Column("reason", "Reason", "Expired, unused or repeated.", 9, priority=9),
                    Column("type", "Type", "What kind of segment it is.", 8, priority=6),
                    Column("tokens", "Tokens", "Tokens that going frees.", 6, align="right", priority=5),
                    Column(
                        "why", "In words", "Why it would go, in a sentence.", priority=8, share=3, least=24
                    ),
                    Column("id", "Id", "The beginning of its id.", 8, priority=4),
                ),
                empty="Nothing has to go: nothing is expired, unused or repeated.",
            )
            hint = (
                "ctrl+s removes them, u restores them · escape closes" if found.disposals else "escape closes"
            )
            yield Static(shown(hint), classes="dialog-hint")

    def on_mount(self) -> None:
        """List them."""
        self.table.set_rows(ListRows(self.entries, key=lambda one: one.segment.id, cells=_cells))
        self.table.focus()

    def open_here(self) -> None:
        """Enter decides nothing here."""

    def show_here(self) -> None:
        """The reasons are in the rows."""

    def action_agree(self) -> None:
        """Let them go."""
        if self.entries:
            self.dismiss(True)

    def action_leave(self) -> None:
        """Close, and change nothing."""
        self.dismiss(False)


def _summary(found: StashCollection) -> str:
    counts = Counter(one.reason.value for one in found.disposals)
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
    kept = f"{found.kept:,} stay with {counted(found.kept_tokens, 'token')}"
    protected = f", {found.protected:,} of them protected" if found.protected else ""
    freed = f"{reasons}: {counted(found.tokens, 'token')} · " if reasons else ""
    return f"{freed}{kept}{protected}"


def _cells(one: Disposal) -> tuple[Content | str, ...]:
    word, style = TYPES[one.segment.type]
    return (
        shown(one.reason.value, "$text-warning"),
        Content.styled(word, style),
        f"{one.segment.tokens:,}",
        shown(one.why),
        shown(short_id(one.segment.id), "$text-muted"),
    )
