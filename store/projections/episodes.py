"""Episodes, their events, causal links and task–file affinity [img 6] from the stream `sessions`.

Entries are taken one by one and written set-wise. Where the effect of an entry depends on rows that are still
held back, those are written first, so the result never depends on where a batch ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from store.duck import insert
from store.projections.bodies import (
    Change,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeForgotten,
    EpisodeImported,
    EpisodeStarted,
    FeedbackGiven,
    json_text,
)
from workbench.ports import Entry
from workbench.records.episodes import ChangeKind, Outcome

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STREAM: Final = "sessions"
# An episode that names more issues is linked to the first ones: ids of links need a fixed room a change.
MAX_ISSUES: Final = 8

CREATE_TOUCHED: Final = "CREATE OR REPLACE TEMP TABLE touched_fingerprints (task_fingerprint VARCHAR)"
TOUCH: Final = """
INSERT INTO temp.touched_fingerprints
SELECT DISTINCT task_fingerprint FROM episodes SEMI JOIN staged USING (session_id)
"""
DELETE_EPISODES: Final = "DELETE FROM episodes USING staged WHERE episodes.session_id = staged.session_id"
DELETE_EVENTS: Final = (
    "DELETE FROM episode_events USING staged WHERE episode_events.session_id = staged.session_id"
)
DELETE_LINKS: Final = (
    "DELETE FROM causal_links USING staged WHERE causal_links.session_id = staged.session_id"
)
INSERT_EPISODES: Final = """
INSERT INTO episodes
SELECT session_id, project_id, task_text, task_fingerprint, query_type, started_at,
    TRY_CAST(ended_at AS BIGINT), outcome, TRY_CAST(token_budget AS BIGINT),
    TRY_CAST(token_used AS BIGINT), TRY_CAST(latency_ms AS BIGINT)
FROM staged ON CONFLICT DO NOTHING
"""
INSERT_EVENTS: Final = """
INSERT INTO episode_events
SELECT id, session_id, event_type, file_path, symbol, payload_json, "timestamp" FROM staged
"""
INSERT_LINKS: Final = """
INSERT INTO causal_links
SELECT id, session_id, issue_ref, commit_sha, change_path, change_kind, rationale, "timestamp" FROM staged
"""
UPDATE_EPISODES: Final = """
UPDATE episodes SET
    ended_at = coalesce(TRY_CAST(staged.ended_at AS BIGINT), episodes.ended_at),
    outcome = coalesce(staged.outcome, episodes.outcome),
    token_budget = coalesce(TRY_CAST(staged.token_budget AS BIGINT), episodes.token_budget),
    token_used = coalesce(TRY_CAST(staged.token_used AS BIGINT), episodes.token_used),
    latency_ms = coalesce(TRY_CAST(staged.latency_ms AS BIGINT), episodes.latency_ms)
FROM staged WHERE episodes.session_id = staged.session_id
"""
UPDATE_LINKS: Final = """
UPDATE causal_links SET
    commit_sha = coalesce(staged.commit_sha, causal_links.commit_sha),
    rationale = coalesce(staged.rationale, causal_links.rationale)
FROM staged WHERE causal_links.session_id = staged.session_id
    AND (staged.commit_sha IS NOT NULL OR staged.rationale IS NOT NULL)
"""
DELETE_AFFINITY: Final = """
DELETE FROM task_file_affinity
WHERE task_fingerprint IN (SELECT task_fingerprint FROM temp.touched_fingerprints)
"""
INSERT_AFFINITY: Final = """
INSERT INTO task_file_affinity
WITH touched AS (SELECT DISTINCT task_fingerprint FROM temp.touched_fingerprints),
uses AS (
    SELECT task_fingerprint, file_path, session_id,
        max((event_type = 'read')::INTEGER) AS is_read,
        max((event_type = 'edit')::INTEGER) AS is_edit,
        max((event_type = 'edit' AND outcome = 'success')::INTEGER) AS is_success,
        max("timestamp") AS last_seen
    FROM episode_events JOIN episodes USING (session_id) SEMI JOIN touched USING (task_fingerprint)
    WHERE event_type IN ('read', 'edit') AND file_path IS NOT NULL
    GROUP BY ALL
),
counts AS (
    SELECT task_fingerprint, file_path, sum(is_read)::BIGINT AS reads, sum(is_edit)::BIGINT AS edits,
        sum(is_success)::BIGINT AS success_edits, max(last_seen) AS last_seen
    FROM uses GROUP BY ALL
)
SELECT task_fingerprint, file_path, reads, edits, success_edits, last_seen,
    ((edits + success_edits + 0.3::DOUBLE * reads)
     * pow(0.5, (max(last_seen) OVER (PARTITION BY task_fingerprint) - last_seen) / (180.0 * 86400)))::REAL
