"""What faces answer about the stash: segments merged back into a context [rag §9]."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.records.answers.base import Answer, Count, Text
from workbench.records.segments import SegmentType


class MergedSegment(Answer, frozen=True):
    """A segment of the merged text; `beside` is why it is there though nobody named it."""

    segment_id: Text
    type: SegmentType
    session_id: str
    timestamp: str
    source: str
    tokens: Annotated[Count, Meta(description="Tokens of its own text.")]
    beside: str


class LeftOutSegment(Answer, frozen=True):
    """A segment that is not in the merged text, and why."""

    segment_id: Text
    reason: Text


class MergeResponse(Answer, frozen=True):
    """What `workbench stash merge --json` prints: segments merged back into a context."""

    merged_count: Count
    tokens_added: Annotated[Count, Meta(description="Tokens of the text as a whole.")]
    text: Annotated[str, Meta(description="The segments in the order of their times, framed as quotations.")]
    segments: Annotated[tuple[MergedSegment, ...], Meta(description="In the order of the text.")]
    left_out: tuple[LeftOutSegment, ...]
    conflicts: Annotated[
        tuple[tuple[Text, Text], ...],
        Meta(description="Decisions that contradict each other, the earlier one first."),
    ]
    removed: Annotated[bool, Meta(description="Whether the merged segments were removed from the stash.")]
