"""Types of segments with a model of their own: one index, one search, and the right model for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from store.vectors import Crossovers
from tests.stash.conftest import Meanings
from tests.stash.test_segmentindex import ids, opened
from workbench.records.segments import ContextSegment, FoundSegment, SegmentType, StashQuery
from workbench.stash.retrieval import retrieve
from workbench.stash.segmentindex import IndexPlaces, SegmentIndex
from workbench.stash.segmentmodels import EmbeddingModel, combine_models
from workbench.stash.service import StashService

NOW = 1_700_000_000.0
CODE, ERROR = SegmentType.CODE_BLOCK, SegmentType.ERROR_LOG
_WORDS = ("redis cache", "boat sea", "of to in")


class Narrow(Meanings):
    """As `Meanings`, but for a dimension that all texts share: unrelated texts have 0.5."""

    def embed(
        self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        found = super().embed(texts, progress=progress)
        shared = np.ones((len(found), 1), np.float32)
        joined: NDArray[np.float32] = np.concatenate([found, shared], axis=1, dtype=np.float32)
        joined /= np.sqrt(2)
        return joined


def put(stash: StashService, text: str, kind: SegmentType = CODE, session: str = "s") -> str:
    """Put a text aside; return its id."""
    return stash.add(ContextSegment(text=text, type=kind, session_id=session)).id


def found(index: SegmentIndex, text: str, model: EmbeddingModel) -> tuple[FoundSegment, ...]:
    query = StashQuery(text=text, top_k=10, min_similarity=0)
    return retrieve(index, query, embed=model.embed_query, now=NOW)


def test_each_type_is_compared_by_its_own_model(stash: StashService, places: IndexPlaces) -> None:
    """A query means to code what the model of code knows, and to a message what the default one does."""
    plain, code = Meanings("redis cache"), Meanings("login token", "x y", model="code")
    model = combine_models(plain.asked, {CODE: code.asked})
    block, said = put(stash, "token()", session="a"), put(stash, "cache", SegmentType.MESSAGE, "b")
    index = opened(places)
    index.publish(model)
    assert [one.segment.id for one in found(index, "login", model) if one.parts["dense"] > 0] == [block]
    assert [one.segment.id for one in found(index, "redis", model) if one.parts["dense"] > 0] == [said]
    assert "cache" not in code.texts
    assert model.model == index.model == "meanings code_block=code"


def test_a_model_that_says_the_same_changes_nothing(stash: StashService, places: IndexPlaces) -> None:
    """Its background is that of the default model, so that similarities stay what they are."""
    plain, other = Meanings(*_WORDS), Meanings(*_WORDS, "unheard", model="other")
    for at, word in enumerate(("redis", "boat", "sea", "cache of redis")):
        put(stash, f"the {word} number {at}", (CODE, ERROR)[at % 2])
    single = opened(places, model=plain)
    both = opened(places)
    model = combine_models(plain.asked, {CODE: other.asked, ERROR: plain.asked})
    both.publish(model)
    assert both.blocks is not None
    assert (both.blocks.widths, both.blocks.backgrounds) == ((4, 5), (0.1, 0.1))
    assert found(both, "which cache?", model) == found(single, "which cache?", plain.asked)


def test_a_background_is_measured_against_the_default_model(stash: StashService, places: IndexPlaces) -> None:
    """Where a model finds everything near, what it finds no nearer than that counts nothing."""
    plain, narrow = Meanings(*_WORDS), Narrow(*_WORDS, model="narrow")
    for at in range(6):
        put(stash, f"{_WORDS[at % 2]} {at}", session=str(at))
    model = combine_models(plain.asked, {CODE: narrow.asked})
    index = opened(places)
    index.publish(model)
    assert index.blocks is not None
    vectors = plain.embed([index.text(row) for row in range(6)])
    mean = float(np.triu(vectors @ vectors.T, 1).sum() / 15)
    assert index.blocks.backgrounds == pytest.approx((0.1, 0.1 + (1 + mean) / 2 - mean), abs=1e-4)


def test_a_generation_of_several_models_answers_as_the_journal_does(
    stash: StashService, places: IndexPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever segments are in the generation, and whether it has a graph."""
    plain, other = Meanings(*_WORDS), Meanings(*_WORDS, "unheard", model="other")
    model = combine_models(plain.asked, {CODE: other.asked})
    texts = [f"the {word} number {at}" for at in range(4) for word in ("redis", "boat")]
    for text in texts[:5]:
        put(stash, text, CODE if "redis" in text else ERROR)
    first = opened(places)
    first.publish(model)
    for text in texts[5:]:
        put(stash, text, CODE if "redis" in text else ERROR)
    again = opened(places)
    again.embed_tail(model)
    whole = opened(places)
    whole.publish(model)
    assert (again.stored, whole.stored) == (5, 8)
    expected = found(whole, "which cache?", model)
    assert found(again, "which cache?", model) == expected
    monkeypatch.setattr("store.vectors.CROSSOVERS", Crossovers(sketches=2))
    whole.publish(model)
    assert whole.approximate
    assert found(whole, "which cache?", model) == expected
    path = places.latest("stash")
    assert isinstance(path, Path)
    assert b'"blocks"' in (path / "segments.arrays").read_bytes()


def test_an_edited_type_is_embedded_again(stash: StashService, places: IndexPlaces) -> None:
    """By the model of the new type with the next generation; the former vectors serve until then."""
    plain, other = Meanings(*_WORDS), Meanings(*_WORDS, "unheard", model="other")
    model = combine_models(plain.asked, {CODE: other.asked})
    first, _ = put(stash, "the redis"), put(stash, "the boat")
    index = opened(places)
    index.publish(model)
    assert not index.is_behind(model.model)
    stash.edit(first, type=ERROR)
    index.refresh()
    assert (index.is_behind(model.model), index.is_behind("")) == (True, False)
    assert found(index, "cache", model)[0].segment.id == first
    other.texts.clear()
    index.publish(model)
    assert ("the redis" in other.texts, index.is_behind(model.model)) == (False, False)
    width = index.blocks.widths[0] if index.blocks else 0
    query = model.embed_query(["cache"])[0]
    assert index.cosines(np.r_[query[:width], 0 * query[width:]])[index.row(first)] > 0.5


def test_models_come_and_go(stash: StashService, places: IndexPlaces) -> None:
    """Another set of models is due for a generation; of one model nothing of several is written."""
    plain, other = Meanings(*_WORDS), Meanings(*_WORDS, "unheard", model="other")
    model = combine_models(plain.asked, {CODE: other.asked})
    put(stash, "the redis")
    index = opened(places)
    index.publish(plain.asked)
    assert index.is_behind(model.model)
    index.publish(model)
    assert index.is_behind("meanings")
    assert ids(found(index, "cache", model))
    index.publish(plain.asked)
    path = places.latest("stash")
    assert isinstance(path, Path)
    data = (path / "segments.arrays").read_bytes()
    assert (index.blocks, b'"blocks"' in data, b"numbers" in data) == (None, False, False)
