"""The list of learnings: where the fields of `workbench.lists.learnings` are in the table `learnings`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from store.duck import select
from store.journal import FileJournal
from store.lists.conditions import FieldColumn
from store.lists.conflicts import OPEN
from store.lists.sql_list import ListColumns, SortKey, SqlList
from store.projections.learnings import PREFIX
from store.tables import Tables
from workbench.lists.learnings import LEARNINGS, STATES, WHYS, LearningRow
from workbench.ports import Clock, Entry
from workbench.records.conversion import decode_json
from workbench.records.learnings import PROMOTE_HITS, STALE_DAYS, FeatureLearning, LearningSource

_STATE: Final = "CASE WHEN state <> 'live' THEN state WHEN reviewed THEN 'reviewed' ELSE 'unreviewed' END"
_AGE: Final = "coalesce(greatest(0, floor(($now - learned_at) / 86400)), 0)::BIGINT"
_HEARD: Final = "coalesce(greatest(0, floor(($now - heard_at) / 86400)), 0)::BIGINT"
_STALE: Final = f"{_HEARD} >= {STALE_DAYS}"


def _names(values: Sequence[str]) -> str:
    return f"[{', '.join(repr(str(value)) for value in values)}]"


# Why a live learning waits for itself, and for the sake of an older one; the more urgent reason counts.
_OWN: Final = f"""CASE WHEN against_since > 0 THEN 'contradicted' WHEN suggested <> '' THEN suggested
    WHEN hit_count >= {PROMOTE_HITS} AND source <> 'human' THEN 'promote'
    WHEN NOT reviewed THEN 'unreviewed' WHEN {_STALE} THEN 'stale' END"""
# Why it waits for the sake of another, of each side that has to wait.
_PAIRED: Final = f"""
LEFT JOIN (
    SELECT CASE side WHEN 'left' THEN left_id ELSE right_id END AS paired_id, min(CASE
        WHEN side = 'left' OR kind = 'contradictory' THEN {WHYS.index("conflict") + 1}
        ELSE {WHYS.index("duplicate") + 1} END) AS paired
    FROM conflicts CROSS JOIN (VALUES ('left'), ('right')) AS sides (side)
    WHERE "of" = 'learning' AND (side = 'right' OR kind = 'concurrent') AND {OPEN}
    GROUP BY 1
) AS pairs ON paired_id = id
"""
_URGENCY: Final = f"CASE WHEN state = 'live' THEN least(list_position({_names(WHYS)}, {_OWN}), paired) END"
_WHY: Final = f"list_extract({_names(WHYS)}, {_URGENCY})"

FIELDS: Final = {
    "text": FieldColumn("text"),
    "reason": FieldColumn("reason"),
    "evidence": FieldColumn("[body->>'evidence', body->>'trigger', body->>'remedy']", many=True),
    "feature": FieldColumn("feature"),
    "file": FieldColumn("files", many=True),
    "task": FieldColumn("task_id"),
    "id": FieldColumn("[id, regexp_replace(id, '^learning-', '')]", many=True),
    "session": FieldColumn("session_id"),
    "scope": FieldColumn("scope", many=True),
    "state": FieldColumn(_STATE),
    "why": FieldColumn(_WHY),
    "source": FieldColumn("source"),
    "kind": FieldColumn("kind"),
    "hits": FieldColumn("hit_count"),
    "against": FieldColumn("contradictions"),
    "confidence": FieldColumn("confidence"),
    "age": FieldColumn(_AGE),
    "heard": FieldColumn(_HEARD),
    "iteration": FieldColumn("iteration"),
    "live": FieldColumn("state = 'live'"),
    "reviewed": FieldColumn("reviewed", counted="if(reviewed, 'yes', 'no')"),
    "stale": FieldColumn(_STALE),
    "waits": FieldColumn(f"({_WHY}) IS NOT NULL"),
    "mine": FieldColumn("project_id IS NULL", counted="if(project_id IS NULL, 'yes', 'no')"),
    "created": FieldColumn('"timestamp"'),
    "updated": FieldColumn("updated_at"),
    "by": FieldColumn("reviewed_by"),
}

_NEWEST: Final[tuple[SortKey, ...]] = (('"timestamp"', True),)
SORTS: Final[dict[str, tuple[SortKey, ...]]] = {
    "newest": (("state <> 'live'", False), *_NEWEST),
    "state": ((f"list_position({_names(STATES)}, {_STATE})", False),),
    "why": ((f"coalesce({_URGENCY}, {len(WHYS) + 1})", False), ("hit_count", True), *_NEWEST),
    "feature": (("lower(feature)", False),),
    "text": (("lower(left(text, 200))", False),),
    "source": ((f"list_position({_names(tuple(LearningSource))}, source)", False),),
    "hits": (("hit_count", False),),
    "against": (("contradictions", False),),
    "confidence": (("confidence", False),),
    "age": ((_AGE, False),),
    "heard": ((_HEARD, False),),
}


def learning_list(tables: Tables, clock: Clock) -> SqlList[LearningRow]:
    """Return the learnings, live or not; ages are counted up to now."""
    row = f"body, coalesce({_WHY}, ''), contradictions, {_AGE}, {_HEARD}"
    joins = {"paired": _PAIRED}
    columns = ListColumns(
        LEARNINGS, "learnings", FIELDS, SORTS, row, _learning, streams=(PREFIX,), joins=joins
    )
    return SqlList(tables, columns, lambda: {"now": clock.now()})


def _learning(row: Sequence[Any]) -> LearningRow:
    body, *counted = row
    return LearningRow(decode_json(body, FeatureLearning), *counted)


# What users said before a learning was learned of it has its key.
SELECT_PLACES: Final = """
SELECT origin, stream, position FROM (
    SELECT origin, stream, position, moment FROM learning_events JOIN staged ON staged.id = learning_id
    UNION SELECT origin, stream, position, moment FROM corrections WHERE "key" IN (
        SELECT "key" FROM corrections JOIN staged ON staged.id = learning_id)
) ORDER BY moment, origin, stream, position
"""
SELECT_UNREADABLE: Final = "SELECT count(*), min(reason) FROM rejected WHERE starts_with(stream, 'memory/')"


def learning_entries(
    tables: Tables, journals: Mapping[str, FileJournal], identifiers: Iterable[str]
) -> list[tuple[Entry, str]]:
    """Return the entries about some learnings in their order, each with whose journal it is in.

    Raises: StoreError, StoreBusy.
    """
    ids = {"id": ("str", list(identifiers))}
    places = tables.read(lambda connection: select(connection, SELECT_PLACES, ids), (PREFIX,))
    found: list[tuple[Entry, str]] = []
    for origin, stream, position in places:
        _, _, entry = next(journals[origin].scan(stream, position), (0, 0, None))
        if isinstance(entry, Entry):
            found.append((entry, origin))
    return found


def unreadable_learnings(tables: Tables) -> tuple[int, str]:
    """Return how many entries about learnings were left out for their form, and why one was."""
    [(count, reason)] = tables.query(SELECT_UNREADABLE)
    return count, reason or ""
