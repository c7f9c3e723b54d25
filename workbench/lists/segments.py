"""What can be asked of the list of stashed segments, and its rows [rag §4, §6]."""

from __future__ import annotations

from typing import Final

from workbench.lists.filters import Field, FieldKind
from workbench.lists.tables import ListType
from workbench.records.dataclass import dataclass
from workbench.records.segments import ContextSegment, SegmentType

PREVIEW: Final = 2_000
"""Characters of a text that a row of the list has."""

FIELDS: Final = (
    Field("text", FieldKind.TEXT),
    Field("topic"),
    Field("source"),
    Field("id"),
    Field("type", choices=tuple(SegmentType), searched=False),
    Field("session", searched=False),
    Field("created", FieldKind.TIME, searched=False),
    Field("stashed", FieldKind.TIME, searched=False),
    Field("expires", FieldKind.TIME, searched=False),
    Field("tokens", FieldKind.NUMBER, searched=False),
    Field("age", FieldKind.NUMBER, searched=False),
    Field("protected", FieldKind.YES_NO, searched=False),
    Field("expired", FieldKind.YES_NO, searched=False),
    Field("merged", FieldKind.NUMBER, searched=False),
    Field("shown", FieldKind.NUMBER, searched=False),
)
"""`age` is days since a segment was created; `merged` and `shown` are how often it came back."""

SEGMENTS: Final = ListType(
    "segment",
    FIELDS,
    sorts=("newest", "stashed", "expires", "tokens", "type", "topic", "merged"),
    usual=("newest", False),
    largest_first=frozenset({"tokens", "merged"}),
    facets=("type", "topic", "session", "source", "protected"),
)
"""`newest` and `stashed` have the latest first, `expires` what is over soonest; what never is comes last."""


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A segment with the first PREVIEW characters of its text.

    `age` are whole days since it was created; `shown` and `merged` count how often a query found it and how
    often it was taken back into a context.
    """

    segment: ContextSegment
    age: int
    expired: bool
    shown: int
    merged: int
