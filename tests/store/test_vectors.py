"""The vector index gives the nearest neighbours in a fixed order, exactly and by its graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import vectors as vectors_module
from store.vectors import (
    BATCH_SHARE,
    EXACT,
    HNSWLIB,
    SKETCH,
    CosineIndex,
    Crossovers,
    GraphSize,
    build_index,
    candidate_count,
    load_index,
    make_sketches,
    map_rows,
)
from tests.deep import times
from tests.extras import needs_graph
from workbench.errors import ModelError, StoreError
from workbench.text.vectors import best, cosines

D = 16


def unit(count: int, seed: int = 0, dimensions: int = D) -> Any:
    """Unit vectors float32 [count, dimensions]."""
    rows = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def clustered(count: int, seed: int = 0, dimensions: int = 32) -> Any:
    """Unit vectors around a few topics, as those of texts are."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(20, dimensions))
    rows = 0.7 * centres[random.integers(0, 20, count)] + random.normal(size=(count, dimensions))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def cross(monkeypatch: pytest.MonkeyPatch, sketches: int = 10**9, graph: int = 10**9) -> None:
    """Set from how many vectors on there are sketches, or graphs."""
    monkeypatch.setattr(vectors_module, "CROSSOVERS", Crossovers(sketches, graph))


@pytest.fixture(params=[EXACT, SKETCH])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way of searching a stored index in turn, whatever the number of vectors."""
    cross(monkeypatch, sketches=1 if request.param == SKETCH else 10**9)
    monkeypatch.setattr(vectors_module, "LEAST_CANDIDATES", 10)
    return str(request.param)


def saved(index: CosineIndex, path: Path) -> Path:
    path.mkdir()
    index.save(path, "things", "a setting")
    return path


def test_nearest_come_first(method: str) -> None:
    """The result is what sorting all cosines gives."""
    vectors, query = unit(200), unit(1, 5)[0]
    index = build_index(vectors)

    found, scores = index.search(query, 10)

    assert index.method == method
    assert found.tolist() == np.argsort(-(vectors @ query))[:10].tolist()
    np.testing.assert_allclose(scores, np.sort(vectors @ query)[::-1][:10], atol=1e-5)


def test_equal_vectors_come_by_row(method: str) -> None:
    """Ties break by row."""
    vectors = np.repeat(unit(1), 6, axis=0)

    assert build_index(vectors).search(vectors[0], 4)[0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("k", "expected"), [(0, 0), (-1, 0), (3, 3), (5, 5), (500, 5)])
def test_k_is_clamped(method: str, k: int, expected: int) -> None:
    """Asking for more than there is gives what there is."""
    found, scores = build_index(unit(5)).search(unit(1)[0], k)

    assert len(found) == len(scores) == expected


def test_empty_index_answers(method: str, tmp_path: Path) -> None:
    """An index without vectors finds nothing, reopened as well."""
    index = build_index(unit(0))

    for one in (index, load_index(saved(index, tmp_path / "1"))):
        assert one.search(unit(1)[0], 3)[0].tolist() == []
        assert one.search(unit(1)[0], 3, np.array([1]))[0].tolist() == []
        assert one.cosines(unit(1)[0]).tolist() == []


def test_filter_goes_before_the_search(method: str) -> None:
    """Allowed rows fill k even where all of them are far away; unknown rows are no error."""
    vectors, query = unit(300), unit(1, 7)[0]
    index = build_index(vectors)
    far = np.argsort(vectors @ query)

    for count in (0, 3, 40):
        allowed = np.concatenate([far[:count], [10_000, -5]])
        found, _ = index.search(query, 10, allowed)
        assert found.tolist() == far[:count][::-1][:10].tolist()


@pytest.mark.parametrize("share", [1.0, 0.5, 0.05])
@pytest.mark.parametrize("method", [SKETCH, pytest.param(HNSWLIB, marks=needs_graph)])
def test_what_is_approximate_finds_what_exact_search_finds(
    method: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recall@10 is at least 0.97, with and without filters."""
    cross(monkeypatch, sketches=100, graph=100)
    monkeypatch.setattr(vectors_module, "WIDTH", 24)
    monkeypatch.setattr(vectors_module, "LEAST_CANDIDATES", 400)
    vectors, queries = clustered(3000), clustered(50, 9)
    allowed = None if share == 1.0 else np.flatnonzero(np.random.default_rng(1).random(3000) < share)
    index = build_index(vectors, searches=3000 if method == HNSWLIB else 1)
    exact = CosineIndex(vectors)
    assert (index.method, exact.approximate) == (method, False)

    shared = [
        len(set(index.search(query, 10, allowed)[0]) & set(exact.search(query, 10, allowed)[0])) / 10
        for query in queries
    ]

    assert np.mean(shared) >= 0.97


