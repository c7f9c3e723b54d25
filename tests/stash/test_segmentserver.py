"""A server says which segments to compare, never what the answer is: without it the answer is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.stash.conftest import Meanings
from tests.stash.test_segmentindex import add, found, ids, opened
from tests.store.collections import MemoryCollection
from workbench.ports import PointFilter
from workbench.records.segments import ContextSegment, SegmentFilters, SegmentType, StashQuery
from workbench.stash.retrieval import retrieve
from workbench.stash.segmentindex import IndexPlaces, SegmentIndex
from workbench.stash.segmentmodels import combine_models
from workbench.stash.segmentserver import (
    SegmentServer,
    field_rows,
    point_fields,
    point_keys,
    row_digests,
    segment_keys,
)
from workbench.stash.service import StashService

NOW = 1_700_000_000.0
WORDS = ("redis cache", "login token", "boat sea")
TEXTS = [
    f"the {word} of case {at}. It is a {word}." for at in range(5) for word in ("redis", "boat", "login")
]


class Asked(MemoryCollection):
    """A collection that keeps what it was asked: filters, and how many."""

    def __init__(self, dimensions: int = len(WORDS) + 1) -> None:
        super().__init__(dimensions)
        self.filters: list[PointFilter | None] = []
        self.counts: list[int] = []

    def search(self, query, k, only=None):  # type: ignore[no-untyped-def]
        self.filters.append(only)
        self.counts.append(k)
        return super().search(query, k, only)


def serve(index: SegmentIndex, collection: MemoryCollection, here: int = 0) -> SegmentServer:
    """Send a generation to a collection, and let that search it."""
    part = index.generation
    assert part is not None
    assert part.matrix is not None
    keys, rows = point_keys(part), field_rows(part, index.columns)
    collection.put(keys, part.matrix, point_fields(rows))
    index.server = SegmentServer(lambda: collection, np.diff(part.chunks.starts), here)
    return index.server


def served(
    stash: StashService, places: IndexPlaces, texts: Sequence[str] = TEXTS
) -> tuple[SegmentIndex, Asked]:
    model, collection = Meanings(*WORDS), Asked()
    add(stash, *texts)
    index = opened(places)
    index.publish(model.asked)
    serve(index, collection)
    return index, collection


def test_the_answer_is_that_of_this_machine(stash: StashService, places: IndexPlaces) -> None:
    """With a server and without one the same segments come back, with the same scores."""
    index, collection = served(stash, places)
    model = Meanings(*WORDS)
    for text in ("which cache?", "the sea", "a token for login", "case 3"):
        mine = found(opened(places), text, model)
        assert found(index, text, model) == mine
        assert mine
    assert collection.filters
    assert all(one is not None and one.least == {"expires": int(NOW) + 1} for one in collection.filters)


def test_what_happened_since_counts(stash: StashService, places: IndexPlaces) -> None:
    """What was removed, edited or stashed after the vectors were sent is seen as it is now."""
    index, _ = served(stash, places)
    model = Meanings(*WORDS)
    first, second = ids(found(index, "which cache?", model))[:2]
    stash.remove([first])
    stash.expire_at([second], "2020-01-01")
    fresh = add(stash, "a redis that is new")[0]
    server = index.server
    index.refresh()
    index.embed_tail(model.asked)
    assert index.server is server is not None
    answer = ids(found(index, "which cache?", model))
    assert fresh in answer
    assert not {first, second} & set(answer)
    stash.protect([second])
    index.refresh()
    assert second in ids(found(index, "which cache?", model))
    assert not server.fault


def test_filters_are_sent_and_checked(stash: StashService, places: IndexPlaces) -> None:
    """Types, topics, sessions and times are looked at by the server, globs of sources here."""
    model, collection = Meanings(*WORDS), Asked()
    stash.add_many(
        ContextSegment(
            text=f"the redis of case {at}",
            type=SegmentType.DECISION if at % 2 else SegmentType.MESSAGE,
            topic=f"t{at % 3}",
            session_id=f"s{at % 5}",
            source=f"src/{at}.py",
            timestamp=f"2023-01-{at + 1:02}",
        )
        for at in range(30)
    )
    index = opened(places)
    index.publish(model.asked)
    serve(index, collection)
    for filters in (
        SegmentFilters(types=(SegmentType.DECISION,)),
        SegmentFilters(topics=("t1", "'; --"), sessions=("s1", "s2")),
        SegmentFilters(start_time="2023-01-10", end_time="2023-01-20"),
        SegmentFilters(sources=("src/1*.py",)),
        SegmentFilters(topics=("nowhere",)),
    ):
        query = StashQuery(text="the redis cache", top_k=30, min_similarity=0, filters=filters)
        mine = retrieve(opened(places), query, embed=model.embed, now=NOW)
        assert retrieve(index, query, embed=model.embed, now=NOW) == mine
        assert bool(mine) is (filters.topics != ("nowhere",))
    sent = [one for one in collection.filters if one is not None]
    assert sent[0].among == {"type": ("decision",)}
    assert set(sent[1].among) == {"topic", "session"}
    assert {"time"} == set(sent[2].most) < set(sent[2].least)
    assert not sent[3].among


def test_a_server_that_fails_costs_nothing(stash: StashService, places: IndexPlaces) -> None:
    """One that goes away between two calls, or lost points: the same answer, and it is said once."""
    index, collection = served(stash, places)
    model = Meanings(*WORDS)
    expected = found(opened(places), "which cache?", model)
    collection.fails_after = len(collection.calls)
    assert found(index, "which cache?", model) == expected
    assert index.server is not None
    assert "cannot be reached" in index.server.fault
    calls = len(collection.calls)
    assert found(index, "which cache?", model) == expected
    assert len(collection.calls) == calls  # it is left alone
    collection.fails_after = 1_000_000
    collection.points = dict(list(collection.points.items())[::4])
    serve_again = SegmentServer(lambda: collection, index.server._sizes, 0)
    index.server = serve_again
    assert found(index, "which cache?", model) == expected
    assert not serve_again.fault


def test_few_are_compared_here(stash: StashService, places: IndexPlaces) -> None:
    """Where a filter leaves few segments none of them is sent anywhere, however many there are in all."""
    index, collection = served(stash, places)
    model = Meanings(*WORDS)
    assert index.server is not None
    index.server._here = 10_000
    assert found(index, "which cache?", model)
    assert not collection.filters


def test_many_that_are_gone_are_made_up_for() -> None:
    """A million segments, most of them not allowed: more are asked for, never which ones, then none."""
    count, collection = 1_000_000, Asked(2)
    sizes = np.ones(count, np.int64)
    allowed = np.zeros(count, np.bool_)
    allowed[::3] = True

    def answer(query: object, k: int, only: object = None) -> tuple[np.ndarray, np.ndarray]:
        collection.counts.append(k)
        keys = np.zeros((k, 16), np.uint8)
        keys[:, :8] = np.arange(k).astype(">u8").view(np.uint8).reshape(-1, 8)
        return keys, np.ones(k, np.float32)

    collection.search = answer  # type: ignore[method-assign]
    server = SegmentServer(lambda: collection, sizes, 100)
    query = np.array([1, 0], np.float32)
    rows = server.nearest(query, 300, lambda keys: keys.astype(np.int64), allowed, PointFilter())
    assert rows is not None
    assert len(rows) >= 300
    assert allowed[rows].all()
    assert collection.counts == [300, 1_200]
    allowed[:500_000] = False
    assert server.nearest(query, 300, lambda keys: keys.astype(np.int64), allowed, PointFilter()) is None
    assert max(collection.counts) == 10_000


def test_several_models_are_searched_one_by_one(stash: StashService, places: IndexPlaces) -> None:
    """Segments of a type with a model of its own are asked for with that model's number."""
    model, other = Meanings(*WORDS), Meanings("quay port", *WORDS, model="other")
    both = combine_models(model.asked, {SegmentType.DECISION: other.asked})
    stash.add_many(
        ContextSegment(text=text, type=SegmentType.DECISION if at % 2 else SegmentType.MESSAGE)
        for at, text in enumerate(TEXTS)
    )
    index, collection = opened(places), Asked(2 * (len(WORDS) + 1) + 1)
    index.publish(both)
    query = StashQuery(text="which cache?", top_k=10, min_similarity=0)
    mine = retrieve(opened(places), query, embed=both.embed_query, now=NOW)
    serve(index, collection)
    assert retrieve(index, query, embed=both.embed_query, now=NOW) == mine
    assert [one.among["model"] for one in collection.filters if one] == [("0",), ("1",)]


