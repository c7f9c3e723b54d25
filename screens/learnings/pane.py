"""The pane beside the list: one learning to read."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from screens.learnings.reading import Story
from screens.learnings.telling import story_content
from screens.safe_text import shown
from screens.widgets.diff import ReadingPane

_MARGIN = 5  # cells of padding, border and scrollbar


class LearningPane(ReadingPane):
    """Shows what it is given and asks for nothing itself."""

    DEFAULT_CSS = """
    LearningPane {
        padding: 0 1;
        & > Static { height: auto; }
        &:focus { background-tint: $foreground 4%; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.story: Story | None = None

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        yield Static(shown(""))

    def show(self, story: Story | None) -> None:
        """Show a learning, or that there is none."""
        before, self.story = self.story, story
        self._draw()
        if before is None or story is None or before.learning.id != story.learning.id:
            self.scroll_home(animate=False)

    def on_resize(self) -> None:
        """Wrap at the new width."""
        self._draw()

    def _draw(self) -> None:
        room = max(self.size.width - _MARGIN, 20)
        content = (
            shown("Move to a learning to read it here.", "$text-muted italic")
            if self.story is None
            else story_content(self.story, width=room)
        )
        self.query_one(Static).update(content)
