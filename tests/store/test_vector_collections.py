"""Wherever vectors are kept they have the same neighbours: here, in a graph, in Qdrant, in PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from store import vectors as local
from store.postgres.connection import Connections
from store.postgres.vectors import PostgresVectors
from store.vectors import Crossovers
from tests.extras import needs_graph
from tests.postgres_server import DatabaseServer
from tests.store.collections import MemoryCollection, key_numbers, numbered_keys, random_vectors
from tests.teams import Team
from workbench.errors import ConfigError, StoreError
from workbench.ports import PointFilter, VectorCollection

if TYPE_CHECKING:
    from workbench.ports import Float32

COUNT, DIMENSIONS = 300, 384
HOSTILE = ("\0", "'); DROP TABLE vectors; --", '"}{', "\ud800", "[bold]x[/bold]", "‮abc", "x" * 100_000)
SERVER = os.environ.get("QDRANT_TEST_URL", "")
needs_qdrant = pytest.mark.skipif(find_spec("qdrant_client") is None, reason="qdrant-client is not installed")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
]

Open = Callable[..., VectorCollection]


@pytest.fixture(scope="module")
def team(postgres: DatabaseServer) -> Iterator[Team]:
    team = Team(postgres)
    yield team
    team.owner.close()


@pytest.fixture(
    params=[
        "exact",
        pytest.param("hnswlib", marks=needs_graph),
        pytest.param("qdrant", marks=needs_qdrant),
        pytest.param(
            "qdrant-server", marks=pytest.mark.skipif(not SERVER, reason="QDRANT_TEST_URL is not set")
        ),
        "pgvector",
    ]
)
def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Open collections of a store by their models."""
    if request.param in ("exact", "hnswlib"):
        monkeypatch.setattr(local, "CROSSOVERS", Crossovers(graph=50))
        build = local.CosineIndex if request.param == "exact" else _graph
        kept: dict[str, MemoryCollection] = {}
        yield lambda model="m", dimensions=DIMENSIONS: kept.setdefault(
            model, MemoryCollection(dimensions, model, build)
        )
    elif request.param == "pgvector":
        yield from _postgres(request.getfixturevalue("team"))
    elif request.param == "qdrant-server":
        yield from _qdrant(SERVER)
    else:
        from tests.qdrant_server import FakeQdrant

        fake = FakeQdrant()
        yield from _qdrant(fake.url)
        fake.close()


def _graph(vectors: Float32) -> local.CosineIndex:
    return local.build_index(vectors, searches=len(vectors))


def _postgres(team: Team) -> Iterator[Open]:
    project = team.project("anna")
    # So few would be sorted; the order has to come from the graph, as it does of many.
    team.execute(f"ALTER ROLE {team.role('anna')} SET enable_sort = off")
    connections = Connections(team.url("anna"))

    def collection(model: str = "m", dimensions: int = DIMENSIONS) -> PostgresVectors:
        return PostgresVectors(connections, project, "stash", model, dimensions)

    yield collection
    connections.close()


def _qdrant(url: str) -> Iterator[Open]:
    from store.qdrant import QdrantServer
    from store.qdrant_collection import QdrantCollection

    server = QdrantServer(url)

    def collection(model: str = "m", dimensions: int = DIMENSIONS) -> QdrantCollection:
        return QdrantCollection(server, "tests", model, dimensions, {}, words=False)

    yield collection
    for name in server.names():
        server.drop(name)
    server.close()


def fields(count: int) -> list[dict[str, Any]]:
    """Return fields for points: a kind out of three, and a time."""
    return [{"kind": f"k{at % 3}", "time": at} for at in range(count)]


def filled(opened: Open, count: int = COUNT) -> tuple[VectorCollection, np.ndarray]:
    """Return a collection with so many points, and their vectors."""
    collection, vectors = opened(), random_vectors(count, DIMENSIONS)
    collection.put(numbered_keys(count), vectors, fields(count))
    return collection, vectors


