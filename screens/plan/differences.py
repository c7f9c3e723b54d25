"""Two packs side by side: baseline and hybrid place by place, and what a pin, budget or model changed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from textual.content import Content

from screens.plan.candidates import FILES, IN, OUT, PackCandidate, ShownPlan
from screens.plan.comparison import RankingComparison
from screens.safe_text import safe
from screens.widgets.table import Column
from screens.widgets.table_rows import ListRows
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

COMPARED: Final = (
    Column("place", "Place", "The place in both rankings.", 5, "right", priority=7),
    Column("baseline", "Baseline", "The file at this place in the baseline.", share=4, least=22, priority=9),
    Column(
        "hybrid", "Hybrid", "The file at this place in the hybrid ranking.", share=4, least=22, priority=10
    ),
    Column(
        "moved",
        "Moved",
        "▲ places up and ▼ down in hybrid, = the same place, new if only hybrid has it.",
        5,
        "right",
        priority=8,
    ),
    Column("why", "Why", "What moved the file most.", share=4, least=18, priority=1),
)


def compared_rows(
    plan: ShownPlan, found: RankingComparison, only: Sequence[int] | None
) -> ListRows[PackCandidate]:
    """Return the files of the hybrid in their order as rows, the baseline's of the same place beside.

    `only` are places in the candidates of the plan; None for all files.
    """
    candidates = plan.candidates if only is None else [plan.candidates[place] for place in only]
    known = {one.name: one for one in candidates if one.kind == FILES}
    rows = [
        known.get(path) or PackCandidate(FILES, path, path.rpartition("/")[2], path.rpartition("/")[0], OUT)
        for path in found.hybrid.order
        if only is None or path in known
    ]
    return ListRows(rows, key=lambda one: one.key, cells=partial(_cells, found))


def _cells(found: RankingComparison, one: PackCandidate) -> tuple[Content, ...]:
    place = found.hybrid.places[one.name]
    beside = found.beside(one.name)
    move = found.move(one.name)
    tone = "$text-success" if move.startswith("▲") else "$text-error" if move.startswith("▼") else ""
    return (
        safe(str(place), "$text-muted"),
        _file(beside, beside in found.baseline.packed) if beside else Content(""),
        _file(one.name, one.name in found.hybrid.packed),
        safe(move, tone),
        safe("; ".join(found.reasons.get(one.name, ())), "$text-muted"),
    )


def _file(path: str, packed: bool) -> Content:
    folder, _, last = path.rpartition("/")
    mark = Content.styled("✓ ", "$text-success") if packed else Content("  ")
    return Content.assemble(
        mark, safe(last, "" if packed else "$text-muted"), "  ", safe(folder, "$text-muted")
    )


_NAMES: Final = 2


def pack_difference(before: ShownPlan, after: ShownPlan) -> str:
    """Return in a few words what came into a pack, what went out or has another form, and the tokens."""
    old, new = ({one.key: one for one in plan.candidates if one.state == IN} for plan in (before, after))
    parts = [
        f"{sign}{_count(some)}"
        for sign, some in (
            ("+", [one for key, one in new.items() if key not in old]),
            ("−", [one for key, one in old.items() if key not in new]),
        )
        if some
    ]
    if other := sum(key in old and old[key].form != one.form for key, one in new.items()):
        parts.append(f"{other:,} in another form")
    tokens = after.response.budget_report.estimated_used - before.response.budget_report.estimated_used
    if tokens:
        parts.append(f"{'+' if tokens > 0 else '−'}{plural(abs(tokens), 'token')}")
    return " · ".join(parts)


def _count(some: Sequence[PackCandidate]) -> str:
    """Return how many of each kind, the first files by their names: `2 files (cart.py, tax.py), 1 rule`."""
    kinds: dict[str, list[PackCandidate]] = {}
    for one in some:
        kinds.setdefault(one.kind, []).append(one)
    found = []
    for kind, those in kinds.items():
        names = [visible_line(one.title) for one in those[:_NAMES]] if kind == FILES else []
        more = " …" if names and len(those) > _NAMES else ""
        found.append(
            plural(len(those), kind.removesuffix("s")) + (f" ({', '.join(names)}{more})" if names else "")
        )
    return ", ".join(found)
