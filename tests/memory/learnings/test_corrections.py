"""Corrections in prompts: which sentences are some, in which words, and when they are suggested as rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.memory.learnings.accumulation import Accumulated, accumulate
from workbench.memory.learnings.corrections.extract import MOST_RULE, correction_of, corrections_of
from workbench.memory.learnings.corrections.report import CorrectionStatus, report_corrections
from workbench.memory.learnings.corrections.tally import tally
from workbench.memory.learnings.echoes import note_injected
from workbench.memory.learnings.learningstore import LearningStore
from workbench.memory.learnings.prompt import known_learnings, memory_prompt
from workbench.memory.learnings.review import ReviewItem, Why
from workbench.memory.learnings.service import LearningService
from workbench.records.learnings import Correction, Strength

Make = Callable[..., tuple[Any, ...]]
STANDING, CORRECTING, PASSING = Strength.STANDING, Strength.CORRECTING, Strength.PASSING


@pytest.fixture
def say(store: LearningStore, iteration: Make) -> Callable[..., Accumulated]:
    """Return what lets a user say something to an agent, each time in a session of its own if not told."""
    count = iter(range(1, 1000))

    def saying(prompt: str, *, session: str = "", rules: tuple[str, ...] = (), **fields: Any) -> Accumulated:
        number = next(count)
        fields = {"place": number, "session": session or f"s{number}", **fields}
        record, extraction, raw = iteration(number, prompt=prompt, **fields)
        return accumulate(record, extraction, raw, store, rules=rules)

    return saying


def queue(store: LearningStore) -> tuple[ReviewItem, ...]:
    return LearningService(store, "cli").review_queue()


@pytest.mark.parametrize(
    ("sentence", "rule", "strength"),
    [
        ("no, use uv", "Use uv.", PASSING),
        ("Stop adding comments!", "Do not add comments.", PASSING),
        ("please don't add emojis to commit messages", "Do not add emojis to commit messages.", PASSING),
        ("can you please stop running the whole suite?", "Do not run the whole suite.", PASSING),
        ("wrong, run make test not pytest", "Run make test not pytest.", PASSING),
        ("I told you to run the tests with make test", "Run the tests with make test.", CORRECTING),
        ("No, use `uv` instead of `pip`.", "Use `uv` instead of `pip`.", CORRECTING),
        ("We use `pnpm` for `packages/api`.", "Use `pnpm` for `packages/api`.", CORRECTING),
        ("from now on use pnpm", "Use pnpm.", STANDING),
        ("In future please don't push to main", "Do not push to main.", STANDING),
        ("We never mock the database in tests.", "Never mock the database in tests.", STANDING),
        ("In this repo we use pnpm, not npm", "Use pnpm, not npm.", STANDING),
        ("Remember to run the linter before committing.", "Run the linter before committing.", STANDING),
        ("update CLAUDE.md that we should always run `make fmt`", "Always run `make fmt`.", STANDING),
        ("You should always ask before you delete files", "Always ask before you delete files.", STANDING),
    ],
)
def test_a_correction_becomes_an_imperative(sentence: str, rule: str, strength: Strength) -> None:
    """What leads in, pleads and scolds goes; how surely it holds for more than the moment stays."""
    correction = correction_of(sentence, later=True)
    assert correction is not None
    assert (rule, strength) == (correction.text, correction.strength)


@pytest.mark.parametrize(
    "prompt",
    [
        "Fix the login in `auth.ts`.",
        "Can you use `uv` instead of `pip`?",
        "Use `uv` instead of `pip` for this task.",
        "why do you always delete my files?",
        "thanks, great work, always a pleasure",
        "the button should always be blue",
        "never mind",
        "It never called the handler.",
        "don't commit",
        "don't touch it",
        "again: the tests fail",
        "Should we always run the linter?",
        "You are a reviewer. Always answer in JSON. Never write code.",
        "ERROR: always set the key\n  at run (app.js:3:1)\nError: never seen",
        "> always run make lint\n> never push",
        "```\nalways run make lint\n```",
        "Always run `make lint` before you commit. " + "It is a long story. " * 200,
        "Do not squash everything into one commit if",
        "no errors",
    ],
)
def test_requests_questions_praise_and_pasted_text_are_no_corrections(prompt: str) -> None:
    """What is wanted now, asked, praised, quoted, logged, specified or cut off is none."""
    assert corrections_of(prompt, later=True) == []


@given(st.text(max_size=300) | st.lists(st.sampled_from(
    ["always", "never", "no,", "use", "uv", "instead", "of", "`pip`", "I told you", "to", "stop", "adding",
     ".", "?", "\n", "from now on", "don't", "please", "we", "not", "CLAUDE.md", "that", "!", "remember to"]
), max_size=24).map(" ".join), st.booleans())  # fmt: skip
def test_rules_are_bounded_sentences_of_one_line(prompt: str, later: bool) -> None:
    """Whatever was typed, a rule is one line within its bound, and the same prompt gives the same rules."""
    corrections = corrections_of(prompt, later=later)
    assert all(0 < len(one.text) <= MOST_RULE + 1 and "\n" not in one.text for one in corrections)
    assert corrections_of(prompt, later=later) == corrections


def test_what_was_said_once_in_passing_is_noted_and_not_learned(
    store: LearningStore, say: Callable[..., Accumulated]
) -> None:
    """It may be for the moment: nobody is given it, and it waits for nobody."""
    done = say("please don't add comments to the code")
    assert (done.added, done.left_out[0][1]) == ((), "said once: it may be for now")
    assert queue(store) == ()
    assert [correction.status for correction in report_corrections(store.ledger())] == [CorrectionStatus.ONCE]


def test_what_was_said_in_two_sessions_is_suggested_with_its_evidence(
    store: LearningStore, say: Callable[..., Accumulated]
) -> None:
    """Other words, another feature: the quotes stand in the queue with session, prompt and date."""
    say("please don't add comments to the code", feature="auth", session="first-session")
    (made,) = say("Stop adding comments to the code.", feature="billing", session="second-session").added
    (item,) = queue(store)
    assert (made.id, Why.SUGGESTED) == (item.learning.id, item.why)
    assert "said in 2 sessions" in item.sentence
    assert [one.detail for one in item.evidence if one.test == "said"] == [
        '"please don\'t add comments to the code" (session first-se, prompt 2, 2023-11-14)',
        '"Stop adding comments to the code." (session second-s, prompt 3, 2023-11-14)',
    ]


def test_three_times_in_a_session_is_suggested(store: LearningStore, say: Callable[..., Accumulated]) -> None:
    """Somebody who says it three times means it."""
    for prompt in (
        "don't add emojis to messages",
        "stop adding emojis to messages",
        "no, do not add emojis to messages",
    ):
        say(prompt, session="one", at=f"2023-11-14T22:00:{len(prompt):02}Z")
    assert [item.why for item in queue(store)] == [Why.SUGGESTED]


def test_a_standing_instruction_is_suggested_at_once(
    store: LearningStore, say: Callable[..., Accumulated]
) -> None:
    """ "Always" says itself that it holds for more than the moment; nobody has reviewed it yet (F27)."""
    (made,) = say("Always run the linter before you commit.").added
    assert (made.reviewed, made.source.value) == (False, "auto")
    assert [(item.why, item.learning.text) for item in queue(store)] == [
        (Why.SUGGESTED, "Always run the linter before you commit.")
    ]


def test_a_prompt_is_said_once_however_often_it_is_read(
    store: LearningStore, say: Callable[..., Accumulated]
) -> None:
    """Ingesting again, or a resumed session with a copy of the prompt, makes it no repetition."""
    for session in ("a", "a", "resumed"):
        say("please don't add comments to the code", session=session, place=3)
    assert (queue(store), report_corrections(store.ledger())[0].tally.times) == ((), 1)


def test_the_template_of_a_loop_is_said_once(store: LearningStore, say: Callable[..., Accumulated]) -> None:
    """A loop sends one long prompt again and again: its sentences were written once."""
    story = "The reports of last quarter are wrong where a customer has two addresses. " * 4
    for day in range(1, 6):
        say(f"{story}\nDon't add comments to the code.", at=f"2023-11-{day:02}T10:00:00Z")
    assert queue(store) == ()


def test_a_rejected_suggestion_never_comes_back(
    store: LearningStore, say: Callable[..., Accumulated]
) -> None:
    """Neither in other words nor on another feature."""
    (made,) = say("Always run the linter before you commit.").added
    LearningService(store, "cli").reject([made.id])
    again = say("From now on, always run the linter before you commit!", feature="other")
    assert (
        again.added,
        again.left_out,
    ) == ((), ((("Always run the linter before you commit.", "it was rejected before")),))
    assert queue(store) == ()


def test_promoting_makes_the_rule_and_ends_the_suggestion(
    store: LearningStore, say: Callable[..., Accumulated]
) -> None:
    """The rule has the user's words; said again it is evidence that the rule is not followed."""
    (made,) = say("Always run the linter before you commit.").added
    done = LearningService(store, "cli").promote(made.id)
    assert (done.rule.rule, queue(store)) == ("Always run the linter before you commit.", ())
    say("always run the linter before you commit", rules=(done.rule.rule,))
    assert [correction.status for correction in report_corrections(store.ledger())] == [CorrectionStatus.RULE]


