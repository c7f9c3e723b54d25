"""Which sessions have been kept long enough, and what plans need of them: a past task without its text.

A session is as old as the newest entry about it or about one of its prompts, by when that was written: one
that was imported today is kept from today on. Commits are the repository's own past and never go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from heapq import nlargest
from typing import Any, Final

import msgspec

from workbench.ports import Entry
from workbench.records.conversion import convert, decode_json
from workbench.records.dataclass import dataclass
from workbench.records.episodes import Episode
from workbench.sessions.episodes_fold import COMMITS, FEEDBACK, IMPORTED, MALFORMED, follow
from workbench.text.terms import word_terms, words_of

_GIT: Final = f"import:{COMMITS}"


class _Body(msgspec.Struct):
    session_id: Any = None
    parent_session: Any = None
    started_at: Any = None
    session_ids: Any = None


class EntryHead(msgspec.Struct):
    """What of an entry's line tells whose it is and how old."""

    id: str
    at: str
    kind: str
    by: str
    body: _Body


def read_head(line: bytes) -> EntryHead | None:
    """Return the head of a journal's line, None for one that cannot be read."""
    try:
        return decode_json(line, EntryHead)
    except (ValueError, RecursionError):
        if b"\\u" not in line:
            return None
    try:
        return convert(json.loads(line), EntryHead)  # names that are not UTF-8, which msgspec refuses
    except (ValueError, RecursionError):
        return None


@dataclass(slots=True)
class SessionAges:
    """The newest entry (ISO 8601) by session, the session of each prompt, and when each task began.

    `lines` counts the lines of all, `ends` has the number of the last line by session. `tasks` holds commits
    as well: past tasks are counted with them.
    """

    lines: int = 0
    last: dict[str, str] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, int] = field(default_factory=dict)
    commits: set[str] = field(default_factory=set)

    def add(self, head: EntryHead | None) -> None:
        """Count a line of the stream of sessions, None for one of no entry."""
        self.lines += 1
        if head is None:
            return
        session, began = head.body.session_id, head.body.started_at
        if not isinstance(session, str) or not session:
            return
        if isinstance(began, int):
            self.tasks[session] = began
        if head.by == _GIT:
            self.commits.add(session)
            return
        given = head.body.parent_session
        parent = given if isinstance(given, str) and given else self.parents.get(session, session)
        self.parents[session] = parent
        self.ends[parent] = self.ends[session] = self.lines
        self.last[parent] = max(self.last.get(parent, ""), head.at, self.last.get(session, ""))

    def due(self, cutoff: str) -> frozenset[str]:
        """Return the sessions, and prompts of sessions, of which nothing was written since a moment."""
        return frozenset(
            session
            for session, parent in self.parents.items()
            if session not in self.commits and self.last[parent] < cutoff
        )

    def end_of(self, sessions: Iterable[str]) -> int:
        """Return the number of the last line about some sessions, from 1; 0 without any."""
        return max((self.ends.get(session, 0) for session in sessions), default=0)

    def newest_tasks(self, limit: int) -> frozenset[str]:
        """Return the newest tasks, commits among them: those that plans weigh."""
        return frozenset(nlargest(limit, self.tasks, key=lambda session: (self.tasks[session], session)))


def past_task(entries: Iterable[Entry]) -> list[Entry]:
    """Return what stays of an ended session: its files and outcome, words without order, and verdicts.

    The words are those that plans match, each once, sorted: not the prompt, but what it was about. Empty for
    a session that never ended or cannot be read.
    """
    found = list(entries)
    episode: Episode | None = None
    for entry in found:
        try:
            episode = follow(episode, entry)
        except MALFORMED:
            continue  # counted when it was read first
    if episode is None or episode.ended_at is None:
        return []
    first = found[0]
    task = Entry(first.id, first.at, IMPORTED, first.by, _body(episode))
    return [task, *(_verdict(entry) for entry in found[1:] if entry.kind == FEEDBACK)]


def _verdict(entry: Entry) -> Entry:
    body = {name: value for name, value in entry.body.items() if name != "rationale"}
    return Entry(entry.id, entry.at, entry.kind, entry.by, body)


def _body(episode: Episode) -> Mapping[str, Any]:
    words = sorted({word for word in words_of(episode.task_text) if word_terms(word)})
    changes = [(one.path, one.kind.value, one.added, one.removed, one.old_path) for one in episode.changes]
    body: dict[str, Any] = {
        "session_id": episode.session_id,
        "project_id": episode.project_id,
        "task_text": " ".join(words),
        "task_fingerprint": episode.task_fingerprint,
        "query_type": episode.query_type,
        "started_at": episode.started_at,
        "ended_at": episode.ended_at,
        "outcome": episode.outcome.value,
        "changes": changes,
        "reads": list(episode.reads),
        "issue_refs": list(episode.issue_refs),
        "source": episode.source,
    }
    more = {
        "parent_session": episode.parent_session,
        "prompt_index": episode.prompt_index,
        "commit_sha": episode.commit_sha,
        "token_budget": episode.token_budget,
        "token_used": episode.token_used,
        "latency_ms": episode.latency_ms,
        "outcome_evidence": episode.outcome_evidence,
    }
    return body | {name: value for name, value in more.items() if value not in (None, "")}
