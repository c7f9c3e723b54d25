"""What can be asked of the list of rules. Its rows are the rules in force, as `Rule` records."""

from __future__ import annotations

from typing import Final

from workbench.lists.filters import Field, FieldKind
from workbench.lists.tables import ListType
from workbench.records.rules import Authority, Category, Level

FIELDS: Final = (
    Field("text", FieldKind.TEXT),
    Field("condition", FieldKind.TEXT),
    Field("example", FieldKind.TEXT),
    Field("id"),
    Field("file"),
    Field("tag"),
    Field("tool"),
    Field("scope"),
    Field("name"),
    Field("category", choices=tuple(Category), searched=False),
    Field("authority", choices=(Authority.DEFAULT, Authority.ABSOLUTE), searched=False),
    Field("level", choices=(Level.GLOBAL, Level.SCENARIO, Level.STEP), searched=False),
    Field("priority", FieldKind.NUMBER),
    Field("tokens", FieldKind.NUMBER),
    Field("used", FieldKind.NUMBER),
    Field("version", FieldKind.NUMBER),
    Field("cooldown", FieldKind.NUMBER),
    Field("line", FieldKind.NUMBER),
    Field("enabled", FieldKind.YES_NO),
    Field("home", FieldKind.YES_NO),
    Field("checked", FieldKind.YES_NO),
    Field("created", FieldKind.TIME),
    Field("updated", FieldKind.TIME),
    Field("last", FieldKind.TIME),
    Field("when", searched=False),
    Field("project", searched=False),
    Field("source", searched=False),
    Field("format", searched=False),
    Field("section", searched=False),
    Field("holds", searched=False),
    Field("replaces", searched=False),
    Field("meta", searched=False),
)
"""Text that is looked for is looked for in the searched ones, in this order."""

RULES: Final = ListType(
    "rule",
    FIELDS,
    sorts=(
        *("origin", "id", "category", "authority", "priority", "level", "enabled", "tokens", "used"),
        *("scope", "tags", "text", "updated"),
    ),
    usual=("origin", False),
    largest_first=frozenset({"priority", "tokens", "used", "updated"}),
    facets=(
        *("category", "authority", "level", "enabled", "home", "tag", "tool", "scope", "file", "format"),
        *("project", "source", "holds", "checked"),
    ),
)
"""`origin` is file and line, those of no file last."""
