"""Learnings and what was recorded of them, from the streams `memory/<feature>` of both journals.

Each entry is a row of its own; what holds of a learning follows from its entries in the order of their
moments, as in the engine's fold, and is worked out again for the learnings that a round touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from store.duck import insert, select, storable
from store.lists.haystack import haystack
from store.projections.bodies import json_text
from store.projections.rows import Place, Row, insert_rows
from workbench.lists.tables import row_number
from workbench.ports import Entry
from workbench.records.conversion import convert, decode_json
from workbench.records.learnings import (
    SAID_SESSIONS,
    SAID_TIMES,
    Correction,
    FeatureLearning,
    LearningKind,
    confidence_of,
    correction_body,
)

if TYPE_CHECKING:
    from store.duck import Connection

PREFIX: Final = "memory/"

INSERT_EVENTS: Final = """
INSERT INTO learning_events
SELECT origin, stream, position, entry_id, moment, event, learning_id, "at", "by", step, title, why,
    session_id, TRY_CAST(iteration AS BIGINT), feature, task_id, text, reason, source, kind, state,
    TRY_CAST(reviewed AS BOOLEAN), "timestamp", TRY_CAST(first_hits AS BIGINT), successor, project_id,
    body::JSON
FROM staged
"""
INSERT_CORRECTIONS: Final = """
INSERT INTO corrections
SELECT origin, stream, position, entry_id, moment, "at", "key", folded, text, quote, session_id, prompt,
    strength, feature, learning_id, rule, against, template
FROM staged
"""
SELECT_CLOCK: Final = """
SELECT max(moment) FROM (
    SELECT max(moment) AS moment FROM learning_events WHERE origin = $origin AND stream = $stream
    UNION ALL SELECT max(moment) FROM corrections WHERE origin = $origin AND stream = $stream
)
"""
# Of one conflict the latest word counts. `staged` has one row a conflict.
SELECT_SETTLED: Final = "SELECT id, learning_conflicts.moment FROM learning_conflicts JOIN staged USING (id)"
PUT_SETTLED: Final = """
INSERT INTO learning_conflicts
SELECT id, moment, settled, left_id, right_id, action, "at", "by" FROM staged
ON CONFLICT (id) DO UPDATE SET
    moment = excluded.moment, settled = excluded.settled, left_id = excluded.left_id,
    right_id = excluded.right_id, action = excluded.action, "at" = excluded."at", "by" = excluded."by"
