"""A rulebook is made ready once, and a plan never waits for its rules to be embedded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from store.vectors import build_index
from workbench.errors import ModelError
from workbench.plan.matching import FEW, RuleMatcher
from workbench.ports import VectorIndex
from workbench.records.rules import Rule
from workbench.rules.matching.lexical import index_words

Float32 = NDArray[np.float32]


class Embedder:
    """An embedder with a cache in memory that counts what it embeds, and fails if told to."""

    def __init__(self, model: str = "m") -> None:
        self.model = model
        self.kept: set[str] = set()
        self.embedded: list[str] = []
        self.failing = False
        self.notes: tuple[str, ...] = ()
        self.lookups = (0, 0)

    def embed(self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None) -> Float32:
        if self.failing:
            raise ModelError("it broke")
        fresh = [text for text in texts if text not in self.kept]
        self.embedded += fresh
        self.kept |= set(fresh)
        if progress is not None:
            progress(len(texts), len(texts))
        return self._vectors(texts)

    def known_vectors(self, kind: str, texts: Sequence[str]) -> tuple[VectorIndex, NDArray[np.bool_]]:
        there = np.array([text in self.kept for text in texts], np.bool_)
        return build_index(self._vectors(texts)), there

    def complete(
        self, kind: str, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None
    ) -> VectorIndex:
        self.embed(texts, progress=progress)
        return self.known_vectors(kind, texts)[0]

    @staticmethod
    def _vectors(texts: Sequence[str]) -> Float32:
        return np.full((len(texts), 4), 0.5, np.float32)


def rules_of(count: int) -> tuple[Rule, ...]:
    return tuple(Rule(id=f"r{n:03}", name="", rule=f"Use thing{n}.") for n in range(count))


def test_few_new_rules_are_embedded_on_the_spot_and_once() -> None:
    """What an edit brings is embedded by the plan; asked again nothing is made anew."""
    rules, embedder, matcher = rules_of(FEW), Embedder(), RuleMatcher()
    words = index_words(rules)
    index = matcher.index(rules, words, embedder)
    assert index.vectors is not None
    assert len(embedder.embedded) == FEW
    assert matcher.note == ""
    assert matcher.index(rules, words, embedder) is index
    assert matcher.columns_of(rules) is index.columns
    assert matcher.columns_of(rules_of(FEW)) is None


def test_a_plan_does_not_wait_for_many() -> None:
    """Many rules without vectors are matched by words, with a note that goes once they are embedded."""
    rules, embedder, matcher = rules_of(FEW + 1), Embedder(), RuleMatcher()
    words = index_words(rules)
    assert matcher.index(rules, words, embedder).vectors is None
    assert "model prepare" in matcher.note
    assert embedder.embedded == []
    told: list[tuple[int, int]] = []
    patient = matcher.index(rules, words, embedder, progress=lambda done, total: told.append((done, total)))
    assert patient.vectors is not None
    assert told
    assert matcher.note == ""


def test_counts_of_use_cost_no_vectors() -> None:
    """Rules that differ in use alone keep their vectors; another model makes its own."""
    rules, embedder, matcher = rules_of(3), Embedder(), RuleMatcher()
    words = index_words(rules)
    first = matcher.index(rules, words, embedder)
    again = matcher.index(rules_of(3), words, embedder)
    assert again is not first
    assert again.vectors is first.vectors
    other = matcher.index(rules, words, Embedder("other"))
    assert other.vectors is not None
    assert other.vectors.model == "other"
    assert matcher.index(rules, words, None).vectors is None


def test_a_model_that_fails_costs_the_meaning_not_the_plan() -> None:
    """The note says what happened and words still match."""
    rules, embedder, matcher = rules_of(2), Embedder(), RuleMatcher()
    embedder.failing = True
    assert matcher.index(rules, index_words(rules), embedder).vectors is None
    assert "it broke" in matcher.note
    assert matcher.index((), index_words(()), embedder).vectors is None
    assert matcher.note == ""
