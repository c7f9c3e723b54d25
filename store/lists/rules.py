"""The list of rules: where the fields of `workbench.lists.rules` are in the table `rules`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from store.lists.conditions import FieldColumn
from store.lists.sql_list import ListColumns, SortKey, SqlList
from store.projections import rows, rules
from store.tables import Tables
from workbench.lists.rules import RULES
from workbench.records.conversion import convert
from workbench.records.rules import Rule

FIELDS: Final = {
    "text": FieldColumn("rule"),
    "condition": FieldColumn("condition_text"),
    "example": FieldColumn("examples", many=True),
    "id": FieldColumn("[id, regexp_replace(id, '^rule-', '')]", many=True),
    "file": FieldColumn("files", many=True, counted="files[:1]"),
    "tag": FieldColumn("tags", many=True),
    "tool": FieldColumn("tool_targets", many=True),
    "scope": FieldColumn("scope", many=True),
    "name": FieldColumn("name"),
    "category": FieldColumn("category"),
    "authority": FieldColumn("authority"),
    "level": FieldColumn("level"),
    "priority": FieldColumn("priority"),
    "tokens": FieldColumn("token_cost"),
    "used": FieldColumn("usage_count"),
    "version": FieldColumn("version"),
    "cooldown": FieldColumn("cooldown"),
    "line": FieldColumn("line"),
    "enabled": FieldColumn("enabled", counted="if(enabled, 'yes', 'no')"),
    "home": FieldColumn("project_id IS NULL", counted="if(project_id IS NULL, 'yes', 'no')"),
    "checked": FieldColumn('"check" IS NOT NULL', counted="""if("check" IS NOT NULL, 'yes', 'no')"""),
    "created": FieldColumn("created_at"),
    "updated": FieldColumn("updated_at"),
    "last": FieldColumn("last_used"),
    "when": FieldColumn('"when"', many=True),
    "project": FieldColumn("project_id"),
    "source": FieldColumn("source"),
    "format": FieldColumn("format"),
    "section": FieldColumn("section", many=True),
    "holds": FieldColumn("activation"),
    "replaces": FieldColumn("replaces", many=True),
    "meta": FieldColumn("meta", many=True),
}

SORTS: Final[dict[str, tuple[SortKey, ...]]] = {
    "origin": (
        ("len(files) = 0", False),
        ("coalesce(files[1], source)", False),
        ("coalesce(line, 0)", False),
    ),
    "id": (("id", False),),
    "category": (("category", False),),
    "authority": (("authority <> 'absolute'", False),),
    "priority": (("priority", False),),
    "level": (("list_position(['global', 'scenario', 'step'], level)", False),),
    "enabled": (("NOT enabled", False),),
    "tokens": (("token_cost", False),),
    "used": (("usage_count", False),),
    "scope": (("array_to_string(scope, chr(31))", False),),
    "tags": (("array_to_string(tags, chr(31))", False),),
    "text": (("lower(left(rule, 200))", False),),
    "updated": (("updated_at", False),),
}

VISIBLE: Final = "($home OR NOT home_file)"

_JSON: Final = frozenset({"conditions", "metadata", "provenance", "check"})
_NAMES: Final = tuple(name for name in Rule.__slots__)


def rule_list(tables: Tables, project_id: str, *, home: bool) -> SqlList[Rule]:
    """Return the rules in force in a project; with `home` those of files in the user's home, too.

    Those of the project are its own wherever its directory was when they were written.
    """
    quoted = project_id.replace("'", "''")
    fields = {**FIELDS, "project": FieldColumn(f"CASE WHEN project_id IS NOT NULL THEN '{quoted}' END")}
    made = partial(_rule, project_id)
    row = ", ".join((*(f'"{name}"' for name in _NAMES), "line", "end_line"))
    streams = (rules.STREAM, rows.USAGE)
    columns = ListColumns(RULES, "rules", fields, SORTS, row, made, VISIBLE, streams=streams)
    return SqlList(tables, columns, lambda: {"home": home})


def _rule(project_id: str, row: Sequence[Any]) -> Rule:
    *values, line, end_line = row
    body = {
        name: json.loads(value) if name in _JSON and value is not None else value
        for name, value in zip(_NAMES, values, strict=True)
    }
    if body["provenance"] is not None:
        body["provenance"] |= {"line": line, "end_line": end_line}
    if body["project_id"] is not None:
        body["project_id"] = project_id
    return convert(body, Rule)
