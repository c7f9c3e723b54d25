"""Texts that can be searched by their words and, where there is a model, by their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from store import lexical, vectors
from store.crossovers import build_measured

if TYPE_CHECKING:
    from workbench.ports import Float32

RECORDS: Final = "iterations"
_WORDS: Final = "words"
_MEANINGS: Final = "meanings"


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """The words of texts, and their vectors if there is a model; rows are the texts in order."""

    words: lexical.Bm25Index
    meanings: vectors.CosineIndex | None

    def save(self, directory: Path) -> None:
        """Write the index into a directory. Raises: OSError."""
        parts = {_WORDS: self.words, _MEANINGS: self.meanings}
        for name, part in parts.items():
            if part is not None:
                (directory / name).mkdir()
                part.save(directory / name, RECORDS)


def build_search_index(
    texts: Sequence[str], embedded: Float32 | None, model: str = "", cache: Path | None = None
) -> SearchIndex:
    """Return the index of texts; `embedded` are their unit vectors float32 [n, d], None without a model."""
    meanings = None
    if embedded is not None:
        meanings = build_measured(cache, embedded, model=model)
    return SearchIndex(lexical.build_index(texts), meanings)


def load_search_index(directory: Path, *, embedded: bool) -> SearchIndex:
    """Return an index as it was saved. Raises: StoreError, OSError."""
    meanings = vectors.load_index(directory / _MEANINGS) if embedded else None
    return SearchIndex(lexical.load_index(directory / _WORDS), meanings)
