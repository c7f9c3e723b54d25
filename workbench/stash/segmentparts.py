"""What an index of the stash is made of: consecutive segments with their words, chunks, records and texts.

A generation on disk is one part, in a file of arrays and the files of its vectors; what was stashed since is
another one, in memory. Both are read alike, and become one part of the next generation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from workbench.ports import VectorIndex
from workbench.project.arrays import (
    Pool,
    join_pools,
    make_pool,
    offsets,
    open_arrays,
    unpack_pool,
    write_arrays,
)
from workbench.records.conversion import decode_json
from workbench.records.dataclass import dataclass
from workbench.stash.chunking import SegmentChunk, embedded_text
from workbench.stash.columns import SegmentColumns, bytes_text, unpack_columns
from workbench.stash.segmentmodels import EmbeddingModel, ModelBlocks, Progress, numbers_of
from workbench.text.postings import Postings, merge_postings, pack_postings, unpack_postings
from workbench.text.terms import TERMS_VERSION
from workbench.text.vectors import cosines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, Int64

RECORDS: Final = "segments"
"""What the vectors of a generation are of."""

FORMAT: Final = 3_000 + TERMS_VERSION  # of the parts, and of the terms in them
_ARRAYS: Final = "segments.arrays"
_VECTORS: Final = "vectors"


class SegmentIndexState(msgspec.Struct, frozen=True):
    """Up to where the journal is in a generation, and by what its chunks were cut and embedded.

    `blocks` is there where several models embedded it.
    """

    end: int
    checksum: int
    count: int
    model: str
    setting: str
    chunk_tokens: int
    format: int = FORMAT
    blocks: ModelBlocks | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True, eq=False)
class Chunks:
    """Chunks of n segments: `starts` int64 [n + 1] into `spans` int32 [m, 2], characters of the text."""

    starts: Int64
    spans: NDArray[np.int32]

    def of(self, row: int) -> list[SegmentChunk]:
        """Return the chunks of a segment: of the whole text, then its sentences if it has such."""
        first, last = int(self.starts[row]), int(self.starts[row + 1])
        return [SegmentChunk(int(start), int(end)) for start, end in self.spans[first:last]]

    def rows(self, kept: Int64) -> tuple[Chunks, Int64]:
        """Return the chunks of some segments (ascending), and which of the chunks those are."""
        sizes = np.diff(self.starts)
        mask = np.zeros(len(sizes), np.bool_)
        mask[kept] = True
        chosen = np.flatnonzero(np.repeat(mask, sizes))
        return Chunks(offsets(sizes[kept]), self.spans[chosen]), chosen


def make_chunks(cut: Sequence[Sequence[SegmentChunk]]) -> Chunks:
    """Return the chunks of segments."""
    spans = [(chunk.start, chunk.end) for one in cut for chunk in one]
    return Chunks(offsets([len(one) for one in cut]), np.array(spans, np.int32).reshape(-1, 2))


@dataclass(frozen=True, slots=True, eq=False)
class SegmentPart:
    """Consecutive segments. `ids` are the keys of their ids; `vectors` are those of all chunks, or None.

    `numbers` uint8 [n] say which of several models embedded each, None where there is one.
    """

    postings: Postings
    chunks: Chunks
    records: Pool
    texts: Pool
    ids: NDArray[np.uint64]
    vectors: VectorIndex | Float32 | None
    numbers: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.records)

    @property
    def matrix(self) -> Float32 | None:
        """The vectors of all chunks, float32 [m, d]."""
        return (
            self.vectors
            if self.vectors is None or isinstance(self.vectors, np.ndarray)
            else self.vectors.vectors
        )

    def cosines(self, query: Float32) -> Float32:
        """Return float32 [n]: the highest cosine of a segment's chunks, NaN without vectors."""
        if self.vectors is None or not len(self):
            return np.full(len(self), np.nan, np.float32)
        vectors = self.vectors
        each = cosines(vectors, query) if isinstance(vectors, np.ndarray) else vectors.cosines(query)
        found: Float32 = np.maximum.reduceat(each, self.chunks.starts[:-1])
        return found

    def cosines_of(self, query: Float32, rows: Int64) -> Float32:
        """Return `cosines` of some rows, float32 [k]."""
        matrix = self.matrix
        if matrix is None or not len(rows):
            return np.full(len(rows), np.nan, np.float32)
        first, sizes = self.chunks.starts[rows], np.diff(self.chunks.starts)[rows]
        starts = offsets(sizes)
        places = np.arange(starts[-1]) + np.repeat(first - starts[:-1], sizes)
        found: Float32 = np.maximum.reduceat(cosines(matrix[places], query), starts[:-1])
        return found

    def nearest(self, query: Float32, count: int, allowed: NDArray[np.bool_]) -> Int64:
        """Return the segments with the nearest chunks, of those allowed; all of these of a small part."""
        if self.vectors is None:
            return np.empty(0, np.int64)
        if isinstance(self.vectors, np.ndarray):
            return np.flatnonzero(allowed)
        owners = np.repeat(np.arange(len(self)), np.diff(self.chunks.starts))
        wanted = None if allowed.all() else np.flatnonzero(allowed[owners])
        near, _ = self.vectors.search(query, count, wanted)
        return np.unique(owners[near])

    def chunk_cosines(self, query: Float32, row: int) -> Float32:
        """Return the cosine of each chunk of a segment, NaN without vectors."""
        first, last = int(self.chunks.starts[row]), int(self.chunks.starts[row + 1])
        matrix = self.matrix
        return (
            np.full(last - first, np.nan, np.float32)
            if matrix is None
            else cosines(matrix[first:last], query)
        )

    def chunk_texts(self) -> list[str]:
        """Return what is embedded of all chunks, in order."""
        texts = []
        for row in range(len(self)):
            text = bytes_text(self.texts[row])
            texts += [embedded_text(text, chunk) for chunk in self.chunks.of(row)]
        return texts

    def chunk_text(self, row: int) -> str:
        """Return what is embedded of the first chunk of a segment."""
        return embedded_text(bytes_text(self.texts[row]), self.chunks.of(row)[0])


