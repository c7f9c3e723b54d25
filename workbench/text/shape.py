"""Whether a JSON value has the shape a schema asks for, in the part of JSON Schema that is used here.

Known keywords: `type` (one name), `enum`, `properties`, `required`, `items`, `minItems`, `maxItems`,
`minLength`, `maxLength`. Unknown properties are allowed and other keywords are an error of the caller, so
that a schema never promises what nobody checks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_KEYWORDS = frozenset(
    {"type", "enum", "properties", "required", "items", "minItems", "maxItems", "minLength", "maxLength"}
)


def mismatch(value: object, schema: Mapping[str, Any], place: str = "the answer") -> str:
    """Return where and how a decoded JSON value differs from a schema, '' if it does not.

    Raises: ValueError for a keyword that is not checked here.
    """
    if unknown := schema.keys() - _KEYWORDS:
        raise ValueError(f"schema keywords are not known: {', '.join(sorted(unknown))}")
    wanted = schema.get("type")
    if wanted is not None and not _is(value, wanted):
        return f"{place} is not of type {wanted}"
    if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
        return f"{place} is not one of {', '.join(map(json.dumps, schema['enum']))}"
    if isinstance(value, dict):
        return _object(value, schema, place)
    if isinstance(value, list):
        return _array(value, schema, place)
    if isinstance(value, str):
        return _length(len(value), schema, place, "Length", "characters")
    return ""


def _object(value: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> str:
    for name in schema.get("required", ()):
        if name not in value:
            return f"{place} has no {name}"
    for name, part in schema.get("properties", {}).items():
        if name in value and (found := mismatch(value[name], part, f"{place}.{name}")):
            return found
    return ""


def _array(value: list[Any], schema: Mapping[str, Any], place: str) -> str:
    if found := _length(len(value), schema, place, "Items", "items"):
        return found
    if "items" in schema:
        for number, item in enumerate(value):
            if found := mismatch(item, schema["items"], f"{place}[{number}]"):
                return found
    return ""


def _length(length: int, schema: Mapping[str, Any], place: str, what: str, unit: str) -> str:
    if length < schema.get("min" + what, 0):
        return f"{place} has only {length} {unit}"
    if length > schema.get("max" + what, length):
        return f"{place} has {length} {unit}"
    return ""


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, float) and name == "integer":
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _same(value: object, choice: object) -> bool:
    return value == choice and isinstance(value, bool) == isinstance(choice, bool)
