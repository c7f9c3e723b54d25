"""Tasks with known answers from a project's own past: its commits, and prompts of its recorded sessions.

A commit's task is its message, started on its parent; a prompt's is the prompt, started on the newest commit
at that time. The files that were modified are those that should have been read. Where only sessions are left
of a project, the paths that they had seen by a moment are all its files (`SeenPaths`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workbench.plan.view import view_project
from workbench.ports import Entry
from workbench.project.admission import refusal
from workbench.project.languages import language_of, role_of
from workbench.project.updates import build_index
from workbench.records.episodes import ChangeKind, Commit, Episode, FileChange
from workbench.records.project import FileFacts
from workbench.replay.timeline import HISTORY, CommitGraph, KnownTask, Moment, head_of
from workbench.sessions.episode_ledger import task_of
from workbench.sessions.episodes_fold import FORGOTTEN, MALFORMED, follow
from workbench.sessions.history import Trust, build_history
from workbench.sessions.importers.git import session_commit
from workbench.text.terms import clean_task

MAX_FILES = 30  # larger commits are mechanical: no reading list explains them
MAX_TEXT = 20_000
_HEAD = 200


class TaskSource(StrEnum):
    """Where tasks come from."""

    COMMITS = "commits"
    SESSIONS = "sessions"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class ReplayTask:
    """A task and what it took.

    `revision` is the commit it was started on, empty where no repository is left; `at` the second since the
    epoch as of which the engine knows; `commit` the one that answers it, if known; `modified` the files that
    were modified, under the names they had before, and `names`
    those under the names they had afterwards; `packed` is
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


def commit_tasks(commits: Iterable[Commit], line: CommitGraph, limit: int) -> list[ReplayTask]:
    """Return the newest commits with one parent, a message and at least one modified text file."""
    tasks: list[ReplayTask] = []
    for commit in commits:
        if len(tasks) >= limit:
            break
        modified = _modified_names(commit.files)
        text = f"{commit.subject}\n\n{commit.body}".strip()[:MAX_TEXT]
        known = len(commit.parents) == 1 and commit.parents[0] in line.parents
        if known and modified and len(commit.files) <= MAX_FILES and clean_task(text):
            parent = commit.parents[0]
            at = min(line.times.get(parent, commit.at), commit.at)
            old, new = tuple(modified), tuple(modified.values())
            tasks.append(ReplayTask(commit.sha, commit.sha, "commit", text, parent, commit.sha, at, old, new))
    return tasks


@dataclass(frozen=True, slots=True)
class PastSession:
    """One prompt of a recorded session, as the journal had it when it ended."""

    id: str
    session: str
    text: str
    started: int
    ended: int
    commit: str
    changes: tuple[FileChange, ...]
    reads: tuple[str, ...]
    known: KnownTask


def recorded_sessions(entries: Iterable[Entry]) -> tuple[list[PastSession], int]:
    """Return the prompts of ended sessions, oldest first, and how many entries are malformed.

    Imported sessions and those recorded live count alike. Forgotten ones are left out, and
    episodes that are commits: those come from git. What came after a session's end is left out, too: no
    task before that moment may know it.
    """
    by_session: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind == FORGOTTEN:
            gone = entry.body.get("session_ids", ())
            for session in gone if isinstance(gone, list) else ():
                by_session.pop(str(session), None)
            continue
        session = str(entry.body.get("session_id", ""))
        if session and not session_commit(session):
            by_session.setdefault(session, []).append(entry)
    found: list[PastSession] = []
    malformed = 0
    for mentions in by_session.values():
        whole, faults = _follow(mentions)
        malformed += faults
        if whole is not None and whole.ended_at is not None:
            ended = whole.ended_at
            known, _ = _follow(entry for entry in mentions if _timestamp(entry) <= ended)
            found.append(_past_session(known or whole))
    return sorted(found, key=lambda one: (one.started, one.id)), malformed


def _follow(entries: Iterable[Entry]) -> tuple[Episode | None, int]:
    episode: Episode | None = None
    malformed = 0
    for entry in entries:
        try:
            episode = follow(episode, entry)
        except MALFORMED:
            malformed += 1
    return episode, malformed


def _timestamp(entry: Entry) -> int:
    """Return when something was said of a session that is not its own story, 0 for what is."""
    at = entry.body.get("timestamp", 0)
    return at if isinstance(at, int) else 0


def _past_session(episode: Episode) -> PastSession:
    text = episode.task_text[:MAX_TEXT]
    ended = max(episode.started_at, episode.ended_at or 0)
    return PastSession(
        id=episode.session_id,
        session=episode.parent_session or episode.session_id,
        text=text,
        started=episode.started_at,
        ended=ended,
        commit=episode.commit_sha,
        changes=episode.changes,
        reads=episode.reads,
        known=KnownTask(task_of(episode), head_of(text), ended, sha=episode.commit_sha),
    )


def session_tasks(
    sessions: Sequence[PastSession], commits: Sequence[Commit], limit: int, *, gone: bool = False
) -> list[ReplayTask]:
    """Return the newest prompts that led to edits. `commits` are newest first.

    A prompt given before the first commit has no tree to look at and is left out, unless the repository is
    `gone`: then there are no revisions at all.
    """
    tasks: list[ReplayTask] = []
    for one in reversed(sessions):
        if len(tasks) >= limit:
            break
        modified = _modified_names(one.changes)
        revision = "" if gone else _newest_before(commits, one)
        if modified and len(one.changes) <= MAX_FILES and clean_task(one.text) and (gone or revision):
            old, new = tuple(modified), tuple(modified.values())
            at = one.started - 1
            tasks.append(
                ReplayTask(one.id, one.session, "session", one.text, revision, one.commit, at, old, new)
            )
    return tasks


def _newest_before(commits: Sequence[Commit], session: PastSession) -> str:
    """Return the newest commit before a prompt; never the one that answers it, whatever its clock was."""
    return next(
        (
            commit.sha
            for commit in commits
            if commit.at < session.started and (not session.commit or commit.sha != session.commit)
        ),
        "",
    )


def relevant(task: ReplayTask, existing: Mapping[str, object]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (relevant files that could be found, those that could not), each sorted."""
    here = tuple(sorted(path for path in task.modified if path in existing))
    return here, tuple(sorted(path for path in task.modified if path not in existing))


def _modified_names(changes: Iterable[FileChange]) -> dict[str, str]:
    """Return {name before: name after} of the modified files that an index would take."""
    return {
        change.old_path or change.path: change.path
        for change in changes
        if change.kind is ChangeKind.MODIFIED and refusal(change.path) is None
    }


class SeenPaths:
    """The moments of a project without a repository. Not thread-safe."""

    def __init__(
        self, sessions: Sequence[PastSession], *, history: int = HISTORY, trust: Trust | None = None
    ) -> None:
        self._sessions = sessions
        self._limit = history
        self._trust = trust

    def at(self, revision: str, moment: int) -> Moment:
        """Return what sessions that had ended by a second had seen; there are no revisions to ask for."""
        before = [session for session in self._sessions if session.ended <= moment]
        paths = sorted(
            {
                path
                for one in before
                for path in (*one.reads, *(change.path for change in one.changes))
                if refusal(path) is None
            }
        )
        facts = [FileFacts(language_of(path, ""), role_of(path), 0, 0) for path in paths]
        index = build_index(paths, facts, [0] * len(paths))
        past = tuple(one.known for one in reversed(before))[: self._limit]
        view = view_project(index, build_history((known.task for known in past), self._trust))
        return Moment(view, dict.fromkeys(paths, ""), past)
