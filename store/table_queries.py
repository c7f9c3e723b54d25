"""Queries of the tables: sessions with what they touched, how complete their episodes are, measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from store.metrics import measurements, operation_stats
from store.tables import Tables
from workbench.records.episodes import Completeness

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
SELECT_FILE_SESSIONS: Final = """
SELECT session_id, task_text, started_at, outcome, source, bool_or(event_type = 'edit') AS edited
FROM episode_events JOIN episodes USING (session_id) JOIN episode_sources USING (session_id)
WHERE file_path = $path AND event_type IN ('read', 'edit')
GROUP BY session_id, task_text, started_at, outcome, source ORDER BY started_at DESC, session_id LIMIT $limit
"""
SELECT_COMPANIONS: Final = """
WITH edited AS (
    SELECT DISTINCT session_id, file_path FROM episode_events
    WHERE event_type = 'edit' AND file_path IS NOT NULL
), ours AS (SELECT session_id FROM edited WHERE file_path = $path),
small AS (
    SELECT session_id FROM edited WHERE session_id IN (FROM ours)
    GROUP BY session_id HAVING count(*) <= $most
), together AS (
    SELECT file_path, count(*) AS times FROM edited
    WHERE session_id IN (FROM small) AND file_path <> $path GROUP BY file_path
)
SELECT file_path, times,
    times / (SELECT count(*) FROM ours) AS share,
    (SELECT count(*) FROM edited WHERE edited.file_path = together.file_path) AS edited
FROM together ORDER BY times DESC, file_path LIMIT $limit
"""


@dataclass(frozen=True, slots=True)
class FileSession:
    """A session that read a file, or `edited` it."""

    session_id: str
    task_text: str
    started_at: int
    outcome: str
    source: str
    edited: bool


@dataclass(frozen=True, slots=True)
class Companion:
    """A file that sessions edited together with another: how often, in which share of the other's edits.

    `edited` is how many sessions edited it at all.
    """

    path: str
    times: int
    share: float
    edited: int


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session in a list. `reads` and `edits` count files, `events` everything that was recorded of it."""

    session_id: str
    task_text: str
    query_type: str
    started_at: int
    ended_at: int | None
    outcome: str
    source: str
    parent_session: str
    prompt_index: int | None
    outcome_evidence: str
    closed_by: str
    reads: int
    edits: int
    events: int
    last_at: int


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


def file_sessions(tables: Tables, path: str, limit: int) -> list[FileSession]:
    """Return the newest sessions that read or edited a file. Raises: StoreError."""
    return [FileSession(*row) for row in tables.query(SELECT_FILE_SESSIONS, {"path": path, "limit": limit})]


def companions(tables: Tables, path: str, *, most: int, limit: int) -> list[Companion]:
    """Return the files that were edited with a file, the most often first.

    Sessions that edited more than `most` files are left out: they say nothing about any two of them.
    Raises: StoreError.
    """
    asked = {"path": path, "most": most, "limit": limit}
    return [Companion(*row) for row in tables.query(SELECT_COMPANIONS, asked)]


class TableQueries(Tables):
    """Tables whose questions are methods: see the functions of the same names."""

    companions = companions
    completeness = completeness
    file_sessions = file_sessions
    measurements = measurements
    operation_stats = operation_stats
    sessions = sessions
    touching = touching
