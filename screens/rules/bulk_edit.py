"""The same change of many rules in one step: what is left empty stays as it is in each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.rules.rule_form import LINES, given, problems, record_values
from screens.safe_text import shown, shown_lines
from screens.widgets.confirm import DIALOG_CSS
from screens.widgets.form import Field, FieldForm
from workbench.records.rules import Authority, Category, Level, Rule
from workbench.text.counts import counted

Save = Callable[["EditMarked", Mapping[str, Any]], None]
"""Is given the form and the checked values; ends with `done` or `refused` of the form."""

ADDED: Final = {"add_tags": "tags", "add_scope": "scope", "add_tools": "tool_targets"}

REMOVED: Final = {"remove_tags": "tags", "remove_scope": "scope", "remove_tools": "tool_targets"}
"""Fields of the form that add to lists of a rule, or take from them."""

FIELDS: Final = (
    Field("priority", "Priority", None, "number", least=0, most=100),
    Field("add_tags", "Add tags", (), "tags", help="language:python, workflow:commit"),
    Field("remove_tags", "Remove tags", (), "tags"),
    Field("enabled", "Enabled", None, "choice", ("yes", "no")),
    Field("authority", "Authority", None, "choice", tuple(Authority)),
    Field("level", "Level", None, "choice", tuple(Level)),
    Field("category", "Category", None, "choice", tuple(Category)),
    Field("add_scope", "Add scope", "", "long", help="a name or path:GLOB a line"),
    Field("remove_scope", "Remove scope", "", "long"),
    Field("add_tools", "Add tools", (), "tags", help="claude, cursor"),
    Field("remove_tools", "Remove tools", (), "tags"),
    Field("cooldown", "Cooldown", None, "number", least=0, most=10**9),
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


def _written(field: str, value: Any) -> Any:
    """Return a value as the form of a rule has it: lists of some fields an entry a line."""
    return "\n".join(value) if field in LINES else value


class EditMarked(ModalScreen[bool]):
    """A form for what shall be the same in many rules."""

    DEFAULT_CSS = f"""EditMarked {{
        {DIALOG_CSS}
        & > .dialog {{ width: 84; height: 90%; }}
        & FieldForm TextArea {{ height: 2; }}
        & .dialog-error {{ max-height: 4; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "save", "Save", id="bulk.save", tooltip="Change all of them in one step"),
        Binding("escape", "leave", "Leave", id="bulk.leave", tooltip="Change nothing"),
    ]

    def __init__(self, rules: Sequence[Rule], save: Save, *, extra_tags: Sequence[str] = ()) -> None:
        super().__init__()
        self._count = len(rules)
        self._save = save
        self._tags = tuple(extra_tags)
        self.busy = False

    def compose(self) -> ComposeResult:
        """Lay out the form."""
        dialog = Vertical(classes="dialog")
        dialog.border_title = shown(f"Edit {counted(self._count, 'rule')}")
        with dialog:
            yield FieldForm(FIELDS, validate=self._problems)
            yield Static(classes="dialog-error")
            yield Static(
                shown("what is empty stays as it is · f2 saves all as one step · escape leaves"),
                classes="dialog-hint",
            )

    def on_mount(self) -> None:
        """Begin with the first field."""
        self.form.focus_field("priority")

    @property
    def form(self) -> FieldForm:
        """The form."""
        return self.query_one(FieldForm)

    @property
    def unsaved(self) -> bool:
        """Whether something was written here."""
        return self.form.dirty

    @on(FieldForm.Changed)
    def _changed(self, event: FieldForm.Changed) -> None:
        event.stop()
        self._say("")

    def action_save(self) -> None:
        """Change all of them, if nothing is wrong with what was written."""
        if self.busy or self.form.validate_all():
            return
        values = form_values(self.form.values())
        if not values:
            self._say("nothing was written")
            return
        self.busy = True
        self._say("saving …")
        self._save(self, {name: self._checked(name, value) for name, value in values.items()})

    def action_leave(self) -> None:
        """Change nothing."""
        self.dismiss(False)

    def refused(self, message: str, hint: str = "") -> None:
        """Stay open, and say why nothing was changed."""
        self.busy = False
        self._say(f"! {message}\n{hint}".strip())

    def done(self) -> None:
        """Close, saved."""
        self.dismiss(True)

    def _checked(self, name: str, value: Any) -> Any:
        if name in REMOVED:
            return tuple(value)
        field = ADDED.get(name, name)
        return record_values({field: _written(field, value)}, self._tags)[0][field]

    def _say(self, text: str) -> None:
        self.query_one(".dialog-error", Static).update(shown_lines(text))

    def _problems(self, values: Mapping[str, Any]) -> dict[str, str]:
        return bulk_problems(values, self._tags)
