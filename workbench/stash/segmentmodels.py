"""What embeds segments: one model, and others beside it for some types of segments [rag §12].

Vectors of several models are side by side in one row, with zeros where those of the other models would be; a
query has them all. The inner product is the cosine by the model that embedded the segment, so that there is
one index and one search however many models there are. What unrelated texts have differs by model: it is
measured on the segments themselves, against the default model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
import numpy as np

from workbench.stash.columns import TYPES
from workbench.text.fusion import MINILM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32
    from workbench.records.segments import SegmentType

SAMPLE: Final = 64
"""Segments at most, evenly from all of a model's, whose pairs say what unrelated texts have."""

_MOST: Final = 0.9  # of a background: some difference has to be left

Progress = Callable[[int, int], None]


class Embed(Protocol):
    """Embeds texts; `progress` is called with texts done and texts in all."""

    def __call__(self, texts: Sequence[str], *, progress: Progress | None = None) -> Float32:
        """Return float32 [n, d] unit vectors. Raises: ModelError."""
        ...


class ModelBlocks(msgspec.Struct, frozen=True):
    """What a generation keeps of several models, the default one first.

    `settings` are what they were opened by, `widths` their dimensions, `backgrounds` the cosines of unrelated
    texts; `types` has the number of the model of each type that the first does not embed.
    """

    models: tuple[str, ...]
    settings: tuple[str, ...]
    widths: tuple[int, ...]
    backgrounds: tuple[float, ...]
    types: dict[str, int]

    def part_of(self, query: Float32, number: int) -> Float32:
        """Return a query's vector float32 [d] with zeros but for the part of one model."""
        start = sum(self.widths[:number])
        found = np.zeros_like(query)
        found[start : start + self.widths[number]] = query[start : start + self.widths[number]]
        return found


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """What embeds: the model's identity, the setting it was opened by, and how it is asked.

    Where types have models of their own (`combine_models`), `model` names all of them, `parts` are they, the
    default one first, and `types` has the number of the part of each type that the first does not embed.
    """

    model: str
    setting: str
    embed: Embed
    parts: tuple[EmbeddingModel, ...] = ()
    types: Mapping[str, int] = field(default_factory=dict)

    def part(self, kind: str) -> EmbeddingModel:
        """Return the model of a type, the default one for any other."""
        return self.parts[self.types.get(kind, 0)] if self.parts else self

    def embed_segments(
        self, texts: Sequence[str], types: NDArray[np.int8], progress: Progress | None = None
    ) -> Float32:
        """Return float32 [n, d] of texts of segments, whose types are `types`. Raises: ModelError."""
        if not self.parts:
            return self.embed(texts, progress=progress)
        numbers, done, blocks = numbers_of(self.types, types), 0, []
        for number, part in enumerate(self.parts):
            rows = np.flatnonzero(numbers == number)
            found = part.embed([texts[row] for row in rows.tolist()], progress=_after(progress, done, texts))
            block = np.zeros((len(texts), found.shape[1]), np.float32)
            block[rows] = found
            blocks.append(block)
            done += len(rows)
        return np.concatenate(blocks, axis=1)

    def embed_query(self, texts: Sequence[str]) -> Float32:
        """Return float32 [n, d] of texts that are looked for, by all models. Raises: ModelError."""
        if not self.parts:
            return self.embed(texts)
        return np.concatenate([part.embed(texts) for part in self.parts], axis=1)

    def measure(self, types: NDArray[np.int8], text_of: Callable[[int], str]) -> ModelBlocks | None:
        """Return what to keep of several models, None of one. Raises: ModelError.

        A background is that of the default model and by how much the pairs of the same texts, `text_of` rows
        of segments of `types`, are nearer by the other one.
        """
        if not self.parts:
            return None
        numbers = numbers_of(self.types, types)
        widths, backgrounds = [], []
        for number, part in enumerate(self.parts):
            rows = np.flatnonzero(numbers == number)
            sample = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), SAMPLE)).astype(np.int64))]
            texts = [text_of(row) for row in sample.tolist()]
            vectors = part.embed(texts)
            widths.append(vectors.shape[1])
            excess = _mean_cosine(vectors) - _mean_cosine(self.parts[0].embed(texts)) if number else 0.0
            backgrounds.append(round(min(max(MINILM.background + excess, 0.0), _MOST), 4))
        return ModelBlocks(
            tuple(part.model for part in self.parts),
            tuple(part.setting for part in self.parts),
            tuple(widths),
            tuple(backgrounds),
            dict(self.types),
        )


def combine_models(default: EmbeddingModel, others: Mapping[SegmentType, EmbeddingModel]) -> EmbeddingModel:
    """Return the default model with those of types as one; just the default one if no type has another."""
    parts, types = [default], {}
    for kind in sorted(others):
        models = [part.model for part in parts]
        if others[kind].model not in models:
            parts.append(others[kind])
            models.append(others[kind].model)
        if number := models.index(others[kind].model):
            types[kind.value] = number
    if not types:
        return default
    names = [default.model, *(f"{kind}={parts[number].model}" for kind, number in types.items())]
    return EmbeddingModel(" ".join(names), default.setting, default.embed, tuple(parts), types)


def numbers_of(types: Mapping[str, int], rows: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Return the number of the model of each segment, uint8 [n], by its type."""
    found: NDArray[np.uint8] = np.array([types.get(kind.value, 0) for kind in TYPES], np.uint8)[rows]
    return found


def _mean_cosine(vectors: Float32) -> float:
    """Return the mean cosine of the pairs of different unit vectors, 0 without any."""
    count = len(vectors)
    if count < 2:
        return 0.0
    total: Any = vectors.sum(axis=0, dtype=np.float64)
    lengths = float(np.square(vectors, dtype=np.float64).sum())
    return float((total @ total - lengths) / (count * (count - 1)))


def _after(progress: Progress | None, done: int, texts: Sequence[str]) -> Progress | None:
    return None if progress is None else lambda more, _: progress(done + more, len(texts))
