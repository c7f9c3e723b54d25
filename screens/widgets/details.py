"""A long text over a screen: an error with its details, a value that does not fit its place.

It asks for copies by a message that the app answers, because only the app knows which clipboard there is.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.safe_text import shown
from screens.widgets.code import CodeView
from screens.widgets.confirm import DIALOG_CSS
from screens.widgets.messages import CopyRequested


class Details(ModalScreen[None]):
    """A text to scroll through; `c` or `y` copies the whole of it as it is, not as it is shown."""

    DEFAULT_CSS = f"""Details {{
        {DIALOG_CSS}
        & > .dialog {{ width: 96; height: 80%; }}
        & CodeView {{ height: 1fr; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close", id="details.close", tooltip="Back to the screen"),
        Binding("c,y", "copy", "Copy", id="details.copy", tooltip="Copy the whole text"),
    ]

    def __init__(self, title: str, text: str, *, path: str = "", lines: tuple[int, int] = (0, 0)) -> None:
        """Make the dialog; `lines`, from 1 and inclusive, are marked and brought into view."""
        super().__init__()
        self._title = title
        self._text = text
        self._path = path
        self._lines = lines

    def compose(self) -> ComposeResult:
        """Lay out the text above the keys."""
        dialog = Vertical(classes="dialog")
        dialog.border_title = shown(self._title)
        with dialog:
            yield CodeView(self._text, path=self._path, marks=[self._lines] if self._lines[0] else ())
            yield Static(shown("c copies, escape closes"), classes="dialog-hint")

    def on_mount(self) -> None:
        """Go to the lines it was opened for."""
        if self._lines[0]:
            code = self.query_one(CodeView)
            self.call_after_refresh(code.goto, self._lines[0])

    def action_close(self) -> None:
        """Go back to the screen."""
        self.dismiss(None)

    def action_copy(self) -> None:
        """Ask the app for a copy."""
        self.post_message(CopyRequested(self._text, self._title))
