"""Turns of a conversation are about no project, and tasks with a word of their own are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.test_relevance import LONG_PAST, UNLIKELY
from tests.plan.test_signals import TREE, indexed
from workbench.plan.intent import parse_intent
from workbench.plan.relevance import is_about
from workbench.plan.small_talk import is_chore, is_small_talk
from workbench.plan.view import view_project

SENTENCES = Path(__file__).parents[2] / "bench" / "data" / "reworded.jsonl"
TALK = """thanks|thanks, looks good|ok go on|yes please|great job 👍|What do you think?|commit this
run the tests again|good, now commit this and push|continue|stop
undo that|make it shorter|create a pull request
option 2|translate this|translate this sentence to French|write a haiku about the sea|never mind!
I don’t understand|are you sure?|23
谢谢，看起来不错|これは何ですか|спасибо, продолжай|danke, sieht gut aus|merci beaucoup
muy bien, gracias|-- thanks"""
TASKS = """thanks page is missing|continue after an error|commit message is empty|undo of a rename
fix flaky test|run tests in parallel|stop the server gracefully|open the browser
fix 404|add tests|translate the buttons to French
ok, now fix the login|commit src/a.py|fix go.work|`continue`|looks_good|write a parser|next page
good-first-issue label"""
CHORES = [
    "bump version",
    "fix typos in the docs",
    "update the changelog",
    "upgrade pytest",
    "prepare a release",
]


@pytest.mark.parametrize("text", TALK.replace("\n", "|").split("|"))
def test_a_turn_of_a_conversation_is_about_nothing(text: str) -> None:
    """Replies, requests about the conversation and numbers, also where past tasks had all of the words."""
    assert is_small_talk(text)
    assert not is_about(view_project(indexed(TREE), LONG_PAST), parse_intent(text), UNLIKELY)


@pytest.mark.parametrize("text", TASKS.replace("\n", "|").split("|"))
def test_one_word_of_a_task_makes_it_one(text: str) -> None:
    """Whatever else is said: a clause about the project, code, a number of an error."""
    assert not is_small_talk(text)


def test_no_task_in_the_words_of_users_is_small_talk() -> None:
    """None of the sentences that were written for commits."""
    tasks = [json.loads(line)["task"] for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    assert len(tasks) > 1000
    assert [task for task in tasks if is_small_talk(task)] == []


@pytest.mark.parametrize("text", CHORES)
def test_what_every_project_is_asked_for_is_about_each_that_has_a_word_of_it(text: str) -> None:
    """However rare it was until now; not where no word of it is anywhere."""
    assert is_chore(text)
    assert not is_chore("thanks")
    view = view_project(indexed(TREE), LONG_PAST)
    assert is_about(view, parse_intent(f"{text} of token"), UNLIKELY)
    assert not is_about(view, parse_intent("bump zzz"), UNLIKELY)


@given(st.text(max_size=300))
def test_any_text_is_small_talk_or_not(text: str) -> None:
    """Nothing in a text stops the check; spaces around it change nothing."""
    assert is_small_talk(text) == is_small_talk(f" {text} ") or len(text) > 198
