"""Vectors of texts come from a generation and, for what is newer, from the cache; always the same ones."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from store import generations
from store import vectors as vectors_module
from store.embedding_cache import EmbeddingCache, as_stored, cache_embeddings
from store.vector_store import PREFIX, VectorStore, stored_model
from store.vectors import EXACT, SKETCH, Crossovers
from tests.adapters import ManualClock
from workbench.errors import ModelError
from workbench.ports import Damaged
from workbench.text.vectors import text_key

D = 8
TEXTS = [f"text {number}" for number in range(40)]

Start = Callable[..., subprocess.Popen[str]]


class Counting:
    """An embedder whose vectors follow from the text and that notes what it was asked."""

    dimensions = D

    def __init__(self, model: str) -> None:
        self.model = model
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        """Give unit vectors made from the texts' hashes."""
        self.asked.extend(texts)
        rows = [
            np.frombuffer(text_key(self.model + text)[:D], np.uint8).astype(np.float32) - 99 for text in texts
        ]
        matrix = np.array(rows, np.float32).reshape(len(texts), D)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


class Place:
    """A project's state and a user's cache, as processes open them."""

    def __init__(self, root: Path, clock: ManualClock) -> None:
        self.root = root
        self.clock = clock

    def open(self, model: str = "m@1") -> tuple[VectorStore, Counting]:
        embedder = Counting(model)
        found = VectorStore(
            cache_embeddings(embedder, self.root / "home"), self.latest, self.publish, setting="a setting"
        )
        return found, embedder

    def latest(self, kind: str) -> Path | Damaged | None:
        found = generations.latest(self.root, kind)
        if isinstance(found, generations.DamagedGeneration):
            return Damaged(found.reason)
        return None if found is None else found.path

    def publish(self, kind: str, write: Callable[[Path], None]) -> Path:
        return generations.publish(self.root, kind, write, clock=self.clock).path

    def current(self, kind: str = "rules") -> Path:
        """Return the directory of the current generation, which must be sound."""
        path = self.latest(PREFIX + kind)
        assert isinstance(path, Path)
        return path


@pytest.fixture
def place(tmp_path: Path, clock: ManualClock) -> Place:
    return Place(tmp_path, clock)


def filled(
    place: Place, texts: Sequence[str] = TEXTS, model: str = "m@1", kind: str = "rules"
) -> VectorStore:
    vectors, _ = place.open(model)
    vectors.complete(kind, texts)
    assert vectors.keep(kind, texts)
    return vectors


def test_a_generation_holds_what_the_cache_does(place: Place) -> None:
    """Vectors are the same bytes from either, and those of a generation are mapped and need no cache."""
    before, known = filled(place).known_vectors("rules", TEXTS)
    by_cache = place.open()[0]
    by_cache.embed(TEXTS)
    (place.root / "home").rename(place.root / "gone")

    vectors, embedder = place.open()
    index, there = vectors.known_vectors("rules", TEXTS)

    assert known.all()
    assert there.all()
    assert index.vectors.tobytes() == before.vectors.tobytes() == by_cache.embed(TEXTS).tobytes()
    assert not index.vectors.flags.writeable
    assert embedder.asked == []


def test_nothing_known_is_nothing_stored(place: Place) -> None:
    """Without vectors there is no generation, nor with those of a part; without texts neither."""
    vectors, embedder = place.open()
    index, known = vectors.known_vectors("rules", TEXTS)

    assert not known.any()
    assert not index.vectors.any()
    assert not vectors.keep("rules", TEXTS)
    vectors.embed(TEXTS[:20])
    assert vectors.missing("rules", [*TEXTS, TEXTS[-1]]) == 20
    assert not vectors.keep("rules", TEXTS)
    assert not vectors.keep("rules", [])
    assert vectors.known_vectors("rules", [])[0].search(vectors.embed(["x"])[0], 3)[0].tolist() == []
    assert place.latest(PREFIX + "rules") is None
    assert len(embedder.asked) == 21


