"""Suggestions: generous where a name is refused, strict where any name is allowed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.suggest import did_you_mean, edits, near_miss, suggest

LANGUAGES = ["python", "rust", "javascript", "typescript", "sql", "go", "java", "ruby"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("pyhton", "python"),
        ("Python ", "python"),
        ("typescrpt", "typescript"),
        ("javascritp", "javascript"),
        ("pyth", "python"),
        ("cobol", ""),
        ("", ""),
    ],
)
def test_the_nearest_name_is_suggested(value: str, expected: str) -> None:
    """Swapped and lost letters, other case and a beginning lead to the name meant, strangers to none."""
    assert expected == suggest(value, LANGUAGES)


def test_a_suggestion_is_a_sentence_or_what_else_helps() -> None:
    """A hint asks; where nothing is near it says what the caller gave."""
    assert did_you_mean("absolut", ["absolute", "default"]) == "Did you mean absolute?"
    assert did_you_mean("zzz", ["absolute", "default"], "One of two.") == "One of two."


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("gti", "git"),
        ("npx", ""),
        ("pdm", ""),
        ("git", ""),
        ("ruf", ""),
        ("rufff", "ruff"),
        ("dokcer", "docker"),
        ("pytets", "pytest"),
        ("poetry", ""),
        ("podman", ""),
    ],
)
def test_only_slips_of_the_pen_are_near_misses(value: str, expected: str) -> None:
    """Other short names are other names; a misspelt known one is pointed out."""
    assert expected == near_miss(value, ["git", "npm", "uv", "ruff", "docker", "pytest"])


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_edits_are_a_symmetric_distance(left: str, right: str) -> None:
    """Zero for equal texts only, the same both ways, at most the longer length, at least their difference."""
    distance = edits(left, right)
    assert distance == edits(right, left)
    assert (distance == 0) == (left == right)
    assert abs(len(left) - len(right)) <= distance <= max(len(left), len(right))


@given(st.text("abcd", min_size=2, max_size=8), st.integers(0, 6))
def test_swapped_neighbours_cost_one(word: str, position: int) -> None:
    """A transposition is one edit, none if the letters are equal."""
    at = position % (len(word) - 1)
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    assert edits(word, swapped) == (0 if word == swapped else 1)


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=8))
def test_a_suggestion_is_always_one_of_the_choices(value: str, choices: list[str]) -> None:
    """Whatever is asked, the answer comes from the list or is empty."""
    assert suggest(value, choices) in {*choices, ""}
    assert near_miss(value, choices) in {*choices, ""}
