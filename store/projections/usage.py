"""How often rules were given to sessions, from the stream `rule-usage` of both journals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from store.duck import insert
from store.projections.bodies import RuleUsed
from workbench.ports import Entry
from workbench.records.conversion import convert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STREAM: Final = "rule-usage"

INSERT_USES: Final = """
INSERT INTO rule_usage SELECT origin, position, number, rule_id, session_id, tool, "at", "by" FROM staged
"""
# What the rule itself says was used before counts as well, as in the engine.
UPDATE_USAGE: Final = """
UPDATE rules SET usage_count = found.total, last_used = found.last
FROM (
    SELECT put.origin, put.id, any_value(version.usage_count) + count(rule_usage.rule_id) AS total,
        nullif(greatest(coalesce(any_value(version.last_used), ''), coalesce(max(rule_usage."at"), '')), '')
            AS last
    FROM (SELECT origin, id, position, unnest(lineage) AS member FROM rules) AS put
    JOIN rule_versions AS version ON version.origin = put.origin AND version.position = put.position
    LEFT JOIN rule_usage ON rule_usage.rule_id = put.member
    GROUP BY put.origin, put.id
) AS found
WHERE rules.origin = found.origin AND rules.id = found.id
    AND (rules.usage_count <> found.total OR rules.last_used IS DISTINCT FROM found.last)
"""

_INTEGERS = {"position", "number"}


class UsageProjector:
    """Holds back uses of rules. `origin` names the journal the entries are from."""

    def __init__(self, connection: DuckDBPyConnection, origin: str) -> None:
        self._connection = connection
        self._origin = origin
        self._rows: list[dict[str, Any]] = []

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds this projector takes."""
        return frozenset({"rule.used"})

    @property
    def held(self) -> int:
        """How many rows are held back."""
        return len(self._rows)

    def take(self, offset: int, entry: Entry) -> None:
        """Take an entry. Raises ValueError for a body of another form."""
        body = convert(entry.body, RuleUsed)
        self._rows += [
            {
                "origin": self._origin,
                "position": offset,
                "number": number,
                "rule_id": identifier,
                "session_id": body.session_id,
                "tool": body.tool,
                "at": entry.at,
                "by": entry.by,
            }
            for number, identifier in enumerate(body.rule_ids)
        ]

    def flush(self) -> None:
        """Write what is held back."""
        if self._rows:
            columns = {
                name: ("int64" if name in _INTEGERS else "str", [row[name] for row in self._rows])
                for name in self._rows[0]
            }
            insert(self._connection, INSERT_USES, columns)
            self._rows.clear()

    def finish(self) -> None:
        """Write what is held back, and how often the rules were used."""
        self.flush()
        self._connection.execute(UPDATE_USAGE)