def test_what_a_rule_says_is_evidence_that_it_is_ignored(
    store: LearningStore, say: Callable[..., Accumulated]
) -> None:
    """It is no suggestion, and the list says so with the rule."""
    rule = "Always run the linter before you commit."
    assert say("always run the linter before you commit!", rules=(rule,)).added == ()
    (one,) = report_corrections(store.ledger())
    assert (CorrectionStatus.IGNORED, rule) == (one.status, one.other)


def test_what_contradicts_a_rule_is_a_conflict(store: LearningStore, say: Callable[..., Accumulated]) -> None:
    """It waits as a conflict that names the rule, not as a suggestion."""
    rule = "Always add comments to the code."
    say("Never add comments to the code.", rules=(rule,))
    (item,) = queue(store)
    assert (item.why, rule in item.sentence) == (Why.CONFLICT, True)


def test_of_two_words_of_the_user_the_newer_is_likelier(
    store: LearningStore, say: Callable[..., Accumulated], iteration: Make
) -> None:
    """Both wait with each other; agents are given the newer one meanwhile."""
    (old,) = say("Always add comments to the code.", at="2023-11-14T10:00:00Z").added
    (new,) = say("Never add comments to the code.", at="2023-11-15T10:00:00Z").conflicts
    (item,) = [one for one in queue(store) if one.why is Why.CONFLICT]
    assert (new.id, old.id, "supersede") == (
        item.learning.id,
        item.other.id if item.other else "",
        item.conflict.suggestion.value if item.conflict else "",
    )
    made = memory_prompt(
        known_learnings(store.ledger()), store.now(), len, feature="auth", task=None, budget=4000
    )
    assert [new.id] == [one.id for one in made.given]
    assert {CorrectionStatus.CONTRADICTS} == {one.status for one in report_corrections(store.ledger())}


