"""What goes over the wire to Qdrant and comes back: filters, parts, errors, time-outs, versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from store.qdrant import API_KEY, QdrantServer
from store.qdrant_collection import ASK, PUT, QdrantCollection
from tests.processes import LONG
from tests.store.collections import key_numbers, numbered_keys, random_vectors
from workbench.errors import StoreError
from workbench.ports import PointFilter

if TYPE_CHECKING:
    from tests.qdrant_server import FakeQdrant

pytestmark = [
    pytest.mark.skipif(find_spec("qdrant_client") is None, reason="qdrant-client is not installed"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
    pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection"),
]
SIZE = 8
KINDS = ("bug", "rule", "note")


@pytest.fixture
def fake() -> Iterator[FakeQdrant]:
    from tests.qdrant_server import FakeQdrant

    fake = FakeQdrant()
    yield fake
    fake.close()


@pytest.fixture
def server(fake: FakeQdrant) -> Iterator[QdrantServer]:
    """The adapter, connected to it; on a busy machine an answer may take long."""
    server = QdrantServer(fake.url, timeout=LONG)
    yield server
    server.close()


def collection(server: QdrantServer, model: str = "m") -> QdrantCollection:
    """Return a collection with words and two indexed fields."""
    return QdrantCollection(server, "tests", model, SIZE, {"kind": "keyword", "at": "integer"}, words=True)


def fill(server: QdrantServer, count: int) -> tuple[QdrantCollection, np.ndarray]:
    """Return a collection that serves, with so many points, and their vectors."""
    points, vectors = collection(server), random_vectors(count, SIZE)
    fields = [{"kind": KINDS[at % 3], "at": at} for at in range(count)]
    points.put(numbered_keys(count), vectors, fields, [f"{KINDS[at % 3]} number{at}" for at in range(count)])
    points.serve()
    return points, vectors


def bodies(fake: FakeQdrant, ending: str, method: str = "POST") -> list[Any]:
    """Return what was sent to the addresses with an ending."""
    return [body for verb, path, body in fake.requests if verb == method and path.endswith(ending)]


def test_graphs_are_as_the_settings_say(fake: FakeQdrant) -> None:
    """`vectors.m` is of collections that are made, `vectors.ef` of each search, which may need more."""
    server = QdrantServer(fake.url, timeout=LONG, m=24, ef=64)
    points, vectors = fill(server, 3)
    ((_, _, made),) = [one for one in fake.requests if one[0] == "PUT" and one[1].count("/") == 2]
    assert made["hnsw_config"]["m"] == 24
    points.search(vectors[0], 10)
    points.search(vectors[0], 100)
    assert [body["params"]["hnsw_ef"] for body in bodies(fake, "/points/query")] == [64, 200]
    server.close()


def test_a_collection_is_made_as_documented(fake: FakeQdrant, server: QdrantServer) -> None:
    """Dense and sparse vectors, HNSW, quantization and an index for each field are asked for, once."""
    fill(server, 3)
    collection(server).put(numbered_keys(1), random_vectors(1, SIZE), [{"kind": "bug"}], ["x"])
    ((_, _, made),) = [one for one in fake.requests if one[0] == "PUT" and one[1].count("/") == 2]
    assert made["vectors"]["dense"] == {"size": SIZE, "distance": "Cosine", "on_disk": True}
    assert made["sparse_vectors"]["sparse"] == {"modifier": "idf"}
    assert (made["hnsw_config"]["m"], made["hnsw_config"]["ef_construct"]) == (16, 128)
    assert made["quantization_config"]["scalar"]["type"] == "int8"
    assert bodies(fake, "/index", "PUT") == [
        {"field_name": "kind", "field_schema": "keyword"},
        {"field_name": "at", "field_schema": "integer"},
    ]


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
def test_filters_go_along_with_each_side_of_a_search(
    fake: FakeQdrant, server: QdrantServer, mode: Any
) -> None:
    """What a filter keeps out is kept out by the server, also from what both sides propose."""
    points, vectors = fill(server, 30)
    only = PointFilter(among={"kind": ("bug", "note")}, least={"at": 6}, most={"at": 12})
    found = points.find("bug note rule number7", vectors[7], mode=mode, only=only, limit=20)
    assert {one.fields["at"] for one in found} == {6, 8, 9, 11, 12}
    keys, _ = points.search(vectors[7], 20, only)
    assert set(key_numbers(keys)) == {6, 8, 9, 11, 12}
    page, cursor = points.page(3, only=only)
    rest, end = points.page(3, cursor, only)
    assert ([one["at"] for one in page + rest], end) == ([6, 8, 9, 11, 12], "")
    must = [
        {"key": "kind", "match": {"any": ["bug", "note"]}},
        {"key": "at", "range": {"gte": 6}},
        {"key": "at", "range": {"lte": 12}},
    ]
    asked = bodies(fake, "/query")[0]
    assert asked["filter"] == {"must": must}
    assert [side["filter"] for side in asked.get("prefetch", [])] == [{"must": must}] * (mode == "hybrid") * 2


def test_scores_below_the_least_stay_away(server: QdrantServer) -> None:
    """`least` is compared by the server: only the point itself is as similar as it is to itself."""
    points, vectors = fill(server, 30)
    (found,) = points.find("x", vectors[4], mode="dense", least=0.9999)
    assert found.fields["at"] == 4


def test_many_points_go_in_parts(fake: FakeQdrant, server: QdrantServer) -> None:
    """A request writes 500 points and names 2,000 keys at most; all arrive, are found and removed."""
    count = 2 * PUT + 200
    points, vectors = fill(server, count)
    written = [len(body["batch"]["ids"]) for body in bodies(fake, "/points", "PUT")]
    assert (written, points.count()) == ([PUT, PUT, 200], count)
    many = numbered_keys(ASK + 100)
    assert points.has_points(many).tolist() == [True] * count + [False] * (ASK + 100 - count)
    kept, known = points.vectors(numbered_keys(count))
    assert known.all()
    assert np.allclose(kept, vectors, atol=2e-3)
    points.delete(many)
    assert [len(body["points"]) for body in bodies(fake, "/delete")] == [ASK, 100]
    assert points.count() == 0


def test_an_alias_is_switched_in_one_request(fake: FakeQdrant, server: QdrantServer) -> None:
    """No search falls between the old collection and the new one."""
    old, _ = fill(server, 3)
    new = collection(server, "another")
    new.put(numbered_keys(1), random_vectors(1, SIZE), [{"kind": "bug"}], ["x"])
    assert (old.is_serving(), new.is_serving()) == (True, False)
    new.serve()
    assert (old.is_serving(), new.is_serving()) == (False, True)
    assert [next(iter(action)) for action in bodies(fake, "/aliases")[-1]["actions"]] == [
        "delete_alias",
        "create_alias",
    ]


def test_two_that_make_a_collection_at_once_both_go_on(fake: FakeQdrant, server: QdrantServer) -> None:
    """Who is told that it is there already (409) goes on; the fields are indexed."""
    from tests.qdrant_server import send

    other = QdrantServer(fake.url)

    def overtaken(handler: BaseHTTPRequestHandler) -> None:
        fake.handle = None
        fill(other, 3)
        send(handler, 200, {"result": {"exists": False}, "status": "ok", "time": 0.0})

    fake.handle = overtaken
    points = collection(server)
    points.put(numbered_keys(1, start=7), random_vectors(1, SIZE), [{"kind": "bug"}], ["x"])
    assert points.count() == 4
    other.close()


@pytest.mark.parametrize(
    ("status", "hint"),
    [(400, "doctor"), (401, API_KEY), (403, API_KEY), (404, "doctor"), (422, "doctor"), (500, "doctor")],
)
def test_an_error_is_the_servers_word(fake: FakeQdrant, server: QdrantServer, status: int, hint: str) -> None:
    """Whatever is asked, an error names the server and its reason, and what to do next."""
    from tests.qdrant_server import send

    points, vectors = fill(server, 3)
    error = {"status": {"error": "the disk is full"}, "time": 0.0}
    fake.handle = lambda handler: send(handler, status, error)
    asked: list[Callable[[], object]] = [
        lambda: points.search(vectors[0], 3),
        lambda: points.find("x", vectors[0]),
        lambda: points.page(3),
        lambda: points.put(numbered_keys(1), vectors[:1], [{}], ["x"]),
        lambda: points.delete(numbered_keys(1)),
        lambda: points.vectors(numbered_keys(1)),
        points.count,
        points.serve,
        server.names,
        server.version,
        lambda: server.drop("tests"),
    ]
    for ask in asked:
        with pytest.raises(
            StoreError, match=rf"Qdrant at http://127\S* refuses: the disk is full \({status}\)"
        ) as raised:
            ask()
        assert hint in raised.value.hint


def test_a_server_with_too_much_to_do_is_an_error(fake: FakeQdrant, server: QdrantServer) -> None:
    """A refusal that names when to come again (429) is an error of the store as well."""

    def busy(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(429)
        handler.send_header("Retry-After", "7")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    points, vectors = fill(server, 3)
    fake.handle = busy
    with pytest.raises(StoreError, match="has too much to do"):
        points.search(vectors[0], 3)


def test_vectors_of_another_length_are_the_servers_refusal_too(server: QdrantServer) -> None:
    """A collection that was made for another length says so; nothing of the request is written."""
    fill(server, 3)
    longer = QdrantCollection(server, "tests", "m", SIZE + 1, {}, words=False)
    with pytest.raises(StoreError, match="expected dim: 8, got 9"):
        longer.put(numbered_keys(1, start=9), random_vectors(1, SIZE + 1), [{}])
    assert longer.count() == 3


def test_a_collection_that_is_gone_is_an_error(server: QdrantServer) -> None:
    """Somebody drops it while it is in use: the next search says that it is not there."""
    points, vectors = fill(server, 3)
    server.drop(points.own)
    with pytest.raises(StoreError, match="doesn't exist"):
        points.search(vectors[0], 3)


def cut_off(handler: BaseHTTPRequestHandler) -> None:
    """Promise more than is sent."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"result"')
    handler.close_connection = True


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def answering(data: bytes, kind: str = "application/json") -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


