"""History: commits as git tells them, and the episodes [img 6] they become."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How an episode ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"
    UNKNOWN = "unknown"


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
class Episode:
    """One task and what was touched for it [img 6, table episodes]."""

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
