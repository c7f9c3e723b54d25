"""The rules in force and how they came about, from the stream `rules` of both journals.

What holds follows from both journals in the order of their entries' ids, but they are read one after the
other. So every change of a rule, a settled conflict or a rule file has its moment, and the latest counts:
the tables are the same as the engine's ledger, however the journals were read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from store.duck import insert, select, storable
from store.journal import HOME
from store.lists.haystack import haystack
from store.projections.bodies import (
    ConflictReopened,
    ConflictResolved,
    FileForgotten,
    FileSynced,
    RuleRemoved,
    json_text,
)
from store.projections.rows import Place, Row, count_uses, insert_rows
from store.projections.rule_places import place_rules
from workbench.lists.tables import row_number
from workbench.ports import Entry
from workbench.records.conversion import convert
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule, past_ids, value_problems

if TYPE_CHECKING:
    from store.duck import Connection

STREAM: Final = "rules"
CURATION: Final = "curation"

SELECT_CLOCKS: Final = "SELECT origin, moment FROM rule_clocks"
PUT_CLOCKS: Final = """
INSERT INTO rule_clocks SELECT origin, moment FROM staged
ON CONFLICT (origin) DO UPDATE SET moment = excluded.moment
"""
SELECT_MOMENTS: Final = "SELECT id, moment FROM rule_moments JOIN staged USING (kind, id)"
PUT_MOMENTS: Final = """
INSERT INTO rule_moments SELECT kind, id, moment FROM staged
ON CONFLICT (kind, id) DO UPDATE SET moment = excluded.moment
"""
INSERT_VERSIONS: Final = """
INSERT INTO rule_versions
SELECT origin, position, rule_id, change, "at", "by", reason, step, title, undoes, redoes, successor,
    nullif(version, 0), rule, replaces::JSON::VARCHAR[], usage_count, last_used, body::JSON
FROM staged
"""
DELETE_RULES: Final = "DELETE FROM rules USING staged WHERE rules.id = staged.id"
INSERT_RULES: Final = """
INSERT INTO rules
SELECT origin, id, name, rule, category, authority, scope::JSON::VARCHAR[], source, conditions::JSON,
    replaces::JSON::VARCHAR[], created_at, updated_at, metadata::JSON, project_id,
    tool_targets::JSON::VARCHAR[],
    priority, token_cost, usage_count, last_used, tags::JSON::VARCHAR[], version, condition_text, action_text,
    level, enabled, cooldown, examples::JSON::VARCHAR[], provenance::JSON, "check"::JSON,
    lineage::JSON::VARCHAR[], position, number, haystack, cased, files::JSON::VARCHAR[], home_file,
    TRY_CAST(line AS BIGINT), TRY_CAST(end_line AS BIGINT), format, section::JSON::VARCHAR[], activation,
    "when"::JSON::VARCHAR[], meta::JSON::VARCHAR[]
FROM staged
"""
# The moments of the versions of a slot, of which the latest one holds; `staged` has kinds.
SELECT_SLOTS: Final = "SELECT kind, id, moment FROM rule_moments JOIN staged USING (kind)"
DELETE_CONFLICTS: Final = "DELETE FROM rule_conflicts USING staged WHERE rule_conflicts.id = staged.id"
INSERT_CONFLICTS: Final = """
INSERT INTO rule_conflicts SELECT id, origin, left_id, right_id, action, reason, "at", "by" FROM staged
"""
DELETE_FILES: Final = "DELETE FROM rule_files USING staged WHERE rule_files.file = staged.id"
INSERT_FILES: Final = """
INSERT INTO rule_files SELECT id, origin, format, digest, named, anchors::JSON, "at" FROM staged
"""

_JSON = {"scope", "conditions", "replaces", "metadata", "tool_targets", "tags", "examples"}
_MAYBE_JSON = {"provenance", "check"}
_NUMBERS = {"priority", "token_cost", "usage_count", "version", "cooldown"}
_TYPES = {
    **dict.fromkeys((*_NUMBERS, "position", "number"), "int64"),
    **dict.fromkeys(("enabled", "named", "home_file"), "bool"),
}
_MOST = 2**53


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of record, and how the tables take it."""

    name: str
    delete: str
    insert: str


_KINDS = {
    kind.name: kind
    for kind in (
        _Kind("rule", DELETE_RULES, INSERT_RULES),
        _Kind("conflict", DELETE_CONFLICTS, INSERT_CONFLICTS),
        _Kind("file", DELETE_FILES, INSERT_FILES),
    )
}