def test_keys_say_whose_and_of_what(stash: StashService, places: IndexPlaces) -> None:
    """A key is the same wherever it is made; another cut of the same segment has another one."""
    add(stash, *TEXTS, " ".join(f"word{at}" for at in range(90)))
    model = Meanings(*WORDS)
    index = opened(places)
    index.publish(model.asked)
    again = opened(places).generation
    part = index.generation
    assert part is not None
    assert again is not None
    keys = point_keys(part)
    assert np.array_equal(keys, point_keys(again))
    assert len(np.unique(keys, axis=0)) == len(keys) > len(part)
    owners = np.repeat(part.ids, np.diff(part.chunks.starts))
    assert np.array_equal(segment_keys(keys), owners)
    cut = SegmentIndex(replace(places, chunk_tokens=32, latest=lambda kind: None))
    cut.refresh()
    others = {key.tobytes() for key in point_keys(cut.parts()[0])}
    assert {key.tobytes() for key in keys} - others


def test_fields_tell_changes_apart(stash: StashService, places: IndexPlaces) -> None:
    """What filters look at has a digest, which another topic or expiry changes."""
    index, _ = served(stash, places)
    part = index.generation
    assert part is not None
    before = row_digests(field_rows(part, index.columns))
    assert len(set(before.tolist())) == 1  # all of one session, type and time
    stash.expire_at([index.record(0).id], "2030-01-01")
    index.refresh()
    rows = field_rows(part, index.columns)
    after = row_digests(rows)
    owned = np.flatnonzero(np.repeat(np.arange(len(part)), np.diff(part.chunks.starts)) == 0)
    assert np.flatnonzero(before != after).tolist() == owned.tolist()
    assert point_fields(rows)[0]["expires"] == 1_893_456_000
    assert point_fields(rows)[-1]["expires"] == np.iinfo(np.int64).max


@pytest.mark.parametrize("here", [0, 10_000])
def test_an_empty_answer_of_a_filter(stash: StashService, places: IndexPlaces, here: int) -> None:
    """A filter that lets nothing through asks nobody."""
    index, collection = served(stash, places)
    assert index.server is not None
    index.server._here = here
    nothing = np.zeros(len(index), np.bool_)
    query = np.array([1, 0, 0, 0], np.float32)
    assert not len(index.nearest(query, 5, nothing, PointFilter()))
    assert not collection.filters
