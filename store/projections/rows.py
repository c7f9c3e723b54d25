"""Streams whose entries become rows as they are: measured operations, uses of rules, models [img 6]."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from store.duck import insert, select, storable
from store.projections.bodies import (
    MeasuredBody,
    ModelActivated,
    ModelDeactivated,
    ModelRegistered,
    ModelTried,
    RuleUsed,
    json_text,
)
from workbench.ports import Entry
from workbench.records.conversion import convert

if TYPE_CHECKING:
    from store.duck import Connection

Row = dict[str, Any]
Place = tuple[str, str]
"""The origin of a journal and a stream of it."""

METRICS: Final = "metrics"
MODELS: Final = "models"
USAGE: Final = "rule-usage"

INSERT_METRICS: Final = """
INSERT INTO metrics
SELECT id, "at", operation, duration_ms,
    stages::JSON::MAP(VARCHAR, DOUBLE), cache::JSON::MAP(VARCHAR, BIGINT[]),
    TRY_CAST(tokens AS BIGINT), TRY_CAST(candidates AS BIGINT), degraded::JSON::VARCHAR[], ok, "by",
    TRY_CAST(tokens_saved AS BIGINT)
FROM staged
"""
INSERT_USES: Final = """
INSERT INTO rule_usage SELECT origin, position, number, rule_id, session_id, tool, "at", "by" FROM staged
"""
# What was used before the rule was put counts as well, as in the engine. `staged` has the ids of the rules.
UPDATE_USAGE: Final = """
UPDATE rules SET usage_count = found.total, last_used = found.last
FROM (
    SELECT put.origin, put.id, any_value(version.usage_count) + count(rule_usage.rule_id) AS total,
        nullif(greatest(coalesce(any_value(version.last_used), ''), coalesce(max(rule_usage."at"), '')), '')
            AS last
    FROM (
        SELECT rules.origin, rules.id, position, unnest(lineage) AS member FROM rules JOIN staged USING (id)
    ) AS put
    JOIN rule_versions AS version ON version.origin = put.origin AND version.position = put.position
    LEFT JOIN rule_usage ON rule_usage.rule_id = put.member
    GROUP BY put.origin, put.id
) AS found
WHERE rules.origin = found.origin AND rules.id = found.id
    AND (rules.usage_count <> found.total OR rules.last_used IS DISTINCT FROM found.last)