def merge_parts(
    parts: Sequence[tuple[SegmentPart, int]], kept: Int64, changed: Mapping[int, bytes]
) -> SegmentPart:
    """Return the rows to keep (ascending, of all parts) as one part; parts come with their first rows.

    `changed` has the records of rows that are others by now.
    """
    postings: list[tuple[Postings, NDArray[np.int32]]] = []
    sizes, spans = [np.empty(0, np.int64)], [np.empty((0, 2), np.int32)]
    ids, vectors, numbers = [np.empty(0, np.uint64)], [], []
    texts: list[Pool] = []
    records: list[Pool] = []
    for part, start in parts:
        mine = kept[(kept >= start) & (kept < start + len(part))]
        mapping = np.full(len(part), -1, np.int32)
        mapping[mine - start] = np.searchsorted(kept, mine)
        postings.append((part.postings, mapping))
        chunks, chosen = part.chunks.rows(mine - start)
        sizes.append(np.diff(chunks.starts))
        spans.append(chunks.spans)
        ids.append(part.ids[mine - start])
        texts += part.texts.rows(mine - start)
        records += _changed_records(part.records, start, mine, changed)
        matrix = part.matrix
        if matrix is not None:
            vectors.append(matrix[chosen])
        if part.numbers is not None:
            numbers.append(part.numbers[mine - start])
    return SegmentPart(
        merge_postings(postings, len(kept)),
        Chunks(offsets(np.concatenate(sizes)), np.concatenate(spans)),
        join_pools(records),
        join_pools(texts),
        np.concatenate(ids),
        np.concatenate(vectors) if vectors and len(vectors) == len(parts) else None,
        np.concatenate(numbers) if numbers and len(numbers) == len(parts) else None,
    )


