"""What two texts are to each other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.deep import times
from workbench.comparison.verdicts import TextVerdict, judge

CONFLICTS = [
    ("Use tabs for indentation.", "Never use tabs for indentation."),
    ("Force pushes to main are allowed.", "Force pushes to main are not allowed."),
    ("Allow force pushes to feature branches.", "Deny force pushes to feature branches."),
    ("The cache is enabled in development.", "The cache is disabled in development."),
    ("Run migrations before deploying.", "Run migrations after deploying."),
    ("Database calls must be synchronous.", "Database calls must be asynchronous."),
    ("Functions may have at most 40 lines.", "Functions may have at most 80 lines."),
    ("Use pnpm to install packages.", "Use yarn to install packages."),
    ("Put tests in `tests/`.", "Put tests in `src/__tests__/`."),
    ("A man is playing a guitar", "There is no man playing a guitar"),
    ("Someone is stirring a pot of chili", "Nobody is stirring a pot of chili"),
    ("Nested transactions are supported.", "Nested transactions are unsupported."),
    ("A girl is fishing from a dock on a lake", "A girl is not fishing"),
    ("Logging SQL queries in production is forbidden.", "Log SQL queries in production."),
]
DUPLICATES = [
    ("Do not forget to run the migrations.", "Run the migrations."),
    ("Always run the linter before committing.", "Run the linter before every commit."),
    ("Never log passwords or tokens.", "Passwords and tokens must never be logged."),
    (
        "Auth middleware expects a User object not a userId",
        "Auth middleware expects a User object instead of a userId",
    ),
    ("Don't skip the type checker.", "Never skip the type checker."),
    ("`parse_date` returns None for empty strings.", "For empty strings `parse_date` returns None."),
    ("- Run `make test` first.", "run `make test` first"),
    ("Use [ruff](https://example.org) for linting", "Use ruff for linting"),
    ("Use parameterised queries", "Always use parameterized queries."),
]
UNIQUE = [
    ("Use not only unit tests but also integration tests.", "Use unit tests."),
    ("Don't only test the happy path.", "Test the happy path."),
    ("Do not use inline styles except in emails.", "Use inline styles in emails."),
    ("Run `make lint` before committing.", "Run `make build` before committing."),
    ("`src/auth/login.ts` handles the redirect.", "`src/auth/logout.ts` handles the redirect."),
    ("The login test is flaky on Windows.", "The checkout test is flaky on Windows."),
    ("Upgrade `react` to 18.2.", "Upgrade `react-router` to 6.4."),
    ("The dog chases the cat", "The cat chases the dog"),
    ("There is no man playing a guitar", "A woman is slicing an onion"),
    ("Retry on 503 responses.", "Do not retry on 400 responses."),
    ("Create the release branch.", "Delete the release branch."),
    ("No SELECT *", "Select the data structure that fits."),
    ("Public functions need docstrings.", "Private functions do not need docstrings."),
]


@pytest.mark.parametrize(("left", "right"), CONFLICTS)
def test_what_cannot_both_hold_is_a_conflict(left: str, right: str) -> None:
    """Denials, antonyms, other tools, numbers and places contradict, however many words agree."""
    assert TextVerdict.CONFLICT is judge(left, right).verdict


@pytest.mark.parametrize(("left", "right"), DUPLICATES)
def test_the_same_in_other_words_is_a_duplicate(left: str, right: str) -> None:
    """A double denial, a passive, a synonym or a mark does not make another statement."""
    assert TextVerdict.DUPLICATE is judge(left, right).verdict


@pytest.mark.parametrize(("left", "right"), UNIQUE)
def test_look_alikes_are_neither(left: str, right: str) -> None:
    """Other names, versions and limits, exchanged roles and lone denials say something of their own."""
    assert TextVerdict.UNIQUE is judge(left, right).verdict


@pytest.mark.parametrize(("left", "right"), CONFLICTS + DUPLICATES + UNIQUE)
def test_the_order_makes_no_difference(left: str, right: str) -> None:
    """A judgement is the same both ways, its evidence included, and the next time."""
    assert judge(left, right) == judge(right, left) == judge(left, right)


def test_a_contradiction_is_found_however_near_the_meaning() -> None:
    """Embeddings that are nearly equal do not make a repetition of a denial."""
    assert (
        TextVerdict.CONFLICT
        is judge("Commit generated files.", "Do not commit generated files.", 0.99).verdict
    )


def test_evidence_names_the_words_that_collide() -> None:
    """Whoever reads a conflict sees what is opposed."""
    found = judge("A man is playing a guitar", "A man is not playing a guitar")
    assert "denied on one side only: guitar playing" in [item.detail for item in found.evidence]


def test_long_texts_that_begin_alike_are_no_repetitions() -> None:
    """What is beyond the words that are compared counts."""
    start = "The build of the search index takes long. " * 100
    assert (
        TextVerdict.UNIQUE
        is judge(start, start + "It can be skipped with a flag for the nightly job. " * 60).verdict
    )
    assert TextVerdict.DUPLICATE is judge(start, start).verdict


def test_a_megabyte_is_judged() -> None:
    """The size of a text does not matter."""
    text = "never use the global cache in workers " * 27_000
    assert TextVerdict.DUPLICATE is judge(text, text.upper()).verdict
    assert judge(text, "Use the global cache in workers").verdict in TextVerdict


@pytest.mark.parametrize(
    "text", ["", " ", "\0", "!!!", "\ud800", "🦀", "``", "```", "not", "never", "1" * 5000]
)
def test_odd_texts_repeat_themselves(text: str) -> None:
    """A text of nothing but marks, or none at all, equals itself."""
    assert TextVerdict.DUPLICATE is judge(text, text).verdict


def test_texts_of_nothing_but_marks_do_not_repeat_each_other() -> None:
    """Two normal forms that are empty are not the same statement."""
    assert TextVerdict.UNIQUE is judge("!", ".").verdict


WORDS = st.sampled_from(
    "not no never do use the tests tabs and or before after without `x` 3 80 only but is a man nobody".split()
)
SENTENCES = st.lists(WORDS, max_size=14).map(" ".join)


@settings(max_examples=times(50, 150), deadline=None)
@given(SENTENCES | st.text(max_size=80), SENTENCES | st.text(max_size=80), st.none() | st.floats(-1, 1))
def test_any_two_texts_have_one_judgement(left: str, right: str, similarity: float | None) -> None:
    """Nothing is raised, the score is a share, and the order makes no difference."""
    found = judge(left, right, similarity)
    assert 0 <= found.score <= 1
    assert found.evidence
    assert found == judge(right, left, similarity)
    assert all(0 <= item.score <= 1 for item in found.evidence)


@settings(max_examples=times(26, 80), deadline=None)
@given(SENTENCES | st.text(max_size=80))
def test_every_text_repeats_itself(text: str) -> None:
    """Identical texts are duplicates with full score, whatever they deny."""
    assert (judge(text, text).verdict, judge(text, text).score) == (TextVerdict.DUPLICATE, 1.0)


NOUNS = st.sampled_from("migrations snapshots fixtures credentials manifests".split())
VERBS = st.sampled_from("commit encrypt rotate review archive".split())


@given(VERBS, NOUNS, NOUNS)
def test_a_denial_around_an_order_contradicts_it_and_a_double_one_does_not(
    verb: str, first: str, second: str
) -> None:
    """To forbid an order contradicts it; to say it must not be forgotten repeats it."""
    order = f"{verb} the {first} and the old {second}"
    assert TextVerdict.CONFLICT is judge(order, f"Never {order}").verdict
    assert TextVerdict.CONFLICT is judge(f"Do not forget to {order}", f"Do not {order}").verdict
    assert TextVerdict.DUPLICATE is judge(order, f"Do not forget to {order}").verdict
