"""Queries of the tables: how complete sessions are, the past of a file, measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from store.file_history import file_history
from store.metrics import (
    cache_hit_rate,
    calls_in_use,
    event_counts,
    lock_waits,
    measurements,
    operation_stats,
)
from store.table_state import model_entries, tables_report
from store.tables import Tables
from store.usage import usage_records
from workbench.records.dataclass import dataclass
from workbench.records.episodes import Completeness

if TYPE_CHECKING:
    from store.tables import Tables


@dataclass(frozen=True, slots=True)
class ProjectSpan:
    """A project by its name in records: how many tasks are recorded of it, from when to when in seconds."""

    project_id: str
    tasks: int
    first_at: int
    last_at: int


# A session that nobody ended counts as ended once it is quiet since before $quiet_since; as the journal does
# after the next catch-up.
SELECT_COMPLETENESS: Final = """
WITH known AS (
    SELECT *, ended_at IS NOT NULL OR last_at < $quiet_since AS over,
        trim(task_text) <> '' AND reads + edits > 0 AND outcome <> 'unknown' AS traced,
        coalesce(nullif(parent_session, ''), id) AS agents
    FROM sessions WHERE source <> 'git'
), whole AS (
    SELECT bool_or(trim(task_text) <> '') AND sum(reads) > 0 AND sum(edits) > 0
        AND bool_or(outcome <> 'unknown') AS full_story
    FROM known WHERE over GROUP BY agents
)
SELECT count(*) FILTER (over), count(*) FILTER (over AND traced),
    count(*) FILTER (over AND traced AND reads > 0 AND edits > 0), count(*) FILTER (NOT over),
    (SELECT count(*) FROM whole), (SELECT count(*) FROM whole WHERE full_story)
FROM known
"""


def completeness(tables: Tables, *, quiet_since: float) -> Completeness:
    """Return how many sessions are complete. Raises: StoreError."""
    [counts] = tables.query(SELECT_COMPLETENESS, {"quiet_since": quiet_since})
    return Completeness(*counts)


SELECT_PROJECTS: Final = """
SELECT project_id, tasks, first_at, last_at FROM projects ORDER BY last_at DESC, project_id
"""


def project_spans(tables: Tables) -> list[ProjectSpan]:
    """Return the projects that tasks were recorded of, the last one first. Raises: StoreError."""
    return [ProjectSpan(*row) for row in tables.query(SELECT_PROJECTS)]


class TableQueries(Tables):
    """Tables whose questions are methods: see the functions of the same names."""

    cache_hit_rate = cache_hit_rate
    calls_in_use = calls_in_use
    completeness = completeness
    event_counts = event_counts
    file_history = file_history
    lock_waits = lock_waits
    measurements = measurements
    model_entries = model_entries
    operation_stats = operation_stats
    project_spans = project_spans
    report = tables_report
    usage_records = usage_records
