"""Rules as vectors: the best of a rule's rows counts, unknown rows are told, nothing is NaN by accident."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

import store.vectors
from store.vectors import Crossovers, build_index
from workbench.records.rules import Rule
from workbench.rules.matching import relevance as module
from workbench.rules.matching.calibration import load_match_model
from workbench.rules.matching.lexical import index_words
from workbench.rules.matching.relevance import (
    background_of,
    closest_part,
    meaning,
    relevance_of,
    rule_texts,
    rule_vectors,
    similarities,
)

Make = Callable[..., Rule]
Float32 = NDArray[np.float32]
MINILM = "sentence-transformers/all-MiniLM-L6-v2@int8-1"


def unit(rows: object) -> Float32:
    """Return rows of length 1."""
    matrix = np.asarray(rows, np.float32)
    return np.asarray(matrix / np.linalg.norm(matrix, axis=-1, keepdims=True), np.float32)


def test_each_example_has_its_own_row(rule: Make) -> None:
    """What a rule says is one text and each example another; an empty one still is a text."""
    texts = rule_texts([rule("a", "x", examples=("e1", "")), rule("b", "y" * 1000)])
    assert texts.texts == ("x", "e1", ".", "y" * 600)
    assert texts.starts.tolist() == [0, 3, 4]


def test_the_best_row_counts(rule: Make) -> None:
    """The vector similarity is the maximum over text and examples, the prototype their mean's cosine."""
    rules = [rule("a", examples=("e",)), rule("b")]
    rows = unit([[1, 0], [0, 1], [1, 1]])
    vectors = rule_vectors(rule_texts(rules), rows, "m")
    query = unit([0, 1])
    best, prototype = similarities(vectors, query)
    assert best.tolist() == pytest.approx([1.0, np.sqrt(0.5)], abs=1e-5)
    assert prototype.tolist() == pytest.approx([np.sqrt(0.5), np.sqrt(0.5)], abs=1e-5)
    assert closest_part(vectors, 0, query) == 1
    assert closest_part(vectors, 1, query) == 0


def test_unknown_and_odd_vectors_are_no_similarity(rule: Make) -> None:
    """A rule with a missing or not finite row has no similarity, and its neighbours keep theirs."""
    rules = [rule("a", examples=("e",)), rule("b"), rule("c")]
    rows = unit(np.eye(4))
    rows[3, 3] = np.nan
    known = np.array([True, False, True, True])
    vectors = rule_vectors(rule_texts(rules), rows, "m", known)
    assert vectors.known.tolist() == [False, True, False]
    best, prototype = similarities(vectors, unit([0, 0, 1, 0]))
    assert np.isnan(best).tolist() == np.isnan(prototype).tolist() == [True, False, True]
    assert best[1] == 1.0


def test_shapes_are_checked(rule: Make) -> None:
    """Vectors of other texts are an error; no rules are no error."""
    with pytest.raises(ValueError, match="1 texts"):
        rule_vectors(rule_texts([rule("a")]), np.zeros((2, 3), np.float32), "m")
    empty = rule_vectors(rule_texts([]), np.zeros((0, 3), np.float32), "m")
    assert [len(column) for column in similarities(empty, unit([1, 0, 0]))] == [0, 0]


def test_large_sets_compare_examples_of_the_best(rule: Make) -> None:
    """Above the exact size the best rules still get the maximum over their rows."""
    random = np.random.default_rng(1)
    rules = [rule(f"r{n:03}", examples=("a", "b")) for n in range(200)]
    rows = unit(random.standard_normal((600, 8)))
    vectors = rule_vectors(rule_texts(rules), rows, "m")
    query = rows[301]
    exact, prototype = similarities(vectors, query)
    with patch.object(module, "EXACT_ROWS", 100), patch.object(module, "_RESCORED", 50):
        best, again = similarities(vectors, query)
    assert np.array_equal(prototype, again)
    first = np.argsort(-prototype, kind="stable")[:50]
    assert np.array_equal(best[first], exact[first])
    rest = np.setdiff1d(np.arange(200), first)
    assert np.array_equal(best[rest], prototype[rest])


def test_sketches_find_the_rules_that_comparing_all_does(rule: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest rules and those that words speak for have their exact cosines; the others are unrelated."""
    monkeypatch.setattr(store.vectors, "CROSSOVERS", Crossovers(sketches=1))
    monkeypatch.setattr(module, "_RESCORED", 40)
    rules = [rule(f"r{n:03}", f"Use tool{n}.", examples=(f"which tool{n}?",) * (n % 3)) for n in range(300)]
    texts, random = rule_texts(rules), np.random.default_rng(3)
    centres = random.normal(size=(30, 32))
    owner = np.repeat(np.arange(300), np.diff(texts.starts))
    rows = unit(centres[owner % 30] + 0.5 * random.normal(size=(len(owner), 32)))
    index = build_index(rows)
    exact = rule_vectors(texts, rows, MINILM)
    near = rule_vectors(texts, rows, MINILM, index=index)
    words = index_words(rules)
    assert index.approximate

    for query in unit(centres[:9] + 0.5 * random.normal(size=(9, 32))):
        all_of, some = (relevance_of(words, "about tool77", one, query) for one in (exact, near))
        assert all_of.vector is not None
        assert some.vector is not None
        order = np.argsort(-all_of.relevance, kind="stable")[:10]
        assert some.relevance[order].tolist() == all_of.relevance[order].tolist()
        assert some.vector[77] == all_of.vector[77]  # words speak for it, however far it is
        there = some.vector > -1
        assert some.vector[there].tolist() == all_of.vector[there].tolist()
        assert 20 <= there.sum() < 100
        assert not some.relevance[~there].any()


def test_an_unknown_model_is_scaled_by_its_own_rules(rule: Make) -> None:
    """A model whose texts are all alike and nobody calibrated tells related from unrelated, with a note."""
    model = load_match_model()
    random = np.random.default_rng(2)
    rules = [rule(f"r{n:03}") for n in range(300)]
    crowded = unit(unit(random.standard_normal((300, 64))) + 2.0 * unit(np.ones(64)))
    vectors = rule_vectors(rule_texts(rules), crowded, "someone/else")
    background, note = background_of(vectors, model)
    assert vectors.spread == pytest.approx(0.8, abs=0.05)
    assert background == pytest.approx(vectors.spread, abs=0.06)
    assert "not calibrated for someone/else" in note
    above = meaning(*similarities(vectors, crowded[5]), background, model)
    assert above[5] == pytest.approx(1.0, abs=1e-3)
    assert np.median(above) < 0.25
    single = rule_vectors(rule_texts(rules[:1]), crowded[:1], "someone/else")
    assert background_of(single, model)[0] == model.background
    assert background_of(rule_vectors(rule_texts(rules), crowded, MINILM), model)[1] == ""
