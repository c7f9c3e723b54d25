"""Queries of the tables: sessions with what they touched, how complete their episodes are, measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from store.file_history import file_history
from store.metrics import measurements, operation_stats
from store.table_state import tables_report
from store.tables import Tables
from workbench.records.episodes import Completeness, SessionRow

if TYPE_CHECKING:
    from store.tables import Tables


# A session that nobody ended counts as ended once it is quiet since before $quiet_since; as the journal does
# after the next catch-up.
SESSIONS: Final = """
WITH touched AS (
    SELECT session_id,
        count(DISTINCT file_path) FILTER (event_type = 'read') AS reads,
        count(DISTINCT file_path) FILTER (event_type = 'edit') AS edits,
        count(*) AS events,
        max("timestamp") AS last_event
    FROM episode_events GROUP BY session_id
), described AS (
    SELECT episodes.*, source, parent_session, prompt_index, outcome_evidence, closed_by,
        coalesce(reads, 0) AS reads, coalesce(edits, 0) AS edits, coalesce(events, 0) AS events,
        greatest(started_at, coalesce(ended_at, started_at), coalesce(last_event, started_at)) AS last_at
    FROM episodes JOIN episode_sources USING (session_id) LEFT JOIN touched USING (session_id)
), known AS (SELECT *, ended_at IS NOT NULL OR last_at < $quiet_since AS over FROM described)
"""
SELECT_SESSIONS: Final = (
    SESSIONS
    + """
SELECT session_id, task_text, query_type, started_at, ended_at, outcome, source, parent_session, prompt_index,
    outcome_evidence, closed_by, reads, edits, events, last_at
FROM known WHERE ($commits OR source <> 'git') AND ($ended OR NOT over)
ORDER BY started_at DESC, session_id LIMIT $limit
"""
)
SELECT_COMPLETENESS: Final = (
    SESSIONS
    + """
SELECT count(*) FILTER (over), count(*) FILTER (traced), count(*) FILTER (traced AND reads > 0 AND edits > 0),
    count(*) FILTER (NOT over)
FROM (
    SELECT *, over AND trim(task_text) <> '' AND reads + edits > 0 AND outcome <> 'unknown' AS traced
    FROM known WHERE source <> 'git'
)
"""
)

SELECT_TOUCHING: Final = """
SELECT DISTINCT session_id FROM episode_events
WHERE event_type IN ('read', 'edit') AND contains(lower(file_path), lower($part))
"""


def sessions(
    tables: Tables, *, quiet_since: float, commits: bool, ended: bool, limit: int
) -> list[SessionRow]:
    """Return the newest sessions; with `commits` those of version control, too. Raises: StoreError.

    Without `ended` only the open ones, which were heard of since the time `quiet_since`, in seconds.
    """
    asked = {"quiet_since": quiet_since, "commits": commits, "ended": ended, "limit": limit}
    return [SessionRow(*row) for row in tables.query(SELECT_SESSIONS, asked)]


def completeness(tables: Tables, *, quiet_since: float) -> Completeness:
    """Return how many sessions are complete. Raises: StoreError."""
    [counts] = tables.query(SELECT_COMPLETENESS, {"quiet_since": quiet_since})
    return Completeness(*counts)


def touching(tables: Tables, part: str) -> frozenset[str]:
    """Return the sessions that read or edited a file with a text in its path, in any case.

    Raises: StoreError.
    """
    return frozenset(session for (session,) in tables.query(SELECT_TOUCHING, {"part": part}))


class TableQueries(Tables):
    """Tables whose questions are methods: see the functions of the same names."""

    completeness = completeness
    file_history = file_history
    measurements = measurements
    operation_stats = operation_stats
    report = tables_report
    sessions = sessions
    touching = touching
