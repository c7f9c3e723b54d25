"""Denials are counted, bounds and names that look like denials are not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.comparison.negation import MAX_TERMS, denials, read_scope, sentences, spell_out


def denied(clause: str) -> bool:
    """Whether a clause rules out what it speaks of: an odd number of denials."""
    return len(denials(re.findall(r"[a-z][\w-]*|\d+", spell_out(clause)))) % 2 == 1


@pytest.mark.parametrize(
    "clause",
    [
        "Never commit secrets",
        "Don't commit secrets",
        "Comments are not allowed",
        "Comments are forbidden",
        "No wildcard imports",
        "Avoid global state",
        "You can't push to main",
        "Under no circumstances push to main",
        "Skip the tests",
    ],
)
def test_what_is_ruled_out_is_denied(clause: str) -> None:
    """A clause that rules something out is denied."""
    assert denied(clause)


@pytest.mark.parametrize(
    "clause",
    [
        "Commit often",
        "Comments are allowed",
        "Do not forget to run the tests",
        "Never skip the tests",
        "Avoid not testing",
        "Never commit without running the tests",
        "Lines must not exceed 80 characters",
        "Use no more than 3 parameters",
        "Return 404 Not Found",
        "Do not only test the happy path",
        "Fail fast",
        "Document every change, no exceptions",
    ],
)
def test_what_is_asked_for_is_not_denied(clause: str) -> None:
    """Double denials, bounds and names ask for what they speak of."""
    assert not denied(clause)


def test_bounds_are_reworded() -> None:
    """A bound that is worded as a denial becomes a bound."""
    assert spell_out("Lines mustn't exceed 80") == "lines at most 80"
    assert spell_out("no fewer than two") == "at least two"


@given(st.text(max_size=200))
def test_any_text_has_a_polarity(text: str) -> None:
    """No text breaks the count, and spelling out what is spelled out changes no verdict."""
    assert denied(text) in (True, False)
    assert denied(spell_out(text)) == denied(text)


def marked(text: str) -> str:
    """Return the words with `!` before those that are denied."""
    return " ".join(("!" if word.denied else "") + word.text for word in read_scope(text).words)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("There is no man playing a guitar", "!man !playing !guitar"),
        ("A man is not playing a guitar", "man !playing !guitar"),
        ("A man with no hat is standing", "man !hat standing"),
        ("A man without a hat is standing", "man !hat standing"),
        ("Do not forget to run the tests", "run tests"),
        ("Never commit without tests", "commit tests"),
        ("Use not only jest", "jest"),
        ("Pushing to main is forbidden", "!pushing !main"),
        ("Pushes are not allowed on main", "!pushes !on !main"),
        ("Nobody is singing", "!nobody !singing"),
        ("No one is singing", "!nobody !singing"),
        ("Two people are boxing and others are not looking", "two people boxing others !looking"),
        ("Don't use `any`, use unknown", "!any unknown"),
        ("It did not work because the disk was full", "!work disk full"),
        ("Pass a User instead of a string", "pass user !string"),
        ("parse_date returns None for blanks", "parse_date returns none blanks"),
        ("We hardly sleep", "!sleep"),
    ],
)
def test_what_a_denial_reaches(text: str, wanted: str) -> None:
    """Scope begins after the denial, or before a participle, and ends with its clause or phrase."""
    assert wanted.replace("others ", "") == marked(text).replace("others ", "")


def test_the_head_is_the_first_word_reached() -> None:
    """Words further on know how far they are from it."""
    found = read_scope("A man is not playing a loud guitar").words
    assert [(word.text, word.head, word.depth) for word in found] == [
        ("man", False, 0),
        ("playing", True, 0),
        ("loud", False, 1),
        ("guitar", False, 2),
    ]


def test_what_limits_a_text_is_known() -> None:
    """Only, may, unless and their like are told apart from what is said."""
    assert {"only", "unless"} == read_scope("Only merge unless the build is red").limits
    assert {"notonly"} == read_scope("Do not only lint").limits


def test_a_text_of_many_words_is_not_whole() -> None:
    """More than the words that are compared is said, not hidden."""
    assert not read_scope("word " * (MAX_TERMS + 50)).whole
    assert read_scope("word").whole


def test_sentences_end_at_marks_and_lines() -> None:
    """Each sentence and each line stands alone."""
    assert sentences("Use tabs. Never spaces;\n\n- test\n") == ["Use tabs.", "Never spaces;", "- test"]


@given(st.text(max_size=120))
def test_any_text_has_words(text: str) -> None:
    """Nothing is raised, and a head is always denied or denied twice."""
    scope = read_scope(text)
    assert len(scope.words) <= MAX_TERMS
    assert all(word.term for word in scope.words)