@pytest.mark.parametrize("method", [EXACT, SKETCH])
def test_what_came_since_is_the_tail(place: Place, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts removed, added, repeated and in another order are found as if all were in the generation."""
    sketches = 1 if method == SKETCH else 10**9
    monkeypatch.setattr(vectors_module, "CROSSOVERS", Crossovers(sketches=sketches))
    filled(place)
    texts = [*reversed(TEXTS[5:]), "new", TEXTS[7], "newer"]
    vectors, embedder = place.open()
    assert vectors.known_vectors("rules", texts)[1].tolist() == [True] * 35 + [False, True, False]

    index = vectors.complete("rules", texts)
    fresh = filled(place, texts).known_vectors("rules", texts)[0]

    assert embedder.asked == ["new", "newer"]
    assert index.approximate == (method == SKETCH)
    assert index.vectors.tobytes() == fresh.vectors.tobytes() == vectors.embed(texts).tobytes()
    for query in vectors.embed(["new", TEXTS[7], TEXTS[0]]):
        assert index.search(query, 38)[0].tolist() == fresh.search(query, 38)[0].tolist()
        assert index.search(query, 3)[0].tolist() == fresh.search(query, 3)[0].tolist()


def test_a_generation_holds_more_than_the_cache_does(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the cache has given up is written all the same, and is not embedded again with what is new."""
    monkeypatch.setattr(EmbeddingCache.__init__, "__kwdefaults__", {"limit": 8})
    filled(place)
    vectors, embedder = place.open()

    index = vectors.complete("rules", [*TEXTS, "new"])

    assert embedder.asked == ["new"]
    assert vectors.keep("rules", [*TEXTS, "new"])
    assert index.vectors.tobytes() == as_stored(Counting("m@1").embed([*TEXTS, "new"])).tobytes()
    assert place.open()[0].known_vectors("rules", [*TEXTS, "new"])[1].all()


def test_a_generation_is_written_once(place: Place) -> None:
    """The same texts again change nothing; an index that others wrote is seen without opening anew."""
    reader, _ = place.open()
    reader.known_vectors("rules", TEXTS)
    vectors = filled(place)
    first = place.current()

    assert not vectors.keep("rules", TEXTS)
    assert not reader.keep("rules", TEXTS)
    assert place.current() == first
    assert reader.known_vectors("rules", TEXTS)[1].all()


def test_generations_are_swapped_under_readers(place: Place) -> None:
    """An index that is in use answers from its own generation, whatever is published meanwhile."""
    reader = filled(place)
    index = reader.known_vectors("rules", TEXTS)[0]
    query = reader.embed(["text 3"])[0]
    before = index.search(query, 5)
    assert before[0][0] == 3

    for number in range(3):
        filled(place, [f"other {number}", *TEXTS])
        found = reader.known_vectors("rules", TEXTS)[0].search(query, 5)
        assert found[0].tolist() == before[0].tolist()
        assert index.search(query, 5)[1].tolist() == before[1].tolist()


def test_two_processes_keep_the_same_texts(place: Place) -> None:
    """Whoever comes second finds that there is nothing to write."""
    one, two = filled(place), place.open()[0]

    assert not two.keep("rules", TEXTS)
    assert (
        one.known_vectors("rules", TEXTS)[0].vectors.tobytes()
        == two.known_vectors("rules", TEXTS)[0].vectors.tobytes()
    )


KILLED = """
import sys
from pathlib import Path
from store import generations
from store.clock import SystemClock
import numpy as np
from store.vectors import build_index
def write(path):
    build_index(np.eye(8, dtype=np.float32), model="m@1").save(path, "rules")
    print("building", flush=True)
    sys.stdin.readline()
generations.publish(Path(sys.argv[1]), "vectors_rules", write, clock=SystemClock())
"""


def test_a_writer_killed_while_building_changes_nothing(place: Place, start: Start) -> None:
    """Readers keep the generation before, and the next writer cleans up."""
    filled(place)
    first = place.current()
    process = start(KILLED, place.root)
    assert process.stdout is not None
    assert process.stdout.readline() == "building\n"
    process.kill()
    process.communicate()

    vectors, embedder = place.open()

    assert place.current() == first
    assert vectors.known_vectors("rules", TEXTS)[1].all()
    filled(place, TEXTS[:9])
    assert embedder.asked == []
    assert list((place.root / "index").glob(f".{PREFIX}*")) == []


@pytest.mark.parametrize("name", ["vectors.npy", "keys.npy", "about.json", "manifest.json"])
@pytest.mark.parametrize("content", [None, b"", b"damaged"])
def test_a_damaged_generation_is_built_again_and_says_so(
    place: Place, name: str, content: bytes | None
) -> None:
    """The cache answers with the same vectors, a note names the damage, the next writer replaces it."""
    expected = filled(place).known_vectors("rules", TEXTS)[0].vectors.tobytes()
    path = place.current() / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)

    vectors, embedder = place.open()
    index, known = vectors.known_vectors("rules", TEXTS)

    assert known.all()
    assert index.vectors.tobytes() == expected
    assert embedder.asked == []
    (note,) = vectors.notes
    assert note.startswith("the vector index of rules is damaged")
    assert "workbench index" in note
    assert vectors.keep("rules", TEXTS)
    again, _ = place.open()
    assert again.known_vectors("rules", TEXTS)[1].all()
    assert again.notes == []


