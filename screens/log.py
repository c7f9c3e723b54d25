"""The log: every action of this sitting as the command line that does the same without the app."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import ScreenResume

from screens.base import SectionScreen
from screens.commands import bindings
from screens.safe_text import safe
from screens.sitting import LoggedAction
from screens.widgets.table import Column, ListRows, VirtualTable

Numbered = tuple[int, LoggedAction]
"""An action and its place, counted from the first."""


def action_cells(numbered: Numbered) -> tuple[Content, ...]:
    """Return time, state, command and outcome."""
    action = numbered[1]
    when = datetime.fromtimestamp(action.at).strftime("%H:%M:%S")
    mark = ("✗", "$text-error") if action.failed else ("✓", "$text-success")
    return (
        Content(when),
        Content.styled(*mark),
        safe(action.command),
        safe(action.outcome, "$text-muted"),
    )


class LogScreen(SectionScreen):
    """Lists the actions; a line can be copied and run in a shell."""

    section: ClassVar[str] = "log"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("log")]

    def compose_body(self) -> ComposeResult:
        """Show one table."""
        with Vertical(classes="body"):
            yield VirtualTable(
                (
                    Column("at", "Time", "When it was done.", 8, priority=1),
                    Column("state", "", "✓ done, ✗ failed.", 1, priority=2),
                    Column("command", "Command", "The command line that does the same.", share=2, priority=3),
                    Column("outcome", "Outcome", "What came of it."),
                ),
                empty="No actions yet. Each one will be listed here as the command that does the same.",
            )

    def load(self) -> None:
        """Show the actions until now, the newest first."""
        actions = list(enumerate(self.bench.log_of_actions.actions))[::-1]
        rows = ListRows(actions, key=lambda numbered: str(numbered[0]), cells=action_cells)
        self.query_one(VirtualTable).set_rows(rows)

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Show what was done meanwhile."""
        self.stale = True
        super().on_screen_resume(event)

    def action_copy(self) -> None:
        """Put the command line on the clipboard."""
        table = self.query_one(VirtualTable)
        if isinstance(table.rows, ListRows) and table.count:
            self.bench.copy(table.rows.thing(table.cursor)[1].command, "the command line")
