"""A run: its systems by measures, the gaps of the one under the cursor, plots of all, and its gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import ContentSwitcher, Static

from screens.commands import pane_title
from screens.replay.charts import AGE, LATENCY, OVER, interval_chart
from screens.replay.figures import GAP_COLUMNS, gap_cells, gates_text, system_cells, system_columns
from screens.replay.work import OpenedRun
from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.plot import Plot
from screens.widgets.table import ListRows, VirtualTable

if TYPE_CHECKING:
    from workbench.replay.gates import Gate

GAPS, INTERVALS, GATES = "gaps", "intervals", "gates"
VIEWS: Final = (GAPS, INTERVALS, AGE, OVER, LATENCY, GATES)
"""What the lower part shows, one after the other; where there is room the gaps stay beside the others."""

_MOST_SYSTEMS: Final = 9
_FIRST_MEASURE: Final = "ndcg_at_10"


class RunPanel(Vertical):
    """A run that was opened."""

    SCOPED_CSS: ClassVar[bool] = False  # what fits depends on classes of the screen
    DEFAULT_CSS = style_of("RunPanel")

    @dataclass
    class SystemOpened(Message):
        """A system was opened: its tasks are wanted."""

        system: str

    def __init__(self) -> None:
        super().__init__(id="run")
        self._opened: OpenedRun | None = None
        self._gates: tuple[Gate, ...] | None = None
        self.view = GAPS

    def compose(self) -> ComposeResult:
        """Lay out the head, the systems, and below them gaps and plots."""
        yield Static(id="run-head", markup=False)
        yield VirtualTable((), empty="No system was measured.", id="systems")
        with Container(id="lower"):
            gaps = VirtualTable(GAP_COLUMNS, empty="Nothing was measured.", id="gaps")
            gaps.border_title = pane_title("Measures", "next-pane")
            yield gaps
            with ContentSwitcher(id="lens", initial=INTERVALS) as lens:
                lens.border_title = pane_title("Charts", "replay.plot")
                yield from (Plot(id=name) for name in (INTERVALS, AGE, OVER, LATENCY))
                yield Static(id=GATES, markup=False)

    @property
    def systems(self) -> VirtualTable:
        """The table of systems."""
        return self.query_one("#systems", VirtualTable)

    def show(self, opened: OpenedRun, gates: tuple[Gate, ...] | None, system: str = "") -> None:
        """Show a run, the cursor on a system."""
        self._opened, self._gates = opened, gates
        figures = opened.figures
        self.query_one("#run-head", Static).update(_head(figures.head))
        table = self.systems
        table.styles.height = min(len(figures.systems), _MOST_SYSTEMS) + 1
        table.set_columns(system_columns(figures))
        keep = system or opened.counterpart
        cells = partial(system_cells, own=opened.counterpart)
        table.set_rows(ListRows(figures.systems, key=lambda one: one.system, cells=cells), keep)
        table.select_key(keep)
        self._show_gaps(table.cursor_key)  # the cursor may stay on a system of this name
        self._show_plots(opened)
        self.query_one(f"#{GATES}", Static).update(gates_text(gates))
        self.set_view(self.view)

    def show_gates(self, gates: tuple[Gate, ...]) -> None:
        """Show what was judged."""
        self._gates = gates
        self.query_one(f"#{GATES}", Static).update(gates_text(gates))
        self.set_view(GATES)

    def turn_view(self, step: int) -> str:
        """Show the next view below the systems, or the one before; gaps that have a place are left out."""
        beside = self.screen.has_class("-tall") or self.screen.has_class("-wide")
        views = [view for view in VIEWS if not (beside and view == GAPS)]
        shown_now = INTERVALS if beside and self.view == GAPS else self.view
        at = views.index(shown_now)
        self.set_view(views[(at + step) % len(views)])
        return self.view

    def set_view(self, view: str) -> None:
        """Show a view below the systems."""
        self.view = view if view in VIEWS else GAPS
        self.set_class(self.view == GAPS, "-gaps")
        self.set_class(self.view != GAPS, "-lens")
        self.query_one(ContentSwitcher).current = INTERVALS if self.view == GAPS else self.view

    def _show_plots(self, opened: OpenedRun) -> None:
        for name, chart in opened.curves.items():
            self.query_one(f"#{name}", Plot).show(chart)

    def _show_gaps(self, system: str | None) -> None:
        """Show the measures of a system of this run, and of all systems the measure under the cursor."""
        if self._opened is None or system is None:
            return
        gaps = self._opened.figures.gaps.get(system, ())
        table = self.query_one("#gaps", VirtualTable)
        keep = table.cursor_key or _FIRST_MEASURE
        table.set_rows(ListRows(gaps, key=lambda one: one.measure, cells=gap_cells), keep)
        self._show_intervals(table.cursor_key)

    def _show_intervals(self, measure: str | None) -> None:
        if self._opened is None or measure is None:
            return
        chart = interval_chart(self._opened.figures, measure, self._opened.counterpart)
        self.query_one(f"#{INTERVALS}", Plot).show(chart)

    @on(VirtualTable.Highlighted, "#systems")
    def _system(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self._show_gaps(event.key)

    @on(VirtualTable.Highlighted, "#gaps")
    def _measure(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self._show_intervals(event.key)

    @on(VirtualTable.Opened, "#systems")
    @on(VirtualTable.Opened, "#gaps")
    def _opened_row(self, event: VirtualTable.Opened) -> None:
        event.stop()
        if (system := self.systems.cursor_key) is not None:
            self.post_message(self.SystemOpened(system))


def _head(lines: Sequence[str]) -> Content:
    return Content("\n").join([safe(line) for line in lines])
