"""The list of conflicts that wait: where the fields of `workbench.lists.conflicts` are in the tables.

The table `conflicts` has what the last searches found. A conflict waits while nobody settled it and both
sides are as they were: new words make a new rule, and a learning's are compared.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec

from store.lists.conditions import FieldColumn
from store.lists.haystack import haystack, row_number
from store.lists.sql_list import ListColumns, SortKey, SqlList
from store.projections.bodies import json_text
from store.projections.rows import Row, insert_rows
from store.tables import Tables
from workbench.lists.conflicts import CONFLICTS, KINDS, ConflictRow, ConflictSide
from workbench.records.conflicts import ConflictKind, Evidence, Suggestion
from workbench.records.conversion import convert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OPEN: Final = """
CASE "of" WHEN 'rule' THEN id NOT IN (SELECT id FROM rule_conflicts)
    AND left_id IN (SELECT id FROM rules WHERE enabled) AND right_id IN (SELECT id FROM rules WHERE enabled)
ELSE id NOT IN (SELECT id FROM learning_conflicts WHERE settled)
    AND (left_id, left_text) IN (SELECT (id, text) FROM learnings WHERE state = 'live')
    AND (right_id, right_text) IN (SELECT (id, text) FROM learnings WHERE state = 'live')
END
"""

FIELDS: Final = {
    "text": FieldColumn("[left_text, right_text]", many=True),
    "why": FieldColumn("why"),
    "file": FieldColumn(
        "list_filter([left_file, left_where, right_file, right_where], lambda one: one <> '')",
        many=True,
        counted="list_distinct(list_filter([left_file, right_file], lambda one: one <> ''))",
    ),
    "kind": FieldColumn("kind"),
    "of": FieldColumn('"of"'),
    "suggested": FieldColumn("suggested"),
    "scope": FieldColumn("scope", many=True),
    "score": FieldColumn("score"),
    "updated": FieldColumn("updated"),
    "id": FieldColumn("id"),
}

_RANK: Final = f"list_position([{', '.join(repr(kind.value) for kind in KINDS)}], kind)"

SORTS: Final[dict[str, tuple[SortKey, ...]]] = {
    "surest": (("score", True), (_RANK, False)),
    "kind": ((_RANK, False), ("score", True)),
    "file": (("left_where", False), ("right_where", False)),
    "newest": (("updated", True),),
}

SELECT_DIGEST: Final = 'SELECT digest FROM conflict_searches WHERE "of" = $of'
PUT_DIGEST: Final = "INSERT OR REPLACE INTO conflict_searches VALUES ($of, $digest)"
DELETE_CONFLICTS: Final = 'DELETE FROM conflicts WHERE "of" = $of'
INSERT_CONFLICTS: Final = """
INSERT INTO conflicts
SELECT "of", id, number, kind, score, left_id, right_id, left_text, right_text, left_where, right_where,
    left_file, right_file, why, suggested, scope::JSON::VARCHAR[], updated, evidence::JSON, suggestion::JSON,
    haystack, cased
FROM staged
"""

_ROW: Final = """
id, "of", kind, score, left_id, left_text, left_where, left_file,
right_id, right_text, right_where, right_file, why, evidence, suggestion, scope, updated
"""
_TYPES: Final = {"number": "int64", "score": "float64"}


def conflict_list(tables: Tables) -> SqlList[ConflictRow]:
    """Return the conflicts that wait."""
    return SqlList(tables, ListColumns(CONFLICTS, "FROM conflicts", FIELDS, SORTS, _ROW, _conflict, OPEN))


def keep_conflicts(tables: Tables, of: str, found: Sequence[ConflictRow]) -> None:
    """Have the tables say what a search found, unless they do. Raises: StoreError, StoreBusy."""
    digest = sha256(msgspec.msgpack.encode(found)).hexdigest()
    if tables.query(SELECT_DIGEST, {"of": of}) == [(digest,)]:
        return

    def work(connection: DuckDBPyConnection) -> None:
        connection.execute(DELETE_CONFLICTS, {"of": of})
        insert_rows(connection, INSERT_CONFLICTS, [_row(one) for one in found], _TYPES)
        connection.execute(PUT_DIGEST, {"of": of, "digest": digest})

    tables.write(work)


def _row(one: ConflictRow) -> Row:
    sides = (one.left, one.right)
    suggested = one.suggestion.action.value.replace("_", "-")
    files = [name for side in sides for name in (side.file, side.where) if name]
    cased, lower = haystack(
        ([side.text for side in sides], one.why, files, one.kind.value, one.of, suggested, one.scope, one.id)
    )
    row: Row = {
        "of": one.of,
        "id": one.id,
        "number": row_number(one.id),
        "kind": one.kind.value,
        "score": one.score,
        "why": one.why,
        "suggested": suggested,
        "scope": json_text(one.scope),
        "updated": one.updated,
        "evidence": json_text(one.evidence),
        "suggestion": json_text(one.suggestion),
        "haystack": lower,
        "cased": cased,
    }
    for name, side in zip(("left", "right"), sides, strict=True):
        given = {"id": side.id, "text": side.text, "where": side.where, "file": side.file}
        row |= {f"{name}_{part}": value for part, value in given.items()}
    return row


def _conflict(row: Sequence[Any]) -> ConflictRow:
    identifier, of, kind, score, *sides, why, evidence, suggestion, scope, updated = row
    return ConflictRow(
        identifier,
        of,
        ConflictKind(kind),
        score,
        ConflictSide(*sides[:4]),
        ConflictSide(*sides[4:]),
        why,
        convert(json.loads(evidence), tuple[Evidence, ...]),
        convert(json.loads(suggestion), Suggestion),
        tuple(scope),
        updated,
    )
