"""The queue as a list: its columns and rows, what a filter can ask of a pair, and the orders there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from textual.content import Content

from screens.conflicts.pair import PairSide, PairType
from screens.conflicts.pair_panel import KINDS, OF, RANK, STATES
from screens.conflicts.queue import LISTED, PairState, QueuedPair
from screens.filter_matching import Record, filter_rows
from screens.jobs import Job
from screens.safe_text import shown
from screens.widgets.table import Column
from workbench.lists.filters import Field, FieldKind, Filter
from workbench.records.conflicts import Action

_TEXT: Final = 400  # characters of a side that a row may show

COLUMNS: Final = (
    Column("state", "", 1, priority=9),
    Column("kind", "", 1, priority=9),
    Column("name", "Kind", 13, priority=3),
    Column("score", "Sure", 6, align="right", priority=4),
    Column("of", "", 1, priority=2),
    Column("left", "Left", priority=8, least=16),
    Column("right", "Right", priority=7, least=16),
    Column("action", "Suggested", 12, priority=1),
)

FIELDS: Final = (
    Field("text", FieldKind.TEXT),
    Field("why", FieldKind.TEXT),
    Field("file"),
    Field("kind", choices=tuple(kind.value for kind in reversed(KINDS))),
    Field("of", choices=tuple(of.value for of in PairType)),
    Field("suggested", choices=tuple(action.value.replace("_", "-") for action in Action)),
    Field("state", choices=("open", "later", "changed", "settling", "elsewhere", "gone")),
    Field("scope"),
    Field("score", FieldKind.NUMBER),
    Field("updated", FieldKind.TIME),
    Field("id"),
)

_STATE_NAMES: Final[Mapping[PairState, str]] = {PairState.ELSEWHERE: "elsewhere"}


class PairRows:
    """Pairs as rows, in the order of their ids."""

    def __init__(self, ids: Sequence[str], items: Mapping[str, QueuedPair]) -> None:
        self._ids = ids
        self._items = items

    def __len__(self) -> int:
        return len(self._ids)

    def key(self, index: int) -> str:
        """Tell pairs apart by their ids."""
        return self._ids[index]

    def cells(self, index: int) -> tuple[Content, ...]:
        """Return state, kind, certainty, both texts shortened, and what is suggested."""
        item = self._items[self._ids[index]]
        pair = item.pair
        glyph, style = KINDS[pair.kind]
        faint = "" if item.waits else "$text-muted"
        return (
            Content.styled(*STATES[item.state]),
            Content.styled(glyph, style),
            Content.styled(pair.kind.value, faint),
            Content.styled(f"{pair.score:.2f}", faint),
            Content.styled(OF[pair.of], "$text-muted"),
            _line(pair.left, faint),
            _line(pair.right, faint),
            Content.styled(pair.suggestion.action.value.replace("_", " "), "$text-muted"),
        )


def _line(side: PairSide, style: str) -> Content:
    return shown(" ".join(side.text[:_TEXT].split()), style)


def record_of(item: QueuedPair) -> Record:
    """Return a pair's fields as a filter asks for them."""
    pair = item.pair
    return {
        "text": [side.text for side in pair.sides],
        "why": pair.why,
        "file": [name for side in pair.sides for name in (side.file, side.where) if name],
        "kind": pair.kind.value,
        "of": pair.of.value,
        "suggested": pair.suggestion.action.value.replace("_", "-"),
        "state": _STATE_NAMES.get(item.state, item.state.value),
        "scope": [entry for side in pair.sides for entry in side.scope],
        "score": pair.score,
        "updated": max(side.updated for side in pair.sides),
        "id": pair.id,
    }


SORTS: Final[Mapping[str, tuple[tuple[str, bool], Callable[[QueuedPair], tuple[object, ...]]]]] = {
    "surest": (("score", True), lambda item: (-item.pair.score, RANK[item.pair.kind])),
    "kind": (("name", False), lambda item: (RANK[item.pair.kind], -item.pair.score)),
    "file": (("left", False), lambda item: (item.pair.left.where, item.pair.right.where)),
    "newest": (("", True), lambda item: (_backwards(max(side.updated for side in item.pair.sides)),)),
}
"""The orders by name: the column sorted by and whether it descends, and the key; ties go by id."""


def _backwards(text: str) -> tuple[int, ...]:
    return (*(-ord(character) for character in text), 1)  # what begins like it comes after it, nothing last


def arranged(items: Mapping[str, QueuedPair], wanted: Filter, sort: str, job: Job | None = None) -> list[str]:
    """Return the ids of the pairs that a filter lets through, in order; those put off come last.

    Those on their way to the journal, and those settled along with another, are left out. `job` is asked now
    and then whether to go on.
    """
    key = SORTS[sort][1]
    shown_items = [item for item in items.values() if item.state in LISTED]
    shown_items.sort(key=lambda item: (item.state is PairState.LATER, *key(item), item.pair.id))
    if wanted:
        records = [record_of(item) for item in shown_items]
        order: Sequence[int] = ()
        for step in filter_rows(wanted, records.__getitem__, len(records), fields=FIELDS):
            if job is not None:
                job.check()
            order = step.order or ()
        shown_items = [shown_items[at] for at in sorted(order)]
    return [item.pair.id for item in shown_items]
