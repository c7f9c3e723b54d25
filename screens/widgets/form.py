"""A form: what each field may hold, and a row for each with what was changed and what is wrong with it.

A field that was changed has a dot before its label, one that is wrong a line below it. What nobody touched
is returned exactly as it was, even where it could not be shown exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Select, Static, TextArea

from screens.commands import widget_bindings
from screens.safe_text import safe
from screens.themes import style_of
from screens.widgets.fields import Flag, SafeArea, SafeInput
from workbench.text.sanitize import visible, visible_line

FieldKind: TypeAlias = Literal["text", "long", "number", "choice", "tags", "flag"]

Raw: TypeAlias = str | bool
"""What a field's widget holds."""

MOST_IN_PLACE: Final = 20_000
"""Characters of a text that is edited in place; longer ones are for an editor."""


_BLANK: Final = "–"


@dataclass(frozen=True, slots=True)
class FormField:
    """A field and its value.

    Values: `text` and `long` str, `number` int, float or None, `choice` str or None, `tags` a tuple of str,
    `flag` bool. `least` and `most` bound numbers; `required` refuses what is empty.
    """

    name: str
    label: str
    value: Any
    kind: FieldKind = "text"
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    required: bool = False
    help: str = ""


def raw_of(field: FormField) -> Raw:
    """Return what a field's widget begins with; hidden characters are shown."""
    value = field.value
    if field.kind == "flag":
        return bool(value)
    if field.kind == "tags":
        return visible_line(", ".join(value))
    if value is None:
        return ""
    return visible(str(value)) if field.kind == "long" else visible_line(str(value))


def in_place(field: FormField) -> bool:
    """Whether a field can be edited where it is shown."""
    return len(str(raw_of(field))) <= MOST_IN_PLACE


def parse_value(field: FormField, raw: Raw) -> object:
    """Return the value that a widget's content means; the field's own while nothing was changed.

    Raises: ValueError saying what is wrong.
    """
    if raw == raw_of(field):
        value = field.value
    elif field.kind == "number":
        value = _number(field, str(raw).strip())
    elif field.kind == "tags":
        value = tuple(dict.fromkeys(tag for part in str(raw).split(",") if (tag := part.strip())))
    elif field.kind == "choice":
        value = str(raw) or None
    else:
        value = raw
    if field.required and field.kind != "flag" and (value is None or not str(value).strip() or value == ()):
        raise ValueError(f"{field.label} must not be empty")
    return value


def problem(field: FormField, raw: Raw) -> str:
    """Return what is wrong with a widget's content, or ''."""
    try:
        parse_value(field, raw)
    except ValueError as error:
        return str(error)
    return ""


def _number(field: FormField, text: str) -> int | float | None:
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isfinite(number) and _within(field, number):
        return int(number) if number.is_integer() else number
    bounds = [f"from {field.least:g}"] if field.least is not None else []
    bounds += [f"to {field.most:g}"] if field.most is not None else []
    raise ValueError(" ".join([f"{field.label} must be a number", *bounds]))


def _within(field: FormField, number: float) -> bool:
    return (field.least is None or number >= field.least) and (field.most is None or number <= field.most)


ValidateAll: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, str]]
"""Takes all values, returns what is wrong by field name; asked only when every field alone is right."""

DIRTY: Final = "●"

WRONG: Final = "!"