class RuleProjector:
    """Holds back the newest change of each rule, conflict and file."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._origin = ""
        self._moment = ""
        self._clocks: dict[str, str] = dict(connection.execute(SELECT_CLOCKS).fetchall())
        self._moved: set[str] = set()  # origins whose clocks are
        self._latest: dict[str, dict[str, tuple[str, Row | None]]] = {name: {} for name in _KINDS}
        self._slots: dict[tuple[str, str], str] = {}  # by slot and rule, in a team
        self._versions: list[Row] = []
        self._written: set[str] = set()
        self._synced: set[str] = set()

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds this projector takes."""
        return frozenset(_TAKEN)

    @property
    def held(self) -> int:
        """How many rows are held back."""
        return len(self._versions) + sum(map(len, self._latest.values()))

    def take(self, place: Place, offset: int, entry: Entry) -> None:
        """Take an entry. Raises ValueError for a body of another form."""
        self._origin, _ = place
        clock = self._clocks[self._origin] = max(self._clocks.get(self._origin, ""), entry.id)
        self._moment = f"{clock}{int(self._origin == HOME)}"  # which puts equal ones of two journals in order
        self._moved.add(self._origin)
        _TAKEN[entry.kind](self, offset, entry)

    def put(self, offset: int, entry: Entry) -> None:
        """A rule holds from now on, and those it replaces do not."""
        rule = convert(entry.body, Rule)
        if any(abs(getattr(rule, name)) > _MOST for name in _NUMBERS):
            raise msgspec.ValidationError("a number is out of range")
        for problem in value_problems(rule):
            raise msgspec.ValidationError(problem)
        for old in rule.replaces:
            self._record("rule", old, None)
        self._record("rule", rule.id, _rule_row(rule, self._origin, offset))
        self._note_slot(entry, rule.id)
        self._versions.append(_version_row(entry, self._origin, offset, rule.id, rule, ""))

    def remove(self, offset: int, entry: Entry) -> None:
        """A rule holds no longer."""
        body = convert(entry.body, RuleRemoved)
        self._record("rule", body.id, None)
        self._note_slot(entry, body.id)
        row = _version_row(entry, self._origin, offset, body.id, None, body.successor or "")
        self._versions.append(row)

    def resolve(self, offset: int, entry: Entry) -> None:
        """A conflict is settled."""
        del offset
        body = convert(entry.body, ConflictResolved)
        row: Row = {
            "id": body.id,
            "origin": self._origin,
            "left_id": body.left,
            "right_id": body.right,
            "action": body.action,
            "reason": _marks(entry)["reason"],
            "at": entry.at,
            "by": entry.by,
        }
        self._record("conflict", body.id, row)

    def reopen(self, offset: int, entry: Entry) -> None:
        """A conflict is open again."""
        del offset
        self._record("conflict", convert(entry.body, ConflictReopened).id, None)

    def sync(self, offset: int, entry: Entry) -> None:
        """A rule file was synced."""
        del offset
        body = convert(entry.body, FileSynced)
        row: Row = {
            "id": body.file,
            "origin": self._origin,
            "format": body.format,
            "digest": body.digest,
            "named": body.named,
            "anchors": json_text(body.anchors),
            "at": entry.at,
        }
        self._record("file", body.file, row)

    def forget(self, offset: int, entry: Entry) -> None:
        """A rule file is gone."""
        del offset
        self._record("file", convert(entry.body, FileForgotten).file, None)

    def flush(self) -> None:
        """Write what is held back."""
        for name, latest in self._latest.items():
            if latest:
                self._write(_KINDS[name], latest)
                latest.clear()
        if self._slots:
            self._settle_slots()
        insert_rows(self._connection, INSERT_VERSIONS, self._versions, _TYPES)
        self._versions.clear()
        clocks = [{"origin": one, "moment": self._clocks[one]} for one in sorted(self._moved)]
        insert_rows(self._connection, PUT_CLOCKS, clocks, _TYPES)
        self._moved.clear()

    def finish(self) -> None:
        """Write what is held back, and where their files have the rules."""
        self.flush()
        place_rules(self._connection, sorted(self._written), sorted(self._synced))

    def _note_slot(self, entry: Entry, identifier: str) -> None:
        """Note of which slot an entry of a team makes a version (`workbench.curation.concurrency`)."""
        marks = entry.body.get(CURATION)
        if isinstance(marks, Mapping) and isinstance(marks.get("seen"), list):
            slot = storable(str(marks.get("slot") or identifier)) or ""
            key = f"slot {slot}", storable(identifier) or ""
            self._slots[key] = max(self._slots.get(key, ""), self._moment)

    def _settle_slots(self) -> None:
        """Let the last version of each slot hold alone, also of those that other machines wrote."""
        asked = {"kind": ("str", sorted({kind for kind, _ in self._slots}))}
        known = {(kind, one): at for kind, one, at in select(self._connection, SELECT_SLOTS, asked)}
        newer = {key: at for key, at in self._slots.items() if known.get(key, "") < at}
        moments = [{"kind": kind, "id": one, "moment": at} for (kind, one), at in newer.items()]
        insert_rows(self._connection, PUT_MOMENTS, moments, _TYPES)
        self._slots.clear()
        last: dict[str, str] = {}
        for (kind, _), at in (known := {**known, **newer}).items():
            last[kind] = max(last.get(kind, ""), at)
        before = {one: last[kind] for (kind, one), at in known.items() if at < last[kind]}
        if before:
            asked = {"kind": ("str", ["rule"] * len(before)), "id": ("str", sorted(before))}
            put = dict(select(self._connection, SELECT_MOMENTS, asked))
            gone = sorted(one for one, at in before.items() if put.get(one, "") < at)
            insert(self._connection, DELETE_RULES, {"id": ("str", gone)})

    def _record(self, kind: str, identifier: str, row: Row | None) -> None:
        stored, latest = storable(identifier) or "", self._latest[kind]
        if stored not in latest or latest[stored][0] <= self._moment:
            latest[stored] = (self._moment, row)

    def _write(self, kind: _Kind, latest: Mapping[str, tuple[str, Row | None]]) -> None:
        asked = {"kind": ("str", [kind.name] * len(latest)), "id": ("str", list(latest))}
        known = dict(select(self._connection, SELECT_MOMENTS, asked))
        keys = sorted(key for key, (moment, _) in latest.items() if known.get(key, "") <= moment)
        if not keys:
            return
        moments = [{"kind": kind.name, "id": key, "moment": latest[key][0]} for key in keys]
        insert_rows(self._connection, PUT_MOMENTS, moments, _TYPES)
        if stored := [key for key in keys if key in known]:
            insert(self._connection, kind.delete, {"id": ("str", stored)})
        rows = [row for key in keys if (row := latest[key][1]) is not None]
        if rows and kind.name == "rule":
            count_uses(self._connection, rows)
            self._written.update(row["file"] for row in rows if row["file"])
        elif kind.name == "file":
            self._synced.update(keys)
        insert_rows(self._connection, kind.insert, rows, _TYPES)


