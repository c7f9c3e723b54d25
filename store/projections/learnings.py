"""What was recorded of learnings, from the streams `memory/<feature>` of both journals, past the iterations.

Each entry is a row; the view `learnings` makes of them what holds, as the engine's fold does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from store.projections.bodies import json_text
from store.projections.rows import Row, RowProjector
from workbench.ports import Entry
from workbench.records.conversion import convert
from workbench.records.learnings import FeatureLearning

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PREFIX: Final = "memory/"

INSERT_EVENTS: Final = """
INSERT INTO learning_events
SELECT origin, stream, position, entry_id, moment, event, learning_id, "at", "by", step, title, why,
    session_id, TRY_CAST(iteration AS BIGINT), feature, task_id, text, reason, source, kind, state,
    TRY_CAST(reviewed AS BOOLEAN), "timestamp", TRY_CAST(first_hits AS BIGINT), successor, project_id,
    body::JSON
FROM staged
"""
SELECT_CLOCK: Final = "SELECT max(moment) FROM learning_events WHERE origin = ? AND stream = ?"

_EVENTS: Final = {
    "learning.put": "put",
    "learning.removed": "removed",
    "learning.hit": "hit",
    "learning.contradicted": "contradicted",
}
_PASSED: Final = frozenset({"iteration", "learning.settled", "learning.reopened"})
_OF_PUTS: Final = (
    *("feature", "task_id", "text", "reason", "source", "kind", "state", "reviewed", "timestamp"),
    *("first_hits", "successor", "project_id", "body"),
)
_MOST: Final = 2**53


class _NoteBody(msgspec.Struct):
    id: str
    session_id: str = ""
    iteration: int | None = None
    why: str = ""


class LearningProjector(RowProjector):
    """Rows of what was recorded of learnings in one stream of the journal `origin`."""

    kinds = frozenset(_EVENTS) | _PASSED
    statement = INSERT_EVENTS
    types: Mapping[str, str] = {"position": "int64"}

    def __init__(self, connection: DuckDBPyConnection, origin: str, stream: str) -> None:
        super().__init__(connection)
        self._place = {"origin": origin, "stream": stream}
        found = connection.execute(SELECT_CLOCK, [origin, stream]).fetchall()
        self._clock: str = found[0][0] or ""

    def take(self, offset: int, entry: Entry) -> None:
        """Take an entry. Raises ValueError for a body of another form."""
        if entry.kind in _PASSED:
            return
        event = _EVENTS[entry.kind]
        row = _put(entry) if event == "put" else _note(entry)
        self._clock = max(self._clock, entry.id)
        event_row = {
            "entry_id": entry.id,
            "moment": self._clock,
            "event": event,
            "at": entry.at,
            "by": entry.by,
        }
        self._rows.append({**self._place, "position": offset, **event_row, **_marks(entry), **row})


def _put(entry: Entry) -> Row:
    learning = convert(dict(entry.body), FeatureLearning)
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
