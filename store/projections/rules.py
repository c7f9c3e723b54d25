"""The rules as their journal last put them, from the stream `rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from store.duck import insert
from store.projections.bodies import RuleRemoved, json_text
from workbench.ports import Entry
from workbench.records.rules import Rule

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STREAM: Final = "rules"

DELETE_RULES: Final = """
DELETE FROM rules USING staged WHERE rules.origin = staged.origin AND rules.id = staged.id
"""
INSERT_RULES: Final = """
INSERT INTO rules
SELECT origin, id, name, rule, category, authority, scope::JSON::VARCHAR[], source, conditions::JSON,
    replaces::JSON::VARCHAR[], created_at, updated_at, metadata::JSON, project_id,
    tool_targets::JSON::VARCHAR[],
    priority, token_cost, usage_count, last_used, tags::JSON::VARCHAR[], version, condition_text, action_text,
    level, enabled, cooldown, examples::JSON::VARCHAR[], provenance::JSON
FROM staged
"""

_KEY = {"origin": "str", "id": "str"}
_JSON = {"scope", "conditions", "replaces", "metadata", "tool_targets", "tags", "examples"}
_NUMBERS = {"priority", "token_cost", "usage_count", "version", "cooldown"}
_MOST = 2**53


class RuleProjector:
    """Holds back the newest state of each rule. `origin` names the journal the entries are from."""

    def __init__(self, connection: DuckDBPyConnection, origin: str) -> None:
        self._connection = connection
        self._origin = origin
        self._rules: dict[str, dict[str, Any] | None] = {}

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds this projector takes."""
        return frozenset({"rule.put", "rule.removed"})

    @property
    def held(self) -> int:
        """How many rows are held back."""
        return len(self._rules)

    def take(self, offset: int, entry: Entry) -> None:
        """Take an entry. Raises ValueError for a body of another form."""
        del offset
        if entry.kind == "rule.removed":
            self._rules[msgspec.convert(entry.body, RuleRemoved).id] = None
            return
        rule = msgspec.convert(entry.body, Rule)
        if any(abs(getattr(rule, name)) > _MOST for name in _NUMBERS):
            raise msgspec.ValidationError("a number is out of range")
        row: dict[str, Any] = {"origin": self._origin}
        for name in rule.__slots__:
            value = getattr(rule, name)
            if name in _JSON:
                row[name] = json_text(value)
            elif name == "provenance":
                row[name] = None if value is None else json_text(value)
            else:
                row[name] = value
        self._rules[rule.id] = row

    def flush(self) -> None:
        """Write what is held back."""
        if not self._rules:
            return
        keys = sorted(self._rules)
        insert(
            self._connection,
            DELETE_RULES,
            {"origin": ("str", [self._origin] * len(keys)), "id": ("str", keys)},
        )
        rows = [row for row in (self._rules[key] for key in keys) if row is not None]
        if rows:
            columns = {name: (_type(name), [row[name] for row in rows]) for name in rows[0]}
            insert(self._connection, INSERT_RULES, columns)
        self._rules.clear()

    def finish(self) -> None:
        """Write what is held back."""
        self.flush()


def _type(name: str) -> str:
    if name in _NUMBERS:
        return "int64"
    return "bool" if name == "enabled" else "str"
