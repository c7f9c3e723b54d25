"""Jump mode: a letter on every panel that can have the focus goes there, a digit to its section.

It is the way out of a field in which digits are text, in every terminal.
"""

from __future__ import annotations

from typing import Final

from textual.app import ComposeResult
from textual.content import Content
from textual.events import Key
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from screens.sections import SECTIONS, Section

LETTERS: Final = "asdfghjklqwertyuiopzxcvbnm"


class JumpScreen(ModalScreen[Widget | Section | None]):
    """Shows the letters over the screen below; returns the widget or the section whose key was pressed."""

    DEFAULT_CSS = """
    JumpScreen { background: transparent; }
    JumpScreen Static {
        width: auto; height: 1; position: absolute;
        background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold reverse;
    }
    """

    def __init__(self, targets: dict[str, tuple[Widget, Region]]) -> None:
        super().__init__()
        self.targets = targets

    def compose(self) -> ComposeResult:
        """Put each letter into the corner of its widget."""
        for letter, (_, region) in self.targets.items():
            label = Static(Content(f"[{letter}]"))
            label.styles.offset = (region.x, region.y)
            yield label

    def on_key(self, event: Key) -> None:
        """Leave with the widget of the letter, the section of the digit, or with none."""
        event.stop()
        found = self.targets.get(event.key)
        section = next((one for one in SECTIONS if one.key == event.key), None)
        self.dismiss(found[0] if found else section)


def targets_of(widgets: list[Widget]) -> dict[str, tuple[Widget, Region]]:
    """Return {letter: (widget, its region)} of the widgets that can be seen."""
    visible = [widget for widget in widgets if widget.region.area and not widget.disabled]
    return {letter: (widget, widget.region) for letter, widget in zip(LETTERS, visible, strict=False)}
