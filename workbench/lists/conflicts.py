"""What can be asked of the list of conflicts, of rules, learnings and segments, and its rows.

Tables have what the last searches found and what the journals say of it. What a sitting did that is in no
journal is laid over them: which rows it has decided, put off, or has seen changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from workbench.lists.filters import Field, FieldKind
from workbench.lists.tables import ListTable, ListType
from workbench.records.conflicts import Action, ConflictKind, Evidence, Suggestion
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from workbench.ports import Int64

SUBJECTS: Final = ("rule", "learning", "segment")
"""What the two sides of a conflict are."""

KINDS: Final = (
    ConflictKind.CONCURRENT,
    ConflictKind.CONTRADICTORY,
    ConflictKind.SUBSUMED,
    ConflictKind.NEAR,
    ConflictKind.EXACT,
)
"""The kinds, those that harm most first."""

STATES: Final = ("open", "later", "changed", "elsewhere", "gone")
"""Whether a conflict waits (the first three), was settled by somebody else, or is no conflict any more."""

FIELDS: Final = (
    Field("text", FieldKind.TEXT),
    Field("why", FieldKind.TEXT),
    Field("file"),
    Field("kind", choices=tuple(kind.value for kind in reversed(KINDS))),
    Field("of", choices=SUBJECTS),
    Field("suggested", choices=tuple(action.value.replace("_", "-") for action in Action)),
    Field("state", choices=STATES, searched=False),
    Field("side", searched=False),
    Field("scope"),
    Field("score", FieldKind.NUMBER),
    Field("updated", FieldKind.TIME),
    Field("id"),
)

CONFLICTS: Final = ListType(
    "conflict",
    FIELDS,
    sorts=("surest", "kind", "file", "newest"),
    usual=("surest", True),
    largest_first=frozenset({"surest", "newest"}),
    facets=("kind", "of", "suggested", "state", "file", "scope"),
)


@dataclass(frozen=True, slots=True)
class ConflictSide:
    """One of the two: the id of the record, its text, where it comes from, and the file, "" for none."""

    id: str
    text: str
    where: str
    file: str


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """A conflict. `of` is one of SUBJECTS, `state` of STATES; `scope` and `updated` are of both sides.

    `settled` says by whom and how it was settled, empty while it is not. The rest is as in `Conflict`.
    """

    id: str
    of: str
    kind: ConflictKind
    score: float
    left: ConflictSide
    right: ConflictSide
    why: str
    evidence: tuple[Evidence, ...]
    suggestion: Suggestion
    scope: tuple[str, ...] = ()
    updated: str = ""
    state: str = "open"
    settled: str = ""


@dataclass(frozen=True, slots=True)
class ConflictOverlay:
    """What a sitting lays over the list, by numbers of rows.

    `away` are those it decided, `later` those it put off, which come last, `changed` those with a side that
    was changed since they were seen; `kept` are listed though they do not wait any more.
    """

    away: tuple[int, ...] = ()
    later: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()


NOTHING_DONE: Final = ConflictOverlay()


@dataclass(frozen=True, slots=True, eq=False)
class WaitingConflicts:
    """The conflicts that wait: numbers of their rows, int64 [n] ascending, and what their sides are like.

    `marks`, uint64 [n], differ where what people decide of a side does.
    """

    numbers: Int64
    marks: Int64


class ConflictStore(Protocol):
    """The conflicts that searches found. Methods raise StoreError and StoreBusy."""

    def list_waiting(self, overlay: ConflictOverlay = NOTHING_DONE) -> ListTable[ConflictRow]:
        """Return the list of those that wait, with an overlay."""
        ...

    def waiting(self) -> WaitingConflicts:
        """Return which wait, and marks of what their sides are like."""
        ...

    def keep(self, of: str, found: Sequence[ConflictRow]) -> bool:
        """Have the list say what a search among the records of a type found."""
        ...

    def amend(self, of: str, found: Sequence[ConflictRow], gone: Sequence[str]) -> None:
        """Have the list say what is known of a few pairs without a search, `gone` by ids."""
        ...