_TAKEN: Final = {
    "rule.put": RuleProjector.put,
    "rule.removed": RuleProjector.remove,
    "conflict.resolved": RuleProjector.resolve,
    "conflict.reopened": RuleProjector.reopen,
    "file.synced": RuleProjector.sync,
    "file.forgotten": RuleProjector.forget,
}


def _rule_row(rule: Rule, origin: str, offset: int) -> Row:
    row: Row = {"origin": origin, "position": offset, "lineage": json_text([rule.id, *past_ids(rule)])}
    for name in rule.__slots__:
        value = getattr(rule, name)
        if name in _JSON or (name in _MAYBE_JSON and value is not None):
            row[name] = json_text(value)
        else:
            row[name] = value
    where = rule.provenance
    row["last_used"] = rule.last_used or None
    row["number"] = row_number(storable(rule.id) or "")
    row["cased"], row["haystack"] = haystack(_searched_values(rule))
    row["file"] = "" if where is None else storable(where.file)
    row["files"] = json_text([] if where is None else [where.file, *where.names])
    row["home_file"] = where is not None and where.home
    row["line"] = None if where is None else str(where.line)
    row["end_line"] = None if where is None else str(where.end_line)
    row["format"] = None if where is None else where.format
    row["section"] = json_text([] if where is None else where.section)
    row["activation"] = None if where is None else str(where.activation)
    row["when"] = json_text([f"{name}={value}" for name, value in _conditions(rule)])
    row["meta"] = json_text([f"{name}={value}" for name, value in rule.metadata.items()])
    return row


def _searched_values(rule: Rule) -> Iterator[str | Sequence[str] | None]:
    """Yield the values of the searched fields of `workbench.lists.rules`, in their order."""
    where = rule.provenance
    yield rule.rule
    yield rule.condition_text
    yield rule.examples
    yield (rule.id, rule.id.removeprefix("rule-"))
    yield () if where is None else (where.file, *where.names)
    yield rule.tags
    yield rule.tool_targets
    yield rule.scope
    yield rule.name


def _conditions(rule: Rule) -> Iterator[tuple[str, object]]:
    for name, wanted in rule.conditions.items():
        for value in wanted if isinstance(wanted, (list, tuple)) else (wanted,):
            yield name, value


def _version_row(
    entry: Entry, origin: str, offset: int, identifier: str, rule: Rule | None, successor: str
) -> Row:
    return {
        "origin": origin,
        "position": offset,
        "rule_id": identifier,
        "change": "removed" if rule is None else "put",
        "at": entry.at,
        "by": entry.by,
        **_marks(entry),
        "successor": successor,
        "version": 0 if rule is None else rule.version,
        "rule": None if rule is None else rule.rule,
        "replaces": None if rule is None else json_text(rule.replaces),
        "usage_count": 0 if rule is None else rule.usage_count,
        "last_used": None if rule is None else rule.last_used,
        "body": None if rule is None else json_text(rule),
    }


def _marks(entry: Entry) -> dict[str, str]:
    """Return the step that an entry belongs to; an entry without one is a step by itself."""
    found = entry.body.get(CURATION)
    marks = found if isinstance(found, Mapping) else {}
    found = {name: str(marks.get(name) or "") for name in ("reason", "step", "title", "undoes", "redoes")}
    found["reason"] = found["reason"] or str(entry.body.get("reason") or "")
    found["step"] = found["step"] or entry.id
    return found
