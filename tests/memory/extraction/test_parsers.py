"""Texts before they are searched for errors: what is cut, and how it is known that something has to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.memory.extraction.errors import find_errors
from workbench.memory.extraction.patterns import strip_escapes

_LIMIT = 1_500
_LENGTHS = st.sampled_from([0, 1, 7, _LIMIT - 1, _LIMIT, _LIMIT + 1, 2 * _LIMIT, 2 * _LIMIT + 1])


@given(lengths=st.lists(_LENGTHS, max_size=6), ended=st.booleans())
def test_every_long_line_is_cut_and_no_other(lengths: list[int], ended: bool) -> None:
    """What is kept of each line is its first 1,500 characters, wherever long lines stand."""
    lines = ["x" * length for length in lengths]
    end = "\n" if ended else ""
    expected = "\n".join(line[:_LIMIT] for line in lines) + end
    assert expected == strip_escapes("\n".join(lines) + end)


@pytest.mark.parametrize("around", ["", "é", "\U0001f600", "\ud800", "\x00"])
def test_an_error_among_any_characters_is_found(around: str) -> None:
    """Signs of errors are seen in whatever text, also in one that UTF-8 cannot hold."""
    errors = find_errors(f"{around}\nsrc/app.c:3:1: error: expected ';'\n{around}")
    messages = [one.message for one in errors]
    expected = ["expected ';'"]
    assert expected == messages


def test_text_around_the_bound_of_a_line_is_told_whole() -> None:
    """An error on the last line after a very long one is found."""
    text = "y" * 40_000 + "\n  File left out\nsrc/app.c:3:1: error: expected ';'\n"
    assert [error.message for error in find_errors(text)] == ["expected ';'"]
