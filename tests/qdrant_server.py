"""A double of a Qdrant server on the wire: its REST addresses on a port of the loopback.

What it takes and gives are the schemas of Qdrant's OpenAPI document (`qdrant_client.http.models` is generated
from it, and forbids fields that the document has not). Points are kept and searched by the client's own local
mode, by comparing all; so quantization, HNSW, indexes of payloads and shards have no effect here.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from qdrant_client import QdrantClient
from qdrant_client.http import models

VERSION: Final = "1.15.0"
DENSE: Final = "dense"


class Refusal(Exception):
    """An answer that is an error: its status, and what it says."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class FakeQdrant:
    """A server at `url`; `requests` are (method, path, body) as they came, of those that were let in.

    With `key` it asks for that one. A `handle` answers in place of the server; `stop` ends what takes long.
    """

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.requests: list[tuple[str, str, Any]] = []
        self.handle: Callable[[BaseHTTPRequestHandler], None] | None = None
        self.stop = threading.Event()
        self._points = QdrantClient(":memory:")
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.block_on_close = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        """Stop listening and wait for what is still answered."""
        self.stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._points.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                fake.answer(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = answer

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        data = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        if self.handle is not None:
            self.handle(handler)
            return
        try:
            if self.key and handler.headers.get("api-key") != self.key:
                raise Refusal(401, "Must provide an API key or an Authorization bearer token")
            result = self._result(handler.command, handler.path.partition("?")[0], data)
        except Refusal as refusal:
            send(handler, refusal.status, {"status": {"error": str(refusal)}, "time": 0.0})
        else:
            send(handler, 200, result)

    def _result(self, method: str, path: str, data: bytes) -> Any:
        self.requests.append((method, path, json.loads(data or b"null")))
        for (verb, pattern), (schema, answer) in ROUTES.items():
            found = re.fullmatch(pattern, path)
            if verb == method and found:
                try:
                    body = TypeAdapter(schema).validate_json(data) if schema else None
                except ValidationError as error:
                    raise Refusal(400, f"Format error in JSON body: {error.errors()[0]['msg']}") from error
                with self._lock:
                    return answer(self._points, *found.groups(), *([body] if schema else ()))
        raise Refusal(404, f"there is no {method} {path}")


def send(handler: BaseHTTPRequestHandler, status: int, value: object) -> None:
    data = json.dumps(value).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def wrapped(value: Any) -> dict[str, Any]:
    """Return a result as the server wraps one."""
    result = value.model_dump(mode="json") if hasattr(value, "model_dump") else value
    return {"result": result, "status": "ok", "time": 0.0}


def _known(points: QdrantClient, name: str) -> str:
    aliases = {one.alias_name: one.collection_name for one in points.get_aliases().aliases}
    own = aliases.get(name, name)
    if not points.collection_exists(own):
        raise Refusal(404, f"Not found: Collection `{name}` doesn't exist!")
    return own


def _create(points: QdrantClient, name: str, body: models.CreateCollection) -> Any:
    if points.collection_exists(name):
        raise Refusal(409, f"Wrong input: Collection `{name}` already exists!")
    points.create_collection(name, body.vectors, sparse_vectors_config=body.sparse_vectors)
    return wrapped(True)


def _upsert(points: QdrantClient, name: str, body: models.PointsBatch | models.PointsList) -> Any:
    own = _known(points, name)
    assert isinstance(body, models.PointsBatch), "the adapter writes batches"
    vectors = points.get_collection(own).config.params.vectors
    assert isinstance(vectors, dict)
    assert isinstance(body.batch.vectors, dict)
    size = vectors[DENSE].size
    for vector in body.batch.vectors[DENSE]:
        assert isinstance(vector, list)
        if len(vector) != size:
            raise Refusal(
                400, f"Wrong input: Vector dimension error: expected dim: {size}, got {len(vector)}"
            )
    points.upsert(own, body.batch)
    return _updated()


def _updated() -> Any:
    return wrapped({"operation_id": 0, "status": "completed"})


def _delete(points: QdrantClient, name: str, body: models.PointsSelector) -> Any:
    points.delete(_known(points, name), body)
    return _updated()


def _query(points: QdrantClient, name: str, body: models.QueryRequest) -> Any:
    found = points.query_points(
        _known(points, name),
        query=_bare(body.query),
        using=body.using,
        prefetch=body.prefetch,
        query_filter=body.filter,
        limit=body.limit or 10,
        score_threshold=body.score_threshold,
        with_payload=body.with_payload or False,
    )
    return wrapped(found)


def _bare(query: Any) -> Any:
    return query.nearest if isinstance(query, models.NearestQuery) else query


def _scroll(points: QdrantClient, name: str, body: models.ScrollRequest) -> Any:
    found, following = points.scroll(
        _known(points, name), scroll_filter=body.filter, limit=body.limit or 10, offset=body.offset
    )
    return wrapped({"points": [one.model_dump(mode="json") for one in found], "next_page_offset": following})


def _retrieve(points: QdrantClient, name: str, body: models.PointRequest) -> Any:
    found = points.retrieve(
        _known(points, name),
        body.ids,
        with_payload=body.with_payload or False,
        with_vectors=body.with_vector or False,
    )
    return wrapped([one.model_dump(mode="json") for one in found])


def _count(points: QdrantClient, name: str, body: models.CountRequest) -> Any:
    return wrapped(points.count(_known(points, name), count_filter=body.filter))


def _switch(points: QdrantClient, body: models.ChangeAliasesOperation) -> Any:
    points.update_collection_aliases(body.actions)
    return wrapped(True)


def _drop(points: QdrantClient, name: str) -> Any:
    return wrapped(points.delete_collection(name))


def _index(points: QdrantClient, name: str, body: models.CreateFieldIndex) -> Any:
    _known(points, name)
    return _updated()


def _info(points: QdrantClient, name: str) -> Any:
    return wrapped(points.get_collection(_known(points, name)))


def _list(points: QdrantClient) -> Any:
    return wrapped(points.get_collections())


def _aliases(points: QdrantClient) -> Any:
    return wrapped(points.get_aliases())


def _exists(points: QdrantClient, name: str) -> Any:
    return wrapped({"exists": points.collection_exists(name)})


def _version(points: QdrantClient) -> Any:
    return {"title": "qdrant - vector search engine", "version": VERSION}


NAME: Final = "/collections/([^/]+)"
ROUTES: Final[dict[tuple[str, str], tuple[Any, Callable[..., Any]]]] = {
    ("GET", "/"): (None, _version),
    ("GET", "/collections"): (None, _list),
    ("GET", "/aliases"): (None, _aliases),
    ("POST", "/collections/aliases"): (models.ChangeAliasesOperation, _switch),
    ("GET", f"{NAME}/exists"): (None, _exists),
    ("GET", NAME): (None, _info),
    ("PUT", NAME): (models.CreateCollection, _create),
    ("DELETE", NAME): (None, _drop),
    ("PUT", f"{NAME}/index"): (models.CreateFieldIndex, _index),
    ("PUT", f"{NAME}/points"): (models.PointInsertOperations, _upsert),
    ("POST", f"{NAME}/points"): (models.PointRequest, _retrieve),
    ("POST", f"{NAME}/points/delete"): (models.PointsSelector, _delete),
    ("POST", f"{NAME}/points/count"): (models.CountRequest, _count),
    ("POST", f"{NAME}/points/query"): (models.QueryRequest, _query),
    ("POST", f"{NAME}/points/scroll"): (models.ScrollRequest, _scroll),
}
"""(method, path) → (schema of the body, what answers)."""
