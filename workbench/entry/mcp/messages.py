"""What the tools of the server take and answer: the arguments that an agent gives, the results it gets.

The published schemas are made from these, and arguments are checked against them. They are few and short
because every agent reads all of them, whether it asks or not. The stash has the fields of [rag §9].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from workbench.records.expansion import TOKENS
from workbench.records.segments import SegmentType

Words = Annotated[str, Meta(min_length=1)]
SessionId = Annotated[str, Meta(description="Default: this session.")]
Limit = Annotated[int, Meta(ge=1, le=100)]
Cursor = Annotated[str, Meta(description="next_cursor of the page before.")]


class ToolArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What an agent gives to a tool."""


class PlanArguments(ToolArguments, frozen=True):
    """Arguments of plan_context."""

    task: Annotated[str, Meta(min_length=1, description="As the user put it.")]
    token_budget: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    pinned: Annotated[tuple[str, ...], Meta(description="Paths or ids that must be in.")] = ()
    excluded: tuple[str, ...] = ()
    session_id: Annotated[str, Meta(description="Record an episode of this id.")] = ""
    contexts: tuple[str, ...] = ()
    facts: Annotated[Mapping[str, str], Meta(description="What rules ask for.")] = {}
    scenario: str = ""
    step: str = ""


class ExpandArguments(ToolArguments, frozen=True):
    """Arguments of expand."""

    handles: Annotated[tuple[str, ...], Meta(min_length=1)]
    token_budget: Annotated[int, Meta(ge=1)] = TOKENS
    again: bool = False


class FindArguments(ToolArguments, frozen=True):
    """Arguments of find_files."""

    task: Words
    limit: Limit = 10
    cursor: Cursor = ""


class RulesArguments(ToolArguments, frozen=True):
    """Arguments of rules_for."""

    task: str = ""
    tool: Annotated[str, Meta(description="E.g. Bash.")] = ""
    input: Mapping[str, Any] = {}
    contexts: tuple[str, ...] = ()
    facts: Mapping[str, str] = {}
    scenario: str = ""
    step: str = ""
    cursor: str = ""


class RememberArguments(ToolArguments, frozen=True):
    """Arguments of remember."""

    text: Annotated[str, Meta(min_length=1, max_length=500)]
    reason: Annotated[str, Meta(min_length=1, description="What showed it.")]
    feature: Annotated[str, Meta(description="E.g. auth.")] = "general"
    files: tuple[str, ...] = ()


class RecallArguments(ToolArguments, frozen=True):
    """Arguments of recall."""

    query: Annotated[str, Meta(description="Empty: list all.")] = ""
    limit: Limit = 10
    cursor: Cursor = ""


class GivenSegment(ToolArguments, frozen=True):
    """A segment as an agent gives it."""

    text: Words
    type: SegmentType = SegmentType.MESSAGE
    topic: str = ""
    source: str = ""


class StashArguments(ToolArguments, frozen=True):
    """Arguments of stash_context."""

    segments: tuple[str | GivenSegment, ...] = ()
    segment_ids: Annotated[tuple[str, ...], Meta(description="Stashed before.")] = ()
    expires_in_days: Annotated[float, Meta(gt=0)] | UnsetType = UNSET


class RetrieveArguments(ToolArguments, frozen=True):
    """Arguments of retrieve_stashed_context."""

    query: Words
    top_k: Annotated[int, Meta(ge=1, le=100)] = 5
    min_similarity: Annotated[float, Meta(ge=0, le=1)] | UnsetType = UNSET
    filters: Annotated[
        Mapping[str, Any], Meta(description="type, topic, session_id, source, start_time, end_time")
    ] = {}


class MergeArguments(ToolArguments, frozen=True):
    """Arguments of merge_stashed_context."""

    segment_ids: Annotated[tuple[str, ...], Meta(min_length=1)]


class ConflictsArguments(ToolArguments, frozen=True):
    """Arguments of list_conflicts."""

    cursor: str = ""