def test_files_of_one_generation_that_do_not_fit_are_damage(place: Place) -> None:
    """Keys of other texts than the vectors' are not believed."""
    filled(place)
    path = place.current()
    size = (path / "keys.npy").stat().st_size
    np.save(path / "keys.npy", np.zeros((39, 32), np.uint8))
    with (path / "keys.npy").open("ab") as file:
        file.write(bytes(size - file.tell()))

    vectors, _ = place.open()

    assert vectors.known_vectors("rules", TEXTS)[1].all()
    assert vectors.notes


def test_another_model_has_vectors_of_its_own(place: Place) -> None:
    """A generation serves the model that it is of; the other's replaces it once it is complete."""
    filled(place)
    assert stored_model(place.latest) is not None
    new, embedder = place.open("m@2")
    assert not new.known_vectors("rules", TEXTS)[1].any()
    assert new.notes == []
    seen: list[tuple[int, int]] = []

    new.complete("rules", TEXTS, progress=lambda done, total: seen.append((done, total)))

    assert seen[-1] == (40, 40)
    assert embedder.asked == TEXTS
    old, _ = place.open()
    assert old.known_vectors("rules", TEXTS)[1].all()
    assert new.keep("rules", TEXTS)
    found = stored_model(place.latest)
    assert found is not None
    assert (found.model, found.setting, found.records, found.count) == ("m@2", "a setting", "rules", 40)
    assert old.known_vectors("rules", [*TEXTS, "one"])[1].tolist() == [True] * 40 + [
        False
    ]  # from the cache, as before


def test_past_tasks_say_which_model_serves(place: Place) -> None:
    """They are prepared last: while they are of the former model, that one serves."""
    assert stored_model(place.latest) is None
    filled(place, model="m@1", kind="tasks")
    filled(place, model="m@2", kind="rules")

    found = stored_model(place.latest)
    assert found is not None
    assert found.model == "m@1"
    (place.current("tasks") / "about.json").write_bytes(b"{}")
    assert stored_model(place.latest) is None or stored_model(place.latest).model == "m@2"  # type: ignore[union-attr]


def test_a_model_that_gives_no_numbers_stores_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors that are not finite are refused with the model's name."""
    vectors, embedder = place.open()
    monkeypatch.setattr(embedder, "embed", lambda texts: np.full((len(texts), D), np.nan, np.float32))
    vectors.complete("rules", TEXTS)

    with pytest.raises(ModelError, match="m@1"):
        vectors.keep("rules", TEXTS)
    assert place.latest(PREFIX + "rules") is None


def test_a_cache_that_cannot_be_written_costs_reuse(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vectors are there all the same."""
    (place.root / "home").write_bytes(b"")
    vectors, embedder = place.open()

    index = vectors.complete("rules", TEXTS)

    assert len(index.vectors) == 40
    assert len(embedder.asked) == 40
    assert vectors.lookups == (0, 40)