FROM counts
"""

_EPISODE = {
    "session_id": "str",
    "project_id": "str",
    "task_text": "str",
    "task_fingerprint": "str",
    "query_type": "str",
    "started_at": "int64",
    "ended_at": "object",
    "outcome": "str",
    "token_budget": "object",
    "token_used": "object",
    "latency_ms": "object",
}
_EVENT = {
    "id": "int64",
    "session_id": "str",
    "event_type": "str",
    "file_path": "str",
    "symbol": "str",
    "payload_json": "str",
    "timestamp": "int64",
}
_LINK = {
    "id": "int64",
    "session_id": "str",
    "issue_ref": "str",
    "commit_sha": "str",
    "change_path": "str",
    "change_kind": "str",
    "rationale": "str",
    "timestamp": "int64",
}
_PATCH = {
    "session_id": "str",
    "ended_at": "object",
    "outcome": "str",
    "token_budget": "object",
    "token_used": "object",
    "latency_ms": "object",
    "commit_sha": "str",
    "rationale": "str",
}


class EpisodeProjector:
    """Holds back rows of the history tables. `connection` has the tables in use, inside a transaction."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self._handlers: dict[str, Callable[[int, Entry], None]] = {
            "episode.imported": self._imported,
            "episode.started": self._started,
            "episode.event": self._event,
            "episode.ended": self._ended,
            "episode.forgotten": self._forgotten,
            "feedback.given": self._feedback,
        }
        connection.execute(CREATE_TOUCHED)
        self._clear()

    def _clear(self) -> None:
        self._deleted: set[str] = set()
        self._episodes: dict[str, tuple[Any, ...]] = {}
        self._events: list[tuple[Any, ...]] = []
        self._links: list[tuple[Any, ...]] = []
        self._patches: dict[str, dict[str, Any]] = {}
        self._touched: set[str] = set()

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds this projector takes."""
        return frozenset(self._handlers)

    @property
    def held(self) -> int:
        """How many rows are held back."""
        return len(self._touched) + len(self._events) + len(self._links)

    def take(self, offset: int, entry: Entry) -> None:
        """Take an entry whose line begins at byte `offset`. Raises ValueError for a body of another form."""
        self._handlers[entry.kind](offset, entry)

    def flush(self) -> None:
        """Write what is held back."""
        if not self._touched:
            return
        self._stage(TOUCH, {"session_id": "str"}, [(one,) for one in sorted(self._touched)])
        if self._deleted:
            gone = [(one,) for one in sorted(self._deleted)]
            for statement in (DELETE_EVENTS, DELETE_LINKS, DELETE_EPISODES):
                self._stage(statement, {"session_id": "str"}, gone)
        self._stage(INSERT_EPISODES, _EPISODE, list(self._episodes.values()))
        self._stage(INSERT_EVENTS, _EVENT, self._events)
        self._stage(INSERT_LINKS, _LINK, self._links)
        patches = [tuple(patch.get(name) for name in _PATCH) for _, patch in sorted(self._patches.items())]
        self._stage(UPDATE_EPISODES, _PATCH, patches)
        self._stage(UPDATE_LINKS, _PATCH, patches)
        self._stage(TOUCH, {"session_id": "str"}, [(one,) for one in sorted(self._touched)])
        self._clear()

    def finish(self) -> None:
        """Write what is held back and bring the aggregates of every fingerprint it touches up to date."""
        self.flush()
        self._connection.execute(DELETE_AFFINITY)
        self._connection.execute(INSERT_AFFINITY)
        self._connection.execute(CREATE_TOUCHED)

    def _stage(self, statement: str, columns: dict[str, str], rows: list[tuple[Any, ...]]) -> None:
        if not rows:
            return
        values = list(zip(*rows, strict=True))
        staged = {name: (kind, values[n]) for n, (name, kind) in enumerate(columns.items())}
        insert(self._connection, statement, staged)

    def _imported(self, offset: int, entry: Entry) -> None:
        body = msgspec.convert(entry.body, EpisodeImported)
        session = body.session_id
        if session in self._touched:
            self.flush()
        self._touched.add(session)
        self._deleted.add(session)
        self._episodes[session] = (
            session,
            body.project_id,
            body.task_text,
            body.task_fingerprint,
            body.query_type,
            body.started_at,
            body.ended_at,
            body.outcome.value,
            body.token_budget,
            body.token_used,
            body.latency_ms,
        )
        at = body.started_at if body.ended_at is None else body.ended_at
        row = offset
        for path in body.reads:
            self._events.append((row, session, "read", path, None, None, at))
            row += 1
        for change in body.changes:
            self._events.append((row, session, "edit", change.path, None, _change_payload(change), at))
            row += 1
        commit = body.commit_sha or None
        issues: list[str | None] = [*body.issue_refs[:MAX_ISSUES]] or [None]
        for number, change in enumerate(body.changes):
            for place, issue in enumerate(issues):
                link = offset + number * MAX_ISSUES + place
                self._links.append((link, session, issue, commit, change.path, change.kind.value, None, at))

    def _started(self, offset: int, entry: Entry) -> None:
        del offset
        body = msgspec.convert(entry.body, EpisodeStarted)
        session = body.session_id
        if session in self._episodes:
            return
        if session in self._patches:
            self.flush()
        self._touched.add(session)
        self._episodes[session] = (
            session,
            body.project_id,
            body.task_text,
            body.task_fingerprint,
            body.query_type,
            body.started_at,
            None,
            Outcome.UNKNOWN.value,
            body.token_budget,
            None,
            None,
        )

    def _event(self, offset: int, entry: Entry) -> None:
        body = msgspec.convert(entry.body, EpisodeEvent)
        session = body.session_id
        payload = None if body.payload is None else json_text(body.payload)
        is_edit = body.event_type == "edit" and body.file_path is not None
        if is_edit and session in self._patches:
            self.flush()
        self._touched.add(session)
        self._events.append(
            (offset, session, body.event_type, body.file_path, body.symbol, payload, body.timestamp)
        )
        if is_edit:
            named = (body.payload or {}).get("kind")
            kind = named if named in set(ChangeKind) else ChangeKind.MODIFIED.value
            self._links.append((offset, session, None, None, body.file_path, kind, None, body.timestamp))

    def _ended(self, offset: int, entry: Entry) -> None:
        del offset
        body = msgspec.convert(entry.body, EpisodeEnded)
        self._patch(body.session_id, msgspec.structs.asdict(body))

    def _feedback(self, offset: int, entry: Entry) -> None:
        body = msgspec.convert(entry.body, FeedbackGiven)
        said = {"outcome": body.outcome, "rationale": body.rationale}
        self._events.append(
            (offset, body.session_id, "feedback", None, None, json_text(said), body.timestamp)
        )
        self._patch(body.session_id, {"session_id": body.session_id, **said})

    def _patch(self, session: str, fields: dict[str, Any]) -> None:
        self._touched.add(session)
        known = {name: value for name, value in fields.items() if value is not None}
        if isinstance(known.get("outcome"), Outcome):
            known["outcome"] = known["outcome"].value
        self._patches.setdefault(session, {}).update(known)

    def _forgotten(self, offset: int, entry: Entry) -> None:
        del offset
        body = msgspec.convert(entry.body, EpisodeForgotten)
        if not self._touched.isdisjoint(body.session_ids):
            self.flush()
        self._touched.update(body.session_ids)
        self._deleted.update(body.session_ids)


def _change_payload(change: Change) -> str:
    payload: dict[str, object] = {
        "kind": change.kind.value,
        "added": change.added,
        "removed": change.removed,
    }
    if change.old_path:
        payload["old_path"] = change.old_path
    return json_text(payload)
