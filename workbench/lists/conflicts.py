"""What can be asked of the list of conflicts, of rules and of learnings, and its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from workbench.lists.filters import Field, FieldKind
from workbench.lists.tables import ListType
from workbench.records.conflicts import Action, ConflictKind, Evidence, Suggestion

SUBJECTS: Final = ("rule", "learning")
"""What the two sides of a conflict are."""

KINDS: Final = (ConflictKind.CONTRADICTORY, ConflictKind.SUBSUMED, ConflictKind.NEAR, ConflictKind.EXACT)
"""The kinds, those that harm most first."""

FIELDS: Final = (
    Field("text", FieldKind.TEXT),
    Field("why", FieldKind.TEXT),
    Field("file"),
    Field("kind", choices=tuple(kind.value for kind in reversed(KINDS))),
    Field("of", choices=SUBJECTS),
    Field("suggested", choices=tuple(action.value.replace("_", "-") for action in Action)),
    Field("scope"),
    Field("score", FieldKind.NUMBER),
    Field("updated", FieldKind.TIME),
    Field("id"),
)

CONFLICTS: Final = ListType(
    "conflict",
    FIELDS,
    sorts=("surest", "kind", "file", "newest"),
    usual=("surest", False),
    facets=("kind", "of", "suggested", "file", "scope"),
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
    """A conflict that waits. `of` is one of SUBJECTS; `scope` and `updated` are of both sides.

    The rest is as in `Conflict`.
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
