"""The panel beside the list: a session as a tree to walk in."""

from __future__ import annotations

from collections.abc import Sequence

from screens.sessions.story import Line, StoryRows
from screens.widgets.table import Column, NoRows, VirtualTable

_COLUMNS = (
    Column("line", "Session", least=20, priority=9),
    Column("note", "", 14, "right", priority=1),
)


class StoryPanel(VirtualTable):
    """A table of the lines of a story. Rows are opened and folded, not marked."""

    DEFAULT_CSS = """
    StoryPanel { background: $background; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(_COLUMNS, id=id, empty="")

    @property
    def text_width(self) -> int:
        """Cells that the text of a line has."""
        placed = self.placed()
        return placed[0].width if placed else 20

    @property
    def line(self) -> Line | None:
        """The line under the cursor."""
        rows = self.rows
        return rows.lines[self.cursor] if isinstance(rows, StoryRows) and len(rows) else None

    def show(self, lines: Sequence[Line], *, keep: bool) -> None:
        """Show a story; with `keep` the cursor stays on its line."""
        self.set_rows(StoryRows(lines), keep=self.cursor_key if keep else None)

    def show_none(self, why: str = "") -> None:
        """Show that there is nothing to show."""
        self.set_empty(why)
        self.set_rows(NoRows())

    def action_mark(self) -> None:
        """Open or fold instead of marking."""
        self.action_open()

    def action_range(self) -> None:
        """Mark nothing."""

    def action_invert(self) -> None:
        """Mark nothing."""
