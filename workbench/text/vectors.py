"""Texts by the key of their vector, and cosines of unit vectors: every one, or the best in a fixed order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from workbench.ports import Float32, Int64

KEY_BYTES: Final = 32
_DECIMALS = 5


def text_key(text: str) -> bytes:
    """Return the sha256 of a text. Unpaired surrogates count as what they are."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def text_keys(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return the sha256 of each text, uint8 [n, 32]; those of `KeyedTexts` are known."""
    if isinstance(texts, KeyedTexts):
        return texts.keys
    joined = b"".join(map(text_key, texts))
    return np.frombuffer(joined, np.uint8).reshape(len(texts), KEY_BYTES)


class KeyedTexts(Sequence[str]):
    """Texts whose `keys` uint8 [n, 32] are known; `read` gives the text of a row when it is asked for."""

    def __init__(self, keys: NDArray[np.uint8], read: Callable[[int], str]) -> None:
        self.keys = keys
        self._read = read

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(map(self._read, range(*index.indices(len(self)))))
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._read(index % len(self))


def cosines(vectors: Float32, query: Float32) -> Float32:
    """Return float32 [n] in [-1, 1] of unit vectors [n, d] with a unit query [d].

    Each row is summed alone and rounded, so that the same vectors give the same bytes in any company and
    whatever threads are free, which a product of matrices does not promise.
    """
    found: Float32 = np.einsum("ij,j->i", vectors, query)
    return np.round(found, _DECIMALS, out=found)


def best(ids: Int64, scores: Float32, k: int) -> tuple[Int64, Float32]:
    """Return the ids of the k highest scores and those scores, best first, ties by id."""
    k = min(max(k, 0), len(ids))
    if k == 0:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    if k < len(ids):
        least = np.partition(scores, len(ids) - k)[len(ids) - k]
        kept = np.flatnonzero(scores >= least)
        ids, scores = ids[kept], scores[kept]
    order = np.lexsort((ids, -scores))[:k]
    return ids[order].astype(np.int64), scores[order].astype(np.float32)