@needs_graph
def test_a_batchs_graph_is_as_large_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """It links a vector to `m` others, and a search compares a share of `ef` at least."""
    cross(monkeypatch, graph=100)
    for size in (GraphSize(), GraphSize(m=8, ef=512)):
        index = build_index(unit(300), searches=300, graph_size=size)
        index.search(unit(1)[0], 3)
        assert (index._graph.M, index._graph.ef) == (size.m, size.ef // BATCH_SHARE)


def test_vectors_that_sketches_do_not_tell_apart_are_searched_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What differs alike in all directions has no sketches, what does not has."""
    cross(monkeypatch, sketches=100)
    monkeypatch.setattr(vectors_module, "WIDTH", 8)
    monkeypatch.setattr(vectors_module, "LEAST_CANDIDATES", 50)
    flat = unit(2000, dimensions=64)
    narrow = np.hstack([unit(2000, dimensions=8), np.zeros((2000, 56), np.float32)])

    assert make_sketches(flat) is None
    assert build_index(flat).method == EXACT
    assert build_index(narrow).method == SKETCH


def test_cosines_are_of_all_or_of_the_nearest(method: str) -> None:
    """An exact index has every cosine, an approximate one NaN for what is far."""
    vectors, query = unit(200), unit(1, 5)[0]

    found = build_index(vectors).cosines(query, 20)

    there = ~np.isnan(found)
    assert found[there].tolist() == cosines(vectors, query)[there].tolist()
    nearest = np.argsort(-(vectors @ query), kind="stable")[:20]
    assert there[nearest].all()
    assert there.all() == (method == EXACT)
    assert method == EXACT or there.sum() == 20


def test_what_came_after_an_index_is_searched(method: str) -> None:
    """Vectors that are gone are not found, later ones are, and the others at their new rows."""
    vectors = unit(60)
    index = build_index(vectors[:50])
    labels = np.concatenate([np.full(10, -1), np.arange(40)])  # the first ten are gone

    moved = index.move_to(vectors[10:], labels)

    for query in unit(20, 4):
        expected = CosineIndex(vectors[10:]).search(query, 50)
        found = moved.search(query, 50)
        assert found[0].tolist() == expected[0].tolist()
        assert found[1].tolist() == expected[1].tolist()
        some = np.arange(30, 50)
        assert (
            moved.search(query, 50, some)[0].tolist()
            == CosineIndex(vectors[10:]).search(query, 50, some)[0].tolist()
        )


def test_stored_index_gives_the_same_answers(method: str, tmp_path: Path) -> None:
    """Saving and opening changes no answer, and the method and the model stay."""
    index = build_index(unit(100), model="m@1")

    opened = load_index(saved(index, tmp_path / "1"))

    assert (opened.method, opened.model, len(opened)) == (method, "m@1", 100)
    for seed in range(5):
        query = unit(1, seed + 50)[0]
        before, after = index.search(query, 7), opened.search(query, 7)
        assert before[0].tobytes() == after[0].tobytes()
        assert before[1].tobytes() == after[1].tobytes()


@pytest.mark.parametrize("searches", [1, pytest.param(300, marks=needs_graph)])
def test_same_vectors_build_the_same_index(searches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Building is deterministic, whatever the memory held before."""
    cross(monkeypatch, sketches=1, graph=1)
    monkeypatch.setattr(vectors_module, "LEAST_CANDIDATES", 10)
    found = []
    for filler in (1, 2):
        for size in range(100, 5000, 100):
            np.full(size, filler, np.uint8)
        index = build_index(unit(300), searches=searches)
        found.append([index.search(query, 12)[0].tolist() for query in unit(20, 3)])

    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["vectors.npy", "about.json"])
@pytest.mark.parametrize("content", [None, b"", b"not an array at all", b'{"records":"x"}'])
def test_damaged_index_is_a_store_error(tmp_path: Path, name: str, content: bytes | None) -> None:
    """A damaged or missing file is named by an error that says what to do."""
    saved(build_index(unit(20)), tmp_path / "1")
    path = tmp_path / "1" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(StoreError) as caught:
        load_index(tmp_path / "1")
    assert caught.value.hint


