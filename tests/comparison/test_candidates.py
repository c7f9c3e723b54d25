"""Which of many texts a new one repeats or contradicts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.deep import times
from workbench.comparison import similarity
from workbench.comparison.candidates import DuplicateIndex, find_duplicates, terms_of
from workbench.comparison.verdicts import TextVerdict

FILLER = [
    f"The {noun} of the {place} needs {thing}."
    for noun in ("schema", "queue", "parser", "cache")
    for place in ("billing", "login", "search", "export")
    for thing in ("a lock", "two passes", "a warm start")
]


def test_a_repetition_is_found_among_others() -> None:
    """The position and the reasons come back."""
    index = DuplicateIndex([*FILLER, "Auth middleware expects a User object, not a userId."])
    found = index.check("The auth middleware expects a User object instead of a userId.")
    assert found is not None
    assert (len(FILLER), TextVerdict.DUPLICATE) == (found.index, found.judgement.verdict)


def test_the_same_text_comes_before_a_contradiction_and_that_before_other_words() -> None:
    """What is known already is not new for being contradicted; in other words it may be."""
    index = DuplicateIndex(["Use tabs for indentation.", "Never use tabs for indentation."])
    known, other = (
        index.matches("use tabs for indentation"),
        index.matches("Always use tabs for the indentation"),
    )
    assert [match.index for match in known] == [0, 1]
    assert [match.index for match in other] == [1, 0]
    assert index.check("use tabs for indentation") == known[0]
    assert other[0].judgement.verdict is TextVerdict.CONFLICT


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use pnpm to install packages.", "Use yarn to install packages."),
        ("The cache is enabled in tests.", "The cache is disabled in tests."),
        ("Run migrations before deploying.", "Run migrations after deploying."),
    ],
)
def test_opposites_and_tools_of_one_job_are_candidates(old: str, new: str) -> None:
    """Texts are found by what their words have in common with their opposites."""
    found = DuplicateIndex([*FILLER, old]).check(new)
    assert found is not None
    assert (len(FILLER), TextVerdict.CONFLICT) == (found.index, found.judgement.verdict)


def test_something_new_is_nothing_known() -> None:
    """No text is returned for one that says something of its own."""
    assert DuplicateIndex(FILLER).check("Restart the worker when the certificate expires.") is None
    assert DuplicateIndex().check("anything") is None


def test_texts_are_added_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was added just now is found, before and after it is folded into the sorted arrays."""
    monkeypatch.setattr(similarity, "_TAIL", 7)
    index = DuplicateIndex()
    for at, text in enumerate(FILLER):
        assert at == index.add(text)
        assert at in [match.index for match in index.matches(text)]
    assert [m.index for m in index.matches(FILLER[0]) if m.judgement.score == 1.0] == [0]
    assert len(FILLER) == len(index)


def test_a_paraphrase_is_found_by_its_vector_and_judged_by_it() -> None:
    """Vectors lead to texts that share no term, and their cosine goes into the judgement."""
    vectors = np.eye(3, dtype=np.float32)
    index = DuplicateIndex(["alpha beta", "gamma delta", "epsilon zeta"], vectors=vectors)
    assert index.candidates("something else entirely", vectors[1]) == [1]
    at = index.add("eta theta", np.asarray([0.6, 0.8, 0.0], np.float32))
    assert index.candidates("nothing in common", vectors[1]) == [1, 3]
    assert at == 3


class Nearest:
    """A vector index that knows one answer."""

    def search(
        self, query: np.ndarray, k: int, allowed: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the row 0."""
        return np.asarray([0]), np.asarray([0.9], np.float32)


def test_an_index_of_vectors_is_asked_instead_of_all_rows() -> None:
    """What it answers are candidates, with the rows that it does not hold."""
    vectors = np.eye(2, dtype=np.float32)
    index = DuplicateIndex(["alpha beta", "gamma delta"], vectors=vectors, neighbours=Nearest())
    index.add("eta theta", vectors[1])
    assert index.candidates("unknown", vectors[1]) == [2, 0]


def test_a_collection_is_searched_without_comparing_all() -> None:
    """Pairs come in order; of equal texts each is paired with the first."""
    texts = ["Use tabs.", *FILLER, "use tabs", "Use tabs", "Never use tabs."]
    last = len(texts) - 1
    found = {(pair.left, pair.right): pair.judgement.verdict for pair in find_duplicates(texts)}
    wanted = {(0, last - 2): "duplicate", (0, last - 1): "duplicate", (0, last): "conflict"}
    assert wanted == {pair: found[pair] for pair in wanted}
    assert (last - 2, last - 1) not in found
    assert sorted(found) == list(found)


def test_denials_do_not_hide_a_text() -> None:
    """A text and its denial are found by the same terms."""
    assert terms_of("Never commit secrets") == terms_of("Commit secrets")


@settings(max_examples=times(13, 40), deadline=None)
@given(st.lists(st.text(max_size=30), max_size=8), st.text(max_size=30))
def test_any_texts_can_be_kept_and_asked_for(texts: list[str], asked: str) -> None:
    """Nothing is raised, and an equal text is always found."""
    index = DuplicateIndex(texts)
    found = [match.index for match in index.matches(asked)]
    assert asked not in texts or texts.index(asked) in found
    assert all(0 <= at < len(texts) for at in found)
