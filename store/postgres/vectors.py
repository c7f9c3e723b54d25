"""Vectors in PostgreSQL with pgvector (port `VectorCollection`): one table, graphs of the usual dimensions.

Vectors are `halfvec`: the cache of embeddings keeps 16 bits of each number, so that nothing is lost and a
graph takes half the memory. A table has vectors of several dimensions: each of `INDEXED` has an HNSW graph of
its own, any other is compared one by one. Filters are part of the statement, and the scan of the graph goes
on until enough points pass them (`hnsw.iterative_scan`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, LiteralString

import numpy as np
from psycopg.sql import SQL, Composable, Composed, Literal

from store.postgres.connection import Connections, errors
from store.postgres.migrations import make_vectors
from store.postgres.server_url import ANSWERING
from workbench.errors import StoreError, TeamError
from workbench.ports import PointFilter
from workbench.records.conversion import encode_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from psycopg import Cursor

    from workbench.ports import Float32, PointKeys

INDEXED: Final = (384, 768, 1024)
"""Dimensions with a graph in the table, as its migration makes them."""

KEY_BYTES: Final = 16
BATCH: Final = 1_000
"""Points, or keys, of a statement."""

EF_MOST: Final = 1_000  # as pgvector allows
SCANNED: Final = 100_000
"""Points of the graph that a search looks at, at most, for those that pass its filter."""

_SCAN: Final = """
SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.max_scan_tuples', %s, true)
"""
_MINE: Final = "project = %s AND kind = %s AND model = %s"
_PUT: Final = """
INSERT INTO workbench.vectors (project, kind, model, key, embedding, fields)
SELECT %s, %s, %s, key, embedding::halfvec, fields::jsonb
FROM unnest(%s::bytea[], %s::text[], %s::text[]) AS given (key, embedding, fields)
ON CONFLICT (project, kind, model, key) DO UPDATE
SET embedding = excluded.embedding, fields = excluded.fields
"""
_DELETE: Final = f"DELETE FROM workbench.vectors WHERE {_MINE} AND key = ANY(%s)"
_GET: Final = f"SELECT key, embedding::text FROM workbench.vectors WHERE {_MINE} AND key = ANY(%s)"
_KNOWN: Final = f"SELECT key FROM workbench.vectors WHERE {_MINE} AND key = ANY(%s)"
_COUNT: Final = f"SELECT count(*) FROM workbench.vectors WHERE {_MINE}"
_MODELS: Final = """
SELECT kind, model, count(*) FROM workbench.vectors WHERE project = %s GROUP BY kind, model ORDER BY 1, 2
"""
_DROP_OTHERS: Final = """
DELETE FROM workbench.vectors WHERE project = %s AND kind = %s AND model <> %s RETURNING model
"""
_EXISTS: Final = "SELECT to_regclass('workbench.vectors') IS NOT NULL"


class PostgresVectors:
    """Points of a kind and a model of a project. A search takes `seconds` at most."""

    def __init__(
        self,
        connections: Connections,
        project: str,
        kind: str,
        model: str,
        dimensions: int,
        *,
        seconds: float = ANSWERING,
        ef: int = 256,
    ) -> None:
        self._connections = connections
        self._key = (project, kind, model)
        self._seconds = seconds
        self._ef = ef
        self.model = model
        self.dimensions = dimensions

    @property
    def place(self) -> str:
        """The server and the kind."""
        return f"{self._connections.place}, vectors of {self._key[1]}"

    def search(self, query: Float32, k: int, only: PointFilter | None = None) -> tuple[PointKeys, Float32]:
        """Return (keys, similarities) of at most k nearest that pass the filter. Raises: StoreError."""
        with self._search(query, k, only) as cursor:
            rows = cursor.fetchall()
        rows.sort(key=lambda row: (-row[1], row[0]))
        keys = np.frombuffer(b"".join(row[0] for row in rows), np.uint8).reshape(-1, KEY_BYTES)
        return keys, np.array([row[1] for row in rows], np.float32)

    def explain(self, query: Float32, k: int, only: PointFilter | None = None) -> list[str]:
        """Return how the server goes about a search, line by line. Raises: StoreError."""
        with self._search(query, k, only, SQL("EXPLAIN ")) as cursor:
            return [str(line) for (line,) in cursor]

    def put(self, keys: PointKeys, vectors: Float32, fields: Sequence[Mapping[str, Any]]) -> None:
        """Write points, `BATCH` in a transaction. Raises: StoreError."""
        self._check(vectors)
        last = {key.tobytes(): row for row, key in enumerate(keys)}
        rows = list(last.values())
        for start in range(0, len(rows), BATCH):
            these = rows[start : start + BATCH]
            given = (
                [keys[row].tobytes() for row in these],
                [_text(vectors[row]) for row in these],
                [_json(fields[row]) for row in these],
            )
            with self._cursor() as cursor:
                cursor.execute(_PUT, (*self._key, *given))

    def delete(self, keys: PointKeys) -> None:
        """Remove points. Raises: StoreError."""
        for batch in _batches(keys):
            with self._cursor() as cursor:
                cursor.execute(_DELETE, (*self._key, batch))

    def vectors(self, keys: PointKeys) -> tuple[Float32, NDArray[np.bool_]]:
        """Return (float32 [n, d], known bool [n]). Raises: StoreError."""
        vectors, known = np.zeros((len(keys), self.dimensions), np.float32), np.zeros(len(keys), np.bool_)
        rows: dict[bytes, list[int]] = {}
        for row, key in enumerate(keys):
            rows.setdefault(key.tobytes(), []).append(row)
        for batch in _batches(keys):
            with self._cursor() as cursor:
                cursor.execute(_GET, (*self._key, batch))
                for key, text in cursor:
                    vectors[rows[bytes(key)]] = np.array(text[1:-1].split(","), np.float32)
                    known[rows[bytes(key)]] = True
        return vectors, known

    def has_points(self, keys: PointKeys) -> NDArray[np.bool_]:
        """Return bool [n]: which keys have points. Raises: StoreError."""
        there: set[bytes] = set()
        for batch in _batches(keys):
            with self._cursor() as cursor:
                cursor.execute(_KNOWN, (*self._key, batch))
                there |= {bytes(key) for (key,) in cursor}
        return np.array([key.tobytes() in there for key in keys], np.bool_)

    def count(self) -> int:
        """Return how many points there are. Raises: StoreError."""
        with self._cursor() as cursor:
            row = cursor.execute(_COUNT, self._key).fetchone()
        return int(row[0]) if row else 0

    def serve(self) -> None:
        """Nothing has to be done: whoever asks names the model, and the rows of several lie side by side."""

    def prepare(self) -> None:
        """Make the table where the server has got pgvector since the team's tables were made.

        Raises: TeamError where it has none; ServerUnreachable.
        """
        make_vectors(self._connections)
        with self._cursor() as cursor:
            found = cursor.execute(_EXISTS).fetchone()
        if not found or not found[0]:
            raise self._lacking()

    def stored_models(self) -> list[tuple[str, str, int]]:
        """Return (kind, model, points) of all that is stored of the project. Raises: StoreError."""
        with self._cursor() as cursor:
            return [
                (str(kind), str(model), int(count))
                for kind, model, count in cursor.execute(_MODELS, self._key[:1])
            ]

    def drop_others(self) -> tuple[str, ...]:
        """Remove the points of all other models, and return the names of these. Raises: StoreError."""
        with self._cursor() as cursor:
            cursor.execute(_DROP_OTHERS, self._key)
            return tuple(sorted({str(model) for (model,) in cursor}))

    def close(self) -> None:
        """Close the connections that are idle."""
        self._connections.close()

    @contextmanager
    def _search(
        self, query: Float32, k: int, only: PointFilter | None, before: Composable | None = None
    ) -> Iterator[Cursor[Any]]:
        self._check(query[None])
        where, values = _where(only)
        asked = _text(query)
        with self._cursor(self._seconds) as cursor:
            ef = min(max(self._ef, 2 * k), EF_MOST)
            cursor.execute(_SCAN, (str(ef), str(max(SCANNED, 20 * k))))
            given = (asked, *self._key, *values, asked, max(k, 0))
            statement = _statement(self.dimensions, where)
            cursor.execute(statement if before is None else before + statement, given)
            yield cursor

    def _check(self, vectors: Float32) -> None:
        if vectors.ndim != 2 or vectors.shape[1] != self.dimensions:
            raise StoreError(
                f"{self.place} has {self.dimensions} dimensions, not {vectors.shape[-1]}",
                hint="`workbench vectors sync` stores those of another model beside them.",
            )
        if not np.isfinite(vectors).all():
            raise StoreError("vectors that are not finite have no neighbours", hint="Choose another model.")

    @contextmanager
    def _cursor(self, seconds: float = ANSWERING) -> Iterator[Cursor[Any]]:
        with self._connections.use(seconds) as connection:
            try:
                with connection.transaction(), connection.cursor() as cursor:
                    yield cursor
            except errors.UndefinedTable:
                raise self._lacking() from None

    def _lacking(self) -> TeamError:
        return TeamError(
            f"{self._connections.place} keeps no vectors: it lacks pgvector 0.8, or forbids its use",
            hint="Install pgvector there; then the owner's `workbench vectors sync` makes the table.",
        )


def _statement(dimensions: int, where: LiteralString) -> Composed:
    """Return the statement of a search, in which the graph of these dimensions is recognised."""
    column: Composable = SQL("embedding")
    if dimensions in INDEXED:
        column = SQL("(embedding::halfvec({}))").format(Literal(dimensions))
    same = SQL("vector_dims(embedding) = {}").format(Literal(dimensions))
    text = SQL(
        "SELECT key, 1 - ({column} <=> %s::halfvec) FROM workbench.vectors WHERE {same} AND "
        + _MINE
        + where
        + " ORDER BY {column} <=> %s::halfvec LIMIT %s"
    )
    return text.format(column=column, same=same)


def _where(only: PointFilter | None) -> tuple[LiteralString, list[Any]]:
    """Return the conditions of a filter and their values; the names of fields are values as well."""
    if only is None:
        return "", []
    text: LiteralString = ""
    values: list[Any] = []
    for name, among in only.among.items():
        text += " AND fields ->> %s = ANY(%s)"
        values += [name, list(among)]
    for name, bound in only.least.items():
        text += " AND (fields ->> %s)::bigint >= %s"
        values += [name, bound]
    for name, bound in only.most.items():
        text += " AND (fields ->> %s)::bigint <= %s"
        values += [name, bound]
    return text, values


def _batches(keys: PointKeys) -> Iterator[list[bytes]]:
    for start in range(0, len(keys), BATCH):
        yield [key.tobytes() for key in keys[start : start + BATCH]]


def _text(vector: Float32) -> str:
    return f"[{','.join(map(str, vector.tolist()))}]"


def _json(fields: Mapping[str, Any]) -> str:
    """Return fields as JSON without what `jsonb` cannot hold."""
    return encode_whole(dict(fields)).decode().replace("\\u0000", "\\ufffd")
