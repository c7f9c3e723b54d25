"""The bodies of the journal kinds that tables are made of. What has another form is rejected and reported."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import msgspec

from workbench.records.answers.models import ModelProvenance
from workbench.records.episodes import ChangeKind, Outcome

# Numbers that every column and every other program can hold.
Whole = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
Name = Annotated[str, msgspec.Meta(min_length=1)]

EventType = Literal["read", "edit", "grepai_hit", "delta", "decision", "feedback"]


class ChangeBody(msgspec.Struct, array_like=True):
    """`[path, kind, added, removed, old_path]`."""

    path: str
    kind: ChangeKind
    added: Whole = 0
    removed: Whole = 0
    old_path: str = ""


class EpisodeStarted(msgspec.Struct):
    """A live session begins; a second start of the same session changes nothing."""

    session_id: Name
    project_id: str
    task_text: str
    task_fingerprint: str
    query_type: str
    started_at: Whole
    token_budget: Whole | None = None
    issue_refs: list[str] = []
    source: str | None = None
    parent_session: str | None = None
    prompt_index: Whole | None = None


class EpisodeImported(EpisodeStarted):
    """A whole episode from a source that is over: a commit, a transcript. Replaces one of its session."""

    ended_at: Whole | None = None
    outcome: Outcome = Outcome.UNKNOWN
    commit_sha: str | None = None
    changes: list[ChangeBody] = []
    reads: list[str] = []
    token_used: Whole | None = None
    latency_ms: Whole | None = None
    outcome_evidence: str | None = None


class EpisodeEvent(msgspec.Struct):
    """Something a live session did. An edit's `payload.kind` is what happened to the file.

    `issue_refs` are those of the session's task, `late` marks what came after the end, when `commit_sha` may
    be known.
    """

    session_id: Name
    event_type: EventType
    timestamp: Whole
    file_path: str | None = None
    symbol: str | None = None
    payload: dict[str, Any] | None = None
    issue_refs: list[str] = []
    commit_sha: str | None = None
    late: bool = False


class EpisodeEnded(msgspec.Struct):
    """A live session is over; fields left out keep their values. `closed_by` is `timeout` or empty."""

    session_id: Name
    ended_at: Whole | None = None
    outcome: Outcome | None = None
    token_budget: Whole | None = None
    token_used: Whole | None = None
    latency_ms: Whole | None = None
    commit_sha: str | None = None
    closed_by: str = ""
    outcome_evidence: str | None = None


class FeedbackGiven(msgspec.Struct):
    """A person's or an agent's feedback on a session."""

    session_id: Name
    timestamp: Whole
    outcome: Outcome | None = None
    rationale: str | None = None


class EpisodeForgotten(msgspec.Struct):
    """Sessions that must go with everything derived from them, as after a rewrite of history."""

    session_ids: list[str]


class ModelRegistered(msgspec.Struct):
    """A model; registering it again replaces it and keeps whether it is active."""

    model_id: Name
    model_kind: Name
    version: str
    created_at: Whole
    params: Any = None
    provenance: ModelProvenance = ModelProvenance()


class ModelActivated(msgspec.Struct):
    """From now on this model is the one of its kind."""

    model_id: Name


class ModelDeactivated(msgspec.Struct):
    """From now on what comes with the program is the one of a kind."""

    model_kind: Name


class ModelTried(msgspec.Struct):
    """From now on this model is tried on a share of plans; 0 once that is settled."""

    model_id: Name
    share: float = 0.0


class RuleRemoved(msgspec.Struct):
    """A rule is gone; `successor` is the one in its place."""

    id: Name
    successor: str | None = None


class RuleUsed(msgspec.Struct):
    """A session of a tool was given rules."""

    rule_ids: list[str]
    session_id: str = ""
    tool: str = ""


class ConflictResolved(msgspec.Struct):
    """Somebody decided about two rules."""

    id: Name
    left: str = ""
    right: str = ""
    action: str = ""


class ConflictReopened(msgspec.Struct):
    """That decision was taken back."""

    id: Name


class AnchorBody(msgspec.Struct):
    """Where a rule is in a file."""

    rule_id: str
    line: Whole
    end_line: Whole
    digest: str


class FileSynced(msgspec.Struct):
    """How a rule file was when it was last synced."""

    file: Name
    format: str
    digest: str
    anchors: list[AnchorBody] = []
    named: bool = False


class FileForgotten(msgspec.Struct):
    """A rule file is gone."""

    file: Name


class MeasuredBody(msgspec.Struct):
    """One operation. `cache` maps a level to [hits, misses], `stages` a name to milliseconds."""

    operation: Name
    duration_ms: float
    stages: dict[str, float] = {}
    cache: dict[str, tuple[Whole, Whole]] = {}
    tokens: Whole | None = None
    candidates: Whole | None = None
    degraded: list[str] = []
    ok: bool = True
    tokens_saved: Whole | None = None


def json_text(value: object) -> str:
    """Return a value as JSON that every reader accepts; lone surrogates become question marks."""
    try:
        return msgspec.json.encode(value).decode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace").decode("utf-8")
