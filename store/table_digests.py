"""Content hashes of the tables that are made of journals: equal tables have equal ones."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from store.duck import Connection

# Tables that no journal feeds (artifacts, edges, symbols) are not projections of journals.
PROJECTED: Final = {
    "applied": "SELECT origin, stream, position, head FROM applied ORDER BY origin, stream",
    "corrections": "SELECT * FROM corrections ORDER BY origin, stream, position",
    "causal_links": "SELECT * FROM causal_links ORDER BY id",
    "episode_events": "SELECT * FROM episode_events ORDER BY id",
    "episode_sources": "SELECT * FROM episode_sources ORDER BY session_id",
    "episodes": "SELECT * FROM episodes ORDER BY session_id",
    "handovers": "SELECT * FROM handovers ORDER BY position",
    "learning_events": "SELECT * FROM learning_events ORDER BY origin, stream, position",
    "learning_conflicts": "SELECT * FROM learning_conflicts ORDER BY id",
    "learnings": "SELECT * FROM learnings ORDER BY id",
    "loaded_instructions": "SELECT * FROM loaded_instructions ORDER BY position",
    "metrics": "SELECT * FROM metrics ORDER BY id",
    "model_provenance": "SELECT * FROM model_provenance ORDER BY model_id",
    "model_registry": "SELECT * FROM model_registry ORDER BY model_id",
    "rejected": "SELECT * FROM rejected ORDER BY origin, stream, position",
    "rule_breaches": "SELECT * FROM rule_breaches ORDER BY session_id, rule_id, call",
    "rule_clocks": "SELECT * FROM rule_clocks ORDER BY origin",
    "rule_conflicts": "SELECT * FROM rule_conflicts ORDER BY id",
    "rule_files": "SELECT * FROM rule_files ORDER BY file",
    "rule_moments": "SELECT * FROM rule_moments ORDER BY kind, id",
    "rule_usage": "SELECT * FROM rule_usage ORDER BY origin, position, number",
    "rule_versions": "SELECT * FROM rule_versions ORDER BY origin, position",
    "rules": "SELECT * FROM rules ORDER BY origin, id",
    "segment_references": "SELECT * FROM segment_references ORDER BY segment_id, position",
    "segment_uses": "SELECT * FROM segment_uses ORDER BY position, segment_id",
    "segments": "SELECT * FROM segments ORDER BY segment_id",
    "session_counts": "SELECT * FROM session_counts ORDER BY session_id",
    "stream_counts": "SELECT * FROM stream_counts ORDER BY origin, stream",
    "task_file_affinity": "SELECT * FROM task_file_affinity ORDER BY task_fingerprint, file_path",
}

_ROWS = 5_000


def digests(connection: Connection) -> dict[str, str]:
    """Return a hash of each projected table's rows, in the order of their keys."""
    return {table: _digest(connection, statement) for table, statement in PROJECTED.items()}


def _digest(connection: Connection, statement: str) -> str:
    digest = hashlib.sha256()
    cursor = connection.execute(statement)
    while rows := cursor.fetchmany(_ROWS):
        for row in rows:
            digest.update(repr(row).encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()
