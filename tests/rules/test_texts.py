"""Rules are matched by meaning as all of their texts say, and only those that are found are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from store.vector_store import VectorStore
from tests.adapters import ManualClock
from tests.rules.test_rulebook_changes import FILES, Life
from tests.store.test_vector_store import Place
from workbench.curation import folding
from workbench.plan.matching import RULES, RuleMatcher
from workbench.records.rules import Rule
from workbench.rules import ruleset, rulestorage
from workbench.rules.curation.curator import Curator
from workbench.rules.keptbook import Rulebook
from workbench.rules.matching.filters import RuleQuery
from workbench.rules.matching.lexical import index_words
from workbench.rules.matching.match import MatchReport
from workbench.rules.matching.relevance import rule_texts
from workbench.rules.matching.search import match_message
from workbench.rules.matching.texts import texts_arrays, texts_from
from workbench.rules.rulebook import load_rulebook

QUERY = "Which rule holds for tool 7?"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep changes of few rules as those of many."""
    monkeypatch.setattr(folding, "FEW", 1)
    monkeypatch.setattr(rulestorage, "MANY", 0)
    monkeypatch.setattr(ruleset, "FEW", 4)


@pytest.fixture
def life(tmp_path: Path) -> Life:
    """A project with forty rules, one of them with examples."""
    made = Life(tmp_path / "life")
    rules = [Rule("", "", f"Rule {number} holds for tool {number}", project_id="p") for number in range(39)]
    rules.append(Rule("", "", "Ask first", examples=("May I?", "Shall I push?"), project_id="p"))
    Curator(made.store, "test").add_all(rules)
    load_rulebook(made.store, FILES)
    return made


def prepared(life: Life, place: Place) -> VectorStore:
    vectors, _ = place.open()
    texts = load_rulebook(life.opened(), FILES).rules.texts.texts
    vectors.complete(RULES, texts)
    vectors.keep(RULES, texts)
    return vectors


def matched(book: Rulebook, vectors: VectorStore, *, plain: bool = False) -> MatchReport:
    """Match by meaning, or in the `plain` way by rules that are all at hand."""
    rules = tuple(book.rules) if plain else book.rules
    words = index_words(tuple(rules)) if plain else book.words
    index = RuleMatcher().index(rules, words, vectors)
    assert index.vectors is not None
    return match_message(index, RuleQuery(QUERY, "p"), vectors.embed([QUERY])[0], mode="dense")


def assert_plain_answers(book: Rulebook, vectors: VectorStore) -> None:
    """Compare matches, their scores and the reasons of all others with those of the plain way."""
    ours, theirs = matched(book, vectors), matched(book, vectors, plain=True)
    assert len(ours.matches) > 0
    assert (ours.matches, ours.rejected, ours.notes) == (theirs.matches, theirs.rejected, theirs.notes)


def test_only_what_is_found_is_read(life: Life, tmp_path: Path) -> None:
    """A new process opens keys and vectors; it embeds the query alone."""
    prepared(life, Place(tmp_path, ManualClock()))
    vectors, embedder = Place(tmp_path, ManualClock()).open()
    book = load_rulebook(life.opened(), FILES)
    found = matched(book, vectors)
    held = book.rules.base.rules
    assert isinstance(held, rulestorage.StoredRules)
    assert {held.decoded[row].id for row in held.decoded} == {match.rule.id for match in found.matches}
    assert len(found.rejected) + len(found.matches) == len(book.rules)
    assert len(held.decoded) < 20  # and one rule for each sort of those that are rejected
    assert embedder.asked == [QUERY]
    assert_plain_answers(book, vectors)


def test_changes_on_top_of_the_base_are_matched(life: Life, tmp_path: Path) -> None:
    """What was added, edited or removed since is compared by its own vector, once by the cache."""
    vectors = prepared(life, Place(tmp_path, ManualClock()))
    life.store = life.opened()
    before = load_rulebook(life.opened(), FILES)
    curator = Curator(life.store, "test")
    curator.edit(before.rules[3].id, rule="Tool 7 is ruled by this", examples=("tool 7?",))
    curator.remove([before.rules[5].id])
    curator.add(Rule("", "", QUERY, project_id="p"))
    load_rulebook(life.opened(), FILES)
    book = load_rulebook(life.opened(), FILES)
    assert len(book.rules.put) == 2
    assert_plain_answers(book, vectors)
    fresh, embedder = Place(tmp_path, ManualClock()).open()
    assert matched(book, fresh).matches == matched(book, vectors).matches
    assert embedder.asked == []
    assert vectors.keep(RULES, book.rules.texts.texts)
    assert_plain_answers(book, fresh)


@pytest.mark.parametrize("damage", ["cut", "keys", "starts"])
def test_damaged_keys_cost_time_alone(life: Life, tmp_path: Path, damage: str) -> None:
    """Texts whose keys are damaged are embedded again, or read from the rules."""
    vectors = prepared(life, Place(tmp_path, ManualClock()))
    directory = life.opened().latest("rules")
    assert directory is not None
    path = directory / "arrays.bin"
    texts = load_rulebook(life.opened(), FILES).rules.texts
    array = texts_arrays(texts)["starts" if damage == "starts" else "keys"]
    assert isinstance(array, np.ndarray)
    data, at = bytearray(path.read_bytes()), path.read_bytes().index(array.tobytes())
    data[at : at + 40] = b"\xff" * 40
    path.write_bytes(data[: at // 2] if damage == "cut" else data)
    book = load_rulebook(life.opened(), FILES)
    assert_plain_answers(book, vectors)
    assert tuple(book.rules.texts.texts) == rule_texts(tuple(book.rules)).texts


def test_another_model_has_vectors_of_its_own(life: Life, tmp_path: Path) -> None:
    """Keys are of texts, whatever model embeds them."""
    prepared(life, Place(tmp_path, ManualClock()))
    other, embedder = Place(tmp_path, ManualClock()).open("m@2")
    book = load_rulebook(life.opened(), FILES)
    assert RuleMatcher().index(book.rules, book.words, other).vectors is None  # a plan does not wait
    index = RuleMatcher().index(book.rules, book.words, other, progress=lambda done, total: None)
    assert index.vectors is not None
    assert sorted(embedder.asked) == sorted(rule_texts(tuple(book.rules)).texts)
    assert_plain_answers(book, other)


def test_keys_of_others_are_refused() -> None:
    """Of another number of rules, or where texts do not follow one another."""
    rules = [Rule(f"r{number}", "", "Use tabs.") for number in range(3)]
    kept: dict[str, NDArray[Any]] = {"keys": np.zeros((3, 32), np.uint8), "starts": np.arange(4)}
    assert len(texts_from(kept, rules).texts) == 3
    for starts in ([0, 1, 2], [0, 1, 1, 3], [1, 2, 3, 3], [0, 1, 2, 4]):
        with pytest.raises(ValueError, match="rules"):
            texts_from({**kept, "starts": np.array(starts)}, rules)