def test_neighbours_are_the_nearest(opened: Open) -> None:
    """Of the ten nearest 97 of 100 are found, and their similarities are the cosines."""
    collection, vectors = filled(opened)
    queries = random_vectors(20, DIMENSIONS, seed=2)
    exact = local.CosineIndex(vectors)
    hits = 0
    for query in queries:
        keys, scores = collection.search(query, 10)
        expected, _ = exact.search(query, 10)
        hits += len(set(key_numbers(keys)) & set(expected.tolist()))
        assert np.allclose(scores, (vectors @ query)[key_numbers(keys)], atol=2e-3)
        assert (np.diff(scores) <= 1e-6).all()
    assert hits >= 0.97 * 10 * len(queries)


def test_filters_come_before_the_search(opened: Open) -> None:
    """As many as are asked for are found among those that pass, however rare they are."""
    collection, vectors = filled(opened)
    query = vectors[0]
    for only, wanted in (
        (PointFilter({"kind": ("k1",)}), {at for at in range(COUNT) if at % 3 == 1}),
        (PointFilter({"kind": ("k0", "k2")}, {"time": 290}), {at for at in range(290, COUNT) if at % 3 != 1}),
        (PointFilter({}, {"time": 100}, {"time": 104}), set(range(100, 105))),
        (PointFilter({"kind": ("k1'); --",)}), set()),
        (PointFilter({"unknown": ("k1",)}), set()),
    ):
        keys, _ = collection.search(query, 5, only)
        found = set(key_numbers(keys))
        assert found <= wanted
        assert len(found) == min(5, len(wanted))
        best = sorted(wanted, key=lambda at: -float(vectors[at] @ query))[:5]
        assert len(found & set(best)) >= len(best) - 1


def test_equal_vectors_all_come_back(opened: Open) -> None:
    """Points at the same place are as near as each other, and none hides another one."""
    collection, vectors = opened(), random_vectors(60, DIMENSIONS)
    vectors[10:20] = vectors[10]
    collection.put(numbered_keys(60), vectors, fields(60))
    keys, scores = collection.search(vectors[10], 10)
    assert set(key_numbers(keys)) == set(range(10, 20))
    assert np.allclose(scores, scores[0], atol=1e-5)


def test_points_are_replaced_and_removed(opened: Open) -> None:
    """A key has one vector, the last; a removed one is not found, and an unknown one can be removed."""
    collection, vectors = filled(opened, 100)
    assert collection.count() == 100
    collection.put(numbered_keys(1), vectors[50:51], [{"kind": "new", "time": 0}])
    assert collection.count() == 100
    keys, _ = collection.search(vectors[50], 2)
    assert set(key_numbers(keys)) == {0, 50}
    keys, _ = collection.search(vectors[50], 9, PointFilter({"kind": ("new",)}))
    assert key_numbers(keys) == [0]
    collection.delete(numbered_keys(3, start=49))
    collection.delete(numbered_keys(3, start=49))
    collection.delete(numbered_keys(0))
    assert collection.count() == 97
    keys, _ = collection.search(vectors[50], 1)
    assert key_numbers(keys) == [0]
    found, known = collection.vectors(numbered_keys(4, start=48))
    assert known.tolist() == [True, False, False, False]
    assert np.allclose(found[0], vectors[48], atol=1e-3)
    assert not found[1:].any()


def test_keys_that_come_twice_are_one_point(opened: Open) -> None:
    """The same key in one request is the last of them."""
    collection, vectors = opened(), random_vectors(2, DIMENSIONS)
    collection.put(np.concatenate([numbered_keys(1)] * 2), vectors, fields(2))
    assert collection.count() == 1
    assert np.allclose(collection.vectors(numbered_keys(1))[0][0], vectors[1], atol=1e-3)


def test_thousands_of_keys_are_sent_in_parts(opened: Open) -> None:
    """However many keys are named, a request has a bounded number of them."""
    collection, vectors = opened("m", 8), random_vectors(2_100, 8)
    collection.put(numbered_keys(2_100), vectors, fields(2_100))
    assert collection.vectors(numbered_keys(5_000))[1].sum() == 2_100
    assert collection.has_points(numbered_keys(5_000)).nonzero()[0].tolist() == list(range(2_100))
    collection.delete(numbered_keys(5_000))
    assert collection.count() == 0