class FieldForm(VerticalScroll):
    """Fields one below the other; arrows and tab move between them."""

    DEFAULT_CSS = style_of("FieldForm")
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("form")

    class Changed(Message):
        """A field was changed; `dirty` says whether any differs from the record now."""

        def __init__(self, form: FieldForm, name: str, dirty: bool) -> None:
            super().__init__()
            self.form = form
            self.name = name
            self.dirty = dirty

        @property
        def control(self) -> FieldForm:
            """The form."""
            return self.form

    def __init__(
        self,
        fields: Sequence[FormField] = (),
        *,
        validate: ValidateAll = lambda values: {},
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes, can_focus=False)
        self._record = tuple(fields)
        self._check = validate

    def compose(self) -> ComposeResult:
        """Lay out a row for each field."""
        for place, field in enumerate(self._record):
            yield _row(place, field)

    @property
    def dirty(self) -> bool:
        """Whether any value differs from the record's."""
        return any(self._raw(place) != raw_of(field) for place, field in enumerate(self._record))

    def values(self) -> dict[str, Any]:
        """Return every field's value by name.

        Raises: ValueError with what is wrong, by field, as it is shown after `validate_all`.
        """
        return {field.name: parse_value(field, self._raw(place)) for place, field in enumerate(self._record)}

    def changes(self) -> dict[str, Any]:
        """Return the values that differ from the record's. Raises: ValueError as `values` does."""
        values = self.values()
        return {field.name: values[field.name] for field in self._record if values[field.name] != field.value}

    def validate_all(self) -> dict[str, str]:
        """Show what is wrong with every field and return it by name; focus the first wrong one."""
        problems = self._problems()
        if not problems:
            problems = {name: text for name, text in self._check(self.values()).items() if text}
        self.show_problems(problems)
        first = next((place for place, one in enumerate(self._record) if one.name in problems), None)
        if first is not None:
            self.query_one(f"#field-{first}").focus()
        return problems

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show what is wrong by field name, nothing for the others."""
        for place, field in enumerate(self._record):
            self._show_problem(place, problems.get(field.name, ""))

    def focus_field(self, name: str) -> None:
        """Focus a field by its name."""
        place = next(place for place, field in enumerate(self._record) if field.name == name)
        self.query_one(f"#field-{place}").focus()

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Select.Changed)
    @on(Flag.Changed)
    def _handle_change(self, event: Input.Changed | TextArea.Changed | Select.Changed | Flag.Changed) -> None:
        event.stop()
        widget = event.control
        if widget is None or widget.id is None:
            return
        place = int(widget.id.removeprefix("field-"))
        field = self._record[place]
        raw = self._raw(place)
        dirty = raw != raw_of(field)
        row = self.query_one(f"#row-{place}")
        row.set_class(dirty, "-dirty")
        row.query_one(".field-label", Static).update(_label(field, dirty=dirty))
        self._show_problem(place, problem(field, raw))
        self.post_message(self.Changed(self, field.name, self.dirty))

    def _problems(self) -> dict[str, str]:
        found = {field.name: problem(field, self._raw(place)) for place, field in enumerate(self._record)}
        return {name: text for name, text in found.items() if text}

    def _show_problem(self, place: int, text: str) -> None:
        row = self.query_one(f"#row-{place}")
        row.set_class(bool(text), "-wrong")
        row.query_one(".field-problem", Static).update(safe(f"{WRONG} {text}" if text else ""))

    def _raw(self, place: int) -> Raw:
        field = self._record[place]
        return _value_of(self.query_one(f"#field-{place}")) if in_place(field) else raw_of(field)


def _row(place: int, field: FormField) -> Widget:
    parts: list[Widget] = [
        Horizontal(
            Static(_label(field, dirty=False), classes="field-label"),
            _widget(place, field),
            classes="field-row",
        ),
        Static(classes="field-problem"),
    ]
    if field.help:
        parts.append(Static(safe(field.help), classes="field-help"))
    return Vertical(*parts, id=f"row-{place}", classes="field")


def _widget(place: int, field: FormField) -> Widget:
    name = f"field-{place}"
    raw = raw_of(field)
    if not in_place(field):
        note = f"too long to edit here ({len(str(raw)):,} of {MOST_IN_PLACE:,} characters): use $EDITOR"
        return Static(safe(note, "italic $text-muted"), id=name)
    if field.kind == "flag":
        return Flag(bool(raw), id=name)
    if field.kind == "long":
        area = SafeArea(str(raw), id=name)
        area.move_cursor(area.document.end)
        return area
    if field.kind == "choice":
        # A value that is no choice any more can be kept.
        options = list(dict.fromkeys([*field.choices, *([str(field.value)] if field.value else [])]))
        select: Select[str] = Select(
            [(safe(option), option) for option in options],
            value=str(field.value) if field.value else Select.NULL,
            allow_blank=not field.required,
            prompt=_BLANK,
            compact=True,
            id=name,
        )
        return select
    return SafeInput(str(raw), select_on_focus=False, compact=True, id=name)


def _value_of(widget: Widget) -> Raw:
    if isinstance(widget, Flag):
        return widget.value
    if isinstance(widget, Select):
        return "" if widget.value is Select.NULL else str(widget.value)
    if isinstance(widget, TextArea):
        return widget.text
    assert isinstance(widget, Input)
    return widget.value


def _label(field: FormField, *, dirty: bool) -> Content:
    return safe(f"{DIRTY if dirty else ' '} {field.label}{'*' if field.required else ''}").truncate(
        17, ellipsis=True
    )
