"""The list of saved runs beside a preview of one; without any, what a replay is and how to start one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from screens.commands import key_of, pane_title
from screens.filter_matching import Record, filter_rows
from screens.replay.live_run import LivePanel
from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.bars import bar
from screens.widgets.filter import FilterBar
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.lists.filters import Field, FieldKind, Filter

COLUMNS: Final = (
    Column("state", "", "● complete, ◐ interrupted, ✗ unreadable.", 1, priority=9),
    Column("id", "Run", "The beginning of the run's id.", 8, priority=8),
    Column("when", "When (UTC)", "When it was started.", 16, priority=7),
    Column("project", "Project", "The project whose past was replayed.", share=2, least=8, priority=3),
    Column("tasks", "Tasks", "How many commits and prompts were replayed.", 22, priority=4),
    Column("systems", "Systems", "How many systems were compared.", 7, "right", priority=2),
    Column("best", "Best nDCG@10", "The system with the highest nDCG@10.", share=2, least=14, priority=6),
    Column("remarks", "Remarks", "What is special about the run.", share=1, least=11, priority=1),
)
FIELDS: Final = (
    Field("project", FieldKind.TEXT),
    Field("system", FieldKind.TEXT),
    Field("run"),
    Field("when", FieldKind.TIME),
    Field("tasks", FieldKind.NUMBER),
    Field("interrupted", FieldKind.YES_NO),
)
"""What a filter of runs may name: `system:hybrid`, `tasks:>=100`, `interrupted:no`."""

_UNITS: Final = {"commit": "commits", "session": "prompts"}


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in the list. `name` is what it is loaded by: an id, or the file of a replay of another place.

    `scores` maps systems to precision@10 and nDCG@10; `fault` says why the run cannot be read.
    """

    name: str
    id: str
    at: str = ""
    project: str = ""
    tasks: int = 0
    faults: int = 0
    sources: tuple[tuple[str, int], ...] = ()
    scores: tuple[tuple[str, float, float], ...] = ()
    complete: bool = True
    settings: Mapping[str, Any] | None = None
    fault: str = ""

    @property
    def elsewhere(self) -> bool:
        """Whether it is of another place, and not among the kept ones."""
        return self.name != self.id

    @property
    def best(self) -> tuple[str, float] | None:
        """The system with the highest nDCG@10."""
        found = max(self.scores, key=lambda one: (one[2], one[0]), default=None)
        return None if found is None else (found[0], found[2])


def when(at: str) -> str:
    """Return an ISO time as the list writes it."""
    return at[:16].replace("T", " ")


def tasks_text(line: RunLine) -> str:
    """Return e.g. `29 commits 11 prompts`."""
    if not line.sources:
        return f"{line.tasks:,}"
    return " ".join(f"{count:,} {_UNITS.get(source, source)}" for source, count in line.sources)


def remarks(line: RunLine) -> str:
    """Return what is special about a run."""
    found = [] if line.complete else ["interrupted"]
    found += [f"{line.faults:,} left out"] if line.faults else []
    found += ["another place"] if line.elsewhere else []
    return ", ".join(found) or line.fault


def cells(line: RunLine) -> tuple[Content, ...]:
    """Return the cells of a run."""
    best = line.best
    return (
        run_state(line),
        safe(line.id[:8], "$text-accent"),
        safe(when(line.at)),
        safe(line.project, limit=200),
        safe(tasks_text(line)),
        safe(str(len(line.scores)) if line.settings is not None else "", "$text-muted"),
        Content("") if best is None else Content.assemble((f"{best[1]:.3f} ", "bold"), safe(best[0])),
        safe(remarks(line), "$text-error" if line.fault else "$text-warning"),
    )


def run_state(line: RunLine) -> Content:
    """Return a glyph: whole, interrupted, or unreadable."""
    if line.fault:
        return Content.styled("✗", "bold $text-error")
    return Content.styled("●", "$text-success") if line.complete else Content.styled("◐", "$text-warning")


def record_of(line: RunLine) -> Record:
    """Return a run's fields as a filter sees them."""
    return {
        "project": line.project,
        "system": tuple(name for name, _, _ in line.scores),
        "run": line.id,
        "when": line.at,
        "tasks": line.tasks,
        "interrupted": not line.complete,
    }