class SettleArguments(ToolArguments, frozen=True):
    """Arguments of settle_conflict: a choice among what people wrote, no words of the agent's own."""

    id: Words
    action: Literal["keep_left", "keep_right", "keep_both", "merge", "supersede"]
    reason: Annotated[str, Meta(min_length=1, description="As the user put it.")]


class FeedbackArguments(ToolArguments, frozen=True):
    """Arguments of record_feedback."""

    outcome: Literal["success", "partial", "failed"]
    reason: str = ""
    session_id: SessionId = ""


class ToolAnswer(Struct, frozen=True):
    """What a tool answers."""


class PlannedFile(ToolAnswer, frozen=True):
    """A file of a pack, how it is shown in the text, and why it is there."""

    path: str
    shown: str
    why: str


class PlanResult(ToolAnswer, frozen=True):
    """The answer of plan_context; `low_confidence` says that no file is likely enough to be relied on."""

    text: str
    tokens: int
    files: tuple[PlannedFile, ...]
    low_confidence: bool
    notes: tuple[str, ...] = ()


class ExpandResult(ToolAnswer, frozen=True):
    """The answer of expand."""

    text: str
    tokens: int


class FoundFile(ToolAnswer, frozen=True):
    """A file, what it is for, the chance that the task needs it, and what it was ranked by most."""

    path: str
    role: str
    chance: float
    why: str


class FilesResult(ToolAnswer, frozen=True):
    """The answer of find_files."""

    files: tuple[FoundFile, ...]
    low_confidence: bool
    next_cursor: str = ""


class RelevantRule(ToolAnswer, frozen=True):
    """A rule, where it is from, and why it is in the answer."""

    id: str
    rule: str
    origin: str
    why: str


class RulesResult(ToolAnswer, frozen=True):
    """The answer of rules_for; `decision` is that about a call, empty where none was given."""

    rules: tuple[RelevantRule, ...]
    decision: str = ""
    why: str = ""
    notes: tuple[str, ...] = ()
    next_cursor: str = ""


class RememberResult(ToolAnswer, frozen=True):
    """The answer of remember."""

    id: str
    reviewed: bool
    conflicts_with: tuple[str, ...] = ()


class FoundLearning(ToolAnswer, frozen=True):
    """A learning, what it is about, and whether a person reviewed it."""

    id: str
    text: str
    feature: str
    reviewed: bool
    confidence: float


class RecallResult(ToolAnswer, frozen=True):
    """The answer of recall."""

    learnings: tuple[FoundLearning, ...]
    note: str
    next_cursor: str = ""


class StashResult(ToolAnswer, frozen=True):
    """The answer of stash_context [rag §9]."""

    stashed_count: int
    segment_ids: tuple[str, ...]
    tokens_freed: int


class SegmentPreview(ToolAnswer, frozen=True):
    """A segment that was found; `text` is the part that was hit."""

    segment_id: str
    text: str
    type: str
    similarity: float
    timestamp: str


class RetrieveResult(ToolAnswer, frozen=True):
    """The answer of retrieve_stashed_context [rag §9]."""

    segments: tuple[SegmentPreview, ...]
    total_found: int
    note: str
    notes: tuple[str, ...] = ()


class MergeResult(ToolAnswer, frozen=True):
    """The answer of merge_stashed_context [rag §9]."""

    text: str
    merged_count: int
    tokens_added: int
    left_out: tuple[str, ...] = ()


class FoundConflict(ToolAnswer, frozen=True):
    """A conflict of two rules, learnings or versions: what each says, why they clash, what is suggested."""

    id: str
    left: str
    right: str
    why: str
    suggested: str


class ConflictsResult(ToolAnswer, frozen=True):
    """The answer of list_conflicts."""

    conflicts: tuple[FoundConflict, ...]
    note: str
    next_cursor: str = ""


class SettleResult(ToolAnswer, frozen=True):
    """The answer of settle_conflict: the ids of what holds because of it."""

    held: tuple[str, ...]


class FeedbackResult(ToolAnswer, frozen=True):
    """The answer of record_feedback."""

    session_id: str
    outcome: str
