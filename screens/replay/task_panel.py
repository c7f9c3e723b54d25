"""One task: two rankings side by side, what features add to the file under the cursor, and why.

It shows what it is given; the screen decides which task and which systems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from screens.replay.rankings import (
    COLUMNS,
    RankedSide,
    RankRow,
    Weights,
    bars,
    cells,
    explain_absent,
    explain_file,
    ranked_side,
    weighs,
    weights,
)
from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.bars import FeatureBars
from screens.widgets.table import ListRows, VirtualTable
from workbench.records.replay import TaskRow

LEFT, RIGHT = "left", "right"
_GAP = "  "
_LEAST_FOR_TWO = 76
"""Columns of the terminal below which one ranking is shown at a time."""

Again = Mapping[tuple[str, str], Mapping[str, Weights]]
"""What was computed again: by (task, system), then by path."""


@dataclass(frozen=True, slots=True)
class TaskShown:
    """A task with the two systems compared on it; `budget` is that of the run."""

    row: TaskRow
    systems: tuple[str, str]
    budget: int | None
    again: Again = field(default_factory=dict)


class SideHead(Widget):
    """A system and its figures of a task, each whole."""

    DEFAULT_CSS = style_of("SideHead")

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._side = RankedSide("", (), ())

    def show(self, one: RankedSide) -> None:
        """Show what a system did."""
        self._side = one
        self.refresh(layout=True)

    def render(self) -> Content:
        """Write the lines."""
        return Content("\n").join(side_head(self._side, self.content_size.width))

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """Have a line for each."""
        return len(side_head(self._side, width))


class TaskPanel(Vertical):
    """Both rankings of a task."""

    SCOPED_CSS: ClassVar[bool] = False  # what fits depends on classes of the screen
    DEFAULT_CSS = style_of("TaskPanel")

    def __init__(self) -> None:
        super().__init__(id="task")
        self._shown: TaskShown | None = None
        self._sides: dict[str, RankedSide] = {}
        self.focused_side = RIGHT

    def compose(self) -> ComposeResult:
        """Lay out the head, the rankings, and the explanation of a file."""
        yield Static(id="task-head", markup=False)
        with Horizontal(id="rankings"):
            for which in (LEFT, RIGHT):
                with Vertical(classes="ranking", id=f"{which}-side"):
                    yield SideHead(id=f"{which}-head")
                    yield VirtualTable(COLUMNS, empty="It ranked nothing.", id=f"{which}-ranking")
        with VerticalScroll(id="file"), Vertical(id="file-parts"):
            yield Static(id="why", markup=False)
            yield FeatureBars(id="parts", order="given")

    def on_mount(self) -> None:
        """Begin on the right."""
        self._turn(RIGHT)

    def on_resize(self, event: events.Resize) -> None:
        """Show one ranking at a time where two have no room."""
        self.set_class(event.size.width < _LEAST_FOR_TWO, "-one")

    def table(self, which: str) -> VirtualTable:
        """The ranking on a side."""
        return self.query_one(f"#{which}-ranking", VirtualTable)

    @property
    def current(self) -> tuple[str, RankRow] | None:
        """The system and the file under the cursor of the side that has the focus."""
        one = self._sides.get(self.focused_side)
        key = self.table(self.focused_side).cursor_key
        if one is None or key is None:
            return None
        return next(((one.system, row) for row in one.rows if row.path == key), None)

    def show(self, given: TaskShown) -> None:
        """Show a task; the cursors stay where they were if it is the same one."""
        before = self._shown
        same = before is not None and before.row.id == given.row.id
        self._shown = given
        left, right = given.systems
        self._sides = {LEFT: ranked_side(given.row, left, right), RIGHT: ranked_side(given.row, right, left)}
        self.query_one("#task-head", Static).update(task_head(given.row))
        for which, one in self._sides.items():
            self.query_one(f"#{which}-head", SideHead).show(one)
            table = self.table(which)
            keep = table.cursor_key if same else None
            table.set_rows(ListRows(one.rows, key=lambda row: row.path, cells=cells), keep)
            if not same:
                table.cursor = first_to_see(one)
        self._file()

    def focus_side(self, which: str) -> None:
        """Give a ranking the focus."""
        self._turn(which)
        self.table(which).focus()

    def other_side(self) -> None:
        """Give the other ranking the focus, on the same file if it has it."""
        key = self.table(self.focused_side).cursor_key
        self.focus_side(LEFT if self.focused_side == RIGHT else RIGHT)
        if key is not None:
            self.table(self.focused_side).select_key(key)

    def next_missed(self) -> bool:
        """Go to the next right file that was missed on this side; return whether there is one."""
        one = self._sides.get(self.focused_side)
        if one is None or not one.missed:
            return False
        table = self.table(self.focused_side)
        places = [at for at, row in enumerate(one.rows) if row.missed]
        table.cursor = next((at for at in places if at > table.cursor), places[0])
        return True

    @on(VirtualTable.Highlighted)
    def _handle_highlight(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self._file()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Follow the focus: the explanation is of the file under its cursor."""
        for which in (LEFT, RIGHT):
            if event.widget.id == f"{which}-ranking":
                self._turn(which)
                self._file()

    def _turn(self, which: str) -> None:
        self.focused_side = which
        self.set_class(which == LEFT, "-on-left")
        self.set_class(which == RIGHT, "-on-right")

    def _file(self) -> None:
        found, given = self.current, self._shown
        if found is None or given is None:
            text = (
                Content("\n").join(_reason_lines(explain_absent(given.row)))
                if given is not None
                else Content("")
            )
            self.query_one("#why", Static).update(text)
            self.query_one(FeatureBars).show(())
            return
        system, row = found
        again = given.again.get((given.row.id, system), {})
        one = self._sides[self.focused_side]
        reasons = explain_file(given.row, one, row, given.budget, again)
        lines = [safe(row.path, "bold"), *_reason_lines(reasons), *_reason_lines(explain_absent(given.row))]
        self.query_one("#why", Static).update(Content("\n").join(lines))
        parts, total = bars(weights(given.row, system, row.path, again).parts, whole=row.path in again)
        widget = self.query_one(FeatureBars)
        widget.display = weighs(system)
        widget.show(parts, total=total)


