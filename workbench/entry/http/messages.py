"""What is sent to the server: the bodies of requests and the parameters of queries, field by field.

The published schemas are made from these, and requests are checked against them. `PlanContextRequest` has the
fields of [img §8.1] and a few that other faces have, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from workbench.records.conflicts import Action
from workbench.records.episodes import ChangeKind, EventType, Outcome
from workbench.records.expansion import TOKENS, Aspect
from workbench.records.plan import Detail, MlMode, QueryType
from workbench.records.segments import SegmentType

Words = Annotated[str, Meta(min_length=1)]
Budget = Annotated[int, Meta(ge=1, le=10_000_000)]
PageSize = Annotated[int, Meta(ge=1, le=1000)]
Reason = Annotated[str, Meta(description="Why, for the history.")]
Known = Mapping[str, str | tuple[str, ...]]

LONGEST_WAIT: int = 600_000
"""Milliseconds."""


class Request(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every request may say."""

    project_root: Annotated[
        str,
        Meta(description="Absolute path of a directory in the project. Default: the server's own project."),
    ] = ""


class WorkRequest(Request, frozen=True, kw_only=True):
    """What is known of the work, for rules that hold only there."""

    agent: Annotated[str, Meta(description="The agent it is for, such as claude.")] = ""
    contexts: Annotated[tuple[str, ...], Meta(description="Names in force, for the scopes of rules.")] = ()
    facts: Annotated[Known, Meta(description="Values by name, for the conditions of rules.")] = {}
    scenario: Annotated[str, Meta(description="Default: the one active in the session.")] = ""
    step: Annotated[str, Meta(description="Default: the one active in the session.")] = ""


class PlanContextRequest(WorkRequest, frozen=True, kw_only=True):
    """What is to be planned [img §8.1]."""

    task: Annotated[str, Meta(min_length=1, description="What is to be done, as the user put it.")]
    query_type: Annotated[QueryType | None, Meta(description="Default: by the task's words.")] = None
    token_budget: Annotated[Budget | None, Meta(description="Default: the setting plan.budget.")] = None
    latency_budget_ms: Annotated[
        Annotated[int, Meta(ge=1, le=LONGEST_WAIT)] | None,
        Meta(
            description="How long the request may wait for its turn, after which it is refused with 503, and "
            "then for other programs and models, after which it is planned without them."
        ),
    ] = None
    ml_mode: Annotated[
        MlMode | None,
        Meta(
            description="off: words and structure alone; fast: embeddings, too; full: and a second stage. "
            "Default: the setting plan.ml_mode."
        ),
    ] = None
    detail: Annotated[
        Detail, Meta(description="compact: no file as a whole; verbose: no file as an outline.")
    ] = Detail.NORMAL
    strict: Annotated[
        bool | None, Meta(description="Refuse with 409 when files changed since the last index.")
    ] = None
    session_id: Annotated[
        str, Meta(description="The episode that is given the pack, started if it is new.")
    ] = ""
    pinned: Annotated[tuple[str, ...], Meta(description="Paths or ids that must be in.")] = ()
    excluded: tuple[str, ...] = ()


class ExplainRequest(PlanContextRequest, frozen=True, kw_only=True):
    """A file, and the plan in which it is to be explained."""

    path: Annotated[str, Meta(min_length=1, max_length=4_096, description="Relative to the project's root.")]


class ExpandHandlesRequest(Request, frozen=True, kw_only=True):
    """What is to be shown by name."""

    handles: Annotated[
        tuple[str, ...],
        Meta(
            min_length=1,
            max_length=50,
            description="Names (Terminal.Loop), files, path:name, path:120-180, path:rest; with :callers, "
            ":uses, :subclasses or :links what is around them.",
        ),
    ]
    token_budget: Annotated[Budget, Meta(description="Of the text as a whole.")] = TOKENS
    aspect: Annotated[Aspect, Meta(description="Of every handle that names none of its own.")] = Aspect.SHOW
    session_id: Annotated[str, Meta(description="What it was given before is not given again.")] = ""
    again: Annotated[bool, Meta(description="Give also what the session was given before.")] = False


class ExploreRequest(Request, frozen=True, kw_only=True):
    """Which layers are to be shown, and how much of each."""

    query_type: QueryType = QueryType.GENERAL
    detail: Detail = Detail.COMPACT


class ContextRequest(ExploreRequest, frozen=True, kw_only=True):
    """Which layers are wanted as a text of at most so many tokens."""

    token_budget: Annotated[Budget | None, Meta(description="Default: the setting plan.budget.")] = None


class DeltaRequest(Request, frozen=True, kw_only=True):
    """What to compare the project with."""

    since: Annotated[str, Meta(description="A commit, branch or tag. Default: ten commits ago.")] = ""