@pytest.mark.parametrize(
    "broken",
    [
        cut_off,
        hang_up,
        answering(b"<html>502 Bad Gateway</html>", "text/html"),
        answering(b'{"result": {"points": [{"id": {}}]}, "status": "ok"}'),
        answering(b'{"result": null, "status": "ok"}'),
        answering(b"[]"),
        answering(b""),
    ],
    ids=["cut", "closed", "html", "other form", "nothing", "list", "empty"],
)
def test_an_answer_that_is_none_is_an_error(fake: FakeQdrant, server: QdrantServer, broken: Any) -> None:
    """A broken connection, a proxy's page, another form: an error of the store, never a defect."""
    points, vectors = fill(server, 3)
    fake.handle = broken
    with pytest.raises(StoreError, match="Qdrant at"):
        points.search(vectors[0], 3)
    fake.handle = None
    assert len(points.search(vectors[0], 3)[0]) == 3


def test_a_server_that_hangs_is_left_in_time(fake: FakeQdrant, server: QdrantServer) -> None:
    """A request ends with the time it was given, and the next one is answered."""
    points, vectors = fill(server, 3)

    def hang(handler: BaseHTTPRequestHandler) -> None:
        fake.stop.wait()
        hang_up(handler)

    fake.handle = hang
    hurried = QdrantServer(fake.url, timeout=1)
    with pytest.raises(StoreError, match="cannot be reached: timed out"):
        collection(hurried).search(vectors[0], 3)
    hurried.close()
    fake.handle = None
    assert len(points.search(vectors[0], 3)[0]) == 3


