"""What the tables know of one file [img 6]: what it is, who touched it and why, what changed with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from store.duck import storable
from workbench.records.dataclass import dataclass
from workbench.records.project import Symbol

if TYPE_CHECKING:
    from store.tables import Tables


SELECT_FILE: Final = "SELECT language, role, size, lines, tokens FROM artifacts WHERE path = $path"
SELECT_SYMBOLS: Final = """
SELECT name, kind, line, end_line, signature, parent, exported FROM symbols WHERE path = $path
ORDER BY line, end_line DESC, name
"""
SELECT_EDGES: Final = """
SELECT kind, from_path = $path AS outwards, if(from_path = $path, to_path, from_path) AS other
FROM artifact_edges WHERE from_path = $path OR to_path = $path ORDER BY kind, outwards, other
"""
# A task that names an issue of this one, or is of its fingerprint, comes first.
SELECT_SESSIONS: Final = """
WITH touched AS (
    SELECT session_id, bool_or(event_type = 'edit') AS edited FROM episode_events
    WHERE file_path = $path AND event_type IN ('read', 'edit') GROUP BY session_id
), causes AS (
    SELECT session_id, coalesce(max(commit_sha), '') AS commit_sha, coalesce(max(rationale), '') AS rationale,
        coalesce(array_agg(DISTINCT issue_ref ORDER BY issue_ref) FILTER (issue_ref IS NOT NULL), [])
            AS issues
    FROM causal_links WHERE change_path = $path GROUP BY session_id
)
SELECT session_id, task_text, started_at, outcome, source, edited, coalesce(commit_sha, ''),
    coalesce(issues, []), coalesce(rationale, ''), coalesce(weight, 0)::DOUBLE,
    episodes.task_fingerprint = $fingerprint
        OR list_has_any(coalesce(issues, []), $issues::VARCHAR[]) AS related
FROM touched JOIN episodes USING (session_id) JOIN episode_sources USING (session_id)
LEFT JOIN causes USING (session_id)
LEFT JOIN task_file_affinity AS affinity
    ON affinity.task_fingerprint = episodes.task_fingerprint AND affinity.file_path = $path
ORDER BY related DESC, started_at DESC, session_id LIMIT $limit
"""
SELECT_EVENTS: Final = """
SELECT event_type, count(*), count(DISTINCT session_id) FROM episode_events WHERE file_path = $path
GROUP BY event_type ORDER BY event_type
"""
SELECT_COMPANIONS: Final = """
WITH edited AS (
    SELECT DISTINCT session_id, file_path FROM episode_events
    WHERE event_type = 'edit' AND file_path IS NOT NULL
), ours AS (SELECT session_id FROM edited WHERE file_path = $path),
small AS (
    SELECT session_id FROM edited WHERE session_id IN (SELECT session_id FROM ours)
    GROUP BY session_id HAVING count(*) <= $most
), together AS (
    SELECT file_path, count(*) AS times FROM edited
    WHERE session_id IN (SELECT session_id FROM small) AND file_path <> $path GROUP BY file_path
)
SELECT file_path, times,
    times::DOUBLE / (SELECT count(*) FROM ours) AS share,
    (SELECT count(*) FROM edited WHERE edited.file_path = together.file_path) AS edited
