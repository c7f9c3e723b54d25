"""The search by meaning and words: where it is typed, and what finds rules, kept warm between keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from screens.engine import AppEngine
from screens.jobs import Job
from screens.safe_text import shown
from screens.widgets.fields import SafeInput
from workbench.rules.rulebook import Rulebook

if TYPE_CHECKING:
    from workbench.plan.matching import RuleMatcher
    from workbench.rules.matching.search import RuleSearch


class SearchInput(SafeInput):
    """The field of the bar."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Clear", id="search.clear", show=False, tooltip="Search no more"),
        Binding("enter,down", "keep", "Keep", id="search.keep", show=False, tooltip="Go to what was found"),
    ]

    @property
    def bar(self) -> SearchBar:
        """The bar around this."""
        bar = self.parent
        assert isinstance(bar, SearchBar)
        return bar

    def action_leave(self) -> None:
        """Search no more, and go back to where the focus was."""
        self.bar.clear()

    def action_keep(self) -> None:
        """Go to what was found."""
        self.bar.leave()


class SearchBar(Horizontal):
    """A line with a search, hidden while there is none."""

    DEFAULT_CSS = """
    SearchBar {
        height: 1;
        display: none;
        background: $panel;
        &.-open { display: block; }
        & > .search--sign { width: 2; text-style: bold; color: $text-accent; }
        & > SearchInput { width: 1fr; background: $panel; }
        & > .search--state { width: auto; max-width: 60%; padding: 0 1; color: $text-muted; }
    }
    """

    class Changed(Message):
        """Another text is searched for; "" for none."""

        def __init__(self, bar: SearchBar, text: str) -> None:
            super().__init__()
            self.bar = bar
            self.text = text

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._before: Widget | None = None

    def compose(self) -> ComposeResult:
        """Make the sign, the field and the state."""
        yield Static("≈ ", classes="search--sign", markup=False)
        yield SearchInput(placeholder="what the rule is about", compact=True, select_on_focus=False)
        yield Static("", classes="search--state", markup=False)

    @property
    def field(self) -> SearchInput:
        """Where it is typed."""
        return self.query_one(SearchInput)

    @property
    def text(self) -> str:
        """What is searched for."""
        return self.field.value.strip()

    def open(self) -> None:
        """Show the bar and type into it."""
        if not self.field.has_focus:
            self._before = self.screen.focused
        self.add_class("-open")
        self.field.focus()

    def set_text(self, text: str) -> None:
        """Put a search here, as when a screen resumes."""
        self.field.value = text
        self.set_class(bool(text), "-open")

    def say(self, text: str) -> None:
        """Show how many were found, and how."""
        self.query_one(".search--state", Static).update(shown(text))

    def clear(self) -> None:
        """Search no more."""
        self.field.value = ""
        self.leave()

    def leave(self) -> None:
        """Give the focus back; the bar goes if nothing is searched for."""
        self.set_class(bool(self.text), "-open")
        if self._before is not None and self._before.is_attached:
            self._before.focus()
        elif self.field.has_focus:
            self.screen.focus_next()
        self._before = None

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(self, self.text))


MOST: Final = 300
"""Rules a search lists."""


class Finder:
    """Keeps the index of the rules it searched last. One job at a time: the engine's lock sees to that."""

    def __init__(self) -> None:
        self._matcher: RuleMatcher | None = None

    def search(self, engine: AppEngine, book: Rulebook, text: str, job: Job) -> RuleSearch:
        """Return the rules a text finds by meaning and words. Raises: WorkbenchError."""
        from workbench.entry.services.rules import ready_to_search
        from workbench.plan.matching import RuleMatcher
        from workbench.rules.matching.search import search_selected

        with engine.workspace(job.progress) as opened:
            if self._matcher is None:
                self._matcher = RuleMatcher()
            config = engine.config
            ready = ready_to_search(self._matcher, book.rules, book.words, text, "hybrid", opened)
        job.check()
        weights = (config.rules.vector_weight, config.rules.lexical_weight)
        found = search_selected(ready.index, text, None, ready.vector, limit=MOST, least=0.0, weights=weights)
        return replace(found, notes=tuple(dict.fromkeys((*ready.notes, *found.notes))))
