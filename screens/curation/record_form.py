"""A record in a form over the screen: checked while it is written, kept there until it is saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from screens.commands import widget_bindings
from screens.curation.dialog import Dialog
from screens.safe_text import safe
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.form import FieldForm, FormField, ValidateAll

Convert: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Makes values of the record of those that the form holds."""

SaveForm: TypeAlias = Callable[["RecordForm", dict[str, Any]], None]
"""Is given the form and what was changed; ends with `done` or `refused` of the form."""


@dataclass(frozen=True, slots=True)
class RecordFields:
    """How the fields of a type of record are called, written in a form and read from it.

    `labels` are in the order shown, `texts` those that can be merged as texts; `derived` ones follow from the
    others unless they were edited. `written` makes text of (name, value), `read` makes values of the record
    of those that a form holds, `problems` says what is wrong with those, by name.
    """

    labels: Mapping[str, str]
    texts: frozenset[str]
    written: Callable[[str, Any], str]
    read: Convert
    problems: ValidateAll
    derived: frozenset[str] = frozenset()

    def mergeable_fields(self, changes: Mapping[str, Any]) -> list[str]:
        """Return the fields that an edit and somebody else's can differ in."""
        return [name for name in self.labels if name not in self.derived or name in changes]


class RecordForm(Dialog[bool]):
    """A form of a record's fields. It closes when what was changed is saved, or is left."""

    DEFAULT_CSS = f"""RecordForm {{
        {DIALOG_CSS}
        & > .dialog {{ width: 92; height: 90%; }}
        & FieldForm TextArea {{ height: 3; }}
        & FieldForm #field-0 {{ height: 5; }}
        & .dialog-error {{ max-height: 4; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("record-form")

    HINT: ClassVar = "ctrl+s saves · tab and arrows move · escape leaves"

    def __init__(
        self,
        title: str,
        fields: Sequence[FormField],
        save: SaveForm,
        *,
        validate: ValidateAll = lambda values: {},
        convert: Convert = dict,
        new: bool = False,
    ) -> None:
        """Make the form; with `new` all values are given to `save`, else those that were changed."""
        super().__init__()
        self._title = title
        self._fields = tuple(fields)
        self._save = save
        self._check = validate
        self._convert = convert
        self._new = new
        self.busy = False

    def compose(self) -> ComposeResult:
        """Lay out the form above what is wrong and the keys."""
        with self.box(self._title):
            yield FieldForm(self._fields, validate=self._check)
            yield Static(classes="dialog-error")
            yield Static(safe(self.HINT), classes="dialog-hint")

    def on_mount(self) -> None:
        """Begin with the first field."""
        self.query_one(FieldForm).focus_field(self._fields[0].name)

    @on(FieldForm.Changed)
    def _handle_change(self, event: FieldForm.Changed) -> None:
        event.stop()
        self.say("")

    @property
    def form(self) -> FieldForm:
        """The form."""
        return self.query_one(FieldForm)

    @property
    def unsaved(self) -> bool:
        """Whether something was written here that is not in the record."""
        return self.form.dirty

    def action_save(self) -> None:
        """Save what was changed, if nothing is wrong with it."""
        if self.busy:
            return
        if self.form.validate_all():
            self.say("")
            return
        values = self.form.values() if self._new else self.form.changes()
        if not values:
            self.say("nothing was changed")
            return
        self.busy = True
        self.say("one moment …")
        self._save(self, self._convert(values))

    def show_refusal(self, message: str, hint: str = "") -> None:
        """Stay open, and say why it was not saved."""
        self.busy = False
        super().show_refusal(message, hint)

    def close_saved(self) -> None:
        """Close, saved."""
        self.dismiss(True)
