"""A rule as fields of a form: their values there, in the record, and as options of a command line. Pure.

Lists whose entries may hold commas (scopes, conditions, examples) are written one entry a line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec
from textual.binding import BindingType

from screens.commands import widget_bindings
from screens.curation.record_form import RecordFields, RecordForm, SaveForm
from screens.themes import style_of
from screens.widgets.form import FormField
from workbench.errors import UsageError
from workbench.records.rules import Authority, Category, Level, Rule
from workbench.rules.descriptions import check_text
from workbench.rules.fields import check_fields
from workbench.text.counts import plural

LINES: Final = frozenset({"scope", "conditions", "examples"})
"""Fields that are written an entry a line."""

OWNER: Final = "home"
"""The field of a form that says whose a new rule is; it is not in the record."""

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


def form_fields(rule: Rule) -> tuple[FormField, ...]:
    """Return the fields of a rule that people decide."""
    return (
        FormField(
            "rule",
            LABELS["rule"],
            rule.rule,
            "long",
            required=True,
            help="new words make a new version" if rule.id else "",
        ),
        FormField(
            "authority", LABELS["authority"], str(rule.authority), "choice", tuple(Authority), required=True
        ),
        FormField("priority", LABELS["priority"], rule.priority, "number", least=0, most=100, required=True),
        FormField("enabled", LABELS["enabled"], rule.enabled, "flag"),
        FormField(
            "category", LABELS["category"], str(rule.category), "choice", tuple(Category), required=True
        ),
        FormField("level", LABELS["level"], str(rule.level), "choice", tuple(Level), required=True),
        FormField("tags", LABELS["tags"], rule.tags, "tags", help="language:python, workflow:commit"),
        FormField("tool_targets", LABELS["tool_targets"], rule.tool_targets, "tags", help="claude, cursor"),
        FormField("scope", LABELS["scope"], _lines(rule.scope), "long", help="a name or path:GLOB a line"),
        FormField(
            "condition_text", LABELS["condition_text"], rule.condition_text, help="when it is about a task"
        ),
        FormField(
            "conditions",
            LABELS["conditions"],
            _lines(condition_lines(rule.conditions)),
            "long",
            help="NAME=VALUE a line",
        ),
        FormField(
            "examples",
            LABELS["examples"],
            _lines(rule.examples),
            "long",
            help="one message a line that it matches",
        ),
        FormField(
            "cooldown", LABELS["cooldown"], rule.cooldown, "number", least=0, most=10**9, required=True
        ),
        FormField("check", LABELS["check"], check_text(rule), help='JSON: {"command": "git push --force"}'),
        FormField("name", LABELS["name"], rule.name, help="made of the text where empty"),
    )


def parse_value(name: str, value: Any) -> Any:  # noqa: ANN401 - a field of any type
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
            check_fields({name: parse_value(name, value)}, extra_tags)
        except UsageError as error:
            found[name] = f"{error.message}. {error.hint}".strip()
    return found


def record_values(
    values: Mapping[str, Any], extra_tags: Sequence[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """Return checked values of a rule's fields, and warnings. Raises: UsageError."""
    kept = {
        name: parse_value(name, value)
        for name, value in values.items()
        if name != OWNER and (name != "name" or value)
    }
    found, notes = check_fields(kept, extra_tags)
    owner = {OWNER: values[OWNER]} if OWNER in values else {}
    return {**found, **owner}, notes


def value_text(name: str, value: Any) -> str:  # noqa: ANN401 - a field of any type
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


def _texts(name: str, value: Any) -> list[str]:  # noqa: ANN401 - a field of any type
    if name == "conditions":
        return condition_lines(value)
    if name == "check":
        check = msgspec.to_builtins(value)
        return [json.dumps({key: item for key, item in check.items() if item}, ensure_ascii=False)]
    return list(value) if isinstance(value, (tuple, list)) else [str(value)]


def condition_lines(conditions: Mapping[str, Any]) -> list[str]:
    """Return conditions as `NAME=VALUE`, a line for each value."""
    found = []
    for name, wanted in conditions.items():
        items = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        found += [f"{name}={item}" for item in items]
    return found


