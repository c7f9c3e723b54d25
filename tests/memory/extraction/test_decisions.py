"""Decisions in an agent's words: what chose one of several ways, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.memory.extraction.decisions import find_decisions, sentences


@pytest.mark.parametrize(
    ("text", "description", "rationale"),
    [
        (
            "I'll use httpx because requests has no async client.",
            "I'll use httpx",
            "requests has no async client",
        ),
        (
            "I\u2019ll keep the cache in memory, since one process reads it.",
            "I'll keep the cache in memory",
            "one process reads it",
        ),
        ("We decided to drop Python 3.10.", "We decided to drop Python 3.10", None),
        (
            "I chose Postgres over MySQL due to its JSON support.",
            "I chose Postgres over MySQL",
            "its JSON support",
        ),
        (
            "- **Decision:** one table for both kinds of users.",
            "Decision: one table for both kinds of users",
            None,
        ),
        (
            "I'm adding a page rather than burying this in the guide.",
            "I'm adding a page rather than burying this in the guide",
            None,
        ),
        (
            "Switched the diff view from flexbox to CSS grid.",
            "Switched the diff view from flexbox to CSS grid",
            None,
        ),
        ("Let's go with option B.", "Let's go with option B", None),
        (
            "`gh run view` returns nothing, so I\u2019m falling back to the logs endpoint.",
            "I'm falling back to the logs endpoint",
            "`gh run view` returns nothing",
        ),
        (
            "Since the branch is main, I'm going to commit the four files to it.",
            "I'm going to commit the four files to it",
            "the branch is main",
        ),
        ("I'll only commit the two files of this task.", "I'll only commit the two files of this task", None),
        (
            "I'll leave that untracked file alone. It belongs to someone else.",
            "I'll leave that untracked file alone",
            None,
        ),
        (
            "The fix is in the test \u2014 it should go away first, then back. This loads the page.",
            "The fix is in the test",
            "it should go away first, then back",
        ),
        (
            "I'm treating this as one migration. This keeps the journal readable.",
            "I'm treating this as one migration",
            "This keeps the journal readable",
        ),
        (
            "Instead of changing the type, I'll add a cast where it runs.",
            "Instead of changing the type, I'll add a cast where it runs",
            None,
        ),
        (
            "The cleanest fix for my own code is to leave the flag out.",
            "The cleanest fix for my own code is to leave the flag out",
            None,
        ),
        ("Small enough that I'll do it directly.", "Small enough that I'll do it directly", None),
        (
            "CHECK constraints \u2014 intentionally deferred, the app validates.",
            "CHECK constraints \u2014 intentionally deferred, the app validates",
            None,
        ),
        (
            "`session.go`: Keep HEAD's field - the parent's has another name.",
            "`session.go`: Keep HEAD's field - the parent's has another name",
            None,
        ),
        (
            "Fix: deleted the override entirely rather than patching it.",
            "Fix: deleted the override entirely rather than patching it",
            None,
        ),
        (
            "Let me use a different approach - a ref tracks the id instead of the state.",
            "Let me use a different approach - a ref tracks the id instead of the state",
            None,
        ),
        (
            "Kept a tail example (possible since the path is fixed now).",
            "Kept a tail example",
            "the path is fixed now",
        ),
    ],
)
def test_decisions_and_their_reasons(text: str, description: str, rationale: str | None) -> None:
    """A choice is found in the words in which agents make it, with the reason where one is given."""
    found = list(find_decisions([text]))
    assert [(description, rationale)] == [(one.description, one.rationale) for one in found]


@pytest.mark.parametrize(
    "text",
    [
        "I'll run the tests now.",
        "Should I use httpx instead of requests?",
        "If you prefer, we could use Redis instead of memory.",
        "I'll check the docs rather than guess.",
        "The tests fail because the fixture is missing.",
        "Let me read the file first since it is large.",
        "```\nI'll use x because y is slow\n```",
        "You should use a queue instead of polling.",
        "| I chose a | over b |",
        "I'm checking the logs so I don't miss a failure.",
        "Used `textType` instead of `text`.",
        "`$?` is 1 instead of 130 \u2014 that was so before.",
        "I need to rewrite the state model to support several.",
        "Keep it.",
        "The page loads once, so it should be there.",
        "Let me make sure I'm not adding an unused import here.",
    ],
)
def test_what_decides_nothing(text: str) -> None:
    """Plans for the next step, questions, proposals, explanations and code are no decisions."""
    assert list(find_decisions([text])) == []


def test_lists_under_a_heading_of_decisions() -> None:
    """What is listed under a heading that names decisions counts as it stands, each item once."""
    text = (
        "## Key Decisions Made\n\n- **Fire and forget**: the write never blocks. It is tried again.\n"
        "- One table for both kinds \u2014 readers join nothing\n\nWhat is next\n\n- The release notes\n"
    )
    assert [(decision.description, decision.rationale) for decision in find_decisions([text])] == [
        ("Fire and forget: the write never blocks. It is tried again", None),
        ("One table for both kinds", "readers join nothing"),
    ]


def test_a_decision_counts_once() -> None:
    """The same sentence again, in other case or marks, adds nothing."""
    assert len(list(find_decisions(["I chose A over B.", "**I chose A over B**", "i chose a over b!"]))) == 1


@given(st.lists(st.text(max_size=200), max_size=4))
def test_any_text_has_sentences_within_bounds(texts: list[str]) -> None:
    """No text breaks the reader, and no sentence is longer than its bound."""
    assert all(len(sentence) <= 600 for text in texts for sentence in sentences(text))
    assert all(decision.description for decision in find_decisions(texts))
