"""Where a task is written: several lines, posted when the typing pauses, with earlier tasks a key away.

The screen that shows it decides what a pause leads to, a plan say. Enter asks at once, ctrl+n breaks the
line. Where a task is offered and nothing was typed yet, a digit alone is not another task but a key of the
screen's: a pause after it posts that, and the task is there again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from string import digits
from typing import ClassVar, Final

from textual.binding import BindingType
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from screens.commands import widget_bindings
from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.fields import SafeArea
from workbench.text.sanitize import visible

PAUSE: Final = 0.25
"""Seconds without a key after which a text is posted."""


class PromptEditor(SafeArea):
    """A task in words. `recall` gives it earlier ones, the latest first, for up and down at its edges."""

    DEFAULT_CSS = style_of("PromptEditor")
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("prompt")

    @dataclass
    class Settled(Message):
        """The typing paused, or enter was pressed (`asked`); a text is posted again only when asked."""

        editor: PromptEditor
        text: str
        asked: bool

        @property
        def control(self) -> PromptEditor:
            """The editor."""
            return self.editor

    @dataclass
    class DigitTyped(Message):
        """A digit alone was typed over a task that was offered; the task is as it was."""

        editor: PromptEditor
        digit: str

        @property
        def control(self) -> PromptEditor:
            """The editor."""
            return self.editor

    @dataclass
    class Left(Message):
        """Escape was pressed: what is written stays, the keys are for something else."""

        editor: PromptEditor

        @property
        def control(self) -> PromptEditor:
            """The editor."""
            return self.editor

    def __init__(
        self,
        text: str = "",
        *,
        placeholder: str = "",
        pause: float = PAUSE,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(
            visible(text),
            placeholder=safe(placeholder),
            id=id,
            classes=classes,
            highlight_cursor_line=False,
        )
        self._pause = pause
        self._waiting: Timer | None = None
        self._posted = self.text
        self._earlier_tasks: tuple[str, ...] = ()
        self._place = -1
        self._written = self.text
        self._offered: str | None = None

    def offer(self, task: str) -> None:
        """Show a task, "" for none, that the first key replaces; up brings it back."""
        self.text = self._offered = visible(task)
        self.select_all()

    def recall(self, tasks: Sequence[str]) -> None:
        """Take the tasks that up goes back to, the latest first; among the same ones it stays where it is."""
        earlier = tuple(map(visible, tasks))
        if earlier != self._earlier_tasks:
            self._earlier_tasks = earlier
            self._place = -1

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Wait for the typing to pause; what is changed is no earlier task any more."""
        event.stop()
        if self._place >= 0 and self.text != self._earlier_tasks[self._place]:
            self._place = -1
        if self.text != self._offered and not self._is_digit:
            self._offered = None
        if self._waiting is not None:
            self._waiting.stop()
        self._waiting = self.set_timer(self._pause, self.settle, name="prompt-pause")

    def settle(self) -> None:
        """Post the text now if it differs from the last one, or a digit alone over what was offered."""
        if self._offered is not None and self._is_digit:
            # Keys that are on their way are written first: with one of them it is another task.
            self.app.call_later(self.call_later, self._settle_digit)
        else:
            self._post(asked=False)

    def _settle_digit(self) -> None:
        if self._offered is None or not self._is_digit:
            return
        digit = self.text
        self.offer(self._offered)
        self.post_message(self.DigitTyped(self, digit))

    @property
    def _is_digit(self) -> bool:
        return len(self.text) == 1 and self.text in digits

    def action_ask(self) -> None:
        """Post the text now, once the keys that were pressed before are written: this one overtakes them."""
        self.call_later(partial(self._post, asked=True))

    def action_begin(self) -> None:
        """Post the text now: the first index comes before the list."""
        self.action_ask()

    def action_keep(self) -> None:
        """Post the text now: it is planned for when the first index is done."""
        self.action_ask()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Name enter by what it leads to: the first index on a screen without any, else the list."""
        if action in ("begin", "keep", "ask"):
            if not self.screen.has_class("-first"):
                return action == "ask"
            return action == ("begin" if self.screen.check_action("index", ()) else "keep")
        return super().check_action(action, parameters)

    def action_leave(self) -> None:
        """Post that the editor is left, after what was written."""
        self.settle()
        self.post_message(self.Left(self))

    def action_break_line(self) -> None:
        """Break the line at the cursor."""
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    def action_earlier(self) -> None:
        """Move up; from the first line go back to the task before."""
        if self.cursor_location[0] == 0 and self._place + 1 < len(self._earlier_tasks):
            if self._place < 0:
                self._written = self.text
            self._show(self._place + 1)
        else:
            self.action_cursor_up()

    def action_later(self) -> None:
        """Move down; from the last line go on to the task after, at last to what was being written."""
        if self.cursor_location[0] == self.document.line_count - 1 and self._place >= 0:
            self._show(self._place - 1)
        else:
            self.action_cursor_down()

    def _show(self, place: int) -> None:
        self._place = place
        text = self._written if place < 0 else self._earlier_tasks[place]
        self.replace(text, (0, 0), self.document.end)
        self.move_cursor((0, 0))
        if place < 0:
            self.move_cursor(self.document.end)

    def _post(self, *, asked: bool) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
        if asked:
            self._offered = None
        if asked or self.text != self._posted:
            self._posted = self.text
            self.post_message(self.Settled(self, self.text, asked))
