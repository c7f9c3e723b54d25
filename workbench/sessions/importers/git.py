"""Commits as episodes [img 6]: each finished commit is a task, its message, and the files it took."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import chain, islice
from typing import Any

from workbench.records.dataclass import dataclass
from workbench.records.episodes import Commit, Outcome
from workbench.records.plan import Intent
from workbench.text.counts import plural
from workbench.text.redact import redact
from workbench.text.terms import clean_task

MAX_TEXT = 4_000
MAX_CHANGES = 400  # a commit beyond this is a mass change: its first files represent it
SOURCE = "import:git"
KIND = "episode.imported"

_PREFIX = "git:"
_BATCH = 50
_PARALLEL_FROM = 300  # fewer are understood before a process is started

Understand = Callable[[str], Intent]


@dataclass(frozen=True, slots=True)
class Commits:
    """What version control answers about the past. All may raise GitError.

    `newest(limit, since, unreadable)` yields the newest `limit` commits (None: all), oldest first, without
    those that the commit `since` reaches, and adds the ids of those that it cannot read to `unreadable`; a
    `since` that is gone counts as None. `count(since)` is how many there are.
    `lost(ids)` are those of some commits that no reference holds any more. `edge()` is a text that changes
    when commits appear behind those that are there, as when a shallow clone is deepened.
    """

    newest: Callable[[int | None, str | None, set[str]], Iterator[Commit]]
    count: Callable[[str | None], int]
    lost: Callable[[Collection[str]], frozenset[str]]
    edge: Callable[[], str]


def unreadable_sentence(count: int) -> str:
    """Return what is said of commits that version control could not read."""
    return f"left out of the history: {plural(count, 'commit')} that git cannot read; see `git fsck`"


def commit_session(sha: str) -> str:
    """Return the id of a commit's episode."""
    return f"{_PREFIX}{sha}"


def session_commit(session: str) -> str:
    """Return the commit of an episode, empty if it is not a commit's."""
    return session.removeprefix(_PREFIX) if session.startswith(_PREFIX) else ""


def commit_episode(commit: Commit, project_id: str, understand: Understand) -> dict[str, Any] | None:
    """Return the journal body of a commit, or None without message or changes."""
    message = f"{commit.subject}\n\n{commit.body}" if commit.body else commit.subject
    text = redact(clean_task(message)).text[:MAX_TEXT]
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
    commits: Iterable[Commit], project_id: str, understand: Understand, *, workers: int | None = 1
) -> Generator[dict[str, Any], None, None]:
    """Yield the journal bodies of commits, in their order; of many commits, by several processes."""
    source = iter(commits)
    first = list(islice(source, _PARALLEL_FROM))
    episode = partial(commit_episode, project_id=project_id, understand=understand)
    yield from (body for commit in first if (body := episode(commit)) is not None)
    following = next(source, None)
    if following is None:
        return
    from workbench.project.workers import spread, worker_count

    rest = chain([following], source)
    spreading = spread(episode, rest, workers=worker_count(workers), batch=_BATCH, failed=_no_episode)
    with closing(spreading):
        for bodies in spreading:
            yield from (body for body in bodies if body is not None)


def _no_episode(commit: Commit) -> None:
    """Return what is left of a commit whose message ended the process that read it."""
