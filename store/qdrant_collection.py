"""A collection in Qdrant (port `VectorCollection`): its schema, hybrid search, pages [ralph] [rules].

One is of one model, and called by its name and the digest of the model; the name itself is an alias, which
leads to the one that is complete. A changed model fills a second collection while the first one is searched,
and then the alias is switched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

import numpy as np

from store.qdrant import QdrantServer
from store.qdrant_points import conditions, point_ids, sparse_query, sparse_vector, storable
from workbench.errors import StoreError
from workbench.ports import PointFilter
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, PointKeys

DENSE: Final = "dense"
SPARSE: Final = "sparse"
KEY_BYTES: Final = 16
PUT: Final = 500
"""Points of a request that writes: 1.5 MB of JSON at 384 dimensions."""

ASK: Final = 2_000
"""Keys of a request that names them."""

EF_CONSTRUCTION: Final = 128

_DIGEST: Final = 8

Mode = Literal["hybrid", "dense", "sparse"]
Schema = Mapping[str, Literal["keyword", "integer"]]


@dataclass(frozen=True, slots=True)
class FoundPoint:
    """A point's fields, and the score it was found by: a cosine, a sum of words' weights, or both fused."""

    fields: Mapping[str, Any]
    score: float


def own_name(name: str, model: str) -> str:
    """Return what the collection of a name and a model is called."""
    return f"{name}-{hashlib.sha256(model.encode()).hexdigest()[:_DIGEST]}"


class QdrantCollection:
    """Points of one model under an alias (see the module); `schema` are the fields that are indexed."""

    def __init__(
        self, server: QdrantServer, name: str, model: str, dimensions: int, schema: Schema, *, words: bool
    ) -> None:
        self.server = server
        self.name = name
        self.model = model
        self.dimensions = dimensions
        self.own = own_name(name, model)
        self._schema = schema
        self._words = words
        self._there = False

    @property
    def place(self) -> str:
        """The server and the collection."""
        return f"{self.server.place}, {self.name}"

    def search(self, query: Float32, k: int, only: PointFilter | None = None) -> tuple[PointKeys, Float32]:
        """Return (keys, similarities) of at most k nearest that pass the filter. Raises: StoreError."""
        self._check(query[None])
        from qdrant_client import models

        with self.server.translate_errors():
            found = self.server.client.query_points(
                self.own,
                query=query.tolist(),
                using=DENSE,
                limit=max(k, 1),
                query_filter=conditions(only),
                search_params=models.SearchParams(
                    hnsw_ef=max(self.server.ef, 2 * k),
                    quantization=models.QuantizationSearchParams(rescore=True, oversampling=2.0),
                ),
                with_payload=False,
            ).points[: max(k, 0)]
        keys = np.frombuffer(b"".join(UUID(str(one.id)).bytes for one in found), np.uint8)
        return keys.reshape(-1, KEY_BYTES), np.array([one.score for one in found], np.float32)

    def find(
        self,
        text: str,
        query: Float32 | None,
        *,
        mode: Mode = "hybrid",
        only: PointFilter | None = None,
        limit: int = 10,
        least: float | None = None,
    ) -> list[FoundPoint]:
        """Return the points of the collection that serves which a text finds, best first [rules].

        Mode dense compares meaning, sparse words, hybrid fuses both by their ranks, each of what the filter
        lets through. None has a score of less than `least`. Raises: StoreError.
        """
        from qdrant_client import models

        where, words = conditions(only), sparse_query(text)
        asked: dict[str, Any] = {}
        if mode == "sparse" or query is None:
            asked = {"query": words, "using": SPARSE}
        elif mode == "dense":
            asked = {"query": query.tolist(), "using": DENSE}
        else:
            sides = ((query.tolist(), DENSE), (words, SPARSE))
            asked["prefetch"] = [
                models.Prefetch(query=side, using=using, filter=where, limit=max(4 * limit, 20))
                for side, using in sides
            ]
            asked["query"] = models.FusionQuery(fusion=models.Fusion.RRF)
        with self.server.translate_errors():
            found = self.server.client.query_points(
                self.name, query_filter=where, limit=limit, score_threshold=least, **asked
            ).points
        return [FoundPoint(one.payload or {}, float(one.score)) for one in found]

    def page(
        self, limit: int, cursor: str = "", only: PointFilter | None = None
    ) -> tuple[list[Mapping[str, Any]], str]:
        """Return the fields of points of the collection that serves in the order of their keys, and the
        cursor of the next page, empty after the last. Raises: StoreError."""
        with self.server.translate_errors():
            found, following = self.server.client.scroll(
                self.name, scroll_filter=conditions(only), limit=limit, offset=cursor or None
            )
        return [one.payload or {} for one in found], "" if following is None else str(following)

    def put(
        self,
        keys: PointKeys,
        vectors: Float32,
        fields: Sequence[Mapping[str, Any]],
        texts: Sequence[str] = (),
    ) -> None:
        """Write points; `texts` are what they are found by where the collection has words.

        Raises: StoreError for vectors of other dimensions too, and then nothing of the request is written.
        """
        self._check(vectors)
        from qdrant_client import models

        if not len(keys):
            return
        self._create()
        for start in range(0, len(keys), PUT):
            these = slice(start, start + PUT)
            sides: dict[str, Any] = {DENSE: vectors[these].tolist()}
            if self._words:
                sides[SPARSE] = [sparse_vector(text) for text in texts[these]]
            payloads = [storable(one) for one in fields[these]]
            batch = models.Batch(ids=[*point_ids(keys[these])], vectors=sides, payloads=payloads)
            with self.server.translate_errors():
                self.server.client.upsert(self.own, batch, wait=True)

    def delete(self, keys: PointKeys) -> None:
        """Remove points. Raises: StoreError."""
        if not len(keys) or not self._exists():
            return
        from qdrant_client import models

        for start in range(0, len(keys), ASK):
            chosen = models.PointIdsList(points=list(point_ids(keys[start : start + ASK])))
            with self.server.translate_errors():
                self.server.client.delete(self.own, chosen, wait=True)

    def vectors(self, keys: PointKeys) -> tuple[Float32, NDArray[np.bool_]]:
        """Return (float32 [n, d], known bool [n]). Raises: StoreError."""
        vectors, known = np.zeros((len(keys), self.dimensions), np.float32), np.zeros(len(keys), np.bool_)
        if not len(keys) or not self._exists():
            return vectors, known
        ids = point_ids(keys)
        rows: dict[str, list[int]] = {}
        for row, identifier in enumerate(ids):
            rows.setdefault(identifier, []).append(row)
        for start in range(0, len(ids), PUT):
            with self.server.translate_errors():
                segments = self.server.client.retrieve(
                    self.own, ids[start : start + PUT], with_payload=False, with_vectors=[DENSE]
                )
            for point in segments:
                sides: Any = point.vector
                vectors[rows[str(point.id)]] = sides[DENSE]
                known[rows[str(point.id)]] = True
        return vectors, known

    def has_points(self, keys: PointKeys) -> NDArray[np.bool_]:
        """Return bool [n]: which keys have points. Raises: StoreError."""
        if not len(keys) or not self._exists():
            return np.zeros(len(keys), np.bool_)
        ids, there = point_ids(keys), set[str]()
        for start in range(0, len(ids), ASK):
            with self.server.translate_errors():
                segments = self.server.client.retrieve(
                    self.own, ids[start : start + ASK], with_payload=False, with_vectors=False
                )
            there |= {str(point.id) for point in segments}
        return np.array([identifier in there for identifier in ids], np.bool_)

    def count(self) -> int:
        """Return how many points there are. Raises: StoreError."""
        if not self._exists():
            return 0
        with self.server.translate_errors():
            return int(self.server.client.count(self.own, exact=True).count)

    def is_serving(self) -> bool | None:
        """Whether the alias leads to this collection, None where it leads nowhere. Raises: StoreError."""
        serving = self.server.serving().get(self.name)
        return None if serving is None else serving == self.own

    def serve(self) -> None:
        """Lead the alias to this collection, away from another one at the same moment. Raises: StoreError."""
        from qdrant_client import models

        self._create()
        former = self.server.serving().get(self.name)
        if former == self.own:
            return
        create = models.CreateAliasOperation(
            create_alias=models.CreateAlias(collection_name=self.own, alias_name=self.name)
        )
        gone = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=self.name))
        with self.server.translate_errors():
            self.server.client.update_collection_aliases([create] if former is None else [gone, create])

    def close(self) -> None:
        """Free the connections of the server."""
        self.server.close()

    def _check(self, vectors: Float32) -> None:
        if vectors.ndim != 2 or vectors.shape[1] != self.dimensions:
            raise StoreError(
                f"{self.place} has {self.dimensions} dimensions, not {vectors.shape[-1]}",
                hint="Another model has another collection: `workbench vectors sync` fills it.",
            )
        if not np.isfinite(vectors).all():
            raise StoreError("vectors that are not finite have no neighbours", hint="Choose another model.")

    def _exists(self) -> bool:
        if not self._there:
            with self.server.translate_errors():
                self._there = bool(self.server.client.collection_exists(self.own))
        return self._there

    def _create(self) -> None:
        """Make the collection unless it is there: two that make it at once both go on."""
        if self._exists():
            return
        from qdrant_client import models

        kinds = {"keyword": models.PayloadSchemaType.KEYWORD, "integer": models.PayloadSchemaType.INTEGER}
        words = {SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)} if self._words else None
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
        try:
            with self.server.translate_errors():
                self.server.client.create_collection(
                    self.own,
                    vectors_config={
                        DENSE: models.VectorParams(
                            size=self.dimensions, distance=models.Distance.COSINE, on_disk=True
                        )
                    },
                    sparse_vectors_config=words,
                    hnsw_config=models.HnswConfigDiff(m=self.server.m, ef_construct=EF_CONSTRUCTION),
                    quantization_config=models.ScalarQuantization(scalar=scalar),
                    on_disk_payload=True,
                )
        except StoreError:
            if not self._exists():
                raise
        for name, kind in self._schema.items():
            with self.server.translate_errors():
                self.server.client.create_payload_index(self.own, name, kinds[kind])
        self._there = True
