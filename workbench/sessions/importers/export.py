"""This tool's own export of sessions: JSON lines, a head and an episode each, for other machines.

What is exported is what the journal holds: paths of the project, no secrets. Reading it back redacts and
checks it again, as anybody may have written it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workbench.ports import Entry
from workbench.records.episodes import ChangeKind, Episode, Outcome
from workbench.sessions.episodes_fold import MALFORMED, follow, sessions_of
from workbench.sessions.importers.places import relative
from workbench.sessions.importers.transcripts import TranscriptRecord, Unreadable, mapping, text
from workbench.text.redact import redact
from workbench.text.terms import clean_task

if TYPE_CHECKING:
    from workbench.records.plan import QueryType

HEAD = "workbench.sessions"
EPISODE = "workbench.episode"
VERSION = 1
SOURCE = "export"
_ROOT = "/project"  # paths are compared with a root that is nobody's
_MAX_TEXT = 20_000
_MAX_ID = 200
_MAX_FILES = 1_000
_COUNTS = ("token_budget", "token_used", "latency_ms", "prompt_index")
_NAMES = ("commit_sha", "source", "parent_session", "outcome_evidence")


def belongs(record: Mapping[str, Any]) -> bool:
    """Whether a record is of an export."""
    return record.get("type") in (HEAD, EPISODE)


def exported_lines(entries: Iterable[Entry]) -> Iterator[dict[str, Any]]:
    """Yield the head and the ended episodes, recorded and imported, in the order of their first entries.

    Episodes of commits are left out: every clone rebuilds them. So are those without a task.
    """
    from workbench.sessions.importers.git import session_commit

    found: dict[str, Episode | None] = {}
    for entry in entries:
        for session in sessions_of(entry):
            with suppress(*MALFORMED):
                found[session] = follow(found.get(session), entry)
    kept = [
        one
        for one in found.values()
        if one and one.ended_at is not None and one.task_text.strip() and not session_commit(one.session_id)
    ]
    yield {"type": HEAD, "version": VERSION, "episodes": len(kept)}
    yield from map(_line, kept)


def _line(episode: Episode) -> dict[str, Any]:
    return {
        "type": EPISODE,
        "session_id": episode.session_id,
        "task_text": episode.task_text,
        "task_fingerprint": episode.task_fingerprint,
        "query_type": episode.query_type,
        "started_at": episode.started_at,
        "ended_at": episode.ended_at,
        "outcome": episode.outcome.value,
        "issue_refs": list(episode.issue_refs),
        "changes": [
            [one.path, one.kind.value, one.added, one.removed, one.old_path] for one in episode.changes
        ],
        "reads": list(episode.reads),
        **{name: getattr(episode, name) or None for name in _NAMES},
        **{name: getattr(episode, name) for name in _COUNTS},
    }


def episode(record: Mapping[str, Any], project_id: str) -> dict[str, Any] | str:
    """Return the journal body of an exported episode, or why it is invalid."""
    from workbench.records.plan import QueryType
    from workbench.sessions.importers.git import session_commit

    session, task = text(record.get("session_id")), redact(clean_task(text(record.get("task_text")))).text
    started = record.get("started_at")
    if not session or len(session) > _MAX_ID or session_commit(session) or not task:
        return "an episode without a session or a task"
    if type(started) is not int or not 0 <= started < 1 << 53:
        return "an episode without a time"
    ended = record.get("ended_at")
    body: dict[str, Any] = {
        "session_id": session,
        "project_id": project_id,
        "task_text": task[:_MAX_TEXT],
        "task_fingerprint": text(record.get("task_fingerprint")),
        "query_type": _one_of(record.get("query_type"), QueryType, QueryType.GENERAL.value),
        "started_at": started,
        "ended_at": max(ended, started) if type(ended) is int and ended < 1 << 53 else started,
        "outcome": _one_of(record.get("outcome"), Outcome, Outcome.UNKNOWN.value),
        "issue_refs": [ref for ref in _list(record.get("issue_refs")) if isinstance(ref, str)][:50],
        "changes": [change for row in _list(record.get("changes")) if (change := _change(row))][:_MAX_FILES],
        "reads": [path for name in _list(record.get("reads")) if (path := _path(name))][:_MAX_FILES],
    }
    for name in _NAMES:
        body[name] = redact(text(record.get(name))).text[:500] or None
    for name in _COUNTS:
        value = record.get(name)
        body[name] = value if type(value) is int and 0 <= value < 1 << 53 else None
    return body


def read_export(
    records: Iterable[TranscriptRecord | Unreadable], project_id: str
) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield (line, body or why there is none) of each line; the head is an empty text."""
    for record in records:
        if isinstance(record, Unreadable):
            yield record.line, record.reason
        elif record.value.get("type") == HEAD:
            known = record.value.get("version") == VERSION
            yield record.line, "" if known else "an export of another version"
        elif record.value.get("type") == EPISODE:
            yield record.line, episode(mapping(record.value), project_id)
        else:
            yield record.line, "a record of another format"


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _one_of(value: object, kinds: type[Outcome] | type[QueryType], other: str) -> str:
    return value if isinstance(value, str) and value in {kind.value for kind in kinds} else other


def _path(value: object) -> str:
    path = relative(f"{_ROOT}/{value}", (_ROOT,)) if isinstance(value, str) else None
    return path if path is not None and redact(path).text == path else ""


def _change(row: object) -> list[Any] | None:
    if not isinstance(row, list) or not row:
        return None
    path, kind, added, removed, old = (*row, *(None,) * 5)[:5]
    name = _path(path)
    if not name or kind not in {one.value for one in ChangeKind}:
        return None
    lines = [count if type(count) is int and 0 <= count < 1 << 31 else 0 for count in (added, removed)]
    return [name, kind, *lines, _path(old) if old else ""]
