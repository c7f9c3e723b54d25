"""Commits as episodes [img 6]: each finished commit is a task, its message, and the files it took."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from workbench.records.episodes import Commit, Outcome
from workbench.records.plan import Intent
from workbench.text.tasks import clean_task

MAX_TEXT = 4_000
MAX_CHANGES = 400  # a commit beyond this is a mass change: its first files stand for it
SOURCE = "import:git"
KIND = "episode.imported"

_PREFIX = "git:"

Understand = Callable[[str], Intent]


def commit_session(sha: str) -> str:
    """Return the id of a commit's episode."""
    return f"{_PREFIX}{sha}"


def session_commit(session: str) -> str:
    """Return the commit of an episode, empty if it is not a commit's."""
    return session.removeprefix(_PREFIX) if session.startswith(_PREFIX) else ""


def commit_episode(commit: Commit, project_id: str, understand: Understand) -> dict[str, Any] | None:
    """Return the journal body of a commit, or None if it says or changes nothing."""
    text = clean_task(f"{commit.subject}\n\n{commit.body}" if commit.body else commit.subject)[:MAX_TEXT]
    if not text or not commit.files:
        return None
    intent = understand(text)
    return {
        "session_id": commit_session(commit.sha),
        "project_id": project_id,
        "task_text": text,
        "task_fingerprint": intent.task_fingerprint,
        "query_type": intent.predicted.value,
        "started_at": commit.at,
        "ended_at": commit.at,
        "outcome": Outcome.SUCCESS.value,
        "commit_sha": commit.sha,
        "issue_refs": list(intent.entities.issue_refs),
        "changes": [
            [change.path, change.kind.value, change.added, change.removed, change.old_path]
            for change in commit.files[:MAX_CHANGES]
        ],
        "reads": [],
    }


def commit_episodes(
    commits: Iterable[Commit], project_id: str, understand: Understand
) -> Iterator[dict[str, Any]]:
    """Return the journal bodies of commits, in their order."""
    for commit in commits:
        body = commit_episode(commit, project_id, understand)
        if body is not None:
            yield body