"""
SELECT_USED: Final = """
SELECT DISTINCT id FROM (SELECT id, unnest(lineage) AS member FROM rules) JOIN staged USING (member)
"""
SELECT_USES: Final = """
SELECT rule_id, count(*), max("at") FROM rule_usage JOIN staged ON rule_id = member GROUP BY rule_id
"""
REGISTER: Final = """
INSERT INTO model_registry (model_id, model_kind, version, params_json, created_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (model_id) DO UPDATE SET
    model_kind = excluded.model_kind, version = excluded.version,
    params_json = excluded.params_json, created_at = excluded.created_at
"""
# One statement, so that there is never a moment with two active models of a kind, or none.
ACTIVATE: Final = """
UPDATE model_registry SET active = (model_id = $id)::INTEGER
WHERE model_kind = (SELECT model_kind FROM model_registry WHERE model_id = $id)
"""
DEACTIVATE: Final = "UPDATE model_registry SET active = 0 WHERE model_kind = ?"
PUT_PROVENANCE: Final = """
INSERT INTO model_provenance
VALUES ($id, $base, $since, $until, $samples, $sessions, $metrics::JSON, $code_version, $seed, 0)
ON CONFLICT (model_id) DO UPDATE SET
    base = excluded.base, since = excluded.since, until = excluded.until, samples = excluded.samples,
    sessions = excluded.sessions, metrics = excluded.metrics, code_version = excluded.code_version,
    seed = excluded.seed, canary = excluded.canary
"""
TRY_MODEL: Final = "UPDATE model_provenance SET canary = if(model_id = $id, $share, 0)"
STOP_TRYING: Final = "UPDATE model_provenance SET canary = 0 WHERE model_id = $id"


def count_uses(connection: Connection, rules: Sequence[Row]) -> None:
    """Add to rows of rules how often they were used so far, with their earlier versions."""
    lineages = [json.loads(rule["lineage"]) for rule in rules]
    members = sorted({member for lineage in lineages for member in lineage})
    uses = {row[0]: row[1:] for row in select(connection, SELECT_USES, {"member": ("str", members)})}
    for rule, lineage in zip(rules, lineages, strict=True):
        for count, last in (uses[member] for member in lineage if member in uses):
            rule["usage_count"] += count
            rule["last_used"] = max(rule["last_used"] or "", last) or None


def insert_rows(connection: Connection, statement: str, rows: list[Row], types: Mapping[str, str]) -> None:
    """Insert rows in bulk, if there are any. `types` are NumPy's; a column without one is text or None."""
    if rows:
        columns = {name: (types.get(name, "str"), [row[name] for row in rows]) for name in rows[0]}
        insert(connection, statement, columns)


class RowProjector:
    """Holds back rows of one table until `flush`. Subclasses take entries."""

    kinds: frozenset[str]
    statement: str
    types: Mapping[str, str]

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: list[Row] = []

    @property
    def held(self) -> int:
        """How many rows are held back."""
        return len(self._rows)

    def flush(self) -> None:
        """Write what is held back."""
        insert_rows(self._connection, self.statement, self._rows, self.types)
        self._rows.clear()

    def finish(self) -> None:
        """Write what is held back."""
        self.flush()


class MeasureProjector(RowProjector):
    """Rows of the table `metrics`."""

    kinds = frozenset({"op.measured"})
    statement = INSERT_METRICS
    types: Mapping[str, str] = {
        "at": "float64",
        "duration_ms": "float64",
        "tokens": "object",
        "candidates": "object",
        "ok": "bool",
        "tokens_saved": "object",
    }

    def take(self, place: Place, offset: int, entry: Entry) -> None:
        """Take an entry. Raises ValueError for a malformed body or time."""
        del place, offset
        body = convert(entry.body, MeasuredBody)
        self._rows.append(
            {
                "id": entry.id,
                "at": datetime.fromisoformat(entry.at).timestamp(),
                "operation": body.operation,
                "duration_ms": body.duration_ms,
                "stages": json_text(body.stages),
                "cache": json_text(body.cache),
                "tokens": body.tokens,
                "candidates": body.candidates,
                "degraded": json_text(body.degraded),
                "ok": body.ok,
                "by": entry.by,
                "tokens_saved": body.tokens_saved,
            }
        )


class UsageProjector(RowProjector):
    """Uses of rules by sessions."""

    kinds = frozenset({"rule.used"})
    statement = INSERT_USES
    types: Mapping[str, str] = {"position": "int64", "number": "int64"}

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._used: set[str] = set()

    def take(self, place: Place, offset: int, entry: Entry) -> None:
        """Take an entry. Raises ValueError for a malformed body."""
        body = convert(entry.body, RuleUsed)
        self._used.update(body.rule_ids)
        self._rows += [
            {
                "origin": place[0],
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

    def finish(self) -> None:
        """Write what is held back, and how often the rules were used."""
        self.flush()
        if self._used:
            members = {"member": ("str", sorted(self._used))}
            if used := [row[0] for row in select(self._connection, SELECT_USED, members)]:
                insert(self._connection, UPDATE_USAGE, {"id": ("str", used)})


class ModelProjector:
    """Writes models as they come: they are few, so nothing is held back."""

    kinds = frozenset(
        {
            "model.registered",
            "model.activated",
            "model.deactivated",
            "model.canary",
            "model.served",
            "model.settled",
            "model.trained",
        }
    )
    held = 0

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def take(self, place: Place, offset: int, entry: Entry) -> None:
        """Take an entry. Raises ValueError for a malformed body."""
        del place, offset
        if entry.kind == "model.registered":
            self._register(convert(entry.body, ModelRegistered))
        elif entry.kind == "model.activated":
            name = {"id": storable(convert(entry.body, ModelActivated).model_id)}
            self._connection.execute(ACTIVATE, name)
            self._connection.execute(STOP_TRYING, name)
        elif entry.kind == "model.deactivated":
            kind = convert(entry.body, ModelDeactivated).model_kind
            self._connection.execute(DEACTIVATE, [storable(kind)])
        elif entry.kind in ("model.canary", "model.settled"):
            tried = convert(entry.body, ModelTried)
            name = {"id": storable(tried.model_id)}
            if entry.kind == "model.settled":
                self._connection.execute(STOP_TRYING, name)
            else:
                self._connection.execute(TRY_MODEL, {**name, "share": tried.share})

    def _register(self, model: ModelRegistered) -> None:
        texts = (model.model_id, model.model_kind, model.version, json_text(model.params))
        self._connection.execute(REGISTER, [*map(storable, texts), model.created_at])
        given = model.provenance
        self._connection.execute(
            PUT_PROVENANCE,
            {
                "id": storable(model.model_id),
                "base": storable(given.base),
                "since": given.since,
                "until": given.until,
                "samples": given.samples,
                "sessions": given.sessions,
                "metrics": json_text(given.metrics),
                "code_version": storable(given.code_version),
                "seed": given.seed,
            },
        )

    def flush(self) -> None:
        """Nothing is held back."""

    def finish(self) -> None:
        """Nothing is held back."""
