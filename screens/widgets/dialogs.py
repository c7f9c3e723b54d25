"""Small questions over a screen: yes or no, one line of text, or one of several things.

Each closes with escape at any size and answers through its result; what they show is data and literal. In a
list the field keeps the focus: letters filter, arrows (or ctrl+n and ctrl+p) move, enter takes, escape takes
none. From the list `j` and `k` move as well, and `/` goes back to the field.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.fuzzy import FuzzySearch
from textual.message import Message
from textual.strip import Strip
from textual.style import Style
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from screens.commands import widget_bindings
from screens.modal import Modal
from screens.safe_text import safe, shown_lines
from screens.widgets.fields import SafeInput
from workbench.text.sanitize import visible_line


@dataclass
class CopyRequested(Message):
    """Somebody wants a text in the clipboard; `what` says in a word or two what it is."""

    text: str
    what: str


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
    & .dialog-error.-under-way { color: $text-muted; text-style: none; }
    & .dialog-buttons { height: auto; align-horizontal: right; }
    & .dialog-buttons Button { margin-left: 1; min-width: 10; height: 1; border: none; }
    & .dialog-buttons Button:focus { text-style: bold reverse; }
    & .dialog-hint { color: $text-muted; height: auto; }
"""
"""Rules that every dialog nests: a box in the middle that never is larger than the terminal."""


class Confirm(Modal[bool]):
    """A question with yes and no; `y` and `n` answer at once, escape is no.

    Where yes destroys something (`danger`), no has the focus and enter alone does nothing bad.
    What was typed before the question was on the screen is no answer to it.
    """

    DEFAULT_CSS = f"Confirm {{ {DIALOG_CSS} & .danger {{ border: heavy $error; }} }}"
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("confirm")

    def __init__(
        self, title: str, body: str = "", *, yes: str = "Yes", no: str = "No", danger: bool = False
    ) -> None:
        super().__init__()
        self._title = title
        self._body = body
        self._yes, self._no = yes, no
        self._danger = danger
        self._painted: float | None = None

    def was_seen(self, at: float) -> bool:
        """Whether the question was on the screen at a time (of the clock of events, seconds)."""
        return self._painted is not None and at >= self._painted

    def compose(self) -> ComposeResult:
        """Lay out the question above its buttons."""
        dialog = Vertical(classes="dialog danger" if self._danger else "dialog")
        dialog.border_title = safe(f"! {self._title}" if self._danger else self._title)
        with dialog:
            with VerticalScroll(classes="dialog-body", can_focus=False):
                yield Static(shown_lines(self._body))
            with Horizontal(classes="dialog-buttons"):
                yield Button(safe(f"{self._yes} (y)"), id="yes", compact=True)
                yield Button(safe(f"{self._no} (n)"), id="no", compact=True)

    def on_mount(self) -> None:
        """Focus what enter answers."""
        self.query_one("#no" if self._danger else "#yes").focus()
        self.call_after_refresh(self._paint)

    def _paint(self) -> None:
        self._painted = events.Event().time

    @on(Button.Pressed)
    def _handle_press(self, event: Button.Pressed) -> None:
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


def leave(dialog: Modal[Any], *, unsaved: bool) -> None:
    """Close a dialog without a result; what was written there is only dropped when that was confirmed."""
    if not unsaved:
        dialog.dismiss(None)
        return

    def answered(drop: bool | None) -> None:
        if drop:
            dialog.dismiss(None)

    body = "Your changes will be lost."
    question = Confirm("Drop what you wrote?", body, yes="Drop", no="Keep editing", danger=True)
    dialog.app.push_screen(question, answered)


class LeaveQuestion(Confirm):
    """Asks whether to leave anyway; no is what enter answers."""

    def __init__(self, lost: Sequence[str]) -> None:
        super().__init__("Leave?", "\n".join(lost), yes="Leave", no="Stay", danger=True)


