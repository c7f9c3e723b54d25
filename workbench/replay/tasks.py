"""Tasks with known answers from a project's own past: its commits, and prompts of its recorded sessions.

A commit's task is its message, begun on its parent; a prompt's is the prompt, begun on the newest commit that
existed when it was given. The files that were modified are those that should have been read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workbench.ports import Entry
from workbench.project.admission import refusal
from workbench.records.episodes import ChangeKind, Commit, FileChange
from workbench.replay.timeline import Known, Line, head_of
from workbench.sessions.importers.git import session_commit
from workbench.sessions.remember import FORGOTTEN, IMPORTED, past_task
from workbench.text.tasks import clean_task

MAX_FILES = 30  # larger commits are mechanical: no reading list explains them
MAX_TEXT = 20_000
_HEAD = 200


class Source(StrEnum):
    """Where tasks come from."""

    COMMITS = "commits"
    SESSIONS = "sessions"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Task:
    """A task and what it took.

    `revision` is the commit it was begun on, empty where no repository is left; `at` the second since the
    epoch as of which the engine knows; `commit` the one that answers it, if known; `modified` the files that
    were modified, under the names they had before, and `names`
    those under the names they had afterwards; `packed` says
    whether packs are made for it; `session` what tests resample by.
    """

    id: str
    session: str
    source: str
    text: str
    revision: str
    commit: str
    at: int
    modified: tuple[str, ...]
    names: tuple[str, ...] = ()
    packed: bool = True

    @property
    def head(self) -> str:
        """The first line, cut."""
        return clean_task(self.text).split("\n", 1)[0][:_HEAD]


def commit_tasks(commits: Iterable[Commit], line: Line, limit: int) -> list[Task]:
    """Return the newest commits with one parent, a message and at least one modified text file."""
    tasks: list[Task] = []
    for commit in commits:
        if len(tasks) >= limit:
            break
        modified = _modified(commit.files)
        text = f"{commit.subject}\n\n{commit.body}".strip()[:MAX_TEXT]
        known = len(commit.parents) == 1 and commit.parents[0] in line.parents
        if known and modified and len(commit.files) <= MAX_FILES and clean_task(text):
            parent = commit.parents[0]
            at = min(line.times.get(parent, commit.at), commit.at)
            old, new = tuple(modified), tuple(modified.values())
            tasks.append(Task(commit.sha, commit.sha, "commit", text, parent, commit.sha, at, old, new))
    return tasks


@dataclass(frozen=True, slots=True)
class PastSession:
    """One prompt of a recorded session, as the journal tells it."""

    id: str
    session: str
    text: str
    started: int
    ended: int
    commit: str
    changes: tuple[FileChange, ...]
    reads: tuple[str, ...]
    known: Known


def recorded(entries: Iterable[Entry]) -> tuple[list[PastSession], int]:
    """Return the prompts of imported sessions, oldest first, and how many entries are malformed.

    Forgotten ones are left out, and episodes that are commits: git tells those.
    """
    found: dict[str, PastSession] = {}
    malformed = 0
    for entry in entries:
        if entry.kind == FORGOTTEN:
            gone = entry.body.get("session_ids", ())
            for session in gone if isinstance(gone, list) else ():
                found.pop(str(session), None)
        elif entry.kind == IMPORTED and not session_commit(str(entry.body.get("session_id", ""))):
            try:
                one = _recorded(entry.body)
            except (KeyError, ValueError, TypeError, AttributeError):
                malformed += 1
                continue
            found[one.id] = one
    return sorted(found.values(), key=lambda one: (one.started, one.id)), malformed


def _recorded(body: Mapping[str, Any]) -> PastSession:
    task = past_task(body)
    text, ended = str(body["task_text"])[:MAX_TEXT], body.get("ended_at")
    finished = max(task.at, int(ended)) if ended is not None else task.at
    identifier, commit = str(body["session_id"]), str(body.get("commit_sha") or "")
    reads = tuple(str(path) for path in body.get("reads", ()))
    known = Known(task, head_of(text), finished, sha=commit)
    session = str(body.get("parent_session") or "") or identifier
    return PastSession(identifier, session, text, task.at, finished, commit, task.changes, reads, known)


def session_tasks(
    sessions: Sequence[PastSession], commits: Sequence[Commit], limit: int, *, gone: bool = False
) -> list[Task]:
    """Return the newest prompts that led to edits. `commits` are newest first.

    A prompt given before the first commit has no tree to look at and is left out, unless the repository is
    `gone`: then there are no revisions at all.
    """
    tasks: list[Task] = []
    for one in reversed(sessions):
        if len(tasks) >= limit:
            break
        modified = _modified(one.changes)
        revision = "" if gone else _newest_before(commits, one)
        if modified and len(one.changes) <= MAX_FILES and clean_task(one.text) and (gone or revision):
            old, new = tuple(modified), tuple(modified.values())
            at = one.started - 1
            tasks.append(Task(one.id, one.session, "session", one.text, revision, one.commit, at, old, new))
    return tasks


def _newest_before(commits: Sequence[Commit], session: PastSession) -> str:
    """Return the newest commit of before a prompt; never the one that answers it, whatever its clock said."""
    return next(
        (
            commit.sha
            for commit in commits
            if commit.at < session.started and (not session.commit or commit.sha != session.commit)
        ),
        "",
    )


def relevant(task: Task, existing: Mapping[str, object]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (relevant files that could be found, those that could not), each sorted."""
    here = tuple(sorted(path for path in task.modified if path in existing))
    return here, tuple(sorted(path for path in task.modified if path not in existing))


def _modified(changes: Iterable[FileChange]) -> dict[str, str]:
    """Return {name before: name after} of the modified files that an index would take."""
    return {
        change.old_path or change.path: change.path
        for change in changes
        if change.kind is ChangeKind.MODIFIED and refusal(change.path) is None
    }
