"""Fields to write in that show what they hold: hidden characters that are pasted become visible ones.

Textual's own fields hand control characters on to the terminal, and its checkbox differs by colour alone.
"""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.events import Click, Paste
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Input, TextArea

from screens.commands import widget_bindings
from screens.themes import style_of
from workbench.text.sanitize import visible


class SafeInput(Input):
    """One line of text; of a paste with several lines the first is taken."""

    def on_paste(self, event: Paste) -> None:
        """Make a paste visible before it is taken."""
        event.stop()
        event.text = _clean_paste(event.text)


class SafeArea(TextArea):
    """Several lines of text."""

    def action_cut(self) -> None:
        """Cut what is selected; without a selection the line stays, unlike in Textual."""
        if self.selected_text:
            super().action_cut()

    def on_paste(self, event: Paste) -> None:
        """Make a paste visible before it is taken."""
        event.stop()
        event.text = _clean_paste(event.text)


class Flag(Widget, can_focus=True):
    """Yes or no: `[x]` or `[ ]`, switched by space, enter or a click."""

    DEFAULT_CSS = style_of("Flag")
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("flag")

    value: var[bool] = var(False, init=False)

    class Changed(Message):
        """The flag was switched."""

        def __init__(self, flag: Flag) -> None:
            super().__init__()
            self.flag = flag

        @property
        def control(self) -> Flag:
            """The flag."""
            return self.flag

    def __init__(self, value: bool = False, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.set_reactive(Flag.value, value)

    def render(self) -> Content:
        """Return the box."""
        return Content("[x] yes" if self.value else "[ ] no ")

    def watch_value(self) -> None:
        """Tell that it was switched."""
        self.refresh()
        self.post_message(self.Changed(self))

    def action_switch(self) -> None:
        """Switch it."""
        self.value = not self.value

    def on_click(self, event: Click) -> None:
        """Switch it."""
        event.stop()
        self.value = not self.value


def _clean_paste(text: str) -> str:
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))
