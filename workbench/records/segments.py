"""Context segments: what was put aside from a conversation, and what is asked of the stash [rag §4, §7].

All times are ISO 8601 in UTC, `2026-11-22T11:20:07+00:00`, so that their order is that of their texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final, TypedDict

from workbench.records.dataclass import dataclass

MAX_SEGMENT: Final = 1_000_000
"""Characters of the text of one segment; what is longer is imported in parts."""


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text, hex: segments of one digest have the same content."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


VECTORS: Final = "vectors"
"""What is degraded where a server is to compare vectors and does not."""


class SegmentType(StrEnum):
    """What a segment is [rag §4]."""

    MESSAGE = "message"  # of a conversation
    CODE_BLOCK = "code_block"
    FILE_CONTENT = "file_content"  # the whole of a file or a part
    ERROR_LOG = "error_log"  # an error with its stack
    DEBUG_OUTPUT = "debug_output"  # output of tools, logs
    TASK_STATE = "task_state"  # the current task and its goals
    DECISION = "decision"  # what was decided and why
    RESEARCH = "research"  # findings and notes


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSegment:
    """A piece of context that was put aside [rag §4]. All but `text` may be left out of a new one.

    `text` is what was said and never changes; it is empty where it was not read, and `digest` (SHA-256, hex)
    tells contents apart. `timestamp` is when it was created and `stashed_at` when it was put aside. `source`
    is a file's path, a message's id or `claude_code:<session>#<line>`. `references` are ids of segments it
    refers to, there or not. `embedding_model` is the one whose vectors the index has of it, "" for what was
    stashed since that was written. Once `expires_at` is over it is no longer found and may be collected,
    unless it is `protected`. `metadata` are further facts: the name of a tool, an exit code, which part of
    what it is.
    """

    segment_id: str = ""
    session_id: str = ""
    text: str
    type: SegmentType = SegmentType.MESSAGE
    timestamp: str = ""
    stashed_at: str = ""
    tokens: int = 0
    topic: str | None = None
    source: str = ""
    references: tuple[str, ...] = ()
    embedding_model: str = ""
    expires_at: str | None = None
    protected: bool = False
    project_id: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""

    @property
    def id(self) -> str:
        """The segment's id, under the name that all curated records have."""
        return self.segment_id

    def is_expired(self, now: str) -> bool:
        """Whether it is over at a moment; protected segments do not expire."""
        return self.expires_at is not None and self.expires_at <= now and not self.protected


class SegmentFields(TypedDict, total=False):
    """What may be given of a new segment besides its text, and but for its id be changed later."""

    segment_id: str
    session_id: str
    type: SegmentType
    timestamp: str
    topic: str | None
    source: str
    references: tuple[str, ...]
    expires_at: str | None
    protected: bool
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFilters:
    """What segments must be to be searched at all; an empty field lets all through.

    `types`, `topics` and `sessions` are values of which one must be theirs, `sources` are globs. `start_time`
    and `end_time` bound `timestamp`, both included.
    """

    types: tuple[SegmentType, ...] = ()
    topics: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    start_time: str = ""
    end_time: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StashQuery:
    """What is looked for: the four kinds of queries of [rag §7], alone or together.

    `text` is what the agent looks for, `task` what it works on, `messages` the latest of its conversation,
    the newest last, and `files` the paths or contents it has open. At most `top_k` segments come back, each
    with a calibrated similarity of `min_similarity` (0 to 1) at least.
    """

    text: str = ""
    task: str = ""
    messages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    top_k: int = 5
    min_similarity: float = 0.5
    filters: SegmentFilters = field(default_factory=SegmentFilters)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSegment:
    """A segment that a query found, and why [rag §7].

    `score` orders: the weighted sum of `similarity`, `temporal` and `recency`, each in [0, 1]. `similarity`
    is calibrated: at 0.5 it is as likely relevant as not. `rank` counts from 1. `parts` are the signals that
    similarity was made of, by name. `passage` is the chunk that was hit, with its neighbours. `why` is one
    sentence. `age_days` is since it was created, 0 if that is in the future.
    """

    segment: ContextSegment
    score: float
    similarity: float
    temporal: float
    recency: float
    rank: int
    parts: Mapping[str, float] = field(default_factory=dict)
    passage: str = ""
    why: str = ""
    age_days: float = 0.0
