"""One of several things, found by typing parts of its name.

The field keeps the focus: letters filter, arrows (or ctrl+n and ctrl+p) move, enter takes, escape takes none.
From the list `j` and `k` move as well, and `/` goes back to the field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import FuzzySearch
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from screens.safe_text import shown
from screens.widgets.confirm import DIALOG_CSS
from screens.widgets.fields import SafeInput
from workbench.text.sanitize import visible_line

T = TypeVar("T")

MOST: Final = 200
"""Choices that are listed; typing finds the others."""

_SEARCHED: Final = 200  # characters of a label that a filter looks at


@dataclass(frozen=True, slots=True)
class Choice(Generic[T]):
    """Something to choose, and how it is called; `detail` is shown dimmed and not searched."""

    value: T
    label: str
    detail: str = ""


def matching(choices: Sequence[Choice[T]], query: str) -> list[Choice[T]]:
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


class ChoiceList(OptionList):
    """The list under the field; moves by `j` and `k` too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False, id="choose.list.down", tooltip="The next one"),
        Binding("k", "cursor_up", "Up", show=False, id="choose.list.up", tooltip="The one before"),
        Binding("g", "first", "First", show=False, id="choose.list.first", tooltip="The first one"),
        Binding("G", "last", "Last", show=False, id="choose.list.last", tooltip="The last one"),
    ]


class Choose(ModalScreen[T | None], Generic[T]):
    """A list with a filter; gives the value that was taken or None."""

    DEFAULT_CSS = f"""Choose {{
        {DIALOG_CSS}
        & ChoiceList {{ height: auto; max-height: 1fr; border: none; padding: 0; background: $surface; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", id="choose.cancel", tooltip="Close without taking any"),
        Binding("down,ctrl+n", "move(1)", "Down", show=False, id="choose.down", tooltip="The next one"),
        Binding("up,ctrl+p", "move(-1)", "Up", show=False, id="choose.up", tooltip="The one before"),
        Binding("pagedown", "move(10)", "Ten down", show=False, id="choose.page_down", tooltip="Ten down"),
        Binding("pageup", "move(-10)", "Ten up", show=False, id="choose.page_up", tooltip="Ten up"),
        Binding("slash", "filter", "Filter", show=False, id="choose.filter", tooltip="Back to the filter"),
    ]

    def __init__(
        self, title: str, choices: Sequence[Choice[T]], *, selected: int = 0, empty: str = "Nothing matches."
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = tuple(choices)
        self._selected = selected
        self._empty = empty
        self._listed: list[Choice[T]] = []

    def compose(self) -> ComposeResult:
        """Lay out the filter above the list."""
        dialog = Vertical(classes="dialog")
        dialog.border_title = shown(self._title)
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
    def listed(self) -> tuple[Choice[T], ...]:
        """The choices that are listed."""
        return tuple(self._listed)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._list(event.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        place = self._options.highlighted
        if place is not None:
            self.dismiss(self._listed[place].value)

    @on(OptionList.OptionSelected)
    def _taken(self, event: OptionList.OptionSelected) -> None:
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
        found = matching(self._choices, query)
        self._listed = found[:MOST]
        options = self._options
        options.clear_options()
        options.add_options([Option(_label(choice)) for choice in self._listed])
        options.highlighted = 0 if self._listed else None
        more = f" (the first {MOST:,} are listed)" if len(found) > MOST else ""
        told = f"{len(found):,} of {len(self._choices):,}{more}" if found else self._empty
        self.query_one(".dialog-hint", Static).update(shown(told))


def _label(choice: Choice[T]) -> Content:
    if not choice.detail:
        return shown(choice.label, limit=_SEARCHED)
    return Content.assemble(
        shown(choice.label, limit=_SEARCHED), "  ", shown(choice.detail, "$text-muted", limit=_SEARCHED)
    )