"""
# Every learning of which something was said, before it was learned or afterwards; `staged` has the keys.
SELECT_SAID: Final = 'SELECT DISTINCT learning_id FROM corrections JOIN staged USING ("key")'
# What is known of the learnings in `staged`. A session says a thing once, and not what it found out first.
SELECT_FACTS: Final = """
WITH latest AS (
    SELECT DISTINCT ON (learning_id) learning_id, origin, event, session_id, body
    FROM learning_events JOIN staged ON staged.id = learning_id
    WHERE event IN ('put', 'removed') ORDER BY learning_id, moment DESC, position DESC
), noted AS (
    SELECT DISTINCT ON (learning_id, event, coalesce(nullif(session_id, ''), entry_id))
        learning_id, event, session_id, "at"
    FROM learning_events JOIN staged ON staged.id = learning_id
    WHERE event IN ('hit', 'contradicted')
    ORDER BY learning_id, event, coalesce(nullif(session_id, ''), entry_id), moment, position
), counted AS (
    SELECT latest.learning_id,
        count(*) FILTER (noted.event = 'hit'
            AND (latest.session_id = '' OR noted.session_id <> latest.session_id)) AS hits,
        max("at") FILTER (noted.event = 'hit'
            AND (latest.session_id = '' OR noted.session_id <> latest.session_id)) AS last_hit,
        count(*) FILTER (noted.event = 'contradicted') AS against,
        count(*) FILTER (noted.event = 'contradicted' AND "at" > (body->>'reviewed_at')) AS since
    FROM latest JOIN noted USING (learning_id) GROUP BY latest.learning_id
)
SELECT latest.learning_id, origin, body, coalesce(hits, 0), last_hit, coalesce(against, 0), coalesce(since, 0)
FROM latest LEFT JOIN counted USING (learning_id)
WHERE latest.event = 'put' ORDER BY latest.learning_id
"""
# What a correction in `staged` waits for that people said so often, or so plainly, that a rule is suggested.
SELECT_SUGGESTED: Final = """
WITH said AS (
    SELECT DISTINCT ON (if(session_id = '', entry_id, session_id || '#' || prompt), folded) *
    FROM corrections
    ORDER BY if(session_id = '', entry_id, session_id || '#' || prompt), folded, moment, position
), learned AS (
    SELECT "key", arg_max(learning_id, (moment, position)) AS learning_id
    FROM said WHERE learning_id <> '' GROUP BY "key"
), said_of AS (
    SELECT moment, position, session_id, "at", strength, rule, against,
        coalesce(nullif(said.learning_id, ''), learned.learning_id) AS learning_id,
        CASE WHEN template <> '' THEN 't' || template WHEN "at" <> '' THEN 'a' || "at" || chr(31) || quote
            ELSE 's' || session_id || chr(31) || quote END AS apart
    FROM said LEFT JOIN learned USING ("key")
), tallied AS (
    SELECT learning_id, count(*) AS times, count(DISTINCT session_id) AS sessions
    FROM (
        SELECT learning_id, apart, arg_min(session_id, (moment, position)) AS session_id
        FROM said_of GROUP BY learning_id, apart
    ) GROUP BY learning_id
)
SELECT id, CASE
    WHEN max(said_of."at") <= reviewed_at THEN ''
    WHEN NOT (any_value(sessions) >= $sessions OR any_value(times) >= $times
        OR bool_or(strength = 'standing')) THEN ''
    WHEN coalesce(arg_max(rule, (moment, position))
        FILTER (against AND said_of."at" > reviewed_at), '') <> '' THEN 'conflict'
    ELSE 'suggested-rule' END
FROM staged JOIN said_of ON said_of.learning_id = staged.id JOIN tallied USING (learning_id)
GROUP BY id, reviewed_at
"""
DELETE_LEARNINGS: Final = "DELETE FROM learnings USING staged WHERE learnings.id = staged.id"
INSERT_LEARNINGS: Final = """
INSERT INTO learnings
SELECT id, origin, feature, task_id, text, reason, source, kind, state, reviewed,
    TRY_CAST(iteration AS BIGINT), session_id, "timestamp", hit_count, last_hit, contradictions, successor,
    project_id, body::JSON, number, haystack, cased, files::JSON::VARCHAR[], scope::JSON::VARCHAR[],
    confidence, against_since, TRY_CAST(learned_at AS DOUBLE), TRY_CAST(heard_at AS DOUBLE), updated_at,
    reviewed_by, suggested
