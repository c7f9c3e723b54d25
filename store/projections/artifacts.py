"""The project index as tables: replaced as a whole from the engine's arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from store.duck import insert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FILE_COLUMNS: Final = {
    "path": "str",
    "language": "str",
    "role": "str",
    "size": "int64",
    "mtime_ns": "int64",
    "content_hash": "str",
    "lines": "int64",
    "tokens": "int64",
}
EDGE_COLUMNS: Final = {"from_path": "str", "to_path": "str", "kind": "str"}
SYMBOL_COLUMNS: Final = {
    "path": "str",
    "name": "str",
    "kind": "str",
    "line": "int64",
    "end_line": "int64",
    "signature": "str",
    "parent": "str",
    "exported": "bool",
}

# Rows are few or many, but a table is always replaced whole: rebuilt it needs no deletion of each row.
DELETE_ARTIFACTS: Final = "TRUNCATE artifacts"
DELETE_EDGES: Final = "TRUNCATE artifact_edges"
DELETE_SYMBOLS: Final = "TRUNCATE symbols"
INSERT_ARTIFACTS: Final = """
INSERT INTO artifacts SELECT path, language, role, size, mtime_ns, content_hash, lines, tokens FROM staged
"""
INSERT_EDGES: Final = "INSERT INTO artifact_edges SELECT from_path, to_path, kind FROM staged"
INSERT_SYMBOLS: Final = """
INSERT INTO symbols SELECT path, name, kind, line, end_line, signature, parent, exported FROM staged
"""

Columns = Mapping[str, Sequence[Any]]


def replace_artifacts(
    connection: DuckDBPyConnection, files: Columns, edges: Columns, symbols: Columns
) -> None:
    """Replace the three tables. Each argument maps its table's column names to values of one length."""
    for delete, statement, columns, values in (
        (DELETE_ARTIFACTS, INSERT_ARTIFACTS, FILE_COLUMNS, files),
        (DELETE_EDGES, INSERT_EDGES, EDGE_COLUMNS, edges),
        (DELETE_SYMBOLS, INSERT_SYMBOLS, SYMBOL_COLUMNS, symbols),
    ):
        connection.execute(delete)
        if len(values[next(iter(columns))]):
            insert(connection, statement, {name: (kind, values[name]) for name, kind in columns.items()})
