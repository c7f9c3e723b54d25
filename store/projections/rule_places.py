"""Where rule files have their rules now: lines of rules follow what was read of their files last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from store.duck import insert, select

if TYPE_CHECKING:
    from store.duck import Connection

SELECT_FILES: Final = "SELECT file FROM rule_files JOIN staged USING (file)"
# Anchors of a file in their order; `staged` has the files.
ANCHORS: Final = """
SELECT file, unnest(anchors::JSON[]) AS anchor, generate_subscripts(anchors::JSON[], 1) AS place
FROM rule_files JOIN staged USING (file)
"""
SELECT_SUPERSEDED: Final = f"""
SELECT DISTINCT anchor->>'rule_id' AS id FROM ({ANCHORS})
WHERE NOT EXISTS (SELECT 1 FROM rules WHERE rules.id = anchor->>'rule_id')
"""
# What took the place of rules that are gone, the latest word last.
SELECT_SUCCESSORS: Final = """
SELECT id, successor FROM (
    SELECT unnest(replaces) AS id, rule_id AS successor, "at", position FROM rule_versions
    UNION ALL
    SELECT rule_id, successor, "at", position FROM rule_versions WHERE successor <> ''
) JOIN staged USING (id) ORDER BY "at", position
"""
# `staged` has the files and ids that lead elsewhere, each in a column of its own.
PLACE_RULES: Final = """
UPDATE rules SET line = found.line, end_line = found.end_line
FROM (
    WITH wanted AS (SELECT file FROM staged WHERE file IS NOT NULL),
    heirs AS (SELECT id, heir FROM staged WHERE id IS NOT NULL),
    anchors AS (
        SELECT file, unnest(anchors::JSON[]) AS anchor, generate_subscripts(anchors::JSON[], 1) AS place
        FROM rule_files JOIN wanted USING (file)
    ), own AS (
        SELECT origin, id, files[1] AS file, (provenance->>'line')::BIGINT AS line,
            (provenance->>'end_line')::BIGINT AS end_line
        FROM rules JOIN wanted ON files[1] = wanted.file
    ), moved AS (
        SELECT coalesce(heir, anchor->>'rule_id') AS id, file, place, (anchor->>'line')::BIGINT AS line,
            (anchor->>'end_line')::BIGINT AS end_line
        FROM anchors LEFT JOIN heirs ON heirs.id = anchor->>'rule_id'
    ), placed AS (
        SELECT own.origin, own.id, arg_max(moved.line, place) AS line,
            arg_max(moved.end_line, place) AS end_line
        FROM own JOIN moved USING (id, file)
        WHERE own.line <> moved.line OR own.end_line <> moved.end_line GROUP BY own.origin, own.id
    )
    SELECT own.origin, own.id, coalesce(placed.line, own.line) AS line,
        coalesce(placed.end_line, own.end_line) AS end_line
    FROM own LEFT JOIN placed USING (origin, id)
) AS found
WHERE rules.origin = found.origin AND rules.id = found.id
    AND (rules.line <> found.line OR rules.end_line <> found.end_line)
"""


def place_rules(connection: Connection, written: Sequence[str], synced: Sequence[str]) -> None:
    """Set the lines of the rules in files that were `synced` and in those with rules that were `written`."""
    files = set(synced)
    if written:
        files.update(row[0] for row in select(connection, SELECT_FILES, {"file": ("str", written)}))
    if not files:
        return
    names = sorted(files)
    gone = [row[0] for row in select(connection, SELECT_SUPERSEDED, {"file": ("str", names)})]
    heirs = _heirs(connection, gone)
    staged: dict[str, tuple[str, list[str | None]]] = {
        "file": ("str", [*names, *(None for _ in heirs)]),
        "id": ("str", [*(None for _ in names), *heirs]),
        "heir": ("str", [*(None for _ in names), *heirs.values()]),
    }
    insert(connection, PLACE_RULES, staged)


def _heirs(connection: Connection, gone: Sequence[str]) -> dict[str, str]:
    """Return the ids that ids of rules that are gone lead to, followed until nothing more is known."""
    heirs = {identifier: identifier for identifier in gone}
    seen: set[str] = set()
    asked = set(gone)
    while asked:
        seen |= asked
        found = dict(select(connection, SELECT_SUCCESSORS, {"id": ("str", sorted(asked))}))
        heirs = {start: found.get(now, now) for start, now in heirs.items()}
        asked = set(found.values()) - seen
    return heirs