def test_a_redirect_is_not_followed(fake: FakeQdrant, server: QdrantServer) -> None:
    """What a server is sent goes to no other address."""

    def elsewhere(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(307)
        handler.send_header("Location", "http://127.0.0.1:9/")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    fake.handle = elsewhere
    with pytest.raises(StoreError, match=r"refuses: .*307"):
        server.names()


def test_the_version_is_asked_only_by_who_wants_it(fake: FakeQdrant, server: QdrantServer) -> None:
    """Connecting and searching ask no version; a server that has none, or is none, is an error."""
    points, vectors = fill(server, 3)
    points.search(vectors[0], 3)
    assert ("GET", "/", None) not in fake.requests
    assert server.version() == "1.15.0"
    fake.handle = answering(b'{"title": "something else"}')
    with pytest.raises(StoreError, match="does not answer as Qdrant does"):
        server.version()


@pytest.mark.parametrize(("given", "let_in"), [("secret-key", True), ("another", False), ("", False)])
def test_a_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, given: str, let_in: bool) -> None:
    """A server that wants a key is sent the variable's; without the right one the hint names it."""
    from tests.qdrant_server import FakeQdrant

    fake = FakeQdrant(key="secret-key")
    monkeypatch.setenv(API_KEY, given)
    server = QdrantServer(fake.url)
    if let_in:
        assert server.names() == ()
    else:
        with pytest.raises(StoreError, match=r"refuses: .*API key") as raised:
            server.names()
        assert API_KEY in raised.value.hint
    server.close()
    fake.close()
