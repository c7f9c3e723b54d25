"""Small questions over a screen: yes or no, and one line of text.

Each closes with escape at any size and answers through its result; what they show is data and literal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from screens.safe_text import shown, shown_lines
from screens.widgets.fields import SafeInput
from workbench.text.sanitize import visible_line

Validate: TypeAlias = Callable[[str], str]
"""Returns what is wrong with a text, or an empty string."""

DIALOG_CSS = """
    align: center middle;
    & > .dialog {
        width: 72;
        max-width: 100%;
        height: auto;
        max-height: 100%;
        border: round $primary;
        border-title-style: bold;
        background: $surface;
        padding: 0 1;
    }
    & .dialog-body { height: auto; max-height: 1fr; }
    & .dialog-error { color: $text-error; text-style: bold; height: auto; }
    & .dialog-buttons { height: auto; align-horizontal: right; }
    & .dialog-buttons Button { margin-left: 1; min-width: 10; height: 1; border: none; }
    & .dialog-buttons Button:focus { text-style: bold reverse; }
    & .dialog-hint { color: $text-muted; height: auto; }
"""
"""Rules that every dialog nests: a box in the middle that never is larger than the terminal."""


class Confirm(ModalScreen[bool]):
    """A question with yes and no; `y` and `n` answer at once, escape is no.

    Where yes destroys something (`danger`), no has the focus and enter alone does nothing bad.
    """

    DEFAULT_CSS = f"Confirm {{ {DIALOG_CSS} & .danger {{ border: heavy $error; }} }}"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", id="confirm.yes", tooltip="Do it"),
        Binding("n,escape", "answer(False)", "No", id="confirm.no", tooltip="Leave everything as it is"),
        Binding(
            "left,right,h,l",
            "other",
            "Other button",
            show=False,
            id="confirm.other",
            tooltip="Move to the other button",
        ),
        Binding("down,j", "scroll(1)", "Down", show=False, id="confirm.down", tooltip="Scroll down"),
        Binding("up,k", "scroll(-1)", "Up", show=False, id="confirm.up", tooltip="Scroll up"),
    ]

    def __init__(
        self, title: str, body: str = "", *, yes: str = "Yes", no: str = "No", danger: bool = False
    ) -> None:
        super().__init__()
        self._title = title
        self._body = body
        self._yes, self._no = yes, no
        self._danger = danger

    def compose(self) -> ComposeResult:
        """Lay out the question above its buttons."""
        dialog = Vertical(classes="dialog danger" if self._danger else "dialog")
        dialog.border_title = shown(f"! {self._title}" if self._danger else self._title)
        with dialog:
            with VerticalScroll(classes="dialog-body", can_focus=False):
                yield Static(shown_lines(self._body))
            with Horizontal(classes="dialog-buttons"):
                yield Button(shown(f"{self._yes} (y)"), id="yes", compact=True)
                yield Button(shown(f"{self._no} (n)"), id="no", compact=True)

    def on_mount(self) -> None:
        """Focus what enter answers."""
        self.query_one("#no" if self._danger else "#yes").focus()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        """Close with an answer."""
        self.dismiss(answer)

    def action_other(self) -> None:
        """Move to the other button."""
        focused = self.focused
        self.query_one("#yes" if focused is not None and focused.id == "no" else "#no").focus()

    def action_scroll(self, lines: int) -> None:
        """Scroll a long question."""
        self.query_one(".dialog-body", VerticalScroll).scroll_relative(y=lines, animate=False)


class Ask(ModalScreen[str | None]):
    """One line of text; enter gives it if nothing is wrong with it, escape gives None."""

    DEFAULT_CSS = f"Ask {{ {DIALOG_CSS} }}"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", id="ask.cancel", tooltip="Close without an answer"),
    ]

    def __init__(
        self,
        title: str,
        *,
        body: str = "",
        value: str = "",
        placeholder: str = "",
        validate: Validate = lambda text: "",
    ) -> None:
        super().__init__()
        self._title = title
        self._body = body
        self._value = value
        self._placeholder = placeholder
        self._check = validate

    def compose(self) -> ComposeResult:
        """Lay out the field under what it is for."""
        dialog = Vertical(classes="dialog")
        dialog.border_title = shown(self._title)
        with dialog:
            if self._body:
                with VerticalScroll(classes="dialog-body", can_focus=False):
                    yield Static(shown_lines(self._body))
            yield SafeInput(
                visible_line(self._value),
                placeholder=visible_line(self._placeholder),
                select_on_focus=False,
                compact=True,
            )
            yield Static(classes="dialog-error")
            yield Static(shown("enter accepts, escape cancels"), classes="dialog-hint")

    def on_mount(self) -> None:
        """Focus the field."""
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one(".dialog-error", Static).update(shown(""))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        wrong = self._check(event.value)
        if wrong:
            self.query_one(".dialog-error", Static).update(shown(f"! {wrong}"))
        else:
            self.dismiss(event.value)

    def action_cancel(self) -> None:
        """Close without an answer."""
        self.dismiss(None)
