"""Dialogs of review screens: a line for what is wrong, and keys about the row under the cursor."""

from __future__ import annotations

from typing import Generic, TypeVar

from textual import on
from textual.containers import Vertical
from textual.widgets import Static

from screens.jobs import Failure
from screens.modal import Modal
from screens.safe_text import safe, shown_lines
from screens.widgets.dialogs import leave
from screens.widgets.table import VirtualTable

RowT = TypeVar("RowT")
ResultT = TypeVar("ResultT")


class Dialog(Modal[ResultT]):
    """A box with a line that says what is wrong, of the class `dialog-error`."""

    @staticmethod
    def box(title: str) -> Vertical:
        """Return the box that a dialog is laid out in."""
        found = Vertical(classes="dialog")
        found.border_title = safe(title)
        return found

    def say(self, text: str) -> None:
        """Show what is wrong, or what goes on, which ends in an ellipsis."""
        line = self.query_one(".dialog-error", Static)
        line.set_class(text.endswith("…"), "-under-way")
        line.update(shown_lines(text))

    @property
    def unsaved(self) -> bool:
        """Whether closing it now would lose what was written."""
        return False

    def action_leave(self) -> None:
        """Close, and change nothing; what was written is only dropped when that was confirmed."""
        leave(self, unsaved=self.unsaved)

    def show_refusal(self, message: str, hint: str = "") -> None:
        """Stay open, and say why nothing was done."""
        self.say(f"! {message}\n{hint}".strip())

    def fail(self, failure: Failure) -> None:
        """Say why a job did not end."""
        self.show_refusal(failure.message, failure.hint)


class ListDialog(Dialog[ResultT], Generic[RowT, ResultT]):
    """A dialog with one table over `entries`; it shows the entry under the cursor."""

    entries: tuple[RowT, ...] = ()

    @property
    def table(self) -> VirtualTable:
        """The list."""
        return self.query_one(VirtualTable)

    @property
    def here(self) -> RowT | None:
        """The entry under the cursor."""
        place = self.table.cursor
        return self.entries[place] if place < len(self.entries) else None

    def show_here(self) -> None:
        """Show the entry under the cursor."""
        raise NotImplementedError

    def open_here(self) -> None:
        """Do what enter does with the entry under the cursor."""
        raise NotImplementedError

    @on(VirtualTable.Highlighted)
    def _handle_move(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self.show_here()

    @on(VirtualTable.Opened)
    def _handle_open(self, event: VirtualTable.Opened) -> None:
        event.stop()
        self.open_here()