FROM staged
"""
_EVENTS: Final = {
    "learning.put": "put",
    "learning.removed": "removed",
    "learning.hit": "hit",
    "learning.contradicted": "contradicted",
}
_SETTLED: Final = "learning.settled"
_REOPENED: Final = "learning.reopened"
_SAID: Final = "correction.said"
_PASSED: Final = frozenset({"iteration"})
_OF_PUTS: Final = (
    *("feature", "task_id", "text", "reason", "source", "kind", "state", "reviewed", "timestamp"),
    *("first_hits", "successor", "project_id", "body"),
)
_TYPES: Final = {
    **dict.fromkeys(
        ("position", "prompt", "number", "hit_count", "contradictions", "against_since"), "int64"
    ),
    **dict.fromkeys(("against", "settled"), "bool"),
    "confidence": "float64",
}
_LEARNING_TYPES: Final = {**_TYPES, "reviewed": "bool"}
_MOST: Final = 2**53


class _NoteBody(msgspec.Struct):
    id: str
    session_id: str = ""
    iteration: int | None = None
    why: str = ""


class LearningProjector:
    """What streams say of learnings."""

    kinds = frozenset({*_EVENTS, *_PASSED, _SETTLED, _REOPENED, _SAID})

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._clocks: dict[Place, str] = {}
        self._events: list[Row] = []
        self._said: list[Row] = []
        self._settled: dict[str, Row] = {}
        self._touched: set[str] = set()
        self._keys: set[str] = set()

    @property
    def held(self) -> int:
        """How many rows are held back."""
        return len(self._events) + len(self._said) + len(self._settled)

    def take(self, place: Place, offset: int, entry: Entry) -> None:
        """Take an entry. Raises ValueError for a body of another form."""
        if entry.kind in _PASSED:
            return
        placed = {"origin": place[0], "stream": place[1], "position": offset, "entry_id": entry.id}
        placed["at"] = entry.at
        if entry.kind == _SAID:
            row = _correction_row(entry)
            self._said.append({**placed, "moment": self._moment(place, entry), **row})
            self._keys.add(row["key"])
            self._touched.add(row["learning_id"])
        elif entry.kind in (_SETTLED, _REOPENED):
            row = {"moment": self._moment(place, entry), **_settlement_row(entry)}
            if row["moment"] >= self._settled.get(row["id"], row)["moment"]:
                self._settled[row["id"]] = row
        else:
            event = _EVENTS[entry.kind]
            row = _put(entry) if event == "put" else _note(entry)
            marks = {"moment": self._moment(place, entry), "event": event, "by": entry.by, **_marks(entry)}
            self._events.append({**placed, **marks, **row})
            self._touched.add(row["learning_id"])

    def _moment(self, place: Place, entry: Entry) -> str:
        """Return when an entry happened: after those before it, though a clock went back."""
        if place not in self._clocks:
            asked = dict(zip(("origin", "stream"), place, strict=True))
            self._clocks[place] = self._connection.execute(SELECT_CLOCK, asked).fetchall()[0][0] or ""
        self._clocks[place] = max(self._clocks[place], entry.id)
        return self._clocks[place]

    def flush(self) -> None:
        """Write what is held back."""
        insert_rows(self._connection, INSERT_EVENTS, self._events, _TYPES)
        insert_rows(self._connection, INSERT_CORRECTIONS, self._said, _TYPES)
        if self._settled:
            asked = {"id": ("str", list(self._settled))}
            known = dict(select(self._connection, SELECT_SETTLED, asked))
            newer = [row for row in self._settled.values() if known.get(row["id"], "") <= row["moment"]]
            insert_rows(self._connection, PUT_SETTLED, newer, _TYPES)
        self._events.clear()
        self._said.clear()
        self._settled.clear()

    def finish(self) -> None:
        """Write what is held back, and what holds now of the learnings that were touched."""
        self.flush()
        project_said(self._connection, self._keys, self._touched)


def project_said(connection: Connection, keys: set[str], touched: set[str]) -> None:
    """Work out again what holds of learnings that were touched, and of those corrections `keys` are about."""
    if keys:
        asked = {"key": ("str", sorted(keys))}
        touched = touched | {row[0] for row in select(connection, SELECT_SAID, asked)}
    if named := sorted(touched - {""}):
        project_learnings(connection, named)


def project_learnings(connection: Connection, identifiers: list[str]) -> None:
    """Work out again what holds of learnings."""
    ids = {"id": ("str", identifiers)}
    facts = [
        (decode_json(body, FeatureLearning), identifier, origin, *counted)
        for identifier, origin, body, *counted in select(connection, SELECT_FACTS, ids)
    ]
    heard = {
        identifier: one.reviewed_at for one, identifier, *_ in facts if one.kind is LearningKind.CORRECTION
    }
    suggested: dict[str, str] = {}
    if heard:
        asked = {"id": ("str", list(heard)), "reviewed_at": ("str", list(heard.values()))}
        limits = {"sessions": SAID_SESSIONS, "times": SAID_TIMES}
        suggested = dict(select(connection, SELECT_SUGGESTED, asked, limits))
    insert(connection, DELETE_LEARNINGS, ids)
    rows = [{**_learning_row(*known), "suggested": suggested.get(known[1], "")} for known in facts]
    insert_rows(connection, INSERT_LEARNINGS, rows, _LEARNING_TYPES)


def _learning_row(
    one: FeatureLearning,
    identifier: str,
    origin: str,
    hits: int,
    last_hit: str | None,
    against: int,
    since: int,
) -> Row:
    if hits or against or one.reviewed:
        one = replace(
            one,
            hit_count=one.hit_count + hits,
            last_hit=one.last_hit if last_hit is None else last_hit,
            confidence=confidence_of(one, hits, since),
        )
    cased, lower = haystack(
        (
            one.text,
            one.reason,
            (one.evidence, one.trigger, one.remedy),
            one.feature,
            one.files,
            one.task_id,
            (one.id, one.id.removeprefix("learning-")),
        )
    )
    return {
        "id": identifier,
        "origin": origin,
        "feature": one.feature,
        "task_id": one.task_id,
        "text": one.text,
        "reason": one.reason,
        "source": one.source.value,
        "kind": one.kind.value,
        "state": one.state.value,
        "reviewed": one.reviewed,
        "iteration": _whole(one.iteration),
        "session_id": one.session_id,
        "timestamp": one.timestamp,
        "hit_count": one.hit_count,
        "last_hit": one.last_hit,
        "contradictions": against,
        "successor": one.successor,
        "project_id": one.project_id,
        "body": json_text(one),
        "number": row_number(identifier),
        "haystack": lower,
        "cased": cased,
        "files": json_text(one.files),
        "scope": json_text(one.scope),
        "confidence": one.confidence,
        "against_since": since,
        "learned_at": _seconds(one.timestamp),
        "heard_at": _seconds(max(one.timestamp, one.last_hit, one.reviewed_at)),
        "updated_at": max(one.updated_at, one.timestamp),
        "reviewed_by": one.reviewed_by,
    }


def _seconds(moment: str) -> str | None:
    """Return a moment in seconds since the epoch as text, None if it is malformed."""
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return repr(at.replace(tzinfo=at.tzinfo or UTC).timestamp())


def _put(entry: Entry) -> Row:
    learning = convert(dict(entry.body), FeatureLearning)
    _whole(learning.hit_count)
    return {
        "learning_id": learning.id,
        "why": str(_curation(entry).get("reason") or ""),
        "session_id": learning.session_id,
        "iteration": _whole(learning.iteration),
        "feature": learning.feature,
        "task_id": learning.task_id,
        "text": learning.text,
        "reason": learning.reason,
        "source": learning.source.value,
        "kind": learning.kind.value,
        "state": learning.state.value,
        "reviewed": "true" if learning.reviewed else "false",
        "timestamp": learning.timestamp,
        "first_hits": _whole(learning.hit_count),
        "successor": learning.successor,
        "project_id": learning.project_id,
        "body": json_text(learning),
    }


def _note(entry: Entry) -> Row:
    note = convert(dict(entry.body), _NoteBody)
    why = note.why or str(_curation(entry).get("reason") or "")
    return {
        "learning_id": note.id,
        "why": why,
        "session_id": note.session_id,
        "iteration": _whole(note.iteration),
        **dict.fromkeys(_OF_PUTS),
    }


def _correction_row(entry: Entry) -> Row:
    said = convert(dict(entry.body), Correction)
    _whole(said.prompt)
    return {**correction_body(said), "folded": said.key.casefold()}


def _settlement_row(entry: Entry) -> Row:
    given = {name: str(entry.body.get(name) or "") for name in ("id", "left", "right", "action")}
    return {
        "id": storable(given["id"]),
        "settled": entry.kind == _SETTLED,
        "left_id": given["left"],
        "right_id": given["right"],
        "action": given["action"],
        "at": entry.at,
        "by": entry.by,
    }


def _whole(number: int | None) -> str | None:
    """Return a number as text, None where tables cannot hold it."""
    if number is not None and abs(number) > _MOST:
        raise ValueError("a number is out of range")
    return None if number is None else str(number)


def _marks(entry: Entry) -> dict[str, str]:
    marks = _curation(entry)
    return {"step": str(marks.get("step") or entry.id), "title": str(marks.get("title") or "")}


def _curation(entry: Entry) -> Mapping[str, Any]:
    marks = entry.body.get("curation")
    return marks if isinstance(marks, Mapping) else {}
