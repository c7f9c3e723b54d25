"""The fields of a record that is edited in place: what each may hold, what is wrong with a value. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from workbench.text.sanitize import visible, visible_line

FieldKind: TypeAlias = Literal["text", "long", "number", "choice", "tags", "flag"]

Raw: TypeAlias = str | bool
"""What a field's widget holds."""

MOST_IN_PLACE: Final = 20_000
"""Characters of a text that is edited in place; longer ones are for an editor."""


@dataclass(frozen=True, slots=True)
class Field:
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


def raw_of(field: Field) -> Raw:
    """Return what a field's widget begins with; hidden characters are shown."""
    value = field.value
    if field.kind == "flag":
        return bool(value)
    if field.kind == "tags":
        return visible_line(", ".join(value))
    if value is None:
        return ""
    return visible(str(value)) if field.kind == "long" else visible_line(str(value))


def in_place(field: Field) -> bool:
    """Whether a field can be edited where it is shown."""
    return len(str(raw_of(field))) <= MOST_IN_PLACE


def parsed(field: Field, raw: Raw) -> Any:
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


def problem(field: Field, raw: Raw) -> str:
    """Return what is wrong with a widget's content, or ''."""
    try:
        parsed(field, raw)
    except ValueError as error:
        return str(error)
    return ""


def _number(field: Field, text: str) -> int | float | None:
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


def _within(field: Field, number: float) -> bool:
    return (field.least is None or number >= field.least) and (field.most is None or number <= field.most)
