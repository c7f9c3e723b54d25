"""The project index as columns of values, for tables that people and screens read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.project.index import ProjectIndex
from workbench.project.snapshot import Snapshot
from workbench.text.tokens import estimated_tokens

Columns = Mapping[str, Sequence[Any]]


def artifact_columns(
    index: ProjectIndex, snapshot: Snapshot, paths: Sequence[str]
) -> tuple[Columns, Columns, Columns]:
    """Return some living files, their symbols, and the imports and tests of all files, each as columns.

    `tokens` are estimated from the size: those of what a plan reads are counted then.
    """
    rows = {path: row for row, path in enumerate(snapshot.paths)}
    positions = [index.positions[path] for path in paths]
    symbols = [
        (path, found)
        for path, position in zip(paths, positions, strict=True)
        for found in index.record(position)[0]
    ]
    pairs = [
        (index.paths[source], index.paths[target], kind)
        for kind, edges in (("import", index.edges), ("test", index.tests))
        for source, target in edges.tolist()
        if index.alive[source] and index.alive[target]
    ]
    return (
        {
            "path": paths,
            "language": [index.languages[position] for position in positions],
            "role": [str(index.roles[position]) for position in positions],
            "size": [int(index.size[position]) for position in positions],
            "mtime_ns": [int(snapshot.mtimes[rows[path]]) for path in paths],
            "content_hash": [snapshot.hashes[rows[path]] for path in paths],
            "lines": [int(index.lines[position]) for position in positions],
            "tokens": [estimated_tokens(int(index.size[position])) for position in positions],
        },
        {
            "path": [path for path, _ in symbols],
            "name": [found.name for _, found in symbols],
            "kind": [found.kind for _, found in symbols],
            "line": [found.line for _, found in symbols],
            "end_line": [found.end_line for _, found in symbols],
            "signature": [found.signature for _, found in symbols],
            "parent": [found.parent for _, found in symbols],
            "exported": [found.exported for _, found in symbols],
        },
        {
            "from_path": [pair[0] for pair in pairs],
            "to_path": [pair[1] for pair in pairs],
            "kind": [pair[2] for pair in pairs],
        },
    )
