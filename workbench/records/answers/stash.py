"""What faces answer about the stash: segments merged back into a context [rag §9]."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.records.answers.base import Answer, Count, Numbers, Share, Text, Texts
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


class RetrievedSegment(Answer, frozen=True):
    """A segment that a query found. `text` is the part that was hit, with what is around it."""

    segment_id: Text
    session_id: str
    score: Annotated[float, Meta(ge=0, description="What orders: similarity, age and time in the stash.")]
    similarity: Annotated[Share, Meta(description="0.5 is as likely relevant as not.")]
    temporal: Share
    recency: Share
    type: SegmentType
    timestamp: str
    stashed_at: str
    age_days: Annotated[float, Meta(ge=0)]
    topic: str
    source: str
    tokens: Count
    text: Annotated[str, Meta(description="The part that was hit, at most 500 characters.")]
    why: str
    parts: Annotated[Numbers, Meta(description="What the similarity is made of, by signal.")]


class RetrieveResponse(Answer, frozen=True):
    """What `workbench stash search --json` prints: segments that a query found, best first."""

    query: str
    total_found: Count
    segments: tuple[RetrievedSegment, ...]
    degraded: Annotated[Texts, Meta(description="What was not there, e.g. vectors.")]
    notes: Texts