class Ask(Modal[str | None]):
    """One line of text; enter gives it if nothing is wrong with it, escape gives None."""

    DEFAULT_CSS = f"Ask {{ {DIALOG_CSS} }}"
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("ask")

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
        dialog.border_title = safe(self._title)
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
            yield Static(safe("enter accepts, escape cancels"), classes="dialog-hint")

    def on_mount(self) -> None:
        """Focus the field."""
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _handle_change(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one(".dialog-error", Static).update(safe(""))

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_accept()

    def action_accept(self) -> None:
        """Give what is written, or say what is wrong with it."""
        written = self.query_one(Input).value
        wrong = self._check(written)
        if wrong:
            self.query_one(".dialog-error", Static).update(safe(f"! {wrong}"))
        else:
            self.dismiss(written)

    def action_cancel(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


T = TypeVar("T")

MOST_CHOICES: Final = 200
"""Choices that are listed; typing finds the others."""

_SEARCHED: Final = 200  # characters of a label that a filter looks at


@dataclass(frozen=True, slots=True)
class DialogChoice(Generic[T]):
    """Something to choose, and how it is called; `detail` is shown dimmed and not searched."""

    value: T
    label: str
    detail: str = ""


def match_choices(choices: Sequence[DialogChoice[T]], query: str) -> list[DialogChoice[T]]:
    """Return the choices whose label has the letters of the query in order, the best first, else as given."""
    query = query.strip()
    if not query:
        return list(choices)
    search = FuzzySearch()
    scored = [
        (search.match(query, visible_line(choice.label[:_SEARCHED]))[0], place)
        for place, choice in enumerate(choices)
    ]
    return [choices[place] for score, place in sorted(scored, key=lambda one: (-one[0], one[1])) if score > 0]


class LegibleList(OptionList):
    """A list that writes the option under the cursor in the cursor's colours: grey is hard to read there."""

    def render_line(self, y: int) -> Strip:
        """Return a line of the list."""
        strip = super().render_line(y)
        ink = Style(foreground=self.get_visual_style("option-list--option-highlighted").foreground).rich_style
        return Strip(
            segment._replace(style=segment.style + ink)
            if segment.style and segment.style.meta.get("option", -1) == self.highlighted
            else segment
            for segment in strip
        )


class ChoiceList(LegibleList):
    """The list under the field; moves by `j` and `k` too."""

    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("choose.list")


class Choose(Modal[T | None], Generic[T]):
    """A list with a filter; gives the value that was taken or None."""

    DEFAULT_CSS = f"""Choose {{
        {DIALOG_CSS}
        & ChoiceList {{ height: auto; max-height: 1fr; border: none; padding: 0; background: $surface; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("choose")

    def __init__(
        self,
        title: str,
        choices: Sequence[DialogChoice[T]],
        *,
        selected: int = 0,
        empty: str = "Nothing matches.",
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = tuple(choices)
        self._selected = selected
        self._empty = empty
        self._listed: list[DialogChoice[T]] = []

    def compose(self) -> ComposeResult:
        """Lay out the filter above the list."""
        dialog = Vertical(classes="dialog")
        dialog.border_title = safe(self._title)
        with dialog:
            yield SafeInput(placeholder="type to filter", compact=True)
            yield ChoiceList(compact=True)
            yield Static(classes="dialog-hint")

    def on_mount(self) -> None:
        """List everything with the selected one under the cursor."""
        self._list("")
        if 0 <= self._selected < len(self._listed):
            self._options.highlighted = self._selected
        self.query_one(Input).focus()

    @property
    def listed(self) -> tuple[DialogChoice[T], ...]:
        """The choices that are listed."""
        return tuple(self._listed)

    @on(Input.Changed)
    def _handle_change(self, event: Input.Changed) -> None:
        event.stop()
        self._list(event.value)

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        event.stop()
        place = self._options.highlighted
        if place is not None:
            self.dismiss(self._listed[place].value)

    @on(OptionList.OptionSelected)
    def _handle_choice(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._listed[event.option_index].value)

    def action_move(self, lines: int) -> None:
        """Move the cursor; it stops at the ends."""
        if self._listed:
            place = (self._options.highlighted or 0) + lines
            self._options.highlighted = min(max(place, 0), len(self._listed) - 1)

    def action_filter(self) -> None:
        """Go back to the filter."""
        self.query_one(Input).focus()

    def action_cancel(self) -> None:
        """Close without taking any."""
        self.dismiss(None)

    @property
    def _options(self) -> ChoiceList:
        return self.query_one(ChoiceList)

    def _list(self, query: str) -> None:
        found = match_choices(self._choices, query)
        self._listed = found[:MOST_CHOICES]
        options = self._options
        options.clear_options()
        options.add_options([Option(_label(choice)) for choice in self._listed])
        options.highlighted = 0 if self._listed else None
        more = f" (the first {MOST_CHOICES:,} are listed)" if len(found) > MOST_CHOICES else ""
        hint = f"{len(found):,} of {len(self._choices):,}{more}" if found else self._empty
        self.query_one(".dialog-hint", Static).update(safe(hint))


def _label(choice: DialogChoice[T]) -> Content:
    if not choice.detail:
        return safe(choice.label, limit=_SEARCHED)
    return Content.assemble(
        safe(choice.label, limit=_SEARCHED), "  ", safe(choice.detail, "$text-muted", limit=_SEARCHED)
    )