def _changed_records(stored: Pool, start: int, rows: Int64, changed: Mapping[int, bytes]) -> Iterator[Pool]:
    """Yield the records of some rows (ascending) of a part, those of `changed` in place of what is stored."""
    others = np.array(sorted(changed), np.int64)
    others = others[np.isin(others, rows)]
    places = np.searchsorted(rows, others)
    before = 0
    for place, row in zip(places.tolist(), others.tolist(), strict=True):
        yield from stored.rows(rows[before:place] - start)
        yield make_pool([changed[row]])
        before = place + 1
    yield from stored.rows(rows[before:] - start)


def embed_part(
    part: SegmentPart,
    types: NDArray[np.int8],
    model: EmbeddingModel,
    progress: Progress | None,
    *,
    known: bool,
) -> SegmentPart:
    """Return a part with its vectors by a model; those it has are taken over if they are `known` to be by it.

    `types` are those of its segments. Raises: ModelError.
    """
    numbers = numbers_of(model.types, types) if model.parts else None
    matrix = part.matrix if known else None
    stale = np.full(len(part), matrix is None)
    if matrix is not None and numbers is not None and part.numbers is not None:
        stale = numbers != part.numbers
    if stale.any():
        sizes = np.diff(part.chunks.starts)
        chunks = np.repeat(stale, sizes)
        texts = [text for text, wanted in zip(part.chunk_texts(), chunks, strict=True) if wanted]
        fresh = model.embed_segments(texts, np.repeat(types, sizes)[chunks], progress)
        if matrix is None:
            vectors = fresh  # all are
        else:
            vectors = matrix
            vectors[chunks] = fresh
        part = replace(part, vectors=vectors)
    return replace(part, numbers=numbers)


def write_part(
    directory: Path,
    part: SegmentPart,
    columns: SegmentColumns,
    state: SegmentIndexState,
    build: Callable[..., VectorIndex],
) -> None:
    """Write a generation into an empty directory. Raises: OSError, ModelError for vectors without end."""
    arrays: dict[str, NDArray[Any] | bytes] = {
        "state": msgspec.json.encode(state),
        "ids": part.ids,
        "chunks.starts": part.chunks.starts,
        "chunks.spans": part.chunks.spans,
        **columns.pack(),
        **pack_postings(part.postings, "words"),
        **part.records.pack("records"),
        **part.texts.pack("texts"),
    }
    if part.numbers is not None:
        arrays["numbers"] = part.numbers
    write_arrays(directory / _ARRAYS, arrays)
    matrix = part.matrix
    if matrix is not None:
        (directory / _VECTORS).mkdir()
        index: Any = build(matrix, model=state.model)
        index.save(directory / _VECTORS, RECORDS, state.setting)


def read_part(
    directory: Path, load: Callable[[Path], VectorIndex]
) -> tuple[SegmentPart, SegmentColumns, SegmentIndexState]:
    """Open a generation. Raises: OSError, ValueError, KeyError, StoreError if it is damaged."""
    arrays = open_arrays(directory / _ARRAYS)
    state = _state(arrays)
    columns = unpack_columns(arrays)
    part = SegmentPart(
        unpack_postings(arrays, "words"),
        Chunks(arrays["chunks.starts"], arrays["chunks.spans"]),
        unpack_pool(arrays, "records", state.count),
        unpack_pool(arrays, "texts", state.count),
        arrays["ids"],
        load(directory / _VECTORS) if state.model else None,
        None if state.blocks is msgspec.UNSET else arrays["numbers"],
    )
    counts = {len(columns), part.postings.size, len(part.ids), len(part.chunks.starts) - 1, state.count}
    if part.numbers is not None:
        counts.add(len(part.numbers))
    chunks, matrix = int(part.chunks.starts[-1]), part.matrix
    if len(counts) > 1 or chunks != len(part.chunks.spans) or (matrix is not None and len(matrix) != chunks):
        raise ValueError("its parts do not add up")
    return part, columns, state


def _state(arrays: Mapping[str, NDArray[Any]]) -> SegmentIndexState:
    state = decode_json(arrays["state"].tobytes(), SegmentIndexState)
    if state.format != FORMAT:
        raise ValueError("it was written by another version of the program")
    return state
