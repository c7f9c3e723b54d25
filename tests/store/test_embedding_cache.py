"""No text is embedded twice, by any process, and a crash costs at most the last record."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import Popen
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import embedding_cache
from store.embedding_cache import CachedEmbedder, EmbeddingCache, as_stored
from tests.deep import times
from workbench.errors import ModelError, StoreError
from workbench.text.vectors import text_key

D = 8


class Counting:
    """An embedder whose vectors follow from the text and that notes what it was asked."""

    model = "counting@1"
    dimensions = D

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        """Give unit vectors made from the texts' hashes."""
        self.asked.extend(texts)
        rows = [np.frombuffer(text_key(text)[:D], np.uint8).astype(np.float32) + 1 for text in texts]
        matrix = np.array(rows, np.float32).reshape(len(texts), D)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def cached(root: Path, **options: Any) -> tuple[CachedEmbedder, Counting]:
    """A fresh reader of the cache under `root`, as another process would be."""
    embedder = Counting()
    return CachedEmbedder(embedder, EmbeddingCache(root, embedder.model, D, **options)), embedder


def held(embedder: CachedEmbedder, texts: Sequence[str]) -> list[bool]:
    return list(embedder.cache.get([text_key(text) for text in texts])[1].tolist())


def files(root: Path) -> tuple[Path, Path]:
    """The keys and vectors of the only generation."""
    (keys,) = root.glob("*/*/keys")
    return keys, keys.with_name("vectors")


def test_nothing_is_embedded_twice(tmp_path: Path) -> None:
    """Repeats in one call, a second call and another process all take the first result."""
    first, embedder = cached(tmp_path)
    vectors = first.embed(["a", "b", "a"])
    second, other = cached(tmp_path)
    again = second.embed(["a", "b", "a"])

    assert embedder.asked == ["a", "b"]
    assert other.asked == []
    assert vectors.tobytes() == again.tobytes()
    assert (first.hits, first.misses, second.hits, second.misses) == (1, 2, 3, 0)


def test_what_is_kept_is_its_owners_alone(tmp_path: Path) -> None:
    """Keys, vectors and their directories, whatever the umask."""
    before = os.umask(0)
    try:
        cached(tmp_path / "cache")[0].embed(["a"])
    finally:
        os.umask(before)
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert {path.name for path in kept} >= {"keys", "vectors"}
    assert [path for path in kept if path.stat().st_mode & 0o077] == []


def test_hits_and_misses_agree_to_the_byte(tmp_path: Path) -> None:
    """A vector is the same whether it was computed now or read from disk."""
    writer, _ = cached(tmp_path)

    assert writer.embed(["a"]).tobytes() == as_stored(Counting().embed(["a"])).tobytes()
    assert writer.embed(["b", "a"])[1].tobytes() == writer.embed(["a"]).tobytes()


def test_running_readers_see_what_others_append(tmp_path: Path) -> None:
    """A reader opened before a write finds the record without being reopened."""
    reader, embedder = cached(tmp_path)
    reader.embed(["first"])
    writer, _ = cached(tmp_path)
    writer.embed(["second"])

    reader.embed(["second"])

    assert embedder.asked == ["first"]


def test_models_do_not_mix(tmp_path: Path) -> None:
    """The same text under another model, or other dimensions, is another record."""
    one = EmbeddingCache(tmp_path, "a/model", 2)
    two = EmbeddingCache(tmp_path, "a-model", 2)
    three = EmbeddingCache(tmp_path, "a/model", 3)
    one.put([text_key("x")], np.array([[1, 0]], np.float32))

    assert [cache.get([text_key("x")])[1].tolist() for cache in (one, two, three)] == [
        [True],
        [False],
        [False],
    ]


@pytest.mark.parametrize(("keys_cut", "vectors_cut"), [(1, 0), (0, 1), (31, 5), (0, 20), (32, 0), (0, 19)])
def test_torn_record_is_ignored_and_sealed(tmp_path: Path, keys_cut: int, vectors_cut: int) -> None:
    """Whatever part of the last record is missing, the others stand and the next write repairs the file."""
    writer, _ = cached(tmp_path)
    writer.embed(["a", "b"])
    for path, cut in zip(files(tmp_path), (keys_cut, vectors_cut), strict=True):
        path.write_bytes(path.read_bytes()[: path.stat().st_size - cut])

    after, embedder = cached(tmp_path)
    vectors = after.embed(["a", "b", "c"])

    assert embedder.asked == ["b", "c"]
    last, untouched = cached(tmp_path)
    assert last.embed(["a", "b", "c"]).tobytes() == vectors.tobytes()
    assert untouched.asked == []


def test_damaged_vector_is_embedded_again(tmp_path: Path) -> None:
    """A record whose checksum is wrong is not believed, and its replacement is found from then on."""
    writer, _ = cached(tmp_path)
    expected = writer.embed(["a", "b"])
    path = files(tmp_path)[1]
    data = bytearray(path.read_bytes())
    data[3] ^= 0xFF
    path.write_bytes(data)

    reader, embedder = cached(tmp_path)

    assert reader.embed(["a", "b"]).tobytes() == expected.tobytes()
    assert embedder.asked == ["a"]
    assert held(cached(tmp_path)[0], ["a", "b"]) == [True, True]


