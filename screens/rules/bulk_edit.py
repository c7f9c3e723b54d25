"""The same change of many rules in one step: what is left empty stays as it is in each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from textual.binding import BindingType

from screens.commands import widget_bindings
from screens.curation.record_form import RecordForm, SaveForm
from screens.rules.rule_form import LINES, given, problems, record_values
from screens.widgets.form import FormField
from workbench.records.rules import Authority, Category, Level, Rule
from workbench.text.counts import counted

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
        found[name] = value == "yes" if name == "enabled" else given(field, value)
    return found


def bulk_problems(values: Mapping[str, Any], extra_tags: Sequence[str] = ()) -> dict[str, str]:
    """Return what is wrong with what was written, by field; what is removed may be anything."""
    found: dict[str, str] = {}
    for name, value in form_values(values).items():
        if name not in REMOVED:
            field = ADDED.get(name, name)
            wrong = problems({field: _written(field, value)}, extra_tags)
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
            found[name] = record_values({field: _written(field, value)}, extra_tags)[0][field]
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


def _written(field: str, value: Any) -> Any:  # noqa: ANN401 - a field of any type
    """Return a value as the form of a rule has it: lists of some fields an entry a line."""
    return "\n".join(value) if field in LINES else value


class BulkEditForm(RecordForm):
    """A form for what is to be the same in many rules."""

    DEFAULT_CSS = """BulkEditForm {
        & > .dialog { width: 84; height: 90%; }
        & FieldForm TextArea { height: 2; }
        & FieldForm #field-0 { height: 1; }
    }"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("bulk-edit")
    HINT: ClassVar = "what is empty stays as it is · ctrl+s saves all as one step · escape leaves"

    def __init__(self, rules: Sequence[Rule], save: SaveForm, *, extra_tags: Sequence[str] = ()) -> None:
        tags = tuple(extra_tags)
        super().__init__(
            f"Edit {counted(len(rules), 'rule')}",
            FIELDS,
            save,
            validate=lambda values: bulk_problems(values, tags),
            convert=lambda values: checked_values(values, tags),
        )
