"""Beside the list: why the candidate under the cursor stands where it does, and what of it is handed over."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from screens.plan.candidates import Candidate, Shown
from screens.plan.reasons import why_lines
from screens.safe_text import shown
from screens.widgets.code import CodeView
from screens.widgets.table_cells import line_strip

_TITLE = 200


class WhyPanel(ScrollView, can_focus=True):
    """What a candidate is, its state and reason, and its bars.

    Its lines are drawn as they come into view: other ones take no new layout of the screen, so that the
    cursor moves through candidates without a pause.
    """

    DEFAULT_CSS = """
    WhyPanel {
        border: round $panel;
        border-title-color: $text-muted;
        padding: 0 1;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        &:focus { border: round $primary; border-title-color: $text-primary; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False, id="why.down", tooltip="A line down"),
        Binding("k", "scroll_up", "Up", show=False, id="why.up", tooltip="A line up"),
        Binding("g", "scroll_home", "Top", show=False, id="why.top", tooltip="The first line"),
        Binding("G", "scroll_end", "End", show=False, id="why.end", tooltip="The last line"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._given: tuple[Candidate, Shown] | None = None
        self._lines: list[Content] = []

    def on_mount(self) -> None:
        """Show that there is nothing yet."""
        self.border_title = shown("Why")
        self.show_none()

    def show_none(self) -> None:
        """Show no candidate."""
        self._given = None
        self._draw()

    def show(self, candidate: Candidate, plan: Shown) -> None:
        """Explain a candidate."""
        self._given = (candidate, plan)
        self._draw()
        self.scroll_home(animate=False)

    @property
    def lines(self) -> tuple[str, ...]:
        """What is written, line for line."""
        return tuple(line.plain for line in self._lines)

    def on_resize(self) -> None:
        """Lay the lines out for another width."""
        self._draw()

    def render_line(self, y: int) -> Strip:
        """Return one line of the view."""
        width = self.scrollable_content_region.width
        place = y + self.scroll_offset.y
        content = self._lines[place] if place < len(self._lines) else Content("")
        return line_strip(content, width, self.visual_style, self.app.stylesheet.parse_style)

    def _draw(self) -> None:
        width = max(self.scrollable_content_region.width, 1)
        nothing = shown("The candidate under the cursor is explained here.", "$text-muted italic")
        self._lines = why_lines(*self._given, width) if self._given is not None else nothing.wrap(width)
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()


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