@pytest.mark.parametrize("name", ["basis.npy", "sketches.npy"])
@pytest.mark.parametrize("content", [None, b"", b"no matrix at all"])
def test_damaged_sketches_cost_time_and_no_answer(
    tmp_path: Path, name: str, content: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its sketches the vectors are searched exactly."""
    cross(monkeypatch, sketches=1)
    path = saved(build_index(unit(100)), tmp_path / "1") / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)

    index = load_index(tmp_path / "1")

    query = unit(1, 3)[0]
    assert index.method == EXACT
    assert index.search(query, 9)[0].tolist() == CosineIndex(unit(100)).search(query, 9)[0].tolist()


def test_an_index_with_a_graph_of_an_earlier_version_is_searched_exactly(tmp_path: Path) -> None:
    """Its vectors are where they were; the next generation has what this version writes."""
    path = saved(build_index(unit(100)), tmp_path / "1")
    about = (path / "about.json").read_bytes()
    (path / "about.json").write_bytes(about.replace(b'"exact"', b'"hnswlib"'))

    assert load_index(path).method == EXACT


@needs_graph
def test_method_follows_the_number_of_vectors_and_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few vectors are searched exactly, many by sketches; a batch has a graph earlier."""
    cross(monkeypatch, sketches=20, graph=10)

    assert [build_index(unit(count)).method for count in (19, 20)] == [EXACT, SKETCH]
    assert [build_index(unit(count), searches=count).method for count in (9, 10)] == [EXACT, HNSWLIB]


@pytest.mark.parametrize(
    ("count", "k", "most"), [(1_000, 10, 1_000), (1_000_000, 10, 4_000), (9, 900, 3_600)]
)
def test_candidates_follow_the_number_of_vectors(count: int, k: int, most: int) -> None:
    """There are enough to choose from, whatever is asked for."""
    assert candidate_count(count, k) == most


def test_values_that_are_not_finite_are_refused(method: str) -> None:
    """A model's broken vector is named as what it is; a broken query is an error of the caller."""
    broken = unit(5)
    broken[2, 3] = np.nan

    with pytest.raises(ModelError, match="not finite"):
        build_index(broken, model="m")
    for value in (np.nan, np.inf):
        query = unit(1)[0]
        query[0] = value
        with pytest.raises(ValueError, match="not finite"):
            build_index(unit(5)).search(query, 3)


def test_other_dimensions_are_refused(method: str) -> None:
    """A query of another model's size has no answer."""
    index = build_index(unit(5))

    for ask in (index.cosines, lambda query: index.search(query, 3)):
        with pytest.raises(ValueError, match="does not fit"):
            ask(unit(1, dimensions=D + 1)[0])
    with pytest.raises(ValueError, match="no matrix"):
        CosineIndex(unit(1)[0])


@settings(max_examples=times(16, 50), deadline=None)
@given(
    scores=st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=30),
    k=st.integers(-1, 35),
    seed=st.integers(0, 9),
)
def test_best_is_sorting(scores: list[float], k: int, seed: int) -> None:
    """Selecting the best is the same as sorting by (-score, id) and cutting."""
    ids = np.random.default_rng(seed).permutation(len(scores)).astype(np.int64)

    found, values = best(ids, np.array(scores, np.float32), k)

    expected = sorted(zip(ids.tolist(), scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
    assert list(zip(found.tolist(), values.tolist(), strict=True)) == expected[: max(k, 0)]


def test_cosines_are_the_same_in_any_company() -> None:
    """A row's cosine does not depend on the rows beside it, nor on where they are in memory."""
    vectors, query = unit(500, dimensions=384), unit(1, 8, 384)[0]
    whole = cosines(vectors, query)

    for rows in ([3], [400, 3, 77], list(range(1, 500, 7))):
        assert cosines(vectors[rows], query).tobytes() == whole[rows].tobytes()


@pytest.mark.parametrize(
    "saved", [np.ones((3, 4), np.float32), np.ones((2, 32), np.uint8), np.zeros((0, 4), "<f4")]
)
@pytest.mark.parametrize("lay", [np.ascontiguousarray, np.asfortranarray])
def test_what_numpy_saved_is_mapped(tmp_path: Path, saved: Any, lay: Any) -> None:
    """A matrix is what numpy loads, however it was laid out; a cut file is an error."""
    path = tmp_path / "rows.npy"
    np.save(path, lay(saved))
    rows = map_rows(path)

    assert rows.dtype == saved.dtype
    assert np.array_equal(rows, np.load(path))
    path.write_bytes(path.read_bytes()[:-1] if saved.size else b"no")
    with pytest.raises((ValueError, EOFError)):
        map_rows(path)
