"""What machines of a team decided of a segment without having seen each other's: conflicts of its versions.

The text of a segment never changes, so that a conflict is of what else is known of it: type, topic,
references, protection, when it expires, or that it was removed. Decisions about different fields do not
contradict each other: the suggested way out keeps both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from workbench.curation.concurrency import (
    ADVICE,
    REMOVED,
    ConcurrentEdit,
    concurrent_edits,
    edit_notes,
    edit_sides,
    plain_value,
    version_place,
)
from workbench.lists.conflicts import ConflictRow, ConflictSide
from workbench.records.conflicts import Action, ConflictKind, Evidence, Suggestion
from workbench.records.dataclass import dataclass
from workbench.records.segments import ContextSegment
from workbench.stash.segmenttype import SEGMENTS
from workbench.stash.stashstore import StashLedger, fields_apart
from workbench.text.sanitize import cut

_TEXT: Final = 2_000  # characters of a segment that a row has

_BOTH: Final = Suggestion(Action.MERGE, "They changed different fields: both can hold.")
_TOGETHER: Final = Suggestion(Action.MERGE, "Both changes can hold but for what both changed: read both.")


@dataclass(frozen=True, slots=True)
class SegmentConflict:
    """Two versions of a segment that were written apart: `left` is in force, `right`, by its version, is not.

    `fields` are those that differ, and `contested` those of them that both changed. A version that was
    removed has "(removed)" for its text, and `fields` are those that the other one changed. `at` is when
    the later one was written.
    """

    id: str
    segment_id: str
    left: ContextSegment
    right: ContextSegment
    fields: tuple[str, ...]
    contested: tuple[str, ...]
    why: str
    evidence: tuple[Evidence, ...]
    suggestion: Suggestion
    at: str


def conflicts_of(ledger: StashLedger, names: Mapping[str, str]) -> tuple[SegmentConflict, ...]:
    """Return what was decided apart and not settled, newest first; `names` are those of machines."""
    return tuple(_conflict(edit, names) for edit in concurrent_edits(ledger))


def _conflict(edit: ConcurrentEdit[ContextSegment], names: Mapping[str, str]) -> SegmentConflict:
    why, evidence = edit_notes(SEGMENTS, edit, names)
    left, right = edit_sides(SEGMENTS, edit)
    contested = tuple[str, ...]()
    advice, removed = ADVICE, edit.left.after is None or edit.right.after is None
    one, other = (edit.record, edit.base or edit.record) if removed else (left, right)
    differing = tuple(
        name for name in sorted(SEGMENTS.editable) if getattr(one, name) != getattr(other, name)
    )
    if not removed:
        apart = fields_apart(left, right, edit.base)
        contested = tuple(name for name, both in apart.items() if both)
        advice = ADVICE if set(contested) == set(differing) else _TOGETHER if contested else _BOTH
    return SegmentConflict(
        edit.id,
        edit.slot,
        left,
        right,
        differing,
        contested,
        why,
        evidence,
        replace(advice, keep=left.id),
        max(edit.left.at, edit.right.at),
    )


def with_text(one: SegmentConflict, text: str) -> SegmentConflict:
    """Return a conflict with the segment's text on the sides that were not removed."""
    left, right = (side if side.text else replace(side, text=text) for side in (one.left, one.right))
    return replace(one, left=left, right=right)


def conflict_rows(found: Iterable[SegmentConflict]) -> list[ConflictRow]:
    """Return conflicts with their texts as the rows of a list; a side says first what differs of it."""
    return [
        ConflictRow(
            one.id,
            "segment",
            ConflictKind.CONCURRENT,
            1.0,
            *_row_sides(one),
            one.why,
            one.evidence,
            one.suggestion,
            updated=one.at,
        )
        for one in found
    ]


def _row_sides(one: SegmentConflict) -> tuple[ConflictSide, ConflictSide]:
    left, right = (
        ConflictSide(side.id, _describe_side(side, one.fields), version_place(note), "")
        for side, note in zip((one.left, one.right), one.evidence, strict=False)
    )
    return left, right


def _describe_side(side: ContextSegment, fields: Iterable[str]) -> str:
    values = [f"{name.replace('_', ' ')}: {plain_value(getattr(side, name))}" for name in fields]
    if side.text == REMOVED:
        return REMOVED
    return cut("\n".join([*values, side.text]), _TEXT)
