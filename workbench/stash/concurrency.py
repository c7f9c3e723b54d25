"""What machines of a team decided of a segment without having seen each other's: conflicts of its versions.

The text of a segment never changes, so that a conflict is of what else is known of it: type, topic,
references, protection, when it expires, or that it was removed. Decisions about different fields do not
contradict each other: the suggested way out keeps both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from workbench.curation.concurrency import (
    ADVICE,
    ConcurrentEdit,
    concurrent_edits,
    edit_notes,
    edit_sides,
)
from workbench.records.conflicts import Action, Evidence, Suggestion
from workbench.records.dataclass import dataclass
from workbench.records.segments import ContextSegment
from workbench.stash.segmenttype import (
    SEGMENTS,
)
from workbench.stash.stashstore import StashLedger, fields_apart

_BOTH: Final = Suggestion(Action.MERGE, "They changed different fields: both can hold.")
_TOGETHER: Final = Suggestion(Action.MERGE, "Both changes can hold but for what both changed: read both.")


@dataclass(frozen=True, slots=True)
class SegmentConflict:
    """Two versions of a segment that were written apart: `left` is in force, `right`, by its version, is not.

    `fields` are those that differ, and `contested` those of them that both changed. A version that was
    removed has "(removed)" for its text.
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


def conflicts_of(ledger: StashLedger, names: Mapping[str, str]) -> tuple[SegmentConflict, ...]:
    """Return what was decided apart and not settled, newest first; `names` are those of machines."""
    return tuple(_conflict(edit, names) for edit in concurrent_edits(ledger))


def _conflict(edit: ConcurrentEdit[ContextSegment], names: Mapping[str, str]) -> SegmentConflict:
    why, evidence = edit_notes(SEGMENTS, edit, names)
    left, right = edit_sides(SEGMENTS, edit)
    differing, contested = tuple[str, ...](), tuple[str, ...]()
    advice = ADVICE
    if edit.left.after is not None and edit.right.after is not None:
        differing = tuple(
            name for name in sorted(SEGMENTS.editable) if getattr(left, name) != getattr(right, name)
        )
        apart = fields_apart(left, right, edit.base)
        contested = tuple(name for name, both in apart.items() if both)
        advice = ADVICE if set(contested) == set(differing) else _TOGETHER if contested else _BOTH
    return SegmentConflict(
        edit.id, edit.slot, left, right, differing, contested, why, evidence, replace(advice, keep=left.id)
    )


def with_text(one: SegmentConflict, text: str) -> SegmentConflict:
    """Return a conflict with the segment's text on the sides that were not removed."""
    left, right = (side if side.text else replace(side, text=text) for side in (one.left, one.right))
    return replace(one, left=left, right=right)