def test_what_the_workbench_told_is_no_correction(
    store: LearningStore, say: Callable[..., Accumulated]
) -> None:
    """Text that was injected comes back in prompts; it is not heard."""
    text = "Always run the linter before you commit."
    note_injected(store, {"learning-x": text}, surface="t")
    assert (say(text).added, report_corrections(store.ledger())) == ((), ())


def test_secrets_in_a_correction_are_masked(store: LearningStore, say: Callable[..., Accumulated]) -> None:
    """Neither the rule nor the quote holds one."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    say(f"Always use the token {secret} for deploys.")
    assert secret not in "".join(str(one) for one in (*store.ledger().all(), *store.ledger().said))


def test_a_line_of_the_journal_that_is_no_telling_is_counted(store: LearningStore) -> None:
    """Edited by hand: it is skipped with a sentence (F36)."""
    store.journal.append("memory/general", "correction.said", [{"key": 3}], by="t")
    assert (len(store.ledger().said), len(store.ledger().skipped)) == (0, 1)


def test_copies_and_templates_count_once() -> None:
    """The same moment and words in two sessions is a copy; the same template a template."""
    one = Correction("2024-01-01", "k", "T.", "t", "s1", 1, "passing")
    copy = Correction("2024-01-01", "k", "T.", "t", "s2", 4, "passing")
    loop = [
        Correction(f"2024-02-{day:02}", "k", "T.", "t", f"l{day}", 1, "passing", template="x")
        for day in (1, 2)
    ]
    assert (tally([one, copy]).times, tally([one, copy]).sessions) == (1, 1)
    assert (tally([one, *loop]).times, tally([one, *loop]).why) == (2, "said in 2 sessions")
