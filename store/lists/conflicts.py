"""The list of conflicts that wait: where the fields of `workbench.lists.conflicts` are in the tables.

The table `conflicts` has what the last searches found. A conflict waits while nobody settled it and both
sides are as they were: new words make a new rule, and a learning's are compared. What an overlay names is
given as lists of numbers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec

from store.duck import insert, storable
from store.lists.conditions import FieldColumn
from store.lists.haystack import haystack
from store.lists.sql_list import ListColumns, SortKey, SqlList
from store.projections import learnings, rules, segments
from store.projections.bodies import json_text
from store.projections.rows import USAGE, Row, insert_rows
from store.tables import Tables
from workbench.lists.conflicts import (
    CONFLICTS,
    KINDS,
    NOTHING_DONE,
    ConflictOverlay,
    ConflictRow,
    ConflictSide,
    WaitingConflicts,
)
from workbench.lists.tables import row_number
from workbench.ports import Clock
from workbench.records.conflicts import ConflictKind, Evidence, Suggestion
from workbench.records.conversion import convert

if TYPE_CHECKING:
    from store.duck import Connection

_SETTLED_IDS: Final = """
SELECT id FROM rule_conflicts UNION ALL SELECT id FROM learning_conflicts WHERE settled
"""
# The sides that are as they were: rules by their ids, which are of their words, learnings with theirs.
_SIDES: Final = """
SELECT 'rule', id, '' FROM rules WHERE enabled
UNION ALL SELECT 'learning', id, text FROM learnings WHERE state = 'live'
"""


def _is_side(side: str) -> str:
    return f"""("of", {side}_id, CASE WHEN "of" = 'rule' THEN '' ELSE {side}_text END) IN ({_SIDES})"""


OPEN: Final = f"""
gone_at IS NULL AND id NOT IN ({_SETTLED_IDS})
    AND (kind = 'concurrent' OR {_is_side("left")} AND {_is_side("right")})
"""

# By whom and how a conflict was settled, NULL where it was not.
_SETTLED: Final = """
CASE "of" WHEN 'rule' THEN (SELECT any_value("by" || ': ' || replace(action, '_', ' '))
    FROM rule_conflicts AS one WHERE one.id = conflicts.id)
ELSE (SELECT any_value("by" || ': ' || replace(action, '_', ' '))
    FROM learning_conflicts AS one WHERE one.id = conflicts.id AND settled)
END
"""


def _among(name: str, overlay: ConflictOverlay) -> str:
    """Return the condition of the conflicts that an overlay names."""
    return f"number IN (SELECT unnest(${name}::BIGINT[]))" if getattr(overlay, name) else "false"


def _waits(overlay: ConflictOverlay) -> str:
    changed, later = _among("changed", overlay), _among("later", overlay)
    return f"CASE WHEN {changed} THEN 'changed' WHEN {later} THEN 'later' ELSE 'open' END"


def _state(overlay: ConflictOverlay) -> str:
    settled = f"CASE WHEN ({_SETTLED}) IS NOT NULL THEN 'elsewhere' ELSE 'gone' END"
    return f"CASE WHEN {OPEN} THEN {_waits(overlay)} ELSE {settled} END" if overlay.kept else _waits(overlay)


def _visible(overlay: ConflictOverlay) -> str:
    """Return the condition of what waits, or is kept in sight although it no longer does."""
    return f"(({OPEN}) OR {_among('kept', overlay)}) AND NOT {_among('away', overlay)}"


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
    "side": FieldColumn("[left_id, right_id]", many=True),
    "scope": FieldColumn("scope", many=True),
    "score": FieldColumn("score"),
    "updated": FieldColumn("updated"),
    "id": FieldColumn("id"),
}

_RANK: Final = f"list_position([{', '.join(repr(kind.value) for kind in KINDS)}], kind)"

SORTS: Final[dict[str, tuple[SortKey, ...]]] = {
    "surest": (("score", False), (_RANK, True)),
    "kind": ((_RANK, False), ("score", True)),
    "file": (("left_where", False), ("right_where", False)),
    "newest": (("updated", False),),
}

SELECT_DIGEST: Final = 'SELECT digest FROM conflict_searches WHERE "of" = $of'
SELECT_ANY: Final = 'SELECT number FROM conflicts WHERE "of" = $of AND gone_at IS NULL LIMIT 1'
PUT_DIGEST: Final = """
INSERT INTO conflict_searches VALUES ($of, $digest)
ON CONFLICT ("of") DO UPDATE SET digest = excluded.digest
"""
DELETE_DIGEST: Final = 'DELETE FROM conflict_searches WHERE "of" = $of'
DELETE_GONE: Final = 'DELETE FROM conflicts WHERE "of" = $of AND gone_at < $since'
MARK_OTHERS: Final = """
UPDATE conflicts SET gone_at = $now WHERE "of" = $of AND gone_at IS NULL AND id NOT IN (SELECT unnest($ids))
"""
MARK_GONE: Final = """
UPDATE conflicts SET gone_at = $now WHERE "of" = $of AND gone_at IS NULL AND id IN (SELECT unnest($ids))
"""
DELETE_FOUND: Final = """
DELETE FROM conflicts USING staged WHERE conflicts."of" = staged."of" AND conflicts.id = staged.id
"""
INSERT_CONFLICTS: Final = """
INSERT INTO conflicts
SELECT "of", id, number, kind, score, left_id, right_id, left_text, right_text, left_where, right_where,
    left_file, right_file, why, suggested, scope::JSON::VARCHAR[], updated, evidence::JSON, suggestion::JSON,
    haystack, cased, NULL
