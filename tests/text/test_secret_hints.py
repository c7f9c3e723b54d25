"""In a short text only the shapes of secrets are looked for that it may hold; the answer is that of all."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.secret_formats import leaks
from bench.secret_hints import render
from tests.deep import sample
from workbench.places import data_file
from workbench.text import redact
from workbench.text.secret_hints import HINTS, shapes_with_hints
from workbench.text.secret_values import EXPRESSION, secret_shapes

TABLES = ("tokens", "places", "commands")


def test_the_hints_are_those_of_the_expressions() -> None:
    """After a change of `secrets.toml` they are written again by `python -m bench.secret_hints`."""
    assert data_file("workbench.text", HINTS).read_text("utf-8") == render()


@given(st.data())
def test_what_a_shape_matches_has_its_hints(data: st.DataObject) -> None:
    """Whatever an expression matches, the hints let it be looked for, in any case of letters."""
    table = data.draw(st.sampled_from(["pairs", *TABLES]))
    expressions = [EXPRESSION] if table == "pairs" else [shape.expression for shape in secret_shapes(table)]
    number = data.draw(st.integers(0, len(expressions) - 1))
    text = data.draw(st.from_regex(re.compile(expressions[number], re.ASCII)))
    assert number in shapes_with_hints(table, text.encode("utf-8", "surrogatepass"))
    assert number in shapes_with_hints(table, text.upper().encode("utf-8", "surrogatepass"))


def test_secrets_are_those_of_all_shapes() -> None:
    """Texts with secrets of all formats in all contexts have the same spans either way."""
    texts = [leak.text.encode() for leak in sample(list(leaks(1)), 80)]
    found = [redact.find_spans(text) for text in texts]
    with patch.object(redact, "_SHORT", -1):
        assert found == [redact.find_spans(text) for text in texts]


@pytest.mark.parametrize("table", TABLES)
def test_everyday_text_has_next_to_no_hints(table: str) -> None:
    """Of the shapes a subject of a commit is looked at for a few at most."""
    text = b"Fix the order of files in the panel (#12): it was by name, now it is by the time of change"
    assert len(shapes_with_hints(table, text)) <= 2
