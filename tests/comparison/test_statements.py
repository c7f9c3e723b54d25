"""Clauses are taken apart into subject, denial, condition and values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.comparison.statements import Statement, statements


def only(text: str) -> Statement:
    (found,) = statements(text)
    return found


def test_directives_say_nothing_about_the_subject() -> None:
    """ "Always use", "prefer" and "make sure to use" leave the same terms."""
    texts = (
        "Always use type hints",
        "Prefer type hints.",
        "Make sure to use type hints",
        "Utilize type hints",
    )
    assert {only(text).terms for text in texts} == {("type", "hint")}


def test_first_is_left_out_where_it_adds_nothing() -> None:
    """ "Without asking first" is "without asking"; an order of two steps keeps its word."""
    asking = only("Never add a dependency without asking").terms
    assert only("Never add dependencies without asking first.").terms == asking
    assert only("Ask first before merging").terms == only("Ask before merging").terms
    assert only("Write the test first").terms != only("Write the test").terms


def test_conditions_and_exceptions_stand_apart() -> None:
    """What follows "when" and "unless" is no part of the subject."""
    found = only("When writing tests, use pytest unless the runner is missing")
    assert found.choices == {"pytest"}
    assert found.terms == ()
    assert found.condition == {"write", "test"}
    assert found.exception == {"runner", "miss"}


def test_what_is_turned_down_stands_apart() -> None:
    """ "Instead of", "over" and "in favor of" name what is turned down."""
    assert only("Use pnpm instead of npm").rejected == ("npm",)
    assert only("Prefer composition over inheritance").rejected == ("inherit",)
    assert only("Use spaces over tabs for indentation").rejected == ("tabs",)
    assert "class-components" in only("Avoid class components in favor of functional components").rejected


@pytest.mark.parametrize(
    ("text", "unit", "value", "bound"),
    [
        ("Keep lines under 80 characters", "char", (80,), 1),
        ("Maximum line length: 100 chars", "char", (100,), 1),
        ("Coverage must be at least 85%", "%", (85,), -1),
        ("Use Python 3.12 or newer", "of python", (3, 12), -1),
        ("Use Python 3.12", "of python", (3, 12), 0),
        ("Node >= 20 is required", "of node", (20,), -1),
        ("Retry 3 times", "time", (3,), 0),
    ],
)
def test_numbers_have_a_unit_and_a_direction(
    text: str, unit: str, value: tuple[int, ...], bound: int
) -> None:
    """A number says what it counts and whether it bounds it."""
    (quantity,) = only(text).quantities
    assert (quantity.unit, quantity.value, quantity.bound) == (unit, value, bound)


def test_words_in_code_are_no_function_words() -> None:
    """`any` in a code span is a name."""
    assert only("Never use `any`").terms == ("any",)
    assert only("Never use `any`").negated


def test_examples_and_code_are_left_out() -> None:
    """What follows "e.g.", stands in brackets or in a code block demands nothing."""
    text = "Use descriptive names (never `x`), e.g. never tmp.\n```\nnever = no_tests()\n```\nx = never();"
    assert [statement.negated for statement in statements(text)] == [False]
    assert only(text).terms == ("descript", "name")


def test_a_number_without_a_subject_stays_with_the_clause_before() -> None:
    """ "Less than 20 lines." alone says nothing."""
    assert "function" in only("Write short functions. Less than 20 lines.").terms


def test_clauses_that_point_elsewhere_are_marked() -> None:
    """ "Keep it short" cannot be compared without what "it" is."""
    assert only("Keep it short").anaphoric
    assert not only("Keep functions short").anaphoric


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    """No text breaks the reader; terms are never empty strings and the answer never changes."""
    found = statements(text)
    assert all(term for statement in found for term in statement.terms)
    statements.cache_clear()
    assert statements(text) == found
