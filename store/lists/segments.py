"""The list of segments: where the fields of `workbench.lists.segments` are in the table `segments`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from store.duck import select, storable
from store.lists.conditions import FieldColumn
from store.lists.sql_list import ListColumns, SortKey, SqlList
from store.projections.segments import STREAM
from store.tables import Tables
from workbench.lists.segments import PREVIEW, SEGMENTS, SegmentRow
from workbench.lists.tables import row_number
from workbench.ports import Clock
from workbench.records.segments import ContextSegment, SegmentType

_CREATED: Final = 'epoch(TRY_CAST(left("timestamp", 19) AS TIMESTAMP))'
_AGE: Final = f"coalesce(greatest(0, floor(($now - {_CREATED}) / 86400)), 0)::BIGINT"
_EXPIRED: Final = "(NOT protected AND coalesce(expires_at <= $moment, false))"

SELECT_TEXTS: Final = """
SELECT segment_id, text FROM segments WHERE rowid IN (
    SELECT segments.rowid FROM segments JOIN staged USING (number, segment_id)
)
"""
SELECT_REFERRING: Final = """
SELECT referenced_id, segment_id FROM segment_references JOIN staged USING (referenced_id)
ORDER BY referenced_id, segment_id
"""
SELECT_SESSION: Final = "SELECT segment_id FROM segments WHERE session_id = $session AND NOT removed"

FIELDS: Final = {
    "text": FieldColumn("text"),
    "topic": FieldColumn("topic"),
    "source": FieldColumn("source"),
    "id": FieldColumn("[segment_id, regexp_replace(segment_id, '^seg-', '')]", many=True),
    "type": FieldColumn("type"),
    "session": FieldColumn("session_id"),
    "created": FieldColumn('"timestamp"'),
    "stashed": FieldColumn("stashed_at"),
    "expires": FieldColumn("expires_at"),
    "tokens": FieldColumn("tokens"),
    "age": FieldColumn(_AGE),
    "protected": FieldColumn("protected", counted="if(protected, 'yes', 'no')"),
    "expired": FieldColumn(_EXPIRED),
    "merged": FieldColumn("merged"),
    "shown": FieldColumn("shown"),
}

_NEWEST: Final[tuple[SortKey, ...]] = (('"timestamp"', True),)
SORTS: Final[dict[str, tuple[SortKey, ...]]] = {
    "newest": _NEWEST,
    "stashed": (("stashed_at", True),),
    "expires": (("coalesce(if(protected, NULL, expires_at), 'never')", False), *_NEWEST),
    "tokens": (("tokens", False),),
    "type": ((f"list_position({[one.value for one in SegmentType]!r}, type)", False), *_NEWEST),
    "topic": (("coalesce(lower(topic), '')", False), *_NEWEST),
    "merged": (("merged", False), ("shown", False)),
}
_ROW: Final = f"""segment_id, session_id, left(text, {PREVIEW}), type, "timestamp", stashed_at, tokens, topic,
    source, "references", embedding_model, expires_at, protected, project_id, metadata, digest,
    {_AGE}, {_EXPIRED}, shown, merged"""


def segment_list(tables: Tables, clock: Clock) -> SqlList[SegmentRow]:
    """Return the segments of the stash; ages and what is expired are as of now."""
    columns = ListColumns(
        SEGMENTS, "segments", FIELDS, SORTS, _ROW, _segment_row, "NOT removed", streams=(STREAM,)
    )

    def given() -> Mapping[str, Any]:
        now = clock.now()
        return {"now": now, "moment": datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")}

    return SqlList(tables, columns, given)


def segment_texts(tables: Tables, identifiers: Collection[str]) -> dict[str, str]:
    """Return the texts of segments by id, removed ones too; an unknown id is missing. Raises: StoreError."""
    ids = sorted(set(identifiers))
    if not ids:
        return {}
    numbers: list[Any] = [row_number(identifier) for identifier in ids]
    asked = {"segment_id": ("str", ids), "number": ("int64", numbers)}
    return dict(tables.read(lambda connection: select(connection, SELECT_TEXTS, asked)))


def referring_segments(tables: Tables, identifiers: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return, for each id, those of the segments that refer to it, sorted. Raises: StoreError."""
    asked = {"referenced_id": ("str", sorted(set(identifiers)))}
    found: dict[str, tuple[str, ...]] = dict.fromkeys(identifiers, ())
    if found:
        for referenced, one in tables.read(lambda connection: select(connection, SELECT_REFERRING, asked)):
            found[referenced] = (*found[referenced], one)
    return found


def session_segments(tables: Tables, session: str) -> tuple[str, ...]:
    """Return the ids of the segments of a session, in no order. Raises: StoreError."""
    asked = {"session": storable(session)}
    rows = tables.read(lambda connection: connection.execute(SELECT_SESSION, asked).fetchall())
    return tuple(one for (one,) in rows)


def _segment_row(row: Sequence[Any]) -> SegmentRow:
    (segment_id, session_id, text, kind, timestamp, stashed_at, tokens, topic, source, references) = row[:10]
    (model, expires_at, protected, project_id, metadata, digest, *counted) = row[10:]
    segment = ContextSegment(
        segment_id=segment_id,
        session_id=session_id,
        text=text,
        type=SegmentType(kind),
        timestamp=timestamp,
        stashed_at=stashed_at,
        tokens=tokens,
        topic=topic,
        source=source,
        references=tuple(references),
        embedding_model=model,
        expires_at=expires_at,
        protected=protected,
        project_id=project_id,
        metadata=json.loads(metadata),
        digest=digest,
    )
    return SegmentRow(segment, *counted)
