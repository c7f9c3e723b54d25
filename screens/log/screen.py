"""The log: every action of this sitting as the command line that does the same without the app."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from screens.action_log import Action
from screens.base import SectionScreen
from screens.commands.log import LOG
from screens.commands.model import bindings
from screens.safe_text import shown
from screens.widgets.table import Column, VirtualTable


class Actions:
    """The actions as rows, the newest first."""

    def __init__(self, actions: tuple[Action, ...]) -> None:
        self.actions = actions

    def __len__(self) -> int:
        return len(self.actions)

    def key(self, index: int) -> str:
        """Tell actions apart by their place from the first."""
        return str(len(self.actions) - index)

    def cells(self, index: int) -> tuple[Content, ...]:
        """Return time, state, command and outcome."""
        action = self.actions[index]
        when = datetime.fromtimestamp(action.at).strftime("%H:%M:%S")
        mark = ("✗", "$text-error") if action.failed else ("✓", "$text-success")
        return (
            Content(when),
            Content.styled(*mark),
            shown(action.command),
            shown(action.outcome, "$text-muted"),
        )


class LogScreen(SectionScreen):
    """Lists what was done; a line can be copied and run in a shell."""

    section: ClassVar[str] = "log"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(LOG)]

    def compose_body(self) -> ComposeResult:
        """Show one table."""
        with Vertical(classes="body"):
            yield VirtualTable(
                (
                    Column("at", "Time", 8, priority=1),
                    Column("state", "", 1, priority=2),
                    Column("command", "Command", share=2, priority=3),
                    Column("outcome", "Outcome"),
                ),
                empty="Nothing was done yet. Every action will stand here as the command that does the same.",
            )

    def load(self) -> None:
        """Show the actions until now."""
        self.query_one(VirtualTable).set_rows(self._rows())

    def on_screen_resume(self) -> None:
        """Show what was done meanwhile."""
        self.stale = True
        super().on_screen_resume()

    def action_copy(self) -> None:
        """Put the command line on the clipboard."""
        table, rows = self.query_one(VirtualTable), self._rows()
        if len(rows):
            self.bench.copy(rows.actions[table.cursor].command, "the command line")

    def _rows(self) -> Actions:
        return Actions(tuple(reversed(self.bench.log_of_actions.actions)))
