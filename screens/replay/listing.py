"""The kept runs as a list shows them: one line each, and what the header of a run tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from textual.content import Content

from screens.filter_matching import Record
from screens.filtering import Field, Kind
from screens.safe_text import shown
from screens.widgets.bars import bar
from screens.widgets.table import Column

ELSEWHERE: Final = "elsewhere"
COLUMNS: Final = (
    Column("state", "", 1, priority=9),
    Column("id", "Run", 8, priority=8),
    Column("when", "When (UTC)", 16, priority=7),
    Column("project", "Project", share=2, least=8, priority=3),
    Column("tasks", "Tasks", 22, priority=4),
    Column("systems", "Systems", 7, "right", priority=2),
    Column("best", "Best nDCG@10", share=2, least=14, priority=6),
    Column("remarks", "", share=1, least=11, priority=1),
)
FIELDS: Final = (
    Field("project", Kind.TEXT),
    Field("system", Kind.TEXT),
    Field("run"),
    Field("when", Kind.TIME),
    Field("tasks", Kind.NUMBER),
    Field("interrupted", Kind.YES_NO),
)
"""What a filter of runs may name: `system:hybrid`, `tasks:>=100`, `interrupted:no`."""

_UNIT: Final = {"commit": "commits", "session": "prompts"}


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
    return " ".join(f"{count:,} {_UNIT.get(source, source)}" for source, count in line.sources)


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
        state(line),
        shown(line.id[:8], "$text-accent"),
        shown(when(line.at)),
        shown(line.project, limit=200),
        shown(tasks_text(line)),
        shown(str(len(line.scores)) if line.settings is not None else "", "$text-muted"),
        Content("") if best is None else Content.assemble((f"{best[1]:.3f} ", "bold"), shown(best[0])),
        shown(remarks(line), "$text-error" if line.fault else "$text-warning"),
    )


def state(line: RunLine) -> Content:
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


def preview(line: RunLine, width: int) -> Content:
    """Return what the header of a run says, in lines of at most `width` cells."""
    if line.fault:
        return Content.assemble(shown(f"✗ {line.fault}", "$text-error"))
    longest = min(max((len(name) for name, _, _ in line.scores), default=0), max(width - 18, 8))
    room = min(max(width - longest - 8, 0), 40)
    best = line.best
    rows = [
        Content.assemble(
            shown(name).truncate(longest, ellipsis=True, pad=True),
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
    told = [shown(fact, "$text-muted").truncate(width, ellipsis=True) for fact in facts if fact]
    head = Content.styled("nDCG@10", "bold")
    return Content("\n").join([head, *rows, Content(""), *told])