def rule_fields(extra_tags: Sequence[str] = ()) -> RecordFields:
    """Return how the fields of a rule are called, written and read; a name follows from the text."""
    tags = tuple(extra_tags)
    return RecordFields(
        LABELS,
        frozenset({"rule", "condition_text", "scope", "conditions", "examples", "check", "name"}),
        value_text,
        lambda values: record_values(values, tags)[0],
        lambda values: problems(values, tags),
        derived=frozenset({"name"}),
    )


ADDED: Final = {"add_tags": "tags", "add_scope": "scope", "add_tools": "tool_targets"}

REMOVED: Final = {"remove_tags": "tags", "remove_scope": "scope", "remove_tools": "tool_targets"}
"""Fields of the form that add to lists of a rule, or take from them."""

FIELDS: Final = (
    FormField("priority", "Priority", None, "number", least=0, most=100),
    FormField("add_tags", "Add tags", (), "tags", help="language:python, workflow:commit"),
    FormField("remove_tags", "Remove tags", (), "tags"),
    FormField("enabled", "Enabled", None, "choice", ("yes", "no")),
    FormField("authority", "Authority", None, "choice", tuple(Authority)),
    FormField("level", "Level", None, "choice", tuple(Level)),
    FormField("category", "Category", None, "choice", tuple(Category)),
    FormField("add_scope", "Add scope", "", "long", help="a name or path:GLOB a line"),
    FormField("remove_scope", "Remove scope", "", "long"),
    FormField("add_tools", "Add tools", (), "tags", help="claude, cursor"),
    FormField("remove_tools", "Remove tools", (), "tags"),
    FormField("cooldown", "Cooldown", None, "number", least=0, most=10**9),
)


def form_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was written in the form, as it is given to be checked; what is empty is left out."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if value in (None, "", ()):
            continue
        field = ADDED.get(name) or REMOVED.get(name) or name
        found[name] = value == "yes" if name == "enabled" else parse_value(field, value)
    return found


def bulk_problems(values: Mapping[str, Any], extra_tags: Sequence[str] = ()) -> dict[str, str]:
    """Return what is wrong with what was written, by field; what is removed may be anything."""
    found: dict[str, str] = {}
    for name, value in form_values(values).items():
        if name not in REMOVED:
            field = ADDED.get(name, name)
            wrong = problems({field: _format_value(field, value)}, extra_tags)
            found.update((name, text) for text in wrong.values())
    return found


def checked_values(values: Mapping[str, Any], extra_tags: Sequence[str] = ()) -> dict[str, Any]:
    """Return what was written in the form as checked values of the record. Raises: UsageError."""
    found: dict[str, Any] = {}
    for name, value in form_values(values).items():
        field = ADDED.get(name, name)
        if name in REMOVED:
            found[name] = tuple(value)
        else:
            found[name] = record_values({field: _format_value(field, value)}, extra_tags)[0][field]
    return found


def each_change(rules: Sequence[Rule], wanted: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the changes of each rule by id. Lists keep their order, what is added comes behind."""
    return {rule.id: _change(rule, wanted) for rule in rules}


def _change(rule: Rule, wanted: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in wanted.items():
        if name in REMOVED:
            field = REMOVED[name]
            kept = found.get(field, getattr(rule, field))
            found[field] = tuple(entry for entry in kept if entry not in value)
        elif name in ADDED:
            field = ADDED[name]
            found[field] = tuple(dict.fromkeys((*found.get(field, getattr(rule, field)), *value)))
        else:
            found[name] = value
    return found


def _format_value(field: str, value: Any) -> Any:  # noqa: ANN401 - a field of any type
    """Return a value as the form of a rule has it: lists of some fields an entry a line."""
    return "\n".join(value) if field in LINES else value


class BulkEditForm(RecordForm):
    """A form for what is to be the same in many rules."""

    DEFAULT_CSS = style_of("BulkEditForm")
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("bulk-edit")
    HINT: ClassVar = "what is empty stays as it is · ctrl+s saves all as one step · escape leaves"

    def __init__(self, rules: Sequence[Rule], save: SaveForm, *, extra_tags: Sequence[str] = ()) -> None:
        tags = tuple(extra_tags)
        super().__init__(
            f"Edit {plural(len(rules), 'rule')}",
            FIELDS,
            save,
            validate=lambda values: bulk_problems(values, tags),
            convert=lambda values: checked_values(values, tags),
        )
