"""The list of sessions: where the fields of `workbench.lists.sessions` are in the view `sessions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from store.lists.conditions import FieldColumn, Parameters
from store.lists.sql_list import ListColumns, SortKey, SqlList
from workbench.lists.sessions import OUTCOMES, SESSIONS, SOURCE_NAMES, names_commits, resolve_since
from workbench.lists.tables import ListQuery
from workbench.records.episodes import SessionRow

if TYPE_CHECKING:
    from store.tables import Tables
    from workbench.ports import Int64

_CASES: Final = " ".join(f"WHEN '{source}' THEN '{name}'" for source, name in SOURCE_NAMES.items())
_SOURCE: Final = f"CASE source {_CASES} WHEN '' THEN 'live' ELSE source END"
_OPEN: Final = "(ended_at IS NULL AND last_at >= $quiet_since)"

FIELDS: Final = {
    "task": FieldColumn("task_text"),
    "id": FieldColumn("[id, parent_session]", many=True),
    "source": FieldColumn(f"[source, {_SOURCE}]", many=True, counted=f"[{_SOURCE}]"),
    "outcome": FieldColumn("outcome"),
    "when": FieldColumn("TRY(strftime(to_timestamp(started_at), '%Y-%m-%dT%H:%M:%S'))"),
    "file": FieldColumn("files", many=True),
    "open": FieldColumn(_OPEN, counted=f"if({_OPEN}, 'yes', 'no')"),
    "kind": FieldColumn("query_type"),
    "reads": FieldColumn("reads"),
    "edits": FieldColumn("edits"),
}

_NEWEST_ASCENDING: Final = ("started_at", True)
_NEWEST_DESCENDING: Final = ("started_at", False)
SORTS: Final[dict[str, tuple[SortKey, ...]]] = {
    "when": (("started_at", False),),
    "outcome": ((f"coalesce(list_position({list(OUTCOMES)!r}, outcome), 9)", False), _NEWEST_ASCENDING),
    "task": (("lower(left(task_text, 200))", False), _NEWEST_ASCENDING),
    "source": ((_SOURCE, False), _NEWEST_ASCENDING),
    "edits": (("edits", False), _NEWEST_DESCENDING),
    "reads": (("reads", False), _NEWEST_DESCENDING),
    "took": (("greatest(coalesce(ended_at, last_at) - started_at, 0)", False), _NEWEST_DESCENDING),
}
"""Equal ones are the newest first, in the direction that a column is sorted in when it is chosen."""

VISIBLE: Final = "($commits OR source <> 'git') AND $quiet_since IS NOT NULL"
SELECT_FAMILY: Final = """
SELECT {row} FROM sessions WHERE ($parent <> '' AND parent_session = $parent) OR parent_session = $session
ORDER BY coalesce(prompt_index, 0), started_at, id LIMIT $limit
"""
_ROW: Final = ", ".join("id" if name == "session_id" else name for name in SessionRow.__slots__)


class SessionList(SqlList[SessionRow]):
    """The sessions of a project; `commits` are among them if they are asked for.

    One that nobody ended is open while it was heard of since `quiet_since`, in seconds.
    """

    def __init__(self, tables: Tables, *, quiet_since: float, commits: bool) -> None:
        given = {"commits": commits, "quiet_since": quiet_since}
        columns = ListColumns(
            SESSIONS, "sessions", FIELDS, SORTS, _ROW, lambda row: SessionRow(*row), VISIBLE
        )
        super().__init__(tables, columns, lambda: given)

    def times(self, query: ListQuery) -> Int64:
        """Return when the sessions that match began, int64 [n] in seconds. Raises: StoreError."""
        parameters = self._parameters()
        statement = self._select_matches(query, parameters, None, (), "started_at")
        return self._tables.read(
            lambda connection: connection.execute(statement, parameters.values).fetchnumpy()["started_at"]
        )

    def _select_matches(
        self,
        query: ListQuery,
        parameters: Parameters,
        within: Int64 | None,
        keys: Sequence[SortKey],
        more: str = "",
    ) -> str:
        # Only here, so that a cursor of a query that looks seven days back is good for longer than a minute.
        understood = replace(query, filter=resolve_since(query.filter, datetime.now()))
        if names_commits(query.filter):
            parameters.values["commits"] = True
        return super()._select_matches(understood, parameters, within, keys, more)

    def _given_rows(self) -> Mapping[str, Any]:
        return {**super()._given_rows(), "commits": True}  # a filter may have named them


def session_family(tables: Tables, session: str, parent: str, limit: int) -> list[SessionRow]:
    """Return the prompts of the session `parent`, and the parts of `session`. Raises: StoreError."""
    given = {"session": session, "parent": parent, "limit": limit}
    return [SessionRow(*row) for row in tables.query(SELECT_FAMILY.format(row=_ROW), given)]
