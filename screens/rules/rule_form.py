"""A rule as fields of a form: their values there, in the record, and as options of a command line. Pure.

Lists whose entries may hold commas (scopes, conditions, examples) are written one entry a line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from screens.curation.overtaken import FieldMerge, OvertakenRecord, Wording, field_merges
from screens.curation.record_form import RecordForm
from screens.widgets.form import Field
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


_OPTIONS: Final[Mapping[str, str]] = {
    "rule": "--text",
    "name": "--name",
    "scope": "--scope",
    "category": "--category",
    "authority": "--authority",
    "priority": "--priority",
    "tags": "--tag",
    "tool_targets": "--tool",
    "level": "--level",
    "condition_text": "--condition",
    "conditions": "--when",
    "examples": "--example",
    "cooldown": "--cooldown",
    "check": "--check",
}

_CLEARED: Final[Mapping[str, str]] = {
    "scope": "scope",
    "tags": "tags",
    "tool_targets": "tools",
    "conditions": "when",
    "examples": "examples",
    "condition_text": "condition",
    "check": "check",
}


def edit_command(identifier: str, changes: Mapping[str, Any]) -> list[str]:
    """Return the command that makes changes of one rule."""
    if set(changes) == {"enabled"}:
        return switch_command([identifier], on=bool(changes["enabled"]))
    return ["rules", "edit", identifier, *_options(changes)]


def add_command(fields: Mapping[str, Any], *, home: bool = False) -> list[str]:
    """Return the command that adds a rule of these fields."""
    rest = {name: value for name, value in fields.items() if name != "rule" and value}
    return ["rules", "add", str(fields["rule"]), *_options(rest), *(["--home"] if home else [])]


def switch_command(identifiers: Sequence[str], *, on: bool) -> list[str]:
    """Return the command that switches rules on or off."""
    return ["rules", "enable" if on else "disable", *identifiers]


def _options(changes: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for name, value in changes.items():
        if name not in _OPTIONS:
            continue
        if not value and name in _CLEARED:
            found += ["--clear", _CLEARED[name]]
        else:
            for text in _texts(name, value):
                found += [_OPTIONS[name], text]
    return found


def _texts(name: str, value: Any) -> list[str]:
    if name == "conditions":
        return condition_lines(value)
    if name == "check":
        told = msgspec.to_builtins(value)
        return [json.dumps({key: item for key, item in told.items() if item}, ensure_ascii=False)]
    return list(value) if isinstance(value, (tuple, list)) else [str(value)]


def condition_lines(conditions: Mapping[str, Any]) -> list[str]:
    """Return conditions as `NAME=VALUE`, a line for each value."""
    found = []
    for name, wanted in conditions.items():
        items = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        found += [f"{name}={item}" for item in items]
    return found


Save = Callable[[RecordForm, dict[str, Any]], None]
"""Is given the form and what was changed; ends with `done` or `refused` of the form."""


class EditRule(RecordForm):
    """A form of a rule's fields."""

    def __init__(
        self,
        title: str,
        fields: Sequence[Field],
        save: Save,
        *,
        extra_tags: Sequence[str] = (),
        new: bool = False,
    ) -> None:
        tags = tuple(extra_tags)
        super().__init__(
            title,
            fields,
            save,
            validate=partial(problems, extra_tags=tags),
            convert=lambda values: record_values(values, tags)[0],
            new=new,
        )


TEXTS: Final = frozenset({"rule", "condition_text", "scope", "conditions", "examples", "check", "name"})
"""Fields that can be merged as texts."""


def rule_merges(seen: Rule, now: Rule, changes: Mapping[str, Any]) -> tuple[FieldMerge, ...]:
    """Return the fields that differ; a name follows from the text unless it was edited."""
    names = [name for name in LABELS if name != "name" or name in changes]
    return field_merges(names, seen, now, changes)


class OvertakenRule(OvertakenRecord):
    """Chooses a side for every field of a rule that both changed."""

    def __init__(
        self, seen: Rule, now: Rule, changes: Mapping[str, Any], *, extra_tags: Sequence[str] = ()
    ) -> None:
        tags = tuple(extra_tags)
        wording = Wording(
            LABELS,
            TEXTS,
            value_text,
            lambda name, text: record_values({name: text}, tags)[0][name],
            lambda name, text: problems({name: text}, tags).get(name, ""),
        )
        super().__init__(now.id[:13], rule_merges(seen, now, changes), wording)
