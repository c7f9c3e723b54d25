"""What was handed over and what sessions did with it, asked of the tables in a few statements."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from workbench.records.usage import FileTouch, Handover, RuleBreach, UsageRecords

if TYPE_CHECKING:
    from store.duck import Connection
    from store.tables import Tables

T = TypeVar("T")

# A pack that names no session was for the first task that began within $patience seconds of it.
SELECT_HANDOVERS: Final = """
WITH started AS (
    SELECT coalesce(nullif(parent_session, ''), session_id) AS session, min(started_at) AS began
    FROM episodes JOIN episode_sources USING (session_id) WHERE source <> 'git' GROUP BY session
)
SELECT CASE WHEN session_id <> '' THEN session_id WHEN began <= "at" + $patience THEN session ELSE '' END,
    agent, event, files::JSON, passages, matched, coalesce(backed, []), tokens, why, subagent, variant, seen,
    "at", "by"
FROM (SELECT *, floor("at")::BIGINT AS moment FROM handovers WHERE "at" >= $since)
    ASOF LEFT JOIN started ON moment <= began
ORDER BY position
"""
_OF_SESSIONS = """
(SELECT *, coalesce(nullif(parent_session, ''), session_id) AS session FROM episode_sources
 WHERE coalesce(nullif(parent_session, ''), session_id) IN (SELECT unnest($sessions)))
"""
# A delta, what an episode's end found otherwise on disk, is an edit where none was recorded.
SELECT_TOUCHES: Final = f"""
SELECT session, file_path,
    coalesce(max("timestamp") FILTER (event_type = 'read'), -1),
    coalesce(max("timestamp") FILTER (event_type = 'edit'),
        max("timestamp") FILTER (event_type = 'delta'), -1),
    coalesce(max(id) FILTER (event_type = 'read' AND source = 'hook'), -1),
    coalesce(max(id) FILTER (event_type = 'edit' AND source = 'hook'),
        max(id) FILTER (event_type = 'delta' AND source = 'hook'), -1)
FROM episode_events JOIN {_OF_SESSIONS} USING (session_id)
WHERE event_type IN ('read', 'edit', 'delta') AND file_path IS NOT NULL
GROUP BY session, file_path ORDER BY session, file_path
"""
SELECT_OUTCOMES: Final = f"""
SELECT session, outcome FROM episodes JOIN {_OF_SESSIONS} USING (session_id)
ORDER BY session, started_at, session_id
"""
SELECT_LOADED: Final = """
SELECT DISTINCT session_id, file FROM loaded_instructions
WHERE session_id IN (SELECT unnest($sessions)) ORDER BY session_id, file
"""
SELECT_BREACHES: Final = """
SELECT session_id, rule_id, decision, "at" FROM rule_breaches
WHERE session_id IN (SELECT unnest($sessions)) ORDER BY "at", session_id, rule_id, call
"""
SELECT_NEIGHBOURS: Final = """
SELECT from_path, to_path FROM artifact_edges
WHERE from_path IN (SELECT unnest($paths)) OR to_path IN (SELECT unnest($paths))
"""


def usage_records(tables: Tables, since: float, *, patience: float) -> UsageRecords:
    """Return the hand-overs since a time in seconds and what is known of their sessions.

    A pack that names no session counts for the one that begins within `patience` seconds. Raises: StoreError.
    """
    return tables.read(lambda connection: _records(connection, since, patience))


def _records(connection: Connection, since: float, patience: float) -> UsageRecords:
    def rows(statement: str, **given: object) -> list[Any]:
        return connection.execute(statement, given).fetchall()

    handovers = tuple(map(_handover, rows(SELECT_HANDOVERS, since=since, patience=patience)))
    if not handovers:
        return UsageRecords()
    sessions = sorted({handover.session for handover in handovers if handover.session})
    paths = sorted({path for handover in handovers for path in handover.files})
    neighbours: dict[str, set[str]] = {}
    for first, second in rows(SELECT_NEIGHBOURS, paths=paths):
        neighbours.setdefault(first, set()).add(second)
        neighbours.setdefault(second, set()).add(first)
    touches = [(session, FileTouch(*rest)) for session, *rest in rows(SELECT_TOUCHES, sessions=sessions)]
    return UsageRecords(
        handovers=handovers,
        touches=_by_session(touches),
        outcomes=_by_session(rows(SELECT_OUTCOMES, sessions=sessions)),
        loaded=_by_session(rows(SELECT_LOADED, sessions=sessions)),
        breaches=tuple(RuleBreach(*row) for row in rows(SELECT_BREACHES, sessions=sessions)),
        neighbours={path: frozenset(others) for path, others in neighbours.items()},
    )


def _handover(row: Sequence[Any]) -> Handover:
    session, agent, event, files, passages, matched, backed, *rest = row
    lists = tuple(passages), tuple(matched), frozenset(backed)
    return Handover(session, agent, event, json.loads(files), *lists, *rest)


def _by_session(rows: Sequence[tuple[str, T]]) -> Mapping[str, tuple[T, ...]]:
    found: dict[str, list[T]] = {}
    for session, one in rows:
        found.setdefault(session, []).append(one)
    return {session: tuple(ones) for session, ones in found.items()}
