"""BM25 by its definition, stored, reopened and read without the library that built it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.lexical import K1, B, build_index, load_index
from tests.deep import times
from workbench.errors import StoreError
from workbench.text.terms import iter_terms

TEXTS = [
    "refresh the jwt token on 401",
    "TokenRefresher.refreshToken handles expired tokens",
    "render the login page",
    "",
    "def hide_cursor(): pass",
    "render the login page",
]


def made(path: Path) -> Path:
    path.mkdir()
    return path


def by_definition(texts: list[str], query: str) -> list[float]:
    """BM25 in Lucene's form, written for reading."""
    documents = [list(iter_terms(text)) for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for terms in documents:
        score = 0.0
        for term in dict.fromkeys(iter_terms(query)):
            df = sum(term in other for other in documents)
            tf = terms.count(term)
            if tf:
                idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
                score += idf * tf / (tf + K1 * (1 - B + B * len(terms) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize(
    "query", ["refresh token", "hideCursor", "login login page", "401", "nothing known", ""]
)
def test_scores_are_bm25(query: str) -> None:
    """Every document's score is the formula's."""
    np.testing.assert_allclose(build_index(TEXTS).scores(query), by_definition(TEXTS, query), atol=1e-5)


words = st.sampled_from(["token", "jwt", "getUserName", "user_name", "page", "the", "x1", "über"])


@settings(max_examples=times(10, 30), deadline=None)
@given(
    texts=st.lists(st.lists(words, max_size=8).map(" ".join), min_size=1, max_size=8),
    query=st.lists(words, max_size=5).map(" ".join),
)
def test_scores_are_bm25_for_any_texts(texts: list[str], query: str) -> None:
    """The same, for texts nobody chose; and no score reaches the bound."""
    index = build_index(texts)
    expected = (
        by_definition(texts, query) if any(list(iter_terms(text)) for text in texts) else [0.0] * len(texts)
    )

    scores = index.scores(query)

    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert (scores <= index.upper_bound(query)).all()


def test_search_is_ordered_and_positive() -> None:
    """Best first, ties by position, documents without a match left out."""
    index = build_index(TEXTS)

    positions, scores = index.search("login page", 10)

    assert positions.tolist() == [2, 5]
    assert scores[0] == scores[1] > 0
    assert index.search("login page", 1)[0].tolist() == [2]
    assert index.search("login page", 0)[0].tolist() == []
    assert index.search("login page", 10, np.array([5, 0, 99]))[0].tolist() == [5]


def test_identifiers_meet_in_any_spelling() -> None:
    """camelCase, snake_case and separate words reach each other, the exact name first."""
    index = build_index(["hide cursor now", "hide_cursor", "cursor"])

    assert index.search("hideCursor", 3)[0].tolist() == [1, 0, 2]


def test_unknown_terms_count_in_the_bound() -> None:
    """A query of which nothing is known here has a bound but no scores."""
    index = build_index(TEXTS)

    assert index.upper_bound("zebra crossing") > index.upper_bound("zebra") > 0
    assert index.upper_bound("") == 0
    assert not index.scores("zebra").any()


def test_names_count_by_rarity() -> None:
    """A compound name counts in any spelling, less where all hold it; words count nothing."""
    index = build_index(
        ["def hide_cursor(): main_loop()", "main_loop hides the cursor", "main_loop", "mainLoop"]
    )

    rare, common = index.names("why does hideCursor fail"), index.names("mainLoop")

    assert rare[0] > 0.5
    assert not rare[1:].any()
    assert 0 < common.max() < 0.2
    assert not index.names("hide the cursor at 5pm").any()
    assert (index.names("hideCursor mainLoop noSuchName") < 1).all()


@pytest.mark.parametrize("texts", [[], [""], ["the of"], ["\udc80"]])
def test_texts_without_terms_are_an_index(texts: list[str], tmp_path: Path) -> None:
    """No texts, or none with terms, give an index that finds nothing and can be stored."""
    build_index(texts).save(made(tmp_path / "1"), "texts")
    index = load_index(tmp_path / "1")

    assert len(index) == len(texts)
    assert index.search("token", 5)[0].tolist() == []


def test_stored_index_gives_the_same_bytes(tmp_path: Path) -> None:
    """Saving and opening, and building again, change nothing."""
    index = build_index(TEXTS)
    index.save(made(tmp_path / "1"), "texts")

    opened = load_index(tmp_path / "1")

    for query in ("refresh token", "cursor"):
        assert opened.scores(query).tobytes() == index.scores(query).tobytes()
        assert build_index(TEXTS).scores(query).tobytes() == index.scores(query).tobytes()
        assert opened.upper_bound(query) == index.upper_bound(query)


@pytest.mark.parametrize("name", ["terms", "starts", "documents", "values", "size"])
@pytest.mark.parametrize("cut", [0, 20, -4])
def test_damaged_index_is_a_store_error(tmp_path: Path, name: str, cut: int) -> None:
    """A file cut anywhere is an error that says what to do."""
    build_index(TEXTS).save(made(tmp_path / "1"), "texts")
    path = tmp_path / "1" / f"{name}.npy"
    path.write_bytes(path.read_bytes()[:cut])

    with pytest.raises(StoreError, match=re.escape(str(tmp_path / "1"))) as caught:
        load_index(tmp_path / "1")
    assert caught.value.hint


def test_reading_needs_no_bm25s(
    tmp_path: Path, start: Callable[..., Popen[str]], outputs: Callable[..., list[str]]
) -> None:
    """A stored index is searched without importing bm25s, whose import is slow."""
    build_index(TEXTS).save(made(tmp_path / "1"), "texts")
    code = (
        "import sys; from pathlib import Path; from store.lexical import load_index\n"
        "print(load_index(Path(sys.argv[1])).search('jwt', 1)[0].tolist())\n"
        "print(sorted({'bm25s', 'scipy', 'numba', 'jax', 'hnswlib', 'duckdb'} & set(sys.modules)))"
    )

    assert outputs([start(code, tmp_path / "1")]) == ["[0]\n[]\n"]


def test_building_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """bm25s's progress bars stay silent."""
    build_index(TEXTS)

    assert capfd.readouterr() == ("", "")
