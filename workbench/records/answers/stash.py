"""What faces answer about the stash: segments merged back into a context [rag §9]."""

from __future__ import annotations

from collections.abc import Mapping
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


class SummarySentence(Answer, frozen=True):
    """A sentence of a summary, and the segments it rests on."""

    text: Text
    segment_ids: tuple[Text, ...]


class StashSummary(Answer, frozen=True):
    """Segments condensed by a language model. Without `sentences` there is none, and `notes` say why."""

    text: Annotated[str, Meta(description="The sentences with their segments, framed as quotations.")]
    sentences: tuple[SummarySentence, ...]
    model: str
    prompt_tokens: Annotated[Count, Meta(description="Tokens sent when the model was asked.")]
    answer_tokens: Count
    cached: Annotated[bool, Meta(description="Whether the model answered the same question before.")]
    left_out: Annotated[tuple[Text, ...], Meta(description="Segments for which there was no room.")]
    degraded: Annotated[Texts, Meta(description="`summary` where there is none.")]
    notes: Texts


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
    summary: Annotated[
        StashSummary | None, Meta(description="With --summary: what is in the text in place of segments.")
    ] = None


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
    summary: Annotated[StashSummary | None, Meta(description="With --summary: what matters of them.")] = None


class MalformedLine(Answer, frozen=True):
    """A line that is no segment, and why."""

    line: Count
    reason: Text


class ImportedFile(Answer, frozen=True):
    """What was read of a file; the format is empty for what nobody known wrote."""

    path: str
    format: str
    lines: Count
    added: Count
    known: Annotated[Count, Meta(description="Segments of earlier imports.")]
    removed: Annotated[Count, Meta(description="Segments that were removed since, and stay so.")]
    malformed: Count
    errors: Annotated[tuple[MalformedLine, ...], Meta(description="At most a thousand.")]
    bytes_cut: Annotated[Count, Meta(description="Bytes of texts too large to be held.")]
    fault: Annotated[str, Meta(description="Why it could not be read to its end.")]


class ImportResponse(Answer, frozen=True):
    """What `workbench stash import --json` prints: what became segments, what was left out and why."""

    added: Count
    known: Count
    removed: Count
    malformed: Count
    lines: Count
    types: Annotated[Mapping[str, int], Meta(description="New segments by type, the most first.")]
    left_out: Annotated[Mapping[str, int], Meta(description="What is no segment, by reason.")]
    masked: Annotated[Mapping[str, int], Meta(description="Secrets by kind.")]
    files: tuple[ImportedFile, ...]
    notes: Annotated[Texts, Meta(description="What was not there, such as a model to embed with.")]
    timing: Annotated[Numbers, Meta(description="Milliseconds of import and embedding.")]


class JudgedPiece(Answer, frozen=True):
    """A piece of a context that stays or goes, and why."""

    segment_id: Text
    type: SegmentType
    source: str
    turn: Annotated[Count, Meta(description="From 0, the latest last.")]
    tokens: Count
    why: Text
    worth: Annotated[Share, Meta(description="What it was ranked by.")]
    parts: Numbers
    segments: Annotated[tuple[Text, ...], Meta(description="It and what was found in it: decisions, code.")]


class PruneResponse(Answer, frozen=True):
    """What `workbench stash prune --json` prints: what to put aside of a context, and what stays."""

    task: str
    budget: Count
    fits: bool
    tokens_before: Count
    tokens_after: Count
    aside: tuple[JudgedPiece, ...]
    kept: tuple[JudgedPiece, ...]
    note: Annotated[str, Meta(description="What was missing, such as a model.")]
    stashed: Annotated[tuple[Text, ...], Meta(description="Ids of what was put aside, with --apply.")]
    known: Annotated[tuple[Text, ...], Meta(description="Ids of what was in the stash before.")]