class StartRequest(Request, frozen=True, kw_only=True):
    """The task that an episode is for."""

    task: Words
    session_id: Annotated[str, Meta(description="Default: a new id.")] = ""
    query_type: QueryType | None = None
    token_budget: Budget | None = None


class EventRequest(Request, frozen=True, kw_only=True):
    """What a session did."""

    session_id: Words
    event_type: EventType
    files: Annotated[tuple[str, ...], Meta(description="Paths from the project's root.")] = ()
    kind: Annotated[ChangeKind | None, Meta(description="What an edit did to its files.")] = None
    symbol: str = ""
    payload: Mapping[str, Any] = {}
    key: Annotated[str, Meta(description="Names the event: the same key again changes nothing.")] = ""


class EndRequest(Request, frozen=True, kw_only=True):
    """How a session ended."""

    session_id: Words
    outcome: Outcome = Outcome.UNKNOWN
    commit_sha: str = ""
    token_used: Annotated[int, Meta(ge=0, le=10**12)] | None = None


class FeedbackRequest(Request, frozen=True, kw_only=True):
    """How a session went in hindsight."""

    session_id: Words
    outcome: Outcome | None = None
    rationale: str = ""


class RecordRequest(Request, frozen=True, kw_only=True):
    """Which record is meant."""

    id: Words


class ListRequest(Request, frozen=True, kw_only=True):
    """Which page of a list is wanted."""

    filter: Annotated[str, Meta(description="As in the app: words and field:value, at most 50 terms.")] = ""
    sort: Annotated[str, Meta(description="A column, `-` before it for the other direction.")] = ""
    limit: PageSize = 100
    cursor: Annotated[str, Meta(description="The cursor of the page before.")] = ""


class ChangeRequest(RecordRequest, frozen=True, kw_only=True):
    """Which record changes, and why."""

    reason: Reason = ""


class UndoRequest(Request, frozen=True, kw_only=True):
    """Which step is undone."""

    step: Annotated[str, Meta(description="The id of a step. Default: the last one.")] = ""


class MatchRequest(WorkRequest, frozen=True, kw_only=True):
    """The task that rules are matched with, and what is known of the work."""

    task: Words
    session_id: str = ""


class CheckRequest(WorkRequest, frozen=True, kw_only=True):
    """The call of a tool that may break a rule."""

    tool: Words
    input: Annotated[Mapping[str, Any], Meta(description="The call's input.")] = {}
    cwd: Annotated[str, Meta(description="Where it runs. Default: the project's root.")] = ""


class RuleFilters(Request, frozen=True, kw_only=True):
    """What rules have in common; what is left out asks for nothing."""

    scope: tuple[str, ...] = ()
    category: str = ""
    authority: str = ""
    tool_targets: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    enabled: bool | None = None


class RuleFetchRequest(RuleFilters, frozen=True, kw_only=True):
    """Filters, and which page of the rules that they let through is wanted."""

    limit: PageSize = 100
    cursor: Annotated[str, Meta(description="The cursor of the page before.")] = ""
    bypass_cache: Annotated[bool, Meta(description="Ask the store, and renew what is cached.")] = False


class RuleSearchRequest(RuleFilters, frozen=True, kw_only=True):
    """A query and filters: every absolute rule that they let through, and the best of the others."""

    query: Words
    k: Annotated[int, Meta(ge=1, le=1000)] = 5
    threshold: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description="Least relevance. Default: the setting rules.threshold."),
    ] = None


class RuleValues(Request, frozen=True, kw_only=True):
    """Fields of a rule that people decide; what is left out stays or has its default."""

    name: str | UnsetType = UNSET
    scope: tuple[str, ...] | UnsetType = UNSET
    category: str | UnsetType = UNSET
    authority: str | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    tool_targets: tuple[str, ...] | UnsetType = UNSET
    level: str | UnsetType = UNSET
    condition_text: str | UnsetType = UNSET
    conditions: Mapping[str, Any] | UnsetType = UNSET
    examples: tuple[str, ...] | UnsetType = UNSET
    cooldown: int | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    check: Mapping[str, Any] | UnsetType | None = UNSET
    reason: Reason = ""


class AddRuleRequest(RuleValues, frozen=True, kw_only=True):
    """A rule to be added."""

    rule: Words
    home: Annotated[bool, Meta(description="Whether it is yours in all projects.")] = False
    file: Annotated[str, Meta(description="The rule file it is to be written into.")] = ""


class EditRuleRequest(RuleValues, frozen=True, kw_only=True):
    """What changes of a rule; other words make a new version with an id of its own."""

    id: Words
    rule: str | UnsetType = UNSET