FROM staged
"""
# What people decide of the two sides of each conflict that waits; where they come from and counts may change.
SELECT_WAITING: Final = f"""
WITH marks (record, mark) AS (
    SELECT id, bit_xor(hash(name, rule, category, authority, scope, conditions, tool_targets, priority, tags,
        condition_text, level, cooldown, examples, "check")) FROM rules GROUP BY id
    UNION ALL SELECT id, hash(text, reason, kind, feature, task_id, files, scope, reviewed) FROM learnings
)
SELECT number, hash(one.mark, other.mark) AS mark FROM conflicts
LEFT JOIN marks AS one ON one.record = left_id LEFT JOIN marks AS other ON other.record = right_id
WHERE {OPEN} ORDER BY number
"""

_ROW: Final = """
id, "of", kind, score, left_id, left_text, left_where, left_file,
right_id, right_text, right_where, right_file, why, evidence, suggestion, scope, updated
"""
_TYPES: Final = {"number": "int64", "score": "float64"}


_DAY: Final = 86_400.0
_STREAMS: Final = (rules.STREAM, USAGE, learnings.PREFIX, segments.STREAM)
"""Those of the records on both sides: what else was written, of operations most of all, nobody waits for."""


class ConflictTable:
    """The conflicts of a project: a `ConflictStore` over its tables."""

    def __init__(self, tables: Tables, clock: Clock) -> None:
        self._tables = tables
        self._clock = clock

    def list_waiting(self, overlay: ConflictOverlay = NOTHING_DONE) -> SqlList[ConflictRow]:
        """Return the list of those that wait, with an overlay; what was put off comes last in every order."""
        state = _state(overlay)
        settled = f"coalesce({_SETTLED}, '')" if overlay.kept else "''"
        columns = ListColumns(
            CONFLICTS,
            "conflicts",
            {**FIELDS, "state": FieldColumn(state)},
            SORTS,
            f"{_ROW}, {state}, {settled}",
            _conflict,
            _visible(overlay),
            ((_among("later", overlay), False),) if overlay.later else (),
            streams=_STREAMS,
        )
        given = {name: list(getattr(overlay, name)) for name in overlay.__slots__}
        return SqlList(self._tables, columns, lambda: given)

    def waiting(self) -> WaitingConflicts:
        """Return which wait, and marks of what their sides are like. Raises: StoreError, StoreBusy."""
        found = self._tables.read(
            lambda connection: connection.execute(SELECT_WAITING).fetchnumpy(), _STREAMS
        )
        return WaitingConflicts(found["number"], found["mark"])

    def keep(self, of: str, found: Sequence[ConflictRow]) -> bool:
        """Have the list say what a search found; return False if it does already.

        What is not found any more stays for a day.

        Raises: StoreError, StoreBusy.
        """
        digest = sha256(msgspec.msgpack.encode(found)).hexdigest()

        def is_same(connection: Connection) -> bool:
            said = connection.execute(SELECT_DIGEST, {"of": of}).fetchall()
            if not said and not found:  # as nobody ever searched, or pairs were judged since
                return not connection.execute(SELECT_ANY, {"of": of}).fetchall()
            return said == [(digest,)]

        if self._tables.read(is_same, _STREAMS):
            return False
        now, ids = self._clock.now(), [storable(one.id) for one in found]

        def work(connection: Connection) -> None:
            connection.execute(DELETE_GONE, {"of": of, "since": now - _DAY})
            connection.execute(MARK_OTHERS, {"of": of, "now": now, "ids": ids})
            _put(connection, found)
            connection.execute(PUT_DIGEST, {"of": of, "digest": digest})

        self._tables.write(work)
        return True

    def amend(self, of: str, found: Sequence[ConflictRow], gone: Sequence[str]) -> None:
        """Have the list say what is known of a few pairs without a search. Raises: StoreError, StoreBusy."""

        def work(connection: Connection) -> None:
            connection.execute(MARK_GONE, {"of": of, "now": self._clock.now(), "ids": list(gone)})
            _put(connection, found)
            connection.execute(DELETE_DIGEST, {"of": of})

        self._tables.write(work)


def _put(connection: Connection, found: Sequence[ConflictRow]) -> None:
    rows = [_row(one) for one in found]
    if rows:
        insert(
            connection, DELETE_FOUND, {name: ("str", [row[name] for row in rows]) for name in ("of", "id")}
        )
        insert_rows(connection, INSERT_CONFLICTS, rows, _TYPES)


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
    identifier, of, kind, score, *sides, why, evidence, suggestion, scope, updated, state, settled = row
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
        state,
        settled,
    )
