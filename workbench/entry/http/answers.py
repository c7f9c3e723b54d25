"""What the server answers besides what all faces do: pages of lists, receipts, its health, every failure."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.lists.conflicts import ConflictRow
from workbench.lists.learnings import LearningRow
from workbench.lists.segments import SegmentRow
from workbench.records.answers.base import Answer, Count, Share, Text, Texts
from workbench.records.conflicts import Action
from workbench.records.episodes import Outcome, SessionRow
from workbench.records.plan import Detail, QueryType
from workbench.records.project import Layer
from workbench.records.rules import Rule

Cursor = Annotated[str | None, Meta(description="Where the next page begins; null on the last.")]
Total = Annotated[Count, Meta(description="Rows of all pages.")]


class FailureText(Answer, frozen=True):
    """What was wrong, and what to try next."""

    code: Annotated[str, Meta(description="For programs: not_found, unauthorized, busy and so on.")]
    message: Text
    hint: str


class ErrorAnswer(Answer, frozen=True):
    """The body of every answer whose status is 400 or more."""

    error: FailureText


class Health(Answer, frozen=True):
    """That the server answers, and what it is doing."""

    status: Text
    version: Text
    pid: Count
    seconds: Annotated[float, Meta(ge=0, description="Since it was started.")]
    projects: Annotated[Count, Meta(description="Projects that are open.")]
    running: Annotated[Count, Meta(description="Requests that are worked on or wait for their turn.")]


class TextContext(Answer, frozen=True):
    """The layers of a kind of task as a text, which has at most so many tokens as were asked for."""

    query_type: QueryType
    detail: Detail
    layers: tuple[Layer, ...]
    files: tuple[str, ...]
    text: str
    tokens: Count
    complete: Annotated[bool, Meta(description="Whether all of it fitted.")]


class SessionReceipt(Answer, frozen=True):
    """A session that was started, new or not."""

    session_id: Text


class EventReceipt(Answer, frozen=True):
    """Whether anything was recorded; a repetition is not."""

    recorded: bool


class EpisodeState(Answer, frozen=True):
    """How an episode is now."""

    session_id: Text
    outcome: Outcome
    ended_at: int | None
    reads: Annotated[Count, Meta(description="Files that were read.")]
    edits: Annotated[Count, Meta(description="Files that were edited.")]


class SessionRows(Answer, frozen=True):
    """Sessions in order."""

    rows: tuple[SessionRow, ...]
    total: Total
    cursor: Cursor


class RuleRows(Answer, frozen=True):
    """Rules in order."""

    rows: tuple[Rule, ...]
    total: Total
    cursor: Cursor


class ScoredRule(Answer, frozen=True):
    """A default rule and how relevant it is."""

    rule: Rule
    relevance: Share


class RuleAnswer(Answer, frozen=True):
    """Every absolute rule that the filters let through, and the best default ones."""

    absolute: tuple[Rule, ...]
    default: tuple[ScoredRule, ...]


class LearningRows(Answer, frozen=True):
    """Learnings in order."""

    rows: tuple[LearningRow, ...]
    total: Total
    cursor: Cursor


class RecalledLearning(Answer, frozen=True):
    """A learning that a query found: an observation of earlier work, not an instruction."""

    id: Text
    text: Text
    feature: str
    reviewed: bool
    confidence: Share


class RecallAnswer(Answer, frozen=True):
    """Learnings that a query found, best first."""

    learnings: tuple[RecalledLearning, ...]
    total_found: Count


class SegmentRows(Answer, frozen=True):
    """Segments of the stash in order, their texts cut."""

    rows: tuple[SegmentRow, ...]
    total: Total
    cursor: Cursor


class StashReceipt(Answer, frozen=True):
    """What was put aside."""

    stashed_count: Count
    segment_ids: Texts
    tokens: Annotated[Count, Meta(description="Tokens of their texts.")]


class ConflictRows(Answer, frozen=True):
    """Conflicts that wait, in order: two sides, what speaks for each, and a suggested resolution."""

    rows: tuple[ConflictRow, ...]
    total: Total
    cursor: Cursor


class ConflictReceipt(Answer, frozen=True):
    """How a conflict was settled, and the ids of what holds because of it."""

    conflict: Text
    subject: Annotated[str, Meta(description="rule, learning or segment.")]
    action: Action
    held: Texts


class RemovalReceipt(Answer, frozen=True):
    """The record that was removed; undo brings it back."""

    removed: Text


class StepReceipt(Answer, frozen=True):
    """The step that was undone, or done again."""

    title: str