FROM together ORDER BY times DESC, file_path LIMIT $limit
"""
SELECT_AFFINITY: Final = """
SELECT reads, edits, success_edits, last_seen, weight::DOUBLE, place, files
FROM (
    SELECT *, rank() OVER (ORDER BY weight DESC) AS place, count(*) OVER () AS files
    FROM task_file_affinity WHERE task_fingerprint = $fingerprint
) WHERE file_path = $path
"""


@dataclass(frozen=True, slots=True)
class FileArtifact:
    """A file as the index of the last plan has it; `tokens` are estimated from its `size` in bytes."""

    language: str
    role: str
    size: int
    lines: int
    tokens: int
    imports: tuple[str, ...]
    imported_by: tuple[str, ...]
    tests: tuple[str, ...]
    tested_by: tuple[str, ...]
    symbols: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class FileSession:
    """A task that read a file, or `edited` it: in which commit, for which issues, for what reason.

    `weight` is the file's affinity to tasks of that fingerprint. `related` ones name an issue of the task
    that was asked about, or are of its fingerprint.
    """

    session_id: str
    task_text: str
    started_at: int
    outcome: str
    source: str
    edited: bool
    commit_sha: str
    issues: tuple[str, ...]
    rationale: str
    weight: float
    related: bool


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
class TaskAffinity:
    """How strongly a file belongs to a fingerprint: its `place` by `weight` among so many `files`, from 1."""

    reads: int
    edits: int
    success_edits: int
    last_seen: int
    weight: float
    place: int
    files: int


@dataclass(frozen=True, slots=True)
class FileHistory:
    """All of that: `facts` is None for a file that is not indexed, `affinity` for one the task never met.

    `read` and `edited` count all tasks that did so, `events` what was recorded by its type; `sessions` and
    `companions` are the first ones.
    """

    path: str
    facts: FileArtifact | None
    read: int
    edited: int
    events: Mapping[str, int]
    sessions: tuple[FileSession, ...]
    companions: tuple[Companion, ...]
    affinity: TaskAffinity | None


@dataclass(frozen=True, slots=True)
class AskedTask:
    """The task that a file is asked about: its fingerprint and the issues it names; empty for none."""

    fingerprint: str = ""
    issues: tuple[str, ...] = ()


def file_history(tables: Tables, path: str, task: AskedTask, *, most: int, limit: int) -> FileHistory:
    """Return what is known of a file, lists of at most `limit`. Raises: StoreError.

    Tasks that edited more than `most` files say nothing about any two of them.
    """
    name = storable(path)
    ours = {"path": name}
    about = {**ours, "fingerprint": task.fingerprint}
    wanted = (
        (SELECT_FILE, ours),
        (SELECT_SYMBOLS, ours),
        (SELECT_EDGES, ours),
        (SELECT_EVENTS, ours),
        (SELECT_SESSIONS, {**about, "issues": list(task.issues), "limit": limit}),
        (SELECT_COMPANIONS, {**ours, "most": most, "limit": limit}),
        (SELECT_AFFINITY, about),
    )
    files, symbols, edges, events, sessions, companions, affinity = tables.read(
        lambda connection: [connection.execute(*one).fetchall() for one in wanted]
    )
    tasks = {kind: count for kind, _, count in events}
    return FileHistory(
        path,
        _facts(files[0], symbols, edges) if files else None,
        tasks.get("read", 0),
        tasks.get("edit", 0),
        {kind: count for kind, count, _ in events},
        tuple(map(_session, sessions)),
        tuple(Companion(*row) for row in companions),
        TaskAffinity(*affinity[0]) if affinity else None,
    )


def _session(row: tuple[Any, ...]) -> FileSession:
    session, task, started, outcome, source, edited, sha, issues, rationale, weight, related = row
    return FileSession(
        session, task, started, outcome, source, edited, sha, tuple(issues), rationale, weight, related
    )


def _facts(
    row: tuple[str, str, int, int, int],
    symbols: Sequence[tuple[str, str, int, int, str, str, bool]],
    edges: Sequence[tuple[str, bool, str]],
) -> FileArtifact:
    def others(wanted: str, *, outwards: bool) -> tuple[str, ...]:
        return tuple(other for kind, out, other in edges if (kind, out) == (wanted, outwards))

    return FileArtifact(
        *row,
        imports=others("import", outwards=True),
        imported_by=others("import", outwards=False),
        tests=others("test", outwards=True),
        tested_by=others("test", outwards=False),
        symbols=tuple(Symbol(*symbol) for symbol in symbols),
    )
