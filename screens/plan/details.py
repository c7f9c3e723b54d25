"""Beside the list: why the candidate under the cursor stands where it does, and what of it is handed over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from screens.plan.candidates import Candidate, Shown
from screens.plan.reasons import Section, headline, sections_of
from screens.plan.rows import state
from screens.safe_text import shown
from screens.widgets.bars import FeatureBars
from screens.widgets.code import CodeView

_TITLE = 200
_TEXT = 2_000


class WhyPanel(VerticalScroll, can_focus=True):
    """What a candidate is, its state and reason, and its bars; nothing of it until there is a candidate."""

    DEFAULT_CSS = """
    WhyPanel {
        border: round $panel;
        border-title-color: $text-muted;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        &:focus { border: round $primary; border-title-color: $text-primary; }
        & > Static { height: auto; }
        & > .why--section { color: $text-muted; text-style: bold; margin-top: 1; }
        & > .why--note { color: $text-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False, id="why.down", tooltip="A line down"),
        Binding("k", "scroll_up", "Up", show=False, id="why.up", tooltip="A line up"),
        Binding("g", "scroll_home", "Top", show=False, id="why.top", tooltip="The first line"),
        Binding("G", "scroll_end", "End", show=False, id="why.end", tooltip="The last line"),
    ]
    MOST: ClassVar[int] = 5
    """Sections a candidate has at most."""

    def compose(self) -> ComposeResult:
        """Make the head and room for the sections, which are filled and never made again."""
        yield Static(id="why-head", markup=False)
        for number in range(self.MOST):
            yield Static(classes="why--section", id=f"why-title-{number}", markup=False)
            yield Static(classes="why--note", id=f"why-note-{number}", markup=False)
            yield FeatureBars(id=f"why-bars-{number}")

    def on_mount(self) -> None:
        """Show that there is nothing yet."""
        self.border_title = shown("Why")
        self.show_none()

    def show_none(self) -> None:
        """Show no candidate."""
        self.query_one("#why-head", Static).update(
            shown("The candidate under the cursor is explained here.", "$text-muted italic")
        )
        self._fill(())

    def show(self, candidate: Candidate, plan: Shown) -> None:
        """Explain a candidate."""
        self.query_one("#why-head", Static).update(_head(candidate, plan))
        self._fill(sections_of(candidate, plan))
        self.scroll_home(animate=False)

    @property
    def bars(self) -> tuple[FeatureBars, ...]:
        """The bars that are shown."""
        return tuple(bars for bars in self.query(FeatureBars) if bars.display)

    def _fill(self, sections: Sequence[Section]) -> None:
        for number in range(self.MOST):
            section = sections[number] if number < len(sections) else None
            title = self.query_one(f"#why-title-{number}", Static)
            note = self.query_one(f"#why-note-{number}", Static)
            bars = self.query_one(f"#why-bars-{number}", FeatureBars)
            title.display = section is not None
            note.display = section is not None and bool(section.note)
            bars.display = section is not None and bool(section.bars)
            if section is not None:
                title.update(shown(section.title))
                note.update(shown(section.note))
                bars.show(section.bars, total=section.total)


class PreviewPanel(Vertical):
    """A text with line numbers under a title: the candidate as it is packed, its file, or the whole pack."""

    DEFAULT_CSS = """
    PreviewPanel {
        border: round $panel;
        border-title-color: $text-muted;
        &:focus-within { border: round $primary; border-title-color: $text-primary; }
    }
    """

    def compose(self) -> ComposeResult:
        """Show a text."""
        yield CodeView(empty="What would be handed over of it is shown here.")

    @property
    def code(self) -> CodeView:
        """The text."""
        return self.query_one(CodeView)

    def show_title(self, title: str) -> None:
        """Say what is shown."""
        self.border_title = shown(title, limit=_TITLE)

    def show_none(self, title: str = "Text") -> None:
        """Show nothing."""
        self.show_title(title)
        self.code.show("")


def _head(candidate: Candidate, plan: Shown) -> Content:
    """Return what a candidate is, how it is in or out, and the reason, each on lines of its own."""
    told = headline(candidate, plan)
    title = candidate.title if candidate.kind != "files" else candidate.name
    lines = [
        Content.assemble(state(candidate), " ", shown(title, "bold", limit=_TEXT)),
        shown(told, "$text-muted"),
    ]
    if candidate.kind != "files" and candidate.place:
        lines.append(shown(f"from {candidate.place}", "$text-muted"))
    if candidate.why:
        lines.append(shown(candidate.why, limit=_TEXT))
    return Content("\n").join(lines)
