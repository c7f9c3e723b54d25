"""History: commits as git reports them, and the episodes [img 6] they become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from workbench.records.dataclass import dataclass


class Outcome(StrEnum):
    """How an episode ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"
    UNKNOWN = "unknown"


class EventType(StrEnum):
    """What a session did [img 6]."""

    READ = "read"
    EDIT = "edit"
    GREPAI_HIT = "grepai_hit"
    DELTA = "delta"
    DECISION = "decision"
    FEEDBACK = "feedback"


class ChangeKind(StrEnum):
    """What happened to a path."""

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path of a commit. `added` and `removed` count lines (0 for binary files).

    `old_path` is the name before a rename, else empty.
    """

    path: str
    kind: ChangeKind
    added: int = 0
    removed: int = 0
    old_path: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit. `at` is the committer time in seconds since the epoch."""

    sha: str
    parents: tuple[str, ...]
    at: int
    subject: str
    body: str
    files: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class CommittedPaths:
    """Which paths a commit took, and when it was written: what neither a rebase nor an amendment changes."""

    sha: str
    at: int
    paths: frozenset[str]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing a session did [img 6, table episode_events].

    `late` marks what was reported after the episode's end. `key` is the reporter's own name for it: the same
    event reported twice under one key counts once.
    """

    event_type: EventType
    timestamp: int
    file_path: str = ""
    symbol: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    late: bool = False
    key: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """One task and what was done for it [img 6, table episodes].

    `source` says who reported it (git, claude_code, codex, cli, …); the prompt `prompt_index` of the session
    `parent_session` began it, where it is a part of one. `outcome_evidence` says what the outcome rests on.
    `closed_by` is `timeout` if nobody said that it ended, and then `ended_at` is its last event.
    `last_at` is when it was heard of last; `judged` what feedback said of its outcome, if any.
    """

    session_id: str
    project_id: str
    task_text: str
    task_fingerprint: str
    query_type: str
    started_at: int
    ended_at: int | None
    outcome: Outcome
    changes: tuple[FileChange, ...]
    reads: tuple[str, ...] = ()
    issue_refs: tuple[str, ...] = ()
    commit_sha: str = ""
    token_budget: int | None = None
    token_used: int | None = None
    latency_ms: int | None = None
    source: str = ""
    parent_session: str = ""
    prompt_index: int | None = None
    outcome_evidence: str = ""
    closed_by: str = ""
    rationale: str = ""
    last_at: int = 0
    judged: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """An episode with its events, in the order they were recorded: task → reads → edits → outcome."""

    episode: Episode
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session in a list. `reads` and `edits` count files, `events` everything that was recorded of it."""

    session_id: str
    task_text: str
    query_type: str
    started_at: int
    ended_at: int | None
    outcome: str
    source: str
    parent_session: str
    prompt_index: int | None
    outcome_evidence: str
    closed_by: str
    reads: int
    edits: int
    events: int
    last_at: int


@dataclass(frozen=True, slots=True)
class Completeness:
    """How many sessions tell a whole story [img 13, causal_trace_completeness]. Commits are no sessions.

    Of `ended` ones, `traced` have a task, a file that was read or edited, and an outcome other than unknown;
    `full` have both reads and edits: task → reads → edits → outcome. `open` ones are not counted among the
    ended. A session of an agent is recorded by its prompts; of the `agents` ones that those are parts of,
    `whole` have a task, reads, edits and an outcome among them. Both are 0 where parts alone were counted.
    """

    ended: int = 0
    traced: int = 0
    full: int = 0
    open: int = 0
    agents: int = 0
    whole: int = 0

    @property
    def share(self) -> float | None:
        """full / ended in [0, 1], None where no session has ended."""
        return round(self.full / self.ended, 4) if self.ended else None
