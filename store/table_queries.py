"""Queries of the tables: how complete sessions are, the past of a file, measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from store.file_history import file_history
from store.metrics import lock_waits, measurements, operation_stats
from store.table_state import model_entries, tables_report
from store.tables import Tables
from store.usage import usage_records
from workbench.records.episodes import Completeness

if TYPE_CHECKING:
    from store.tables import Tables


# A session that nobody ended counts as ended once it is quiet since before $quiet_since; as the journal does
# after the next catch-up.
SELECT_COMPLETENESS: Final = """
SELECT count(*) FILTER (over), count(*) FILTER (traced), count(*) FILTER (traced AND reads > 0 AND edits > 0),
    count(*) FILTER (NOT over)
FROM (
    SELECT *, over AND trim(task_text) <> '' AND reads + edits > 0 AND outcome <> 'unknown' AS traced
    FROM (
        SELECT *, ended_at IS NOT NULL OR last_at < $quiet_since AS over FROM sessions WHERE source <> 'git'
    )
)
"""


def completeness(tables: Tables, *, quiet_since: float) -> Completeness:
    """Return how many sessions are complete. Raises: StoreError."""
    [counts] = tables.query(SELECT_COMPLETENESS, {"quiet_since": quiet_since})
    return Completeness(*counts)


class TableQueries(Tables):
    """Tables whose questions are methods: see the functions of the same names."""

    completeness = completeness
    file_history = file_history
    lock_waits = lock_waits
    measurements = measurements
    model_entries = model_entries
    operation_stats = operation_stats
    report = tables_report
    usage_records = usage_records
