"""Fused relevance is absolute, monotone, and lets each kind of evidence count where it is good."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.text.fusion import (
    LEXICAL_WEIGHT,
    MINILM,
    VECTOR_WEIGHT,
    Calibration,
    fuse,
    fuse_lexical,
    score_excess,
    score_prominence,
)


def row(*values: float) -> Any:
    """A float32 row."""
    return np.array(values, np.float32)


lists = st.lists(st.tuples(st.floats(-1, 1, width=32), st.floats(0, 30, width=32)), min_size=0, max_size=40)


@given(documents=lists, bound=st.floats(0, 40))
def test_relevance_is_between_zero_and_one(documents: list[tuple[float, float]], bound: float) -> None:
    """Any scores give as many finite numbers in [0, 1]."""
    cosine = np.array([pair[0] for pair in documents], np.float32)
    bm25 = np.array([pair[1] for pair in documents], np.float32)

    for found in (fuse(cosine, bm25, bound), fuse_lexical(bm25, bound)):
        assert found.shape == (len(documents),)
        assert found.dtype == np.float32
        assert ((found >= 0) & (found <= 1)).all()


@given(documents=lists.filter(len), bound=st.floats(0.1, 40))
def test_better_in_both_is_never_worse(documents: list[tuple[float, float]], bound: float) -> None:
    """A document with higher cosine and higher BM25 than another does not rank below it."""
    ordered = np.array(sorted(documents), np.float32)
    cosine, bm25 = ordered[:, 0], np.sort(ordered[:, 1])

    assert (np.diff(fuse(cosine, bm25, bound)) >= 0).all()


@given(documents=lists.filter(len), bound=st.floats(0.1, 40), seed=st.integers(0, 99))
def test_order_of_documents_does_not_matter(
    documents: list[tuple[float, float]], bound: float, seed: int
) -> None:
    """Shuffled documents get the same scores to the byte."""
    pairs = np.array(documents, np.float32)
    shuffle = np.random.default_rng(seed).permutation(len(pairs))

    plain = fuse(pairs[:, 0], pairs[:, 1], bound)
    shuffled = fuse(pairs[shuffle, 0], pairs[shuffle, 1], bound)

    assert plain[shuffle].tobytes() == shuffled.tobytes()


def test_even_odds_by_cosine_alone_are_a_half() -> None:
    """At the model's even cosine, with no lexical match, relevance is 0.5."""
    found = fuse(row(MINILM.even, MINILM.background, 0.0, 1.0), row(0, 0, 0, 0), 10.0)

    np.testing.assert_allclose(found[:3], [0.5, 0.0, 0.0], atol=1e-6)
    assert found[3] > 0.75


def test_rare_name_found_once_decides() -> None:
    """A document that alone holds the query's rare name passes a half and beats a fair cosine elsewhere."""
    cosine = np.full(100, 0.35, np.float32)
    cosine[7] = 0.25
    bm25 = np.full(100, 1.0, np.float32)
    bm25[7] = 9.0

    found = fuse(cosine, bm25, 15.0)

    assert found.argmax() == 7
    assert found[7] >= 0.5


def test_words_everyone_shares_do_not_decide() -> None:
    """Where many documents match as well, a small lexical lead does not overturn the cosine."""
    cosine = np.linspace(0.3, 0.5, 100, dtype=np.float32)
    bm25 = np.linspace(5.0, 4.0, 100, dtype=np.float32)

    assert fuse(cosine, bm25, 12.0).argmax() == 99


def test_document_without_a_vector_counts_by_its_words() -> None:
    """NaN stands for "no vector yet" and never reaches the result."""
    found = fuse(row(np.nan, np.nan, 0.2), row(8.0, 0.0, 0.0), 10.0)

    assert found[0] > 0.4
    assert found[1] == 0.0


def test_query_without_terms_is_ranked_by_cosine() -> None:
    """With a bound of 0 the lexical part is silent."""
    assert (np.diff(fuse(row(0.2, 0.4, 0.6), row(0, 0, 0), 0.0)) > 0).all()


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_short_lists_know_lexical_matches(count: int) -> None:
    """With a handful of documents the one that matches still stands out."""
    bm25 = np.zeros(count, np.float32)
    bm25[0] = 8.0

    found = score_prominence(bm25, 10.0)

    assert found[0] > 0.9
    assert (found[1:] == 0).all()


def test_lexical_relevance_keeps_the_order_of_bm25() -> None:
    """Without vectors the ranking is BM25's and a match of most of the query passes a half."""
    found = fuse_lexical(row(0.0, 2.0, 4.0, 9.0), 10.0)

    assert (np.diff(found) > 0).all()
    assert found[0] == 0.0
    assert found[3] > 0.5


def test_weights_are_the_specification() -> None:
    """0.7 and 0.3 are the defaults and apply to the normalised scores."""
    assert (VECTOR_WEIGHT, LEXICAL_WEIGHT) == (0.7, 0.3)
    cosine, bm25 = row(0.5, 0.3, 0.1), row(0.0, 9.0, 0.0)

    expected = 0.7 * score_excess(cosine) + 0.3 * score_prominence(bm25, 12.0)

    assert list(np.argsort(fuse(cosine, bm25, 12.0))) == list(np.argsort(expected))


def test_exact_name_counts_where_words_do_not_stand_out() -> None:
    """A document that holds the query's name goes before an equal one that does not."""
    cosine, bm25 = np.full(60, 0.3, np.float32), np.full(60, 2.0, np.float32)
    names = np.zeros(60, np.float32)
    names[9] = 0.9

    found = fuse(cosine, bm25, 10.0, names=names)

    assert found.argmax() == 9
    assert found[9] > 0.5 > found[8]


def test_another_model_has_its_own_calibration() -> None:
    """A model whose unrelated texts have cosine 0.6 is read from there."""
    found = fuse(row(0.6, 0.8), row(0, 0), 1.0, calibration=Calibration(background=0.6, even=0.8))

    np.testing.assert_allclose(found, [0.0, 0.5], atol=1e-6)
