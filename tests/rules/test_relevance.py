"""Relevance is in [0, 1], absolute, the same in every order, and says what was missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from workbench.records.rules import Rule
from workbench.rules.matching.calibration import load_match_model
from workbench.rules.matching.lexical import index_words
from workbench.rules.matching.relevance import (
    SOME_WITHOUT,
    WITHOUT_VECTORS,
    Mode,
    relevance_of,
    rule_texts,
    rule_vectors,
)

Make = Callable[..., Rule]
Float32 = NDArray[np.float32]
MINILM = "sentence-transformers/all-MiniLM-L6-v2@int8-1"
MODES: tuple[Mode, ...] = ("hybrid", "dense", "sparse")
NUMBERS = st.floats(allow_nan=True, allow_infinity=True, width=32)


def rules_of(count: int) -> list[Rule]:
    """Return different rules, every third with an example."""
    return [
        Rule(
            id=f"r{n:03}",
            name="",
            rule=f"Use tool{n} for part{n % 3} tests.",
            examples=("run tests",) * (n % 3 == 0),
        )
        for n in range(count)
    ]


@given(
    st.integers(0, 8),
    st.lists(NUMBERS, min_size=4, max_size=4),
    st.sampled_from(MODES),
    st.floats(0, 5),
    st.floats(0, 5),
    st.data(),
)
def test_whatever_the_vectors_scores_are_shares(
    count: int,
    query: list[float],
    mode: Mode,
    vector_weight: float,
    lexical_weight: float,
    data: st.DataObject,
) -> None:
    """With NaN, infinities and weights of any size, hybrid and relevance stay numbers in [0, 1]."""
    rules = rules_of(count)
    texts = rule_texts(rules)
    values = data.draw(
        st.lists(
            st.lists(NUMBERS, min_size=4, max_size=4),
            min_size=len(texts.texts),
            max_size=len(texts.texts),
        )
    )
    with np.errstate(all="ignore"):
        vectors = rule_vectors(texts, np.array(values, np.float32).reshape(-1, 4), MINILM)
        relevance = relevance_of(
            index_words(rules),
            "run the tests of part1",
            vectors,
            np.array(query, np.float32),
            mode=mode,
            weights=(vector_weight, lexical_weight),
        )
    for column in (relevance.relevance, relevance.hybrid, relevance.words):
        assert column.shape == (count,)
        assert np.isfinite(column).all()
        assert ((column >= 0) & (column <= 1)).all()


def test_closer_is_more_relevant(rule: Make) -> None:
    """Relevance grows with the cosine, and 0.5 is where the model says odds are even."""
    model = load_match_model()
    rules = [rule(f"r{n:02}", f"thing{n}") for n in range(41)]
    angles = np.linspace(0, np.pi, 41)
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    vectors = rule_vectors(rule_texts(rules), rows, MINILM)
    relevance = relevance_of(index_words(rules), "", vectors, np.array([1, 0], np.float32), mode="dense")
    assert (np.diff(relevance.relevance) <= 0).all()
    assert relevance.relevance[0] > 0.95
    assert relevance.relevance[-1] == 0.0
    even, _ = model.curve(0.0, 41)
    assert relevance.meaning is not None
    assert ((relevance.relevance >= 0.5) == (relevance.meaning >= even)).all()


def test_words_count_for_what_meaning_leaves_open(rule: Make) -> None:
    """A shared word adds to a rule of some meaning, less the more meaning there is already."""
    rules = [*(rule(f"r{n}", f"filler{n}") for n in range(30)), rule("x", "alpha beta gamma")]
    words = index_words(rules)
    flat = np.zeros((31, 2), np.float32)
    flat[:, 1] = 1.0
    added = []
    for cosine in (0.1, 0.5, 0.9):
        flat[30] = (cosine, np.sqrt(1 - cosine**2))
        vectors = rule_vectors(rule_texts(rules), flat.copy(), MINILM)
        query = np.array([1, 0], np.float32)
        both = relevance_of(words, "alpha beta gamma", vectors, query)
        alone = relevance_of(words, "alpha beta gamma", vectors, query, weights=(0.7, 0.0))
        added.append(both.hybrid[30] - 0.7 * alone.hybrid[30])
        assert both.meaning is not None
        assert both.hybrid[30] == pytest.approx(0.7 * both.meaning[30] + 0.3 * both.words[30], abs=1e-6)
    assert added[0] > added[1] > added[2] > 0


def test_without_vectors_words_answer_and_say_so(rule: Make) -> None:
    """A mode that wants vectors and has none is answered by words, with a note and no error."""
    rules = [rule(f"r{n}", f"Use thing{n} with care.") for n in range(20)]
    words = index_words(rules)
    sparse = relevance_of(words, "thing3 care", mode="sparse")
    assert sparse.notes == ()
    for mode in MODES[:2]:
        relevance = relevance_of(words, "thing3 care", mode=mode)
        assert relevance.notes == (WITHOUT_VECTORS,)
        assert relevance_of(index_words([]), "thing3 care", mode=mode).notes == ()  # nothing lacks vectors
        assert np.array_equal(relevance.relevance, sparse.relevance)
        assert relevance.vector is None


def test_rules_without_vectors_are_matched_by_words(rule: Make) -> None:
    """Where some rules are not embedded they are scored as without a model, and a note says so."""
    rules = [rule(f"r{n}", f"Use thing{n} with care.") for n in range(20)]
    words, texts = index_words(rules), rule_texts(rules)
    rows = np.tile(np.array([[1.0, 0.0]], np.float32), (20, 1))
    known = np.arange(20) != 3
    vectors = rule_vectors(texts, rows, MINILM, known)
    relevance = relevance_of(words, "thing3 care", vectors, np.array([0, 1], np.float32))
    assert SOME_WITHOUT in relevance.notes
    assert relevance.relevance[3] == relevance_of(words, "thing3 care", mode="sparse").relevance[3]


def test_one_rule_can_be_found_and_left_alone(rule: Make) -> None:
    """A rulebook of a single rule answers to its words and not to others."""
    words = index_words([rule("a", "Refresh the token before it expires in the session store.")])
    assert relevance_of(words, "bake a cake").relevance.tolist() == [0.0]
    assert relevance_of(index_words([]), "x").relevance.shape == (0,)


@given(st.permutations(list(range(12))))
def test_order_of_rules_does_not_matter(order: list[int]) -> None:
    """A rule's relevance is the same wherever it stands."""
    rules = rules_of(12)
    random = np.random.default_rng(3)
    row = {}
    for rule in rules:
        values = random.standard_normal((1 + len(rule.examples), 6)).astype(np.float32)
        row[rule.id] = values / np.linalg.norm(values, axis=1, keepdims=True)
    query = row["r004"][0]

    def relevance(some: list[Rule]) -> dict[str, float]:
        vectors = rule_vectors(rule_texts(some), np.concatenate([row[one.id] for one in some]), MINILM)
        found = relevance_of(index_words(some), "part1 tests with tool4", vectors, query)
        return dict(zip([one.id for one in some], found.relevance.tolist(), strict=True))

    assert relevance([rules[at] for at in order]) == pytest.approx(relevance(rules), abs=1e-5)


def test_the_curve_is_the_models(rule: Make) -> None:
    """Another model file gives other relevance: nothing about it is in the code."""
    rules = [rule(f"r{n}", f"Use thing{n} with care.") for n in range(20)]
    model = load_match_model()
    strict = replace(model, sparse=replace(model.sparse, even=0.99, slope=50.0))
    usual = relevance_of(index_words(rules), "thing3", mode="sparse")
    assert (
        relevance_of(index_words(rules), "thing3", mode="sparse", model=strict).relevance[3]
        < usual.relevance[3]
    )
