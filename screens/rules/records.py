"""What a rule can be filtered by: every field of its record, under the names that people type.

A field's values are worked out when a filter asks for them, so a filter over a hundred thousand rules costs
what its terms cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from screens.filter_matching import Value
from screens.filtering import Field, Kind
from workbench.records.rules import Authority, Category, Level, Rule

FIELDS: Final = (
    Field("text", Kind.TEXT),
    Field("condition", Kind.TEXT),
    Field("example", Kind.TEXT),
    Field("id"),
    Field("file"),
    Field("tag"),
    Field("tool"),
    Field("scope"),
    Field("name"),
    Field("category", choices=tuple(Category), searched=False),
    Field("authority", choices=(Authority.DEFAULT, Authority.ABSOLUTE), searched=False),
    Field("level", choices=(Level.GLOBAL, Level.SCENARIO, Level.STEP), searched=False),
    Field("priority", Kind.NUMBER),
    Field("tokens", Kind.NUMBER),
    Field("used", Kind.NUMBER),
    Field("version", Kind.NUMBER),
    Field("cooldown", Kind.NUMBER),
    Field("line", Kind.NUMBER),
    Field("enabled", Kind.YES_NO),
    Field("home", Kind.YES_NO),
    Field("checked", Kind.YES_NO),
    Field("created", Kind.TIME),
    Field("updated", Kind.TIME),
    Field("last", Kind.TIME),
    Field("when", searched=False),
    Field("project", searched=False),
    Field("source", searched=False),
    Field("format", searched=False),
    Field("section", searched=False),
    Field("holds", searched=False),
    Field("replaces", searched=False),
    Field("meta", searched=False),
)
"""The fields of the filter; text that is looked for is looked for in the first ones first."""

FACETS: Final = (
    "category",
    "authority",
    "level",
    "enabled",
    "home",
    "tag",
    "tool",
    "scope",
    "file",
    "format",
    "project",
    "source",
    "holds",
    "checked",
)
"""The fields whose values are counted, in the order they are listed."""

Getter = Callable[[Rule], Value]


def _file(rule: Rule) -> Value:
    return None if rule.provenance is None else (rule.provenance.file, *rule.provenance.names)


def _conditions(rule: Rule) -> Value:
    found = []
    for name, wanted in rule.conditions.items():
        items = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        found += [f"{name}={item}" for item in items]
    return found


_GETTERS: Final[Mapping[str, Getter]] = {
    "text": lambda rule: rule.rule,
    "condition": lambda rule: rule.condition_text or None,
    "example": lambda rule: rule.examples,
    "id": lambda rule: (rule.id, rule.id.removeprefix("rule-")),
    "file": _file,
    "tag": lambda rule: rule.tags,
    "tool": lambda rule: rule.tool_targets,
    "scope": lambda rule: rule.scope,
    "name": lambda rule: rule.name,
    "category": lambda rule: rule.category,
    "authority": lambda rule: rule.authority,
    "level": lambda rule: rule.level,
    "priority": lambda rule: rule.priority,
    "tokens": lambda rule: rule.token_cost,
    "used": lambda rule: rule.usage_count,
    "version": lambda rule: rule.version,
    "cooldown": lambda rule: rule.cooldown,
    "line": lambda rule: None if rule.provenance is None else rule.provenance.line,
    "enabled": lambda rule: rule.enabled,
    "home": lambda rule: rule.project_id is None,
    "checked": lambda rule: rule.check is not None,
    "created": lambda rule: rule.created_at,
    "updated": lambda rule: rule.updated_at,
    "last": lambda rule: rule.last_used,
    "when": _conditions,
    "project": lambda rule: rule.project_id,
    "source": lambda rule: rule.source,
    "format": lambda rule: None if rule.provenance is None else rule.provenance.format,
    "section": lambda rule: None if rule.provenance is None else rule.provenance.section,
    "holds": lambda rule: None if rule.provenance is None else str(rule.provenance.activation),
    "replaces": lambda rule: rule.replaces,
    "meta": lambda rule: [f"{name}={value}" for name, value in rule.metadata.items()],
}


class RuleRecord(Mapping[str, Value]):
    """A rule's fields by the names of a filter, each worked out when it is asked for."""

    __slots__ = ("rule",)

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def __getitem__(self, name: str) -> Value:
        return _GETTERS[name](self.rule)

    def __iter__(self) -> Iterator[str]:
        return iter(_GETTERS)

    def __len__(self) -> int:
        return len(_GETTERS)


def facet_values(rule: Rule, name: str) -> tuple[str, ...]:
    """Return a rule's values of a facet, as a filter writes them; what it has none of gives none."""
    value = _GETTERS[name](rule)
    if name == "file":
        return () if rule.provenance is None else (rule.provenance.file,)
    if value is None or value == "":
        return ()
    if isinstance(value, bool):
        return ("yes" if value else "no",)
    if isinstance(value, (str, int, float)):
        return (str(value),)
    return tuple(value)
