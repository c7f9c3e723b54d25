"""The ranking of one system for a task beside another's: gold files marked, places compared. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.safe_text import shown
from screens.widgets.table import Column

if TYPE_CHECKING:
    from workbench.records.replay import SystemRow, TaskRow

TOP: Final = 10
GOLD, MISSED = "★", "☆"
_PLACE: Final = re.compile(r"place (\d{1,9})(?:: )?")
_FORMS: Final = {"path": "·", "outline": "≡", "snippets": "▪", "full": "■"}
LEGEND: Final = "★ gold ☆ missed ∅ not in the other  pack: ■ full ▪ snippets ≡ outline · path"

COLUMNS: Final = (
    Column("place", "#", 3, "right", priority=8),
    Column("gold", "", 1, priority=7),
    Column("file", "File", share=1, least=12, priority=9),
    Column("pack", "", 1, priority=3),
    Column("shift", "Other", 5, "right", priority=4),
)


@dataclass(frozen=True, slots=True)
class RankRow:
    """A file in the ranking of a system, or a right file that is not among its first ones.

    `place` is None where it is nowhere in the ranking; `other` its place with the other system, None where it
    is not among that one's first ones. `form` is how it stands in the pack, '' if it does not. `reason` is
    what the replay said of a right file that is not among the first ten.
    """

    path: str
    place: int | None
    gold: bool
    form: str = ""
    other: int | None = None
    reason: str = ""

    @property
    def missed(self) -> bool:
        """Whether it is right and not among the first ten."""
        return self.gold and (self.place is None or self.place > TOP)


@dataclass(frozen=True, slots=True)
class Side:
    """What a system did with a task."""

    system: str
    rows: tuple[RankRow, ...]
    measures: tuple[tuple[str, str], ...]

    @property
    def missed(self) -> tuple[RankRow, ...]:
        """The right files that are not among the first ten."""
        return tuple(row for row in self.rows if row.missed)


_MEASURES: Final = (
    ("nDCG", "ndcg_at_10", 3),
    ("R@10", "recall_at_10", 2),
    ("packed", "packed_recall", 2),
    ("tokens", "context_tokens", 0),
    ("ms", "latency_ms", 1),
)


def side(row: TaskRow, system: str, other: str) -> Side:
    """Return what a system did with a task, places compared with another's; nothing if it did not do it."""
    did = row.systems.get(system)
    if did is None:
        return Side(system, (), ())
    there = row.systems.get(other)
    others = {} if there is None else _places(there)
    gold = set(row.truth)
    ranked = [
        RankRow(
            path, place, path in gold, did.packed.get(path, ""), others.get(path), did.missed.get(path, "")
        )
        for place, path in enumerate(did.ranking, 1)
    ]
    known = set(did.ranking)
    beyond = [
        RankRow(path, place_of(why), True, did.packed.get(path, ""), others.get(path), why)
        for path, why in did.missed.items()
        if path not in known
    ]
    beyond.sort(key=lambda one: (one.place is None, one.place or 0, one.path))
    measures = tuple(
        (title, f"{did.measures[name]:,.{digits}f}")
        for title, name, digits in _MEASURES
        if name in did.measures
    )
    return Side(system, (*ranked, *beyond), measures)


def place_of(reason: str) -> int | None:
    """Return the place that the replay's sentence about a missed file names."""
    found = _PLACE.match(reason)
    return None if found is None else int(found[1])


def rest_of(reason: str) -> str:
    """Return the replay's sentence about a missed file without its place."""
    return _PLACE.sub("", reason, count=1)


def cells(one: RankRow) -> tuple[Content, ...]:
    """Return the cells of a file: place, right or missed, name and folder, form in the pack, other place."""
    return (
        shown("–" if one.place is None else str(one.place), "$text-muted"),
        glyph(one),
        name(one.path, tone=_tone(one)),
        shown(_FORMS.get(one.form, ""), "$text-muted"),
        shift(one),
    )


def glyph(one: RankRow) -> Content:
    """Return the glyph of a right file, found or missed; blank for others."""
    if one.missed:
        return Content.styled(MISSED, "bold $text-error")
    return Content.styled(GOLD, "bold $text-success") if one.gold else Content(" ")


def name(path: str, *, tone: str = "") -> Content:
    """Return a path with its last part first, which is what tells files apart where there is little room."""
    folder, _, last = path.rpartition("/")
    if not folder:
        return shown(path, tone)
    return Content.assemble(shown(last, tone), "  ", shown(f"{folder}/", "$text-muted"))


def shift(one: RankRow) -> Content:
    """Return how much higher (▲) or lower (▼) a file is here than with the other system, ∅ if not there."""
    if one.other is None:
        return Content.styled("∅", "$text-muted")
    if one.place is None:
        return Content.styled(f"▼#{one.other}", "$text-error" if one.gold else "$text-muted")
    change = one.other - one.place
    if not change:
        return Content.styled("=", "$text-muted")
    tone = "$text-muted" if not one.gold else "$text-success" if change > 0 else "$text-error"
    return Content.styled(f"{'▲' if change > 0 else '▼'}{abs(change)}", tone)


def _tone(one: RankRow) -> str:
    if one.gold:
        return "bold"
    return "" if one.place is not None and one.place <= TOP else "$text-muted"


def _places(did: SystemRow) -> dict[str, int]:
    found = {path: place for place, path in enumerate(did.ranking, 1)}
    for path, why in did.missed.items():
        place = place_of(why)
        if path not in found and place is not None:
            found[path] = place
    return found