def test_size_is_bounded_and_the_newest_stay(tmp_path: Path) -> None:
    """Past the limit the oldest records go; a reader of the old generation goes on working."""
    reader, _ = cached(tmp_path, limit=8)
    reader.embed(["0"])
    writer, _ = cached(tmp_path, limit=8)
    for number in range(1, 9):
        writer.embed([str(number)])

    assert len(writer.cache) == 6
    assert held(writer, [str(number) for number in range(9)]) == [False] * 3 + [True] * 6
    assert held(reader, ["0"]) == [True]
    assert held(reader, ["8"]) == [True]
    assert len(list(tmp_path.glob("*/*/keys"))) == 1


def test_progress_counts_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress ends at the number of texts and counts hits as done."""
    monkeypatch.setattr(embedding_cache, "_CHUNK", 2)
    embedder, _ = cached(tmp_path)
    embedder.embed(["a"])
    seen: list[tuple[int, int]] = []

    embedder.embed(["a", "b", "c", "c", "d"], progress=lambda done, total: seen.append((done, total)))

    assert seen == [(4, 5), (5, 5)]


def test_interruption_keeps_finished_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was embedded before an error is on disk."""
    monkeypatch.setattr(embedding_cache, "_CHUNK", 1)
    embedder, counting = cached(tmp_path)
    plain = counting.embed

    def fail_on_b(texts: Sequence[str]) -> Any:
        if "b" in texts:
            raise ModelError("broken")
        return plain(texts)

    monkeypatch.setattr(counting, "embed", fail_on_b)

    with pytest.raises(ModelError):
        embedder.embed(["a", "b"])
    assert held(embedder, ["a", "b"]) == [True, False]


def test_unwritable_cache_still_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cache cannot be written the vectors come all the same, and the reason is kept."""
    embedder, _ = cached(tmp_path)

    def refuse(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(embedder.cache, "put", refuse)

    assert embedder.embed(["a"]).shape == (1, D)
    assert embedder.write_error == "the disk is full"


@pytest.mark.parametrize("name", ["keys", "vectors"])
def test_what_is_no_file_in_a_files_place_is_left_behind(tmp_path: Path, name: str) -> None:
    """A directory there costs the vectors of that generation and no answer; the next one takes new ones."""
    cached(tmp_path)[0].embed(["a"])
    (path,) = tmp_path.glob(f"*/*/{name}")
    path.unlink()
    path.mkdir()

    embedder, _ = cached(tmp_path)
    assert embedder.embed(["a"]).shape == (1, D)
    assert embedder.write_error == ""
    again, asked = cached(tmp_path)
    again.embed(["a"])
    assert asked.asked == []


def test_wrong_shapes_are_refused(tmp_path: Path) -> None:
    """Vectors that do not fit their keys never reach the files."""
    cache = EmbeddingCache(tmp_path, "m", D)

    with pytest.raises(ValueError, match="1 keys"):
        cache.put([text_key("a")], np.ones((1, D + 1), np.float32))
    assert len(cache) == 0


WRITER = """
import sys
from pathlib import Path
import numpy as np
from store.embedding_cache import EmbeddingCache
from workbench.text.vectors import text_key
cache = EmbeddingCache(Path(sys.argv[1]), "m", 8)
for number in range(int(sys.argv[2]), int(sys.argv[2]) + 40):
    cache.put([text_key(str(number))], np.full((1, 8), number, np.float32))
"""


def test_many_processes_append(
    tmp_path: Path, start: Callable[..., Popen[str]], outputs: Callable[..., list[str]]
) -> None:
    """Processes writing overlapping records at once lose none and keep each vector with its key."""
    outputs([start(WRITER, tmp_path, first) for first in (0, 20, 40)])

    vectors, found = EmbeddingCache(tmp_path, "m", 8).get([text_key(str(number)) for number in range(80)])

    assert found.all()
    np.testing.assert_array_equal(vectors[:, 0], np.arange(80))


@settings(max_examples=times(8, 25), deadline=None)
@given(batches=st.lists(st.lists(st.text(max_size=3), max_size=6), max_size=6))
def test_cache_never_changes_an_answer(
    batches: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """For any sequence of calls the answers are those of the embedder, in the cache's precision."""
    embedder, _ = cached(tmp_path_factory.mktemp("cache"))

    for batch in batches:
        np.testing.assert_array_equal(embedder.embed(batch), as_stored(Counting().embed(batch)))


def test_no_text_is_in_it(tmp_path: Path) -> None:
    """Vectors are kept under a digest: whoever reads the cache reads no word."""
    cached(tmp_path)[0].embed(["the zebra sleeps at noon"])
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if b"zebra" in file.read_bytes()]
