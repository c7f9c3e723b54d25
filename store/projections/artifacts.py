"""The project index as tables, brought up to date by files: those that changed are replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from store.duck import insert
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from store.duck import Connection

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

SELECT_STATES: Final = "SELECT path, content_hash, mtime_ns FROM artifacts"
DELETE_ARTIFACTS: Final = "DELETE FROM artifacts WHERE path IN (SELECT path FROM staged)"
DELETE_SYMBOLS: Final = "DELETE FROM symbols WHERE path IN (SELECT path FROM staged)"
DELETE_EDGES: Final = "DELETE FROM artifact_edges"
# A key that was deleted cannot come again in the same transaction.
INSERT_ARTIFACTS: Final = """
INSERT INTO artifacts
SELECT path, language, role, size, mtime_ns, content_hash, lines, tokens FROM staged
ON CONFLICT (path) DO UPDATE SET
    language = excluded.language, role = excluded.role, size = excluded.size, mtime_ns = excluded.mtime_ns,
    content_hash = excluded.content_hash, lines = excluded.lines, tokens = excluded.tokens
"""
INSERT_EDGES: Final = "INSERT INTO artifact_edges SELECT from_path, to_path, kind FROM staged"
INSERT_SYMBOLS: Final = """
INSERT INTO symbols SELECT path, name, kind, line, end_line, signature, parent, exported FROM staged
"""

Columns = Mapping[str, Sequence[Any]]
States = Mapping[str, tuple[str, int]]
"""{path: (content hash, nanoseconds of its last change)} of files."""


@dataclass(frozen=True, slots=True)
class Artifacts:
    """Files with their symbols, and all edges; each maps a table's column names to values of one length."""

    files: Columns
    symbols: Columns
    edges: Columns


def states(connection: Connection) -> dict[str, tuple[str, int]]:
    """Return which files the tables hold, as of which content."""
    rows = connection.execute(SELECT_STATES).fetchall()
    return {path: (digest, changed) for path, digest, changed in rows}


def update(connection: Connection, gone: Sequence[str], found: Artifacts) -> None:
    """Take files out and put others in or in place of what was there, with their symbols; all edges again."""
    changed = found.files["path"]
    _delete(connection, DELETE_ARTIFACTS, gone)
    _delete(connection, DELETE_SYMBOLS, [*gone, *changed])
    connection.execute(DELETE_EDGES)
    for statement, columns, values in (
        (INSERT_ARTIFACTS, FILE_COLUMNS, found.files),
        (INSERT_EDGES, EDGE_COLUMNS, found.edges),
        (INSERT_SYMBOLS, SYMBOL_COLUMNS, found.symbols),
    ):
        if len(values[next(iter(columns))]):
            insert(connection, statement, {name: (kind, values[name]) for name, kind in columns.items()})


def _delete(connection: Connection, statement: str, paths: Sequence[str]) -> None:
    if paths:
        insert(connection, statement, {"path": ("str", paths)})
