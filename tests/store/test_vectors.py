"""Both vector indexes give the nearest neighbours in a fixed order, under filters and after reopening."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import vectors as vectors_module
from store.vectors import ExactIndex, HnswIndex, best, load_index, open_index
from workbench.errors import StoreError
from workbench.ports import VectorIndex

D = 16


def unit(count: int, seed: int = 0) -> Any:
    """Unit vectors float32 [count, D]."""
    rows = np.random.default_rng(seed).normal(size=(count, D)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(params=[ExactIndex, HnswIndex])
def kind(request: pytest.FixtureRequest) -> Any:
    """Each implementation in turn."""
    return request.param


def test_nearest_come_first(kind: Any) -> None:
    """The result is what sorting all cosines gives."""
    vectors, ids = unit(200), np.arange(1000, 1200)
    query = unit(1, 5)[0]

    found, scores = kind(vectors, ids).search(query, 10)

    cosines = vectors @ query
    assert found.tolist() == (1000 + np.argsort(-cosines)[:10]).tolist()
    np.testing.assert_allclose(scores, np.sort(cosines)[::-1][:10], atol=1e-6)


def test_equal_vectors_come_by_id(kind: Any) -> None:
    """Ties break by id, whatever the order of insertion."""
    vectors = np.repeat(unit(1), 6, axis=0)

    found, _ = kind(vectors, np.array([5, 3, 9, 1, 7, 2])).search(vectors[0], 4)

    assert found.tolist() == [1, 2, 3, 5]


@pytest.mark.parametrize(("k", "expected"), [(0, 0), (-1, 0), (3, 3), (5, 5), (500, 5)])
def test_k_is_clamped(kind: Any, k: int, expected: int) -> None:
    """Asking for more than there is gives what there is."""
    found, scores = kind(unit(5), np.arange(5)).search(unit(1)[0], k)

    assert len(found) == len(scores) == expected


def test_empty_index_answers(kind: Any) -> None:
    """An index without vectors finds nothing."""
    index: VectorIndex = kind(unit(0), np.empty(0, np.int64))

    assert index.search(unit(1)[0], 3)[0].tolist() == []
    assert index.search(unit(1)[0], 3, np.array([1]))[0].tolist() == []


def test_filter_goes_before_the_search(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allowed ids fill k even where all of them are far away; unknown ids are no error."""
    monkeypatch.setattr(vectors_module, "CROSSOVER", 4)  # so that the graph meets a wide filter, too
    vectors, ids = unit(300), np.arange(300)
    query = unit(1, 7)[0]
    index = kind(vectors, ids)
    far = np.argsort(vectors @ query)

    for count in (0, 3, 40):
        allowed = np.concatenate([far[:count], [10_000, -5]])
        found, _ = index.search(query, 10, allowed)
        assert found.tolist() == far[:count][::-1][:10].tolist()


def test_stored_index_gives_the_same_answers(kind: Any, tmp_path: Path) -> None:
    """Saving and opening changes no answer, and the kind stays."""
    index = kind(unit(100), np.arange(100))
    index.save(tmp_path / "1")

    opened = load_index(tmp_path / "1")

    assert type(opened) is kind
    for seed in range(5):
        query = unit(1, seed + 50)[0]
        before, after = index.search(query, 7), opened.search(query, 7)
        assert before[0].tobytes() == after[0].tobytes()
        assert before[1].tobytes() == after[1].tobytes()


def test_same_vectors_build_the_same_graph(tmp_path: Path) -> None:
    """Building is deterministic, to the byte, whatever the memory held before."""
    for name in ("a", "b"):
        for size in range(100, 5000, 100):
            np.full(size, ord(name), np.uint8)
        HnswIndex(unit(300), np.arange(300)).save(tmp_path / name)

    assert (tmp_path / "a" / "graph.bin").read_bytes() == (tmp_path / "b" / "graph.bin").read_bytes()


@pytest.mark.parametrize("name", ["vectors.npy", "ids.npy", "graph.bin"])
@pytest.mark.parametrize("content", [b"", b"not an array at all"])
def test_damaged_index_is_a_store_error(tmp_path: Path, name: str, content: bytes) -> None:
    """A damaged file is named by an error that says what to do."""
    HnswIndex(unit(20), np.arange(20)).save(tmp_path / "1")
    (tmp_path / "1" / name).write_bytes(content)

    with pytest.raises(StoreError) as caught:
        load_index(tmp_path / "1")
    assert caught.value.hint


def test_missing_index_is_a_store_error(tmp_path: Path) -> None:
    """Opening what is not there says so."""
    with pytest.raises(StoreError):
        load_index(tmp_path / "none")


def test_generations_are_never_overwritten(kind: Any, tmp_path: Path) -> None:
    """Saving over an index is refused and leaves it, and no scraps, behind."""
    kind(unit(3), np.arange(3)).save(tmp_path / "1")

    with pytest.raises(StoreError):
        kind(unit(4), np.arange(4)).save(tmp_path / "1")

    assert len(load_index(tmp_path / "1")) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["1"]


def test_kind_follows_the_crossover(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few vectors are searched exactly, many through the graph."""
    monkeypatch.setattr(vectors_module, "CROSSOVER", 10)

    assert isinstance(open_index(unit(9), np.arange(9)), ExactIndex)
    assert isinstance(open_index(unit(10), np.arange(10)), HnswIndex)


def test_mismatched_shapes_are_refused(kind: Any) -> None:
    """As many ids as vectors, or an error at once."""
    with pytest.raises(ValueError, match="do not fit"):
        kind(unit(3), np.arange(4))


@settings(max_examples=50, deadline=None)
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