class AddLearningRequest(Request, frozen=True, kw_only=True):
    """A learning to be added; one that a person words is reviewed as it comes."""

    text: Annotated[str, Meta(min_length=1, max_length=500)]
    feature: Words
    reason: Annotated[str, Meta(min_length=1, description="What showed it.")]
    files: tuple[str, ...] = ()
    task_id: str | None = None
    home: Annotated[bool, Meta(description="Whether it is yours in all projects.")] = False
    agent: Annotated[bool, Meta(description="Whether an agent words it: then it waits for a review.")] = False


class RecallRequest(Request, frozen=True, kw_only=True):
    """What is to be found among what was learned."""

    query: Words
    limit: PageSize = 10


class NewSegment(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A segment to be put aside."""

    text: Words
    segment_id: str = ""
    session_id: str = ""
    type: SegmentType = SegmentType.MESSAGE
    timestamp: str = ""
    topic: str | None = None
    source: str = ""
    references: tuple[str, ...] = ()
    expires_at: str | None = None
    protected: bool = False
    metadata: Mapping[str, str] = {}


class TrainRequest(Request, frozen=True, kw_only=True):
    """What a model is to be trained on [img §8.3]."""

    since: Annotated[int, Meta(ge=0, description="Seconds since the epoch: only tasks begun since then.")] = 0
    min_samples: Annotated[int, Meta(ge=50, le=100_000, description="Refuse with fewer past tasks.")] = 500
    seed: Annotated[int, Meta(ge=0, le=2**31)] = 7
    activate: Annotated[bool, Meta(description="Use the model where it is better.")] = True
    model_kind: Annotated[
        Literal["linear", "adapter"],
        Meta(description="Weights of features, or a map of the vectors of tasks."),
    ] = "linear"


class ActivateRequest(Request, frozen=True, kw_only=True):
    """The model that plans are to rank with."""

    model_id: Words
    share: Annotated[
        float, Meta(gt=0, le=1, description="Share of plans it is tried on; 1 makes it the active one.")
    ] = 1.0


class RollbackRequest(Request, frozen=True, kw_only=True):
    """The kind of model whose canary ends, or whose former one comes back."""

    model_kind: Annotated[str, Meta(description="linear, trees, calibration, adapter or ollama_rerank.")] = (
        "linear"
    )


class SettleRequest(ChangeRequest, frozen=True, kw_only=True):
    """What is decided about a conflict."""

    action: Annotated[Action | None, Meta(description="Default: what is suggested.")] = None
    text: Annotated[str, Meta(description="The words of a merge. Default: those that are suggested.")] = ""
    keep: Annotated[
        Literal["left", "right", ""],
        Meta(description="Of supersede and narrow_scope the side that stays as it is."),
    ] = ""
    scope: Annotated[tuple[str, ...], Meta(description="What narrow_scope limits the other side to.")] = ()


class StashRequest(Request, frozen=True, kw_only=True):
    """Segments to be put aside as one step."""

    segments: Annotated[tuple[NewSegment, ...], Meta(min_length=1, max_length=10_000)]
    reason: Reason = ""


class StashSearchRequest(Request, frozen=True, kw_only=True):
    """What is looked for in the stash: any of words, a task, messages and open files."""

    query: str = ""
    task: str = ""
    messages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    top_k: Annotated[int, Meta(ge=1, le=1000)] | UnsetType = UNSET
    min_similarity: Annotated[float, Meta(ge=0, le=1)] | UnsetType = UNSET
    filters: Annotated[
        Mapping[str, Any], Meta(description="type, topic, session_id, source, start_time, end_time")
    ] = {}


class MergeRequest(Request, frozen=True, kw_only=True):
    """Which segments come back, and what comes along."""

    segment_ids: Annotated[tuple[str, ...], Meta(min_length=1, max_length=10_000)]
    hops: Annotated[int, Meta(ge=0, le=10)] = 0
    neighbours: Annotated[int, Meta(ge=0, le=100)] = 0
    remove: Annotated[bool, Meta(description="Whether they leave the stash.")] = False
    session_id: str = ""


class EditSegmentRequest(ChangeRequest, frozen=True, kw_only=True):
    """What changes of a segment; its text never does."""

    session_id: str | UnsetType = UNSET
    type: SegmentType | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    topic: str | UnsetType | None = UNSET
    source: str | UnsetType = UNSET
    references: tuple[str, ...] | UnsetType = UNSET
    expires_at: str | UnsetType | None = UNSET
    protected: bool | UnsetType = UNSET
    metadata: Mapping[str, str] | UnsetType = UNSET
