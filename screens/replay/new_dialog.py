"""A replay to start: what is replayed, by which systems, how much of it, and the command that it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from screens.headless import command_line
from screens.replay.wish import (
    ALL,
    SOURCES,
    SystemChoice,
    Wish,
    arguments,
    chosen_systems,
    is_dataset,
    wrong_with,
)
from screens.safe_text import shown
from screens.widgets.confirm import DIALOG_CSS
from screens.widgets.form import FieldForm, FormField
from screens.widgets.table import Column, ListRows, VirtualTable

_COLUMNS: Final = (
    Column("name", "Systems (space marks)", 24, priority=2),
    Column("about", "", share=1, least=10, priority=1),
)


class NewReplay(ModalScreen[Wish | None]):
    """Asks what to replay; enter starts it, escape does not."""

    DEFAULT_CSS = f"""NewReplay {{
        {DIALOG_CSS}
        & > .dialog {{ width: 96; height: 26; max-height: 100%; }}
        & FieldForm {{ height: 6; }}
        & VirtualTable {{ height: 1fr; min-height: 3; }}
        & #command {{ height: auto; max-height: 3; color: $text-accent; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", id="new-replay.cancel", priority=True, tooltip="Start nothing"),
        Binding("f2", "start", "Start", id="new-replay.start", tooltip="Start the replay"),
    ]

    def __init__(self, choices: Sequence[SystemChoice], wish: Wish, budget: int, root: Path) -> None:
        super().__init__()
        self._choices = tuple(choices)
        self._wish = wish
        self._budget = budget
        self._root = root

    def compose(self) -> ComposeResult:
        """Lay out the fields, the systems, the command and the buttons."""
        dialog = Vertical(classes="dialog")
        dialog.border_title = shown("New replay")
        wish = self._wish
        with dialog:
            yield FieldForm(
                (
                    FormField("source", "Tasks from", wish.source or ALL, "choice", SOURCES, required=True),
                    FormField("path", "Another place", wish.path),
                    FormField("tasks", "Newest tasks", wish.tasks, "number", least=1, required=True),
                    FormField("budget", "Tokens a pack", wish.budget or self._budget, "number", least=1),
                    FormField("packs", "Make packs", wish.packs, "flag"),
                    FormField("gate", "Judge gates", wish.gate, "flag"),
                )
            )
            yield VirtualTable(_COLUMNS, empty="No systems.", id="choices")
            yield Static(id="command", markup=False)
            yield Static(classes="dialog-error", markup=False)
            with Horizontal(classes="dialog-buttons"):
                yield Button("Start (f2)", id="start", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """Mark the systems that were wished for and focus the list of them."""
        table = self.query_one("#choices", VirtualTable)
        table.set_rows(ListRows(self._choices, key=lambda one: one.name, cells=_cells))
        usual = [one.name for one in self._choices if one.usual]
        table.set_marks(self._wish.systems or usual)
        table.focus()
        self._tell()

    @property
    def wish(self) -> Wish:
        """What is wished for now. Raises: ValueError saying what is wrong."""
        values: dict[str, Any] = self.query_one(FieldForm).values()
        path = str(values["path"] or "")
        budget = values["budget"]
        return Wish(
            source=str(values["source"] or ALL),
            path=path,
            tasks=int(values["tasks"]),
            systems=chosen_systems(self._choices, self.query_one("#choices", VirtualTable).marks),
            budget=None if budget is None or int(budget) == self._budget else int(budget),
            packs=bool(values["packs"]),
            gate=bool(values["gate"]),
            dataset=is_dataset(path, self._root),
        )

    def action_cancel(self) -> None:
        """Start nothing."""
        self.dismiss(None)

    def action_start(self) -> None:
        """Start what is wished for, if nothing is wrong with it."""
        if not self._wrong():
            self.dismiss(self.wish)

    @on(FieldForm.Changed)
    @on(VirtualTable.MarksChanged)
    def _changed(self) -> None:
        self._tell()

    @on(Input.Submitted)
    @on(VirtualTable.Opened)
    def _entered(self) -> None:
        self.action_start()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "start":
            self.action_start()
        else:
            self.dismiss(None)

    def _wrong(self) -> str:
        try:
            wrong = wrong_with(self.wish, self.query_one("#choices", VirtualTable).marks, self._root)
        except ValueError as error:
            wrong = str(error)
        self.query_one(".dialog-error", Static).update(shown(f"! {wrong}" if wrong else ""))
        return wrong

    def _tell(self) -> None:
        told = Content("") if self._wrong() else shown(f"$ {command_line(arguments(self.wish))}")
        self.query_one("#command", Static).update(told)


def _cells(one: SystemChoice) -> tuple[Content, ...]:
    return (shown(one.name), shown(one.about, "$text-muted"))