def run_preview(line: RunLine, width: int) -> Content:
    """Return what the header of a run says, in lines of at most `width` cells."""
    if line.fault:
        return Content.assemble(safe(f"✗ {line.fault}", "$text-error"))
    longest = min(max((len(name) for name, _, _ in line.scores), default=0), max(width - 18, 8))
    room = min(max(width - longest - 8, 0), 40)
    best = line.best
    rows = [
        Content.assemble(
            safe(name).truncate(longest, ellipsis=True, pad=True),
            (f" {ndcg:.3f}{'★' if best is not None and name == best[0] else ' '} ", "bold"),
            (bar(ndcg, 1.0, room), "$text-primary"),
        )
        for name, _, ndcg in line.scores
    ]
    settings = line.settings or {}
    budget = settings.get("budget")
    facts = [
        f"{tasks_text(line)}" + (f" ({remarks(line)})" if remarks(line) else ""),
        f"packs of {budget:,} tokens" if isinstance(budget, int) else "",
        f"embeddings {settings.get('embedding') or 'none'}",
        f"model {settings.get('ranking')}" if settings.get("ranking") else "",
        f"engine {settings.get('engine')}" if settings.get("engine") else "",
    ]
    details = [safe(fact, "$text-muted").truncate(width, ellipsis=True) for fact in facts if fact]
    head = Content.styled("nDCG@10", "bold")
    return Content("\n").join([head, *rows, Content(""), *details])


_TEACHING_WIDTH: Final = 56  # cells that the narrowest terminal has for it
_TEACHING: Final = (
    "A replay runs past tasks again: commits of this project and prompts of its sessions, each as of its "
    "start. Several systems rank the files side by side, and the files really modified show which was "
    "right.",
    f"{key_of('replay.new')}  starts one: it takes a minute or so, and the app stays usable meanwhile; "
    "so does `workbench --replay`",
)
_OTHERS: Final = (
    f"{key_of('replay.new')}  replays another place: a repository, transcripts, a rules benchmark"
)


def empty_text(no_past: str) -> Content:
    """Return what is shown where there are no runs."""
    parts = (no_past, _OTHERS) if no_past else _TEACHING
    lines = ["No replay yet.", *(line for part in parts for line in ("", *wrap(part, _TEACHING_WIDTH)))]
    return Content("\n").join([safe(line) for line in lines])


class RunPreview(Widget):
    """What the header of a run says."""

    DEFAULT_CSS = style_of("RunPreview")

    def __init__(self) -> None:
        super().__init__(id="run-preview")
        self._line: RunLine | None = None

    def show(self, line: RunLine | None) -> None:
        """Show a run."""
        self._line = line
        self.refresh(layout=True)

    def render(self) -> Content:
        """Return its lines."""
        return Content("") if self._line is None else run_preview(self._line, self.content_size.width)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """Return as many lines as there are."""
        return 1 if self._line is None else run_preview(self._line, width).plain.count("\n") + 1


class RunsPanel(Vertical):
    """The runs, newest first; marks choose two to compare."""

    SCOPED_CSS: ClassVar[bool] = False  # what fits depends on classes of the screen
    DEFAULT_CSS = style_of("RunsPanel")

    @dataclass
    class Opened(Message):
        """A run was opened."""

        line: RunLine

    def __init__(self) -> None:
        super().__init__(id="runs")
        self.lines: tuple[RunLine, ...] = ()
        self._filter = Filter()

    def compose(self) -> ComposeResult:
        """Lay out what runs above the list, what is under the cursor beside it."""
        yield LivePanel()
        yield FilterBar(FIELDS, id="runs-filter")
        with Horizontal(id="runs-parts"):
            yield VirtualTable(COLUMNS, empty="Reading the saved runs …", id="runs-table")
            with VerticalScroll(id="runs-side") as side:
                side.border_title = pane_title("Run", "next-pane")
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
    def _handle_filter(self, event: FilterBar.Changed) -> None:
        event.stop()
        self._filter = event.query
        self._list(self.table.cursor_key)

    @on(VirtualTable.Highlighted)
    def _handle_highlight(self, event: VirtualTable.Highlighted) -> None:
        event.stop()
        self.query_one(RunPreview).show(self.current)

    @on(VirtualTable.Opened)
    def _handle_open(self, event: VirtualTable.Opened) -> None:
        event.stop()
        if (line := self.current) is not None:
            self.post_message(self.Opened(line))
