"""The list of runs with what the one under the cursor says; without any, what a replay is, how to begin."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from screens.filter_matching import filter_rows
from screens.filtering import Filter
from screens.replay.following import LivePanel
from screens.replay.listing import COLUMNS, FIELDS, RunLine, cells, preview, record_of
from screens.safe_text import shown
from screens.widgets.filter import FilterBar
from screens.widgets.table import ListRows, VirtualTable

_WIDTH: Final = 56  # cells that the narrowest terminal has for it
_TEACHING: Final = (
    "A replay puts past tasks again: commits of this project and prompts of its sessions, each as of the "
    "moment it began. Several systems rank the files side by side, and what was really modified says who "
    "was right.",
    "n  starts one: it takes a minute or so, and the app stays usable meanwhile",
)
_OTHERS: Final = "n  replays another place: a repository, transcripts, a rules benchmark"


def empty_text(no_past: str) -> Content:
    """Return what stands where there are no runs."""
    parts = (no_past, _OTHERS) if no_past else _TEACHING
    lines = ["No replay yet.", *(line for part in parts for line in ("", *wrap(part, _WIDTH)))]
    return Content("\n").join([shown(line) for line in lines])


class RunPreview(Widget):
    """What the header of a run tells."""

    DEFAULT_CSS = """
    RunPreview { height: auto; width: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__(id="run-preview")
        self._line: RunLine | None = None

    def show(self, line: RunLine | None) -> None:
        """Show a run."""
        self._line = line
        self.refresh(layout=True)

    def render(self) -> Content:
        """Return its lines."""
        return Content("") if self._line is None else preview(self._line, self.content_size.width)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """Return as many lines as there are."""
        return 1 if self._line is None else preview(self._line, width).plain.count("\n") + 1


class RunsPanel(Vertical):
    """The runs, newest first; marks choose two to compare."""

    SCOPED_CSS: ClassVar[bool] = False  # what fits depends on classes of the screen
    DEFAULT_CSS = """
    RunsPanel {
        & #runs-parts { height: 1fr; }
        & #runs-table { width: 2fr; height: 1fr; }
        & #runs-side { width: 1fr; height: 1fr; padding: 0 1; border-left: solid $panel; }
        & #runs-side { scrollbar-size-vertical: 1; }
        & #runs-side:focus { border-left: heavy $accent; }
    }
    .-narrow RunsPanel {
        & #runs-parts { layout: vertical; }
        & #runs-table { width: 1fr; }
        & #runs-side { width: 1fr; height: auto; max-height: 45%; border-left: none; }
        & #runs-side { border-top: solid $panel; }
        & #runs-side:focus { border-left: none; border-top: heavy $accent; }
    }
    """

    class Opened(Message):
        """A run was opened."""

        def __init__(self, line: RunLine) -> None:
            super().__init__()
            self.line = line

    def __init__(self) -> None:
        super().__init__(id="runs")
        self.lines: tuple[RunLine, ...] = ()
        self._filter = Filter()

    def compose(self) -> ComposeResult:
        """Lay out what runs above the list, what is under the cursor beside it."""
        yield LivePanel()
        yield FilterBar(FIELDS, id="runs-filter")
        with Horizontal(id="runs-parts"):
            yield VirtualTable(COLUMNS, empty="Reading the kept runs …", id="runs-table")
            with VerticalScroll(id="runs-side"):
                yield RunPreview()

    @property
    def table(self) -> VirtualTable:
        """The table of runs."""
        return self.query_one("#runs-table", VirtualTable)

    @property
    def current(self) -> RunLine | None:
        """The run under the cursor."""
        key = self.table.cursor_key
        return next((line for line in self.lines if line.name == key), None)

    @property
    def marked(self) -> tuple[RunLine, ...]:
        """The marked runs, the oldest first."""
        marks = self.table.marks
        return tuple(sorted((one for one in self.lines if one.name in marks), key=lambda one: one.at))

    def show(self, lines: Sequence[RunLine], no_past: str, keep: str | None = None) -> None:
        """Show other runs; the cursor stays on the one it was on, or goes to the one named."""
        kept = keep or self.table.cursor_key
        self.lines = tuple(lines)
        self.table.set_empty(empty_text(no_past) if not lines else "No run matches the filter.")
        self.table.keep_marks({line.name for line in lines})
        self.query_one("#runs-side").display = bool(lines)
        self._list(kept)

    def _list(self, keep: str | None) -> None:
        *_, last = filter_rows(
            self._filter, lambda at: record_of(self.lines[at]), len(self.lines), fields=FIELDS
        )
        order = sorted(last.order or ())
        self.table.set_rows(ListRows(self.lines, key=lambda one: one.name, cells=cells, order=order), keep)
        self.query_one(FilterBar).show_count(len(order), len(self.lines))

    @on(FilterBar.Changed)
    def _filtered(self, event: FilterBar.Changed) -> None:
        event.stop()
        self._filter = event.query
        self._list(self.table.cursor_key)

    @on(VirtualTable.Highlighted)
    def _highlighted(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self.query_one(RunPreview).show(self.current)

    @on(VirtualTable.Opened)
    def _opened(self, event: VirtualTable.Opened) -> None:
        event.stop()
        if (line := self.current) is not None:
            self.post_message(self.Opened(line))
