"""Episodes, their events, causal links and task–file affinity [img 6] from the stream `sessions`.

Entries are taken one by one and written set-wise. Where the effect of an entry depends on rows that are still
held back, those are written first, so the result never depends on where a batch ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from store.duck import insert, select
from store.lists.haystack import haystack
from store.projections.bodies import (
    ChangeBody,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeForgotten,
    EpisodeImported,
    EpisodeStarted,
    FeedbackGiven,
    json_text,
)
from store.projections.episode_sql import (
    CREATE_TOUCHED,
    DELETE_AFFINITY,
    DELETE_COUNTS,
    DELETE_EPISODES,
    DELETE_EVENTS,
    DELETE_LINKS,
    DELETE_SOURCES,
    DELETE_TOLD,
    EPISODE,
    EVENT,
    INSERT_AFFINITY,
    INSERT_COUNTS,
    INSERT_EPISODES,
    INSERT_EVENTS,
    INSERT_LINKS,
    INSERT_SOURCES,
    JUDGE_EPISODES,
    JUDGE_LINKS,
    JUDGE_SOURCES,
    LINK,
    PATCH,
    SELECT_STORED,
    SESSION,
    SOURCE,
    TOUCH,
    TOUCH_SESSIONS,
    UPDATE_EPISODES,
    UPDATE_LINKS,
    UPDATE_SOURCES,
)
from store.projections.rows import Place
from workbench.lists.tables import row_number
from workbench.ports import Entry
from workbench.records.conversion import convert
from workbench.records.episodes import ChangeKind, Outcome

if TYPE_CHECKING:
    from store.duck import Connection

STREAM: Final = "sessions"
# An episode that names more issues is linked to the first ones: ids of links need a fixed room a change.
MAX_ISSUES: Final = 8


class EpisodeProjector:
    """Holds back rows of the history tables. `connection` has the tables in use, inside a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._handlers: dict[str, Callable[[int, Entry], None]] = {
            "episode.imported": self._project_imported,
            "episode.started": self._project_started,
            "episode.event": self._event,
            "episode.disk": lambda offset, entry: None,  # what its end compares the disk with is in no table
            "episode.ended": self._project_ended,
            "episode.forgotten": self._forgotten,
            "feedback.given": self._feedback,
        }
        connection.execute(CREATE_TOUCHED)
        self._clear()

    def _clear(self) -> None:
        self._deleted: set[str] = set()
        self._replaced: set[str] = set()
        self._episodes: dict[str, tuple[Any, ...]] = {}
        self._sources: dict[str, tuple[Any, ...]] = {}
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

    def take(self, place: Place, offset: int, entry: Entry) -> None:
        """Take an entry whose line begins at byte `offset`. Raises ValueError for a body of another form."""
        del place
        self._handlers[entry.kind](offset, entry)

    def flush(self) -> None:
        """Write what is held back."""
        if not self._touched:
            return
        touched = [(one,) for one in sorted(self._touched)]
        stored = self._select_stored(touched)
        self._stage(TOUCH, SESSION, [(one,) for one in sorted(stored)])
        self._stage(TOUCH_SESSIONS, SESSION, touched)
        gone, replaced = (
            [(one,) for one in sorted(which & stored)] for which in (self._deleted, self._replaced)
        )
        for statement in (DELETE_EVENTS, DELETE_LINKS, DELETE_SOURCES, DELETE_EPISODES):
            self._stage(statement, SESSION, gone)
        for statement in (DELETE_TOLD, DELETE_LINKS, DELETE_SOURCES, DELETE_EPISODES):
            self._stage(statement, SESSION, replaced)
        self._stage(INSERT_EPISODES, EPISODE, list(self._episodes.values()))
        self._stage(INSERT_SOURCES, SOURCE, list(self._sources.values()))
        self._stage(INSERT_EVENTS, EVENT, self._events)
        self._stage(INSERT_LINKS, LINK, self._links)
        for statement in (JUDGE_EPISODES, JUDGE_SOURCES, JUDGE_LINKS):
            self._stage(statement, SESSION, replaced)
        patches = [tuple(patch.get(name) for name in PATCH) for _, patch in sorted(self._patches.items())]
        self._stage(UPDATE_EPISODES, PATCH, patches)
        self._stage(UPDATE_SOURCES, PATCH, patches)
        self._stage(UPDATE_LINKS, PATCH, patches)
        self._stage(TOUCH, SESSION, touched)
        self._clear()

    def finish(self) -> None:
        """Write what is held back and bring the aggregates of sessions and fingerprints up to date."""
        self.flush()
        self._connection.execute(DELETE_COUNTS)
        self._connection.execute(INSERT_COUNTS)
        self._connection.execute(DELETE_AFFINITY)
        self._connection.execute(INSERT_AFFINITY)
        self._connection.execute(CREATE_TOUCHED)

    def _select_stored(self, sessions: list[tuple[str]]) -> set[str]:
        """Return which of sessions have rows: most have none before they are imported."""
        staged = {"session_id": ("str", [one for (one,) in sessions])}
        return {one for (one,) in select(self._connection, SELECT_STORED, staged)}

    def _stage(self, statement: str, columns: dict[str, str], rows: list[tuple[Any, ...]]) -> None:
        if not rows:
            return
        values = list(zip(*rows, strict=True))
        staged = {name: (kind, values[n]) for n, (name, kind) in enumerate(columns.items())}
        insert(self._connection, statement, staged)

    def _project_imported(self, offset: int, entry: Entry) -> None:
        body = convert(entry.body, EpisodeImported)
        session = body.session_id
        at = body.started_at if body.ended_at is None else body.ended_at  # what is imported is over
        if session in self._touched:
            self.flush()
        self._touched.add(session)
        self._replaced.add(session)
        after = at, body.outcome.value, body.token_budget, body.token_used, body.latency_ms
        self._episodes[session] = (*_beginning(body), *after)
        self._sources[session] = _source_row(body, entry.by, body.outcome_evidence)
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

    def _project_started(self, offset: int, entry: Entry) -> None:
        del offset
        body = convert(entry.body, EpisodeStarted)
        session = body.session_id
        if session in self._episodes:
            return
        if session in self._patches:
            self.flush()
        self._touched.add(session)
        after = None, Outcome.UNKNOWN.value, body.token_budget, None, None
        self._episodes[session] = (*_beginning(body), *after)
        self._sources[session] = _source_row(body, entry.by, None)

    def _event(self, offset: int, entry: Entry) -> None:
        body = convert(entry.body, EpisodeEvent)
        session = body.session_id
        marked = {**(body.payload or {}), "late": True} if body.late else body.payload
        payload = None if marked is None else json_text(marked)
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
            issues: list[str | None] = [*body.issue_refs[:MAX_ISSUES]] or [None]
            commit = body.commit_sha or None
            for place, issue in enumerate(issues):
                link = (offset + place, session, issue, commit, body.file_path, kind, None, body.timestamp)
                self._links.append(link)

    def _project_ended(self, offset: int, entry: Entry) -> None:
        del offset
        body = convert(entry.body, EpisodeEnded)
        self._patch(body.session_id, msgspec.structs.asdict(body))

    def _feedback(self, offset: int, entry: Entry) -> None:
        body = convert(entry.body, FeedbackGiven)
        feedback = {"outcome": body.outcome, "rationale": body.rationale}
        self._events.append(
            (offset, body.session_id, "feedback", None, None, json_text(feedback), body.timestamp)
        )
        evidence = None if body.outcome is None else "feedback"
        self._patch(
            body.session_id, {"session_id": body.session_id, "outcome_evidence": evidence, **feedback}
        )

    def _patch(self, session: str, fields: dict[str, Any]) -> None:
        self._touched.add(session)
        known = {name: value for name, value in fields.items() if value is not None}
        if isinstance(known.get("outcome"), Outcome):
            known["outcome"] = known["outcome"].value
        self._patches.setdefault(session, {}).update(known)

    def _forgotten(self, offset: int, entry: Entry) -> None:
        del offset
        body = convert(entry.body, EpisodeForgotten)
        if not self._touched.isdisjoint(body.session_ids):
            self.flush()
        self._touched.update(body.session_ids)
        self._deleted.update(body.session_ids)


def _beginning(body: EpisodeStarted) -> tuple[str | int, ...]:
    """Return the first values of an episode's row."""
    task = body.task_text, body.task_fingerprint, body.query_type
    return (body.session_id, body.project_id, *task, body.started_at)


def _source_row(
    body: EpisodeStarted, by: str, evidence: str | None
) -> tuple[str, str, str, int | None, str, int, str, str]:
    source, parent = body.source or by.removeprefix("import:"), body.parent_session or ""
    cased, lower = haystack((body.task_text, (body.session_id, parent)))
    number = row_number(body.session_id)
    return body.session_id, source, parent, body.prompt_index, evidence or "", number, lower, cased


def _change_payload(change: ChangeBody) -> str:
    payload: dict[str, object] = {
        "kind": change.kind.value,
        "added": change.added,
        "removed": change.removed,
    }
    if change.old_path:
        payload["old_path"] = change.old_path
    return json_text(payload)
