"""Shapes of JSON values, against the reference implementation of JSON Schema."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.ollama import mismatch

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "answer": {"type": "string", "enum": ["yes", "no"]},
        "why": {"type": "string", "maxLength": 5, "minLength": 1},
        "list": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
    },
    "required": ["answer"],
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"answer": "yes", "why": "so", "list": [1]}, ""),
        ({"answer": "no", "other": None}, ""),
        ([], "the answer is not of type object"),
        ({}, "the answer has no answer"),
        ({"answer": "maybe"}, 'the answer.answer is not one of "yes", "no"'),
        ({"answer": True}, "the answer.answer is not of type string"),
        ({"answer": "no", "why": "because"}, "the answer.why has 7 characters"),
        ({"answer": "no", "why": ""}, "the answer.why has only 0 characters"),
        ({"answer": "no", "list": []}, "the answer.list has only 0 items"),
        ({"answer": "no", "list": [1, 2, 3]}, "the answer.list has 3 items"),
        ({"answer": "no", "list": [1, "2"]}, "the answer.list[1] is not of type integer"),
    ],
)
def test_a_mismatch_says_where_and_how(value: object, expected: str) -> None:
    """The first difference is named with its place; other properties are allowed."""
    assert mismatch(value, SCHEMA) == expected


def test_a_keyword_nobody_checks_is_refused() -> None:
    """A schema that asks for more than is checked is a mistake of the program."""
    with pytest.raises(ValueError, match="pattern"):
        mismatch("x", {"type": "string", "pattern": "y"})


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(-2, 2), st.text("ab", max_size=3))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.fixed_dictionaries({}, optional={"type": TYPES, "enum": st.lists(LEAVES, min_size=1, max_size=3)}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES,
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            "required": st.lists(st.sampled_from("abc"), unique=True, max_size=2),
            "items": inner,
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(0, 2),
        },
    ),
    max_leaves=4,
)


@given(VALUES, SCHEMAS)
def test_the_verdict_is_that_of_the_reference(value: object, schema: dict[str, Any]) -> None:
    """For every value and schema in the known part, jsonschema agrees on whether it fits."""
    assert (mismatch(value, schema) == "") == jsonschema.Draft202012Validator(schema).is_valid(value)
