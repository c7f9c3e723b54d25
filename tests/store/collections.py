"""Collections of vectors for tests: one in memory, which is searched through an index of this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from store.vectors import CosineIndex
from workbench.errors import StoreError
from workbench.ports import PointFilter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, PointKeys


def random_vectors(count: int, dimensions: int = 384, seed: int = 1) -> Float32:
    """Return unit vectors float32 [n, d], the same ones for a seed, around some centres as texts are."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((24, dimensions))
    found = centres[random.integers(24, size=count)] + 0.8 * random.standard_normal((count, dimensions))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(found, np.float16).astype(np.float32)


def numbered_keys(count: int, start: int = 0) -> PointKeys:
    """Return keys uint8 [n, 16] that are numbers."""
    keys = np.zeros((count, 16), np.uint8)
    keys[:, 8:] = np.arange(start, start + count).astype(">u8").view(np.uint8).reshape(-1, 8)
    return keys


def key_numbers(keys: PointKeys) -> list[int]:
    return [int.from_bytes(key.tobytes(), "big") for key in keys]


class MemoryCollection:
    """A collection in memory. `fails_after` calls every other one raises, as a server that went away."""

    place = "memory"

    def __init__(
        self, dimensions: int = 384, model: str = "m", build: Callable[[Float32], CosineIndex] = CosineIndex
    ) -> None:
        self.model = model
        self.dimensions = dimensions
        self.points: dict[bytes, tuple[Float32, Mapping[str, Any]]] = {}
        self.calls: list[str] = []
        self.fails_after = 1_000_000
        self.served = self.closed = False
        self._build = build
        self._index: tuple[list[bytes], CosineIndex] | None = None

    def search(self, query: Float32, k: int, only: PointFilter | None = None) -> tuple[PointKeys, Float32]:
        self._called("search", query[None])
        chosen = [key for key, (_, fields) in self.points.items() if only is None or passes(only, fields)]
        if not chosen:
            return numbered_keys(0), np.empty(0, np.float32)
        chosen.sort()
        if self._index is None or self._index[0] != chosen:
            vectors = np.stack([self.points[key][0] for key in chosen])
            self._index = chosen, self._build(vectors)
        keys, index = np.frombuffer(b"".join(chosen), np.uint8).reshape(-1, 16), self._index[1]
        rows, scores = index.search(query, k)
        return keys[rows], scores

    def put(self, keys: PointKeys, vectors: Float32, fields: Sequence[Mapping[str, Any]]) -> None:
        self._called("put", vectors)
        self._index = None
        for key, vector, field in zip(keys, vectors, fields, strict=True):
            self.points[key.tobytes()] = (vector, field)

    def delete(self, keys: PointKeys) -> None:
        self._called("delete")
        for key in keys:
            self.points.pop(key.tobytes(), None)

    def vectors(self, keys: PointKeys) -> tuple[Float32, NDArray[np.bool_]]:
        self._called("vectors")
        nothing = np.zeros(self.dimensions, np.float32)
        found = [self.points.get(key.tobytes(), (nothing, {}))[0] for key in keys]
        known = [key.tobytes() in self.points for key in keys]
        return np.array(found, np.float32).reshape(-1, self.dimensions), np.array(known, np.bool_)

    def has_points(self, keys: PointKeys) -> NDArray[np.bool_]:
        self._called("known")
        return np.array([key.tobytes() in self.points for key in keys], np.bool_)

    def count(self) -> int:
        self._called("count")
        return len(self.points)

    def serve(self) -> None:
        self._called("serve")
        self.served = True

    def close(self) -> None:
        self.closed = True

    def _called(self, name: str, vectors: Float32 | None = None) -> None:
        self.calls.append(name)
        if len(self.calls) > self.fails_after:
            raise StoreError("memory cannot be reached: gone", hint="Start it.")
        if vectors is not None and vectors.shape[1] != self.dimensions:
            raise StoreError(f"memory has {self.dimensions} dimensions", hint="Sync.")
        if vectors is not None and not np.isfinite(vectors).all():
            raise StoreError("not finite", hint="Choose another model.")


def passes(only: PointFilter, fields: Mapping[str, Any]) -> bool:
    """Whether a point has what a filter asks for."""
    return (
        all(fields.get(name) in values for name, values in only.among.items())
        and all(fields.get(name, -1) >= bound for name, bound in only.least.items())
        and all(fields.get(name, bound + 1) <= bound for name, bound in only.most.items())
    )
