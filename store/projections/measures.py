"""Measured operations from the stream `metrics`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from store.duck import insert
from store.projections.bodies import MeasuredBody, json_text
from workbench.ports import Entry
from workbench.records.conversion import convert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STREAM: Final = "metrics"

INSERT_METRICS: Final = """
INSERT INTO metrics
SELECT id, "at", operation, duration_ms,
    stages::JSON::MAP(VARCHAR, DOUBLE), cache::JSON::MAP(VARCHAR, BIGINT[]),
    TRY_CAST(tokens AS BIGINT), TRY_CAST(candidates AS BIGINT), degraded::JSON::VARCHAR[], ok, "by",
    TRY_CAST(tokens_saved AS BIGINT)
FROM staged
"""

_COLUMNS = {
    "id": "str",
    "at": "float64",
    "operation": "str",
    "duration_ms": "float64",
    "stages": "str",
    "cache": "str",
    "tokens": "object",
    "candidates": "object",
    "degraded": "str",
    "ok": "bool",
    "by": "str",
    "tokens_saved": "object",
}


class MeasureProjector:
    """Holds back rows of the table `metrics`."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self._rows: list[tuple[Any, ...]] = []

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds this projector takes."""
        return frozenset({"op.measured"})

    @property
    def held(self) -> int:
        """How many rows are held back."""
        return len(self._rows)

    def take(self, offset: int, entry: Entry) -> None:
        """Take an entry. Raises ValueError for a malformed body or time."""
        del offset
        body = convert(entry.body, MeasuredBody)
        self._rows.append(
            (
                entry.id,
                datetime.fromisoformat(entry.at).timestamp(),
                body.operation,
                body.duration_ms,
                json_text(body.stages),
                json_text(body.cache),
                body.tokens,
                body.candidates,
                json_text(body.degraded),
                body.ok,
                entry.by,
                body.tokens_saved,
            )
        )

    def flush(self) -> None:
        """Write what is held back."""
        if not self._rows:
            return
        values = list(zip(*self._rows, strict=True))
        insert(
            self._connection,
            INSERT_METRICS,
            {name: (kind, values[n]) for n, (name, kind) in enumerate(_COLUMNS.items())},
        )
        self._rows.clear()

    def finish(self) -> None:
        """Write what is held back."""
        self.flush()
