"""The tables `segments`, `segment_references` and `segment_uses`, from the stream `stash` [rag §6].

The first entry of a segment brings its text; later ones change what else is known of it, removal hides it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from store.duck import insert, storable
from store.lists.haystack import FIELD, haystack
from store.projections.bodies import json_text
from store.projections.rows import Place, Row, insert_rows
from workbench.lists.tables import row_number
from workbench.ports import Entry
from workbench.records.conversion import convert
from workbench.records.segments import ContextSegment, SegmentType, text_digest

if TYPE_CHECKING:
    from store.duck import Connection

STREAM: Final = "stash"

DELETE_SEGMENTS: Final = "DELETE FROM segments USING staged WHERE segments.segment_id = staged.segment_id"
INSERT_SEGMENTS: Final = """
INSERT INTO segments
SELECT segment_id, session_id, text, type, "timestamp", stashed_at, tokens, topic, source,
    "references"::JSON::VARCHAR[], embedding_model, expires_at, protected, project_id, metadata::JSON, digest,
    removed, 0, 0, number, haystack
FROM staged
"""
# The text is the first field of what is searched, and stays.
UPDATE_SEGMENTS: Final = f"""
UPDATE segments SET session_id = staged.session_id, type = staged.type, "timestamp" = staged."timestamp",
    stashed_at = staged.stashed_at, tokens = staged.tokens, topic = staged.topic, source = staged.source,
    "references" = staged."references"::JSON::VARCHAR[], expires_at = staged.expires_at,
    protected = staged.protected, project_id = staged.project_id, metadata = staged.metadata::JSON,
    removed = staged.removed,
    haystack = split_part(segments.haystack, chr({ord(FIELD)}), 1) || staged.haystack
