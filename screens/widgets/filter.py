"""The bar a list is filtered or searched in: live, with a history, and a state at its end.

The state of a filter is a count, or what is wrong with the text and where; that of a search is its screen's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static

from screens.commands import widget_bindings
from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.fields import SafeInput
from workbench.lists.filters import Field, Filter, parse

WAIT: Final = 0.12
"""Seconds without typing after which the filter is applied."""

_HISTORY: Final = 50


class FilterInput(SafeInput):
    """Where the text is typed; its keys act on the bar around it."""

    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("filter")

    @property
    def bar(self) -> FilterBar:
        """Return the bar around this."""
        bar = self.parent
        assert isinstance(bar, FilterBar)
        return bar

    def action_leave(self) -> None:
        """Clear the filter and go back to where the focus was."""
        self.bar.clear()

    def action_keep(self) -> None:
        """Apply the filter now, remember it, and go back to where the focus was."""
        self.bar.keep()

    def action_older(self) -> None:
        """Put the filter used before this one here."""
        self.bar.recall(-1)

    def action_newer(self) -> None:
        """Put the filter used after this one here."""
        self.bar.recall(1)


class FilterBar(Horizontal):
    """A line with a filter over rows with `fields`, hidden while it is neither used nor holds anything.

    A screen binds `/` to `open`, filters when `Changed` arrives and shows the result with `show_count`.
    Without fields any text is a search: what it found is shown with `say`, and `down` goes to it.
    """

    DEFAULT_CSS = style_of("FilterBar")

    @dataclass
    class Changed(Message):
        """Another filter holds: what was understood of `text`."""

        bar: FilterBar
        query: Filter
        text: str

        @property
        def control(self) -> FilterBar:
            """Return the bar, for `@on` with a selector."""
            return self.bar

    @dataclass
    class Left(Message):
        """The bar was left; the focus is where it was before."""

        bar: FilterBar

        @property
        def control(self) -> FilterBar:
            """Return the bar, for `@on` with a selector."""
            return self.bar

    def __init__(
        self,
        fields: Sequence[Field] | None = (),
        *,
        sign: str = "/",
        placeholder: str = "fuzzy  !without  field:value",
        wait: float = WAIT,
        history: Sequence[str] = (),
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._fields = None if fields is None else tuple(fields)
        self._sign = sign
        self._placeholder = placeholder
        self._wait = wait
        self._timer: Timer | None = None
        self._applied = ""
        self._history = list(history)[-_HISTORY:]
        self._place = len(self._history)
        self._typed = ""
        self._before: Widget | None = None
        self._found = ""

    def compose(self) -> ComposeResult:
        """Make the sign, the field and the state."""
        yield Static(f"{self._sign} ", classes="filter--sign", markup=False)
        yield FilterInput(placeholder=self._placeholder, compact=True, select_on_focus=False)
        yield Static("", classes="filter--state", markup=False)

    @property
    def field(self) -> FilterInput:
        """Return the widget the filter is typed into."""
        return self.query_one(FilterInput)

    @property
    def text(self) -> str:
        """Return the text as it was typed."""
        return self.field.value

    @property
    def filter(self) -> Filter:
        """Return what is understood of the text; nothing of a search."""
        return Filter() if self._fields is None else parse(self.text, self._fields)

    @property
    def history(self) -> tuple[str, ...]:
        """Return the filters that were kept, the latest last."""
        return tuple(self._history)

    def open(self) -> None:
        """Show the bar and type into it; leaving it gives the focus back to what has it now."""
        if not self.field.has_focus:
            self._before = self.screen.focused
        self.add_class("-open")
        self.field.focus()

    def set_text(self, text: str) -> None:
        """Put a filter here, as when a screen resumes, and apply it at once."""
        self.field.value = text
        self.set_class(bool(text), "-open")
        self._apply()

    def show_count(self, found: int, total: int) -> None:
        """Show how many rows the filter lets through: `1,234 of 100,000`."""
        self.say(f"{found:,} of {total:,}")

    def say(self, text: str) -> None:
        """Show what came of the text."""
        self._found = text
        self._state()

    def clear(self) -> None:
        """Take the filter away, hide the bar, give the focus back."""
        self.field.value = ""
        self.remove_class("-open")
        self._apply()
        self._leave()

    def keep(self) -> None:
        """Apply the filter at once, remember it, give the focus back; without a filter hide the bar."""
        text = self.text.strip()
        if text:
            self._history = [*(old for old in self._history if old != text), text][-_HISTORY:]
        self._place = len(self._history)
        self.set_class(bool(text), "-open")
        self._apply()
        self._leave()

    def recall(self, step: int) -> None:
        """Put the filter `step` places later in the history here; after the last comes what was typed."""
        place = self._place + step
        if place > len(self._history) and self._fields is None:
            self.keep()
        if not 0 <= place <= len(self._history):
            return
        if self._place == len(self._history):
            self._typed = self.text
        self._place = place
        self.field.value = self._typed if place == len(self._history) else self._history[place]
        self.field.cursor_position = len(self.field.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Apply the filter when nothing has been typed for a moment."""
        event.stop()
        self._state()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(self._wait, self._apply) if self._wait else None
        if self._timer is None:
            self._apply()

    def on_descendant_focus(self) -> None:
        """Say no more which key clears the filter from the list: the footer has the field's."""
        self._state()

    def on_descendant_blur(self) -> None:
        """Say which key clears the filter from the list."""
        self._state()

    def _apply(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._state()
        if self.text != self._applied:
            self._applied = self.text
            self.post_message(self.Changed(self, self.filter, self.text))

    def _leave(self) -> None:
        if self._before is not None and self._before.is_attached:
            self._before.focus()
        elif self.field.has_focus:
            self.screen.focus_next()
        self._before = None
        self.post_message(self.Left(self))

    def _state(self) -> None:
        problems = self.filter.problems
        self.set_class(bool(problems), "-wrong")
        hint = "" if self.field.has_focus or self.screen.is_modal else " · esc clears"
        state = safe(f"{self._found}{hint}" if self.text else "")
        if problems:
            state = safe(f"✗ {problems[0].start + 1}: {problems[0].message}")
        self.query_one(".filter--state", Static).update(state)