def first_to_see(one: RankedSide) -> int:
    """Return the place of the first right file that was missed, else of the first one that was found."""
    missed = (at for at, row in enumerate(one.rows) if row.missed)
    found = (at for at, row in enumerate(one.rows) if row.gold)
    return next(missed, next(found, 0))


def task_head(row: TaskRow) -> Content:
    """Return the task and where it comes from, in two lines or three."""
    from workbench.replay.html_tasks import day

    origin = f"commit {row.commit[:8]}" if row.source == "commit" else f"prompt of session {row.session[:12]}"
    parts = [
        f"{len(row.truth)} gold",
        f"{len(row.missing)} not there yet" if row.missing else "",
        origin,
        day(row.at),
        row.query_type,
        f"on the tree of {row.revision[:8]}" if row.revision else "without its repository",
    ]
    lines = [
        safe(row.head or "(no text)", "bold", limit=400),
        safe(" · ".join(part for part in parts if part), "$text-muted"),
    ]
    if row.fault:
        lines.append(safe(f"✗ not replayed: {row.fault}", "$text-warning"))
    return Content("\n").join(lines)


def side_head(one: RankedSide, width: int) -> list[Content]:
    """Return a system's name and its figures of this task, in lines of at most `width` cells."""
    lines = [safe(one.system, "bold $text-primary")]
    for title, value in one.measures:
        figure = Content.assemble((f"{title} ", "$text-muted"), value)
        if lines[-1].cell_length + len(_GAP) + figure.cell_length > width:
            lines.append(figure)
        else:
            lines[-1] = Content.assemble(lines[-1], _GAP, figure)
    return lines


def _reason_lines(reasons: tuple[tuple[str, str], ...]) -> list[Content]:
    return [
        Content.assemble(safe(f"{title:<8} ", "bold $text-secondary"), safe(text)) for title, text in reasons
    ]
