"""Words that many prompts share are a template's; a prompt's own words are what is left."""

from __future__ import annotations

from workbench.plan.intent import understand_prompt
from workbench.text.templates import own_words, shared_shingles, shingles
from workbench.text.terms import parse_task, words_of

REVIEW = """Review the changes of {} as a senior engineer would.

Look at tests, security, naming and documentation before anything else, then say what to change.
"""
PROMPTS = [(f"s{n}", shingles(REVIEW.format(name))) for n, name in enumerate(("auth.py", "the cache", "#4"))]
SHARED = shared_shingles(PROMPTS)


def test_what_sessions_share_is_a_template() -> None:
    """The words that differ stay, also in the middle of a line; so does all that was never shared."""
    words = own_words(REVIEW.format("the parser of dates"), SHARED)
    assert words is not None
    assert words_of(words.text) == ["Review", "the", "changes", "of", "the", "parser", "of", "dates"]
    assert words.sessions == 3
    assert own_words("Fix the parser of dates: it loses the year", SHARED) is None


def test_a_prompt_that_is_all_template_keeps_its_words() -> None:
    """Where nothing is its own, the template is the task."""
    whole = "Look at tests, security, naming and documentation before anything else, then say what to change."
    assert own_words(whole, SHARED) is None


def test_sessions_count_and_not_prompts() -> None:
    """A session that asks the same again and again makes no template, nor do two sessions."""
    again = [("s", PROMPTS[0][1])] * 9
    assert shared_shingles(again) == {}
    assert shared_shingles(PROMPTS[:2]) == {}
    assert shared_shingles([*PROMPTS, *again]) == SHARED | {one: 4 for one in SHARED if one in PROMPTS[0][1]}


def test_the_intent_is_of_the_own_words() -> None:
    """Terms, head and entities come from what is the task's own; the fingerprint is that of the record."""
    task = parse_task(REVIEW.format("src/dates.py where the year is lost"))
    plain, nothing = understand_prompt(task, {}, project_id="p", query_type=None)
    found, own = understand_prompt(task, SHARED, project_id="p", query_type=None)
    assert nothing is None
    assert own is not None
    terms = {term for term, _ in found.terms}
    assert "year" in terms
    assert "secur" not in terms
    assert "secur" in {term for term, _ in plain.terms}
    assert found.entities.paths == ("src/dates.py",)
    assert found.task_fingerprint == plain.task_fingerprint