def test_models_are_kept_apart(opened: Open) -> None:
    """While another model's vectors are written the former ones are found as before."""
    collection, vectors = filled(opened, 50)
    collection.serve()
    other = opened("other", DIMENSIONS * 2)
    assert other.count() == 0
    wider = random_vectors(50, DIMENSIONS * 2, seed=3)
    other.put(numbered_keys(50), wider, fields(50))
    assert key_numbers(collection.search(vectors[7], 1)[0]) == [7]
    assert key_numbers(other.search(wider[9], 1)[0]) == [9]
    other.serve()
    assert (collection.count(), other.count()) == (50, 50)


def test_other_dimensions_are_refused(opened: Open) -> None:
    """Vectors of another length, or without one, are refused, and nothing is written."""
    collection, vectors = filled(opened, 20)
    for wrong in (random_vectors(1, DIMENSIONS + 1), np.full((1, DIMENSIONS), np.nan, np.float32)):
        with pytest.raises(StoreError):
            collection.search(wrong[0], 3)
        with pytest.raises(StoreError):
            collection.put(numbered_keys(1, start=99), wrong, fields(1))
    assert collection.count() == 20
    assert len(collection.search(vectors[0], 100)[0]) == 20


def test_hostile_fields_are_data(opened: Open) -> None:
    """Whatever a field holds, points are written, found by it and by others, and nothing else happens."""
    collection, vectors = opened(), random_vectors(len(HOSTILE), DIMENSIONS)
    keys = numbered_keys(len(HOSTILE))
    collection.put(
        keys, vectors, [{"kind": text, text[:9]: 1, "time": at} for at, text in enumerate(HOSTILE)]
    )
    assert collection.count() == len(HOSTILE)
    for at in (1, 2, 4, 5):
        found, _ = collection.search(vectors[0], 9, PointFilter({"kind": (HOSTILE[at],)}))
        assert key_numbers(found) == [at]
    assert len(collection.search(vectors[0], 9, PointFilter({}, {"time": 0}))[0]) == len(HOSTILE)


@needs_qdrant
def test_a_server_that_goes_away_is_an_error_of_the_store() -> None:
    """Every call of a Qdrant that is not there says so, and names it without a secret."""
    from store.qdrant import QdrantServer
    from store.qdrant_collection import QdrantCollection

    server = QdrantServer("http://127.0.0.1:9", timeout=0.5)
    collection = QdrantCollection(server, "tests", "m", DIMENSIONS, {}, words=False)
    vectors = random_vectors(1, DIMENSIONS)
    for call in (
        partial(collection.search, vectors[0], 3),
        partial(collection.put, numbered_keys(1), vectors, fields(1)),
        partial(collection.delete, numbered_keys(1)),
        partial(collection.vectors, numbered_keys(1)),
        collection.count,
        collection.serve,
        server.names,
        server.version,
        partial(server.drop, "tests"),
        partial(collection.page, 10),
        partial(collection.find, "x", vectors[0]),
    ):
        with pytest.raises(StoreError, match=r"Qdrant at http://127\.0\.0\.1:9 cannot be reached") as caught:
            call()
        assert caught.value.hint
    server.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org:6333",
        "https://user:secret@example.org",
        "https://example.org/?api_key=secret",
        "grpc://127.0.0.1:6334",
        "127.0.0.1:6333",
        "http://[::1",
        "",
    ],
)
def test_an_address_that_gives_something_away_is_refused(url: str) -> None:
    """Only this machine is asked in plain text, and no secret is in an address; none is quoted."""
    from store.qdrant import checked_url

    with pytest.raises(ConfigError) as caught:
        checked_url(url)
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_addresses_that_will_do() -> None:
    """This machine by its names, and any other one over TLS."""
    from store.qdrant import checked_url

    assert checked_url("http://localhost:6333/") == "http://localhost:6333"
    assert checked_url("http://[::1]:6333") == "http://[::1]:6333"
    assert checked_url("https://q.example.org/team/") == "https://q.example.org:443/team"
