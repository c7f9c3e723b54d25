"""A rule as fields of a form, and what is written there as checked values of the record.

Lists whose entries may hold commas (scopes, conditions, examples) are written an entry a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from screens.rules.words import condition_lines
from screens.widgets.record_fields import Field
from workbench.errors import UsageError
from workbench.records.rules import Authority, Category, Level, Rule
from workbench.rules.describing import check_text
from workbench.rules.fields import checked

LINES: Final = frozenset({"scope", "conditions", "examples"})
"""Fields that are written an entry a line."""

OWNER: Final = "home"
"""The field of a form that says whose a new rule is; it is none of the record."""

LABELS: Final[Mapping[str, str]] = {
    "rule": "Text",
    "name": "Name",
    "category": "Category",
    "authority": "Authority",
    "priority": "Priority",
    "level": "Level",
    "enabled": "Enabled",
    "tags": "Tags",
    "tool_targets": "Tools",
    "scope": "Scope",
    "condition_text": "Condition",
    "conditions": "When",
    "cooldown": "Cooldown",
    "examples": "Examples",
    "check": "Check",
}
"""What the fields of a rule are called, in the order they are shown."""


def form_fields(rule: Rule) -> tuple[Field, ...]:
    """Return the fields of a rule that people decide."""
    return (
        Field("rule", LABELS["rule"], rule.rule, "long", required=True, help="new words make a new version"),
        Field(
            "authority", LABELS["authority"], str(rule.authority), "choice", tuple(Authority), required=True
        ),
        Field("priority", LABELS["priority"], rule.priority, "number", least=0, most=100, required=True),
        Field("enabled", LABELS["enabled"], rule.enabled, "flag"),
        Field("category", LABELS["category"], str(rule.category), "choice", tuple(Category), required=True),
        Field("level", LABELS["level"], str(rule.level), "choice", tuple(Level), required=True),
        Field("tags", LABELS["tags"], rule.tags, "tags", help="language:python, workflow:commit"),
        Field("tool_targets", LABELS["tool_targets"], rule.tool_targets, "tags", help="claude, cursor"),
        Field("scope", LABELS["scope"], _lines(rule.scope), "long", help="a name or path:GLOB a line"),
        Field(
            "condition_text", LABELS["condition_text"], rule.condition_text, help="when it is about a task"
        ),
        Field(
            "conditions",
            LABELS["conditions"],
            _lines(condition_lines(rule.conditions)),
            "long",
            help="NAME=VALUE a line",
        ),
        Field(
            "examples",
            LABELS["examples"],
            _lines(rule.examples),
            "long",
            help="a message it answers to a line",
        ),
        Field("cooldown", LABELS["cooldown"], rule.cooldown, "number", least=0, most=10**9, required=True),
        Field("check", LABELS["check"], check_text(rule), help='JSON: {"command": "git push --force"}'),
        Field("name", LABELS["name"], rule.name, help="made of the text where empty"),
    )


def given(name: str, value: Any) -> Any:
    """Return a form's value as the record's fields are given: lines as lists, an empty check as none."""
    if name in LINES:
        return [line.strip() for line in str(value).split("\n") if line.strip()]
    if name == "check":
        return str(value).strip() or None
    if name in ("tags", "tool_targets"):
        return list(value)
    return value


def problems(values: Mapping[str, Any], extra_tags: Sequence[str] = ()) -> dict[str, str]:
    """Return what is wrong with a form's values, by field; names left empty are made of the text."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if name == OWNER:
            continue
        try:
            checked({name: given(name, value)}, extra_tags)
        except UsageError as error:
            found[name] = f"{error.message}. {error.hint}".strip()
    return found


def record_values(
    values: Mapping[str, Any], extra_tags: Sequence[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """Return checked values of a rule's fields, and what is odd about them. Raises: UsageError."""
    kept = {
        name: given(name, value)
        for name, value in values.items()
        if name != OWNER and (name != "name" or value)
    }
    found, notes = checked(kept, extra_tags)
    owner = {OWNER: values[OWNER]} if OWNER in values else {}
    return {**found, **owner}, notes


def value_text(name: str, value: Any) -> str:
    """Return a field's value as a form writes it."""
    if name == "check":
        return "" if value is None else check_text(Rule(id="", name="", rule="", check=value))
    if name == "conditions":
        return _lines(condition_lines(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _lines(value) if isinstance(value, (tuple, list)) else str(value)


def _lines(entries: Sequence[str]) -> str:
    return "\n".join(entries)
