"""Texts that can be searched by their words and, where there is a model, by their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from store import lexical, vectors

if TYPE_CHECKING:
    from workbench.ports import Float32

_WORDS: Final = "words"
_MEANINGS: Final = "meanings"


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """The words of texts, and their vectors if there is a model; rows are the texts in order."""

    words: lexical.Bm25Index
    meanings: vectors.ExactIndex | vectors.HnswIndex | None

    def save(self, directory: Path) -> None:
        """Write the index into a directory. Raises: StoreError."""
        self.words.save(directory / _WORDS)
        if self.meanings is not None:
            self.meanings.save(directory / _MEANINGS)


def build_search_index(texts: Sequence[str], embedded: Float32 | None) -> SearchIndex:
    """Return the index of texts; `embedded` are their unit vectors float32 [n, d], None without a model."""
    meanings = None if embedded is None else vectors.open_index(embedded, np.arange(len(texts)))
    return SearchIndex(lexical.build_index(texts), meanings)


def load_search_index(directory: Path, *, embedded: bool) -> SearchIndex:
    """Return an index as it was saved. Raises: StoreError, OSError."""
    meanings = vectors.load_index(directory / _MEANINGS) if embedded else None
    return SearchIndex(lexical.load_index(directory / _WORDS), meanings)