FROM staged WHERE segments.segment_id = staged.segment_id
"""
# An index was written with vectors of all that were there, by the models of their types.
UPDATE_MODEL: Final = """
UPDATE segments SET embedding_model = found.model
FROM (SELECT unnest($types) AS type, unnest($models) AS model) AS found
WHERE segments.type = found.type AND embedding_model <> found.model
"""
HIDE_SEGMENTS: Final = """
UPDATE segments SET removed = TRUE FROM staged WHERE segments.segment_id = staged.segment_id
"""
DELETE_REFERENCES: Final = """
DELETE FROM segment_references USING staged WHERE segment_references.segment_id = staged.segment_id
"""
INSERT_REFERENCES: Final = """
INSERT INTO segment_references SELECT segment_id, referenced_id, position FROM staged
WHERE segment_id IN (SELECT segment_id FROM segments WHERE NOT removed)
"""
INSERT_USES: Final = """
INSERT INTO segment_uses SELECT position, segment_id, event, "at", "by", query, session_id FROM staged
"""
# A use may have been noted before its segment was put: all of a touched segment's are counted.
COUNT_USES: Final = """
UPDATE segments SET shown = found.shown, merged = found.merged
FROM (
    SELECT segment_id, count(*) FILTER (event = 'shown') AS shown,
        count(*) FILTER (event = 'merged') AS merged
    FROM segment_uses JOIN staged USING (segment_id) GROUP BY segment_id
) AS found
WHERE segments.segment_id = found.segment_id
"""
_PUT: Final = "segment.put"
_REMOVED: Final = "segment.removed"
_USES: Final = {"segment.shown": "shown", "segment.merged": "merged"}
_COLLECTED: Final = "segment.collected"
_EMBEDDED: Final = "segment.embedded"
_PRUNED: Final = "segment.pruned"
_CONFLICTS: Final = ("segment.settled", "segment.reopened")  # of which `TeamStashLedger` knows
_TYPES: Final = {
    **dict.fromkeys(("tokens", "number", "position"), "int64"),
    **dict.fromkeys(("protected", "removed"), "bool"),
}
_ROW_CHARACTERS: Final = 4_000
"""Characters of held texts that count as a row, so that rows of long texts are written earlier."""
_MOST: Final = 2**53


class _Removed(msgspec.Struct):
    id: str


class _Embedded(msgspec.Struct):
    model: str
    types: dict[str, str] = {}


class _Used(msgspec.Struct):
    ids: list[str]
    query: str = ""
    session_id: str = ""


class SegmentProjector:
    """What the stream of segments says of them."""

    kinds = frozenset({_PUT, _REMOVED, *_USES, _COLLECTED, _EMBEDDED, _PRUNED, *_CONFLICTS})

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: dict[str, Row] = {}  # with a text, or with the parts that follow it
        self._hidden: set[str] = set()
        self._references: dict[str, tuple[str, ...]] = {}
        self._uses: list[Row] = []
        self._touched: set[str] = set()
        self._characters = 0

    @property
    def held(self) -> int:
        """How many rows are held back."""
        return len(self._rows) + len(self._hidden) + len(self._uses) + self._characters // _ROW_CHARACTERS

    def take(self, place: Place, offset: int, entry: Entry) -> None:
        """Take an entry. Raises ValueError for a body of another form."""
        del place
        if entry.kind == _PUT:
            self._put(entry)
        elif entry.kind == _REMOVED:
            identifier = convert(dict(entry.body), _Removed).id
            self._references[identifier] = ()
            if identifier in self._rows:
                self._rows[identifier]["removed"] = True
            else:
                self._hidden.add(identifier)
        elif entry.kind == _EMBEDDED:
            by = convert(dict(entry.body), _Embedded)
            self.flush()
            models = [storable(by.types.get(one.value, by.model)) for one in SegmentType]
            asked = {"types": [one.value for one in SegmentType], "models": models}
            self._connection.execute(UPDATE_MODEL, asked)
        elif entry.kind in _USES:
            used = convert(dict(entry.body), _Used)
            marks = {"event": _USES[entry.kind], "at": entry.at, "by": entry.by}
            facts = {**marks, "query": used.query, "session_id": used.session_id}
            ids = dict.fromkeys(used.ids)
            self._uses += [{"position": offset, "segment_id": identifier, **facts} for identifier in ids]
            self._touched.update(ids)

    def flush(self) -> None:
        """Write what is held back."""
        new = [row for row in self._rows.values() if "text" in row]
        changed = [row for row in self._rows.values() if "text" not in row]
        if new:
            insert(self._connection, DELETE_SEGMENTS, _ids(row["segment_id"] for row in new))
        insert_rows(self._connection, INSERT_SEGMENTS, new, _TYPES)
        insert_rows(self._connection, UPDATE_SEGMENTS, changed, _TYPES)
        if self._hidden:
            insert(self._connection, HIDE_SEGMENTS, _ids(self._hidden))
        if self._references:
            insert(self._connection, DELETE_REFERENCES, _ids(self._references))
        places = [
            {"segment_id": one, "referenced_id": other, "position": position}
            for one, others in self._references.items()
            for position, other in enumerate(others)
        ]
        insert_rows(self._connection, INSERT_REFERENCES, places, _TYPES)
        insert_rows(self._connection, INSERT_USES, self._uses, _TYPES)
        self._rows.clear()
        self._hidden.clear()
        self._references.clear()
        self._uses.clear()
        self._characters = 0

    def finish(self) -> None:
        """Write what is held back, and how often the segments that were touched were used."""
        self.flush()
        if self._touched:
            insert(self._connection, COUNT_USES, _ids(self._touched))

    def _put(self, entry: Entry) -> None:
        body = dict(entry.body)
        text = str(body.pop("text", "") or "")
        one = convert({**body, "text": ""}, ContextSegment)
        if abs(one.tokens) > _MOST:
            raise ValueError("a number is out of range")
        before = self._rows.get(one.id, {})
        row = _row(one)
        if text:
            self._touched.add(one.id)
            self._characters += len(text)
            lower = haystack((text,))[1]
            row |= {"text": text, "digest": text_digest(text)}
        elif "text" in before:
            row |= {name: before[name] for name in ("text", "digest")}
            lower = before["haystack"].partition(FIELD)[0]
        else:
            lower = ""
        row["haystack"] = lower + row["haystack"]
        self._hidden.discard(one.id)
        self._rows[one.id] = row
        self._references[one.id] = one.references


def _row(one: ContextSegment) -> Row:
    lower = haystack(("", one.topic, one.source, (one.id, one.id.removeprefix("seg-"))))[1]
    return {
        "segment_id": one.id,
        "session_id": one.session_id,
        "type": one.type.value,
        "timestamp": one.timestamp,
        "stashed_at": one.stashed_at,
        "tokens": one.tokens,
        "topic": one.topic,
        "source": one.source,
        "references": json_text(one.references),
        "embedding_model": one.embedding_model,
        "expires_at": one.expires_at,
        "protected": one.protected,
        "project_id": one.project_id,
        "metadata": json_text(one.metadata),
        "removed": False,
        "number": row_number(one.id),
        "haystack": lower,
    }


def _ids(identifiers: Iterable[str]) -> dict[str, tuple[str, list[str]]]:
    return {"segment_id": ("str", sorted(identifiers))}
