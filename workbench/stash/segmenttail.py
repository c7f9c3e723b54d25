"""What was stashed since a generation of the index was written: a part in memory that grows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.project.arrays import make_pool
from workbench.records.segments import ContextSegment
from workbench.stash.chunking import SegmentChunk, cut_segment, definition_places, sentence_chunks
from workbench.stash.columns import record_bytes, text_bytes, text_key
from workbench.stash.filenames import source_file, source_term
from workbench.stash.segmentmodels import EmbeddingModel, Progress, numbers_of
from workbench.stash.segmentparts import SegmentPart, make_chunks
from workbench.text.postings import PostingsBuilder
from workbench.text.terms import count_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32

ReadTexts = Callable[[Collection[str]], Mapping[str, str]]


class SegmentTail:
    """Segments in the order they came; `rows` are theirs in the index by id, from `start` on.

    `cut` gives the chunks of a segment with its text. `part` is all that `extend` brought in, None before.
    """

    part: SegmentPart | None
    _vectors: Float32 | None

    def __init__(self, start: int, cut: Callable[[ContextSegment, str], Sequence[SegmentChunk]]) -> None:
        self.part = None
        self.rows: dict[str, int] = {}
        self._start = start
        self._cut = cut
        self._segments: list[ContextSegment] = []
        self._texts: list[str] = []
        self._chunks: list[Sequence[SegmentChunk]] = []
        self._words = PostingsBuilder()
        self._vectors = None
        self._numbers = np.empty(0, np.uint8)

    def __len__(self) -> int:
        return len(self._segments)

    def put(self, segment: ContextSegment, text: str) -> int:
        """Take one more segment and return its row; without a text where the journal has that before."""
        row = self.rows[segment.id] = self._start + len(self)
        self._segments.append(segment)
        self._texts.append(text)
        return row

    def has_text(self, row: int) -> bool:
        """Whether the text of a row of the tail is known."""
        return bool(self._texts[row - self._start])

    def extend(self, read: ReadTexts) -> tuple[list[ContextSegment], list[str]]:
        """Bring what was put since into the part, and return it with its texts; `read` gives missing ones."""
        first = len(self._chunks)
        segments = self._segments[first:]
        missing = {segment.id: at for at, segment in enumerate(segments, first) if not self._texts[at]}
        for identifier, text in read(list(missing)).items() if missing else ():
            self._texts[missing[identifier]] = text
        texts = self._texts[first:]
        if segments:
            self._chunks += map(self._cut, segments, texts)
            for segment, text in zip(segments, texts, strict=True):
                self._words.add(segment_terms(segment, text))
            self.part = SegmentPart(
                self._words.finish(),
                make_chunks(self._chunks),
                make_pool(map(record_bytes, self._segments)),
                make_pool(map(text_bytes, self._texts)),
                np.fromiter((text_key(segment.id) for segment in self._segments), np.uint64, len(self)),
                None,
            )
        return segments, texts

    def embed(self, model: EmbeddingModel, types: NDArray[np.int8], progress: Progress | None) -> bool:
        """Embed what is not yet, by the types of all segments; whether there was any. Raises: ModelError."""
        part = self.part
        if part is None or part.vectors is not None:
            return False
        known, sizes = self._vectors, np.diff(part.chunks.starts)
        there = 0 if known is None else len(known)
        fresh = model.embed_segments(part.chunk_texts()[there:], np.repeat(types, sizes)[there:], progress)
        self._vectors = fresh if known is None else np.concatenate([known, fresh])
        self.part = replace(part, vectors=self._vectors)
        return True

    def number(self, numbers: Mapping[str, int], types: NDArray[np.int8]) -> None:
        """Note which of several models embedded each segment, which a type edited later does not change."""
        assert self.part is not None
        embedded = numbers_of(numbers, types)
        embedded[: len(self._numbers)] = self._numbers
        self._numbers = embedded
        self.part = replace(self.part, numbers=embedded)


def segment_chunks(
    segment: ContextSegment, text: str, count: Callable[[str], int], size: int
) -> Sequence[SegmentChunk]:
    """Return the chunks of `size` tokens that a segment is embedded in, of a short one its sentences, too."""
    if count(text) > size:
        places = definition_places(text, segment.type, segment.source)
        return cut_segment(text, segment.type, count, size=size, definitions=places)
    whole = cut_segment(text, segment.type, count, size=size)
    if whole:
        return (*whole, *sentence_chunks(text, segment.type))
    return (SegmentChunk(0, 0),)


def segment_terms(segment: ContextSegment, text: str) -> dict[str, int]:
    """Return the terms a segment is found by: of its text, its topic and the file it is from."""
    file = source_file(segment.source)
    terms = count_terms("\n".join(filter(None, (text, segment.topic, file))))
    return {**terms, source_term(file): 1} if file else terms
