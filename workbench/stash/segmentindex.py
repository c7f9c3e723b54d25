"""The index of the stash: an immutable generation, and a tail folded from the journal since [rag §6, §8].

A generation says up to where the journal is in it: opening it folds the rest. One that is damaged, or whose
journal is another one, is of no use, and all is folded again. The vectors of a model serve until a generation
by another one is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import UNSET

from workbench.errors import ParseError, StoreError
from workbench.ports import Damaged, Entry, Journal, VectorIndex
from workbench.records.dataclass import dataclass
from workbench.records.segments import ContextSegment
from workbench.stash.chunking import (
    SegmentChunk,
    cut_segment,
    definition_places,
    sentence_chunks,
    speaker_label,
)
from workbench.stash.columns import (
    SegmentColumns,
    bytes_record,
    bytes_text,
    join_columns,
    make_columns,
    make_pool,
    record_bytes,
    text_bytes,
    text_key,
)
from workbench.stash.lexicon import Lexicon
from workbench.stash.segmentmodels import EmbeddingModel, ModelBlocks, Progress, numbers_of
from workbench.stash.segmentparts import (
    SegmentIndexState,
    SegmentPart,
    make_chunks,
    merge_parts,
    read_part,
    write_part,
)
from workbench.stash.segmenttype import MERGED, PUT, REMOVED, SEGMENTS, SHOWN, STREAM
from workbench.stash.stashstore import used_segments
from workbench.text.fusion import MINILM
from workbench.text.postings import build_postings
from workbench.text.terms import count_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, Int64

KIND: Final = "stash"
LABELLED: Final = 20
"""Segments with a name that are looked at for who speaks in them."""

TAIL: Final = 512
"""Segments since the last generation from which the next one is due."""

_FILE: Final = re.compile(r"[^:#\n]*\w\.\w{1,8}")
"""What a source looks like that is a path, with an ending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPlaces:
    """Where an index comes from and goes to; `build` makes an index of vectors, `load` opens a stored one."""

    journal: Journal
    texts: Callable[[Collection[str]], Mapping[str, str]]
    latest: Callable[[str], Path | Damaged | None]
    publish: Callable[[str, Callable[[Path], None]], Path]
    build: Callable[..., VectorIndex]
    load: Callable[[Path], VectorIndex]
    count_tokens: Callable[[str], int]
    chunk_tokens: int


class SegmentIndex:
    """All segments of a stash, to be searched. `refresh` brings it up to the journal.

    `model` is that of the vectors, "" where there are none; `setting` is what it was opened by; `blocks` is
    what is kept of several models, None of one. `previous` and `following` int64 [n] are the rows before and
    after a segment in its session, -1 for none. `notes` say what was found amiss.
    """

    columns: SegmentColumns
    model: str
    setting: str
    blocks: ModelBlocks | None
    _tail_numbers: NDArray[np.uint8]
    previous: Int64
    following: Int64
    lexicon: Lexicon
    _stored: SegmentPart | None
    _tail: SegmentPart | None
    _tail_vectors: Float32 | None

    def __init__(self, places: IndexPlaces) -> None:
        self.places = places
        self.notes: list[str] = []
        self._revision: str | None = None
        self._begin(None, make_columns((), ()), SegmentIndexState(0, 0, 0, "", "", places.chunk_tokens))

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def stored(self) -> int:
        """How many segments are in the generation; the others are the tail."""
        return 0 if self._stored is None else len(self._stored)

    @property
    def approximate(self) -> bool:
        """Whether its vectors are searched through a graph."""
        vectors = None if self._stored is None else self._stored.vectors
        return vectors is not None and not isinstance(vectors, np.ndarray) and vectors.approximate

    def refresh(self) -> None:
        """Take in what the journal has got since. Raises: StoreError."""
        revision = self.places.journal.revision(STREAM)
        if revision == self._revision:
            return
        if self._revision is None or self.places.journal.size(STREAM) < self._end:
            self._open()
        self._fold()
        self._revision = revision

    def embed_tail(self, model: EmbeddingModel, progress: Progress | None = None) -> None:
        """Embed what was stashed since, where that is the model of the generation. Raises: ModelError."""
        tail = self._tail
        if (
            tail is None
            or tail.vectors is not None
            or (self._stored is not None and self.model != model.model)
        ):
            return
        known = self._tail_vectors
        types, sizes = self.columns.types[self.stored :], np.diff(tail.chunks.starts)
        there = 0 if known is None else len(known)
        fresh = model.embed_segments(tail.chunk_texts()[there:], np.repeat(types, sizes)[there:], progress)
        vectors = fresh if known is None else np.concatenate([known, fresh])
        self.model, self.setting = model.model, model.setting
        if self.blocks is None:
            self.blocks = model.measure(types, tail.chunk_text)
        if self.blocks is not None:
            embedded = numbers_of(self.blocks.types, types)
            embedded[: len(self._tail_numbers)] = self._tail_numbers
            self._tail_numbers = embedded
            tail = replace(tail, numbers=embedded)
        self._tail, self._tail_vectors = replace(tail, vectors=vectors), vectors

    def is_behind(self, model: str) -> bool:
        """Whether the next generation is due: for what came or went since, for another model or type."""
        gone = len(self) - int(self.columns.alive.sum())
        other = len(self) > 0 and model != "" and (model != self.model or self._is_retyped())
        return other or len(self._segments) >= TAIL or (gone >= TAIL and 4 * gone > len(self))

    def publish(self, model: EmbeddingModel | None, progress: Progress | None = None) -> None:
        """Write a generation of the segments that are there, with their vectors, and go on from it.

        Vectors by the same model are taken over, those by another one are made again; without a model there
        are those there were. Raises: StoreError, ModelError.
        """
        if model is not None and self.model in ("", model.model):
            self.embed_tail(model, progress)
        kept = np.flatnonzero(self.columns.alive)
        part = merge_parts(self._parts(), kept, [record_bytes(self.record(row)) for row in kept.tolist()])
        if model is not None and len(part):
            part = self._embed(part, self.columns.types[kept], model, progress)
        embedded = part.vectors is not None
        state = SegmentIndexState(
            self._end,
            self.places.journal.checksum(STREAM, self._end),
            len(kept),
            self.model if embedded else "",
            self.setting if embedded else "",
            self.places.chunk_tokens,
            blocks=self.blocks if embedded and self.blocks is not None else UNSET,
        )
        columns, build = self.columns.rows(kept), self.places.build
        self.places.publish(KIND, partial(write_part, part=part, columns=columns, state=state, build=build))
        self._open()
        self._fold()

    def row(self, identifier: str) -> int:
        """Return the row of a segment by its whole id, -1 for one that is not there."""
        row = self._find(identifier)
        return row if row >= 0 and self.columns.alive[row] else -1

    def record(self, row: int) -> ContextSegment:
        """Return a segment without its text."""
        part, at = self._place(row)
        return self._changed.get(row) or bytes_record(part.records[at])

    def segment(self, row: int) -> ContextSegment:
        """Return a segment with its text."""
        return replace(self.record(row), text=self.text(row))

    def text(self, row: int) -> str:
        """Return the text of a segment."""
        part, at = self._place(row)
        return bytes_text(part.texts[at])

    def chunks(self, row: int) -> list[SegmentChunk]:
        """Return the chunks of a segment."""
        part, at = self._place(row)
        return part.chunks.of(at)

    def cosines(self, query: Float32) -> Float32:
        """Return float32 [n]: the highest cosine of a segment's chunks, NaN where it has no vector."""
        found = [part.cosines(query) for part, _ in self._parts()]
        return np.concatenate([np.empty(0, np.float32), *found])

    def cosines_of(self, query: Float32, rows: Int64) -> Float32:
        """Return `cosines` of some rows (ascending), float32 [k]."""
        found = []
        for part, start in self._parts():
            mine = rows[(rows >= start) & (rows < start + len(part))] - start
            found.append(part.cosines_of(query, mine))
        return np.concatenate([np.empty(0, np.float32), *found])

    def nearest(self, query: Float32, count: int, allowed: NDArray[np.bool_]) -> Int64:
        """Return the rows of the segments that are nearest, of those allowed; all of the tail are."""
        searches = [(query, allowed)]
        if self.blocks is not None:
            numbers, models = self._numbers(), range(len(self.blocks.models))
            searches = [(self.blocks.part_of(query, one), allowed & (numbers == one)) for one in models]
        found = [
            part.nearest(asked, count, among[start : start + len(part)]) + start
            for asked, among in searches
            for part, start in self._parts()
        ]
        return np.concatenate([np.empty(0, np.int64), *found])

    def is_speaker(self, name: str) -> bool:
        """Whether what is said here begins with a name: of segments that have it, a few are looked at."""
        terms = self.lexicon.scores(name).terms
        rows = terms[0].rows[:LABELLED].tolist() if terms else []
        return any(speaker_label(self.text(row)).replace(":", " ").startswith(f"{name} ") for row in rows)

    def chunk_cosines(self, query: Float32, row: int) -> Float32:
        """Return the cosine of each chunk of a segment, NaN without vectors."""
        part, at = self._place(row)
        return part.chunk_cosines(query, at)

    def background(self, rows: Int64 | None = None) -> Float32 | float:
        """Return the cosines of unrelated texts by the models of rows, or of all; one number of one."""
        if self.blocks is None:
            return MINILM.background
        numbers = self._numbers()
        return np.array(self.blocks.backgrounds, np.float32)[numbers if rows is None else numbers[rows]]

    def _numbers(self) -> NDArray[np.uint8]:
        """Return the number of the model that each segment's vectors are by, or would be; uint8 [n]."""
        assert self.blocks is not None
        found = numbers_of(self.blocks.types, self.columns.types)
        for part, start in self._parts():
            if part.numbers is not None:
                found[start : start + len(part)] = part.numbers
        return found

    def _is_retyped(self) -> bool:
        """Whether the type of a segment was edited since, and has another model."""
        if self.blocks is None:
            return False
        wanted = numbers_of(self.blocks.types, self.columns.types)
        return bool((self._numbers() != wanted)[self.columns.alive].any())

    def _embed(
        self, part: SegmentPart, types: NDArray[np.int8], model: EmbeddingModel, progress: Progress | None
    ) -> SegmentPart:
        """Return a part with its vectors by a model; those there are by it are taken over."""
        numbers = numbers_of(model.types, types) if model.parts else None
        matrix = part.matrix if self.model == model.model else None
        stale = np.full(len(part), matrix is None)
        if matrix is not None and numbers is not None and part.numbers is not None:
            stale = numbers != part.numbers
        if stale.any():
            sizes = np.diff(part.chunks.starts)
            chunks = np.repeat(stale, sizes)
            texts = [text for text, wanted in zip(part.chunk_texts(), chunks, strict=True) if wanted]
            fresh = model.embed_segments(texts, np.repeat(types, sizes)[chunks], progress)
            vectors = np.empty((len(chunks), fresh.shape[1]), np.float32) if matrix is None else matrix
            vectors[chunks] = fresh
            part = replace(part, vectors=vectors)
        self.model, self.setting = model.model, model.setting
        self.blocks = model.measure(types, part.chunk_text)
        return replace(part, numbers=numbers)

    def _parts(self) -> list[tuple[SegmentPart, int]]:
        stored = [] if self._stored is None else [(self._stored, 0)]
        return stored if self._tail is None else [*stored, (self._tail, self.stored)]

    def _place(self, row: int) -> tuple[SegmentPart, int]:
        start = 0 if row < self.stored else self.stored
        part = self._stored if row < self.stored else self._tail
        assert part is not None
        return part, row - start

    def _find(self, identifier: str) -> int:
        if identifier in self._rows or self._stored is None:
            return self._rows.get(identifier, -1)
        key = np.uint64(text_key(identifier))
        at = int(np.searchsorted(self._stored.ids, key, sorter=self._order))
        found = int(self._order[at]) if at < len(self._order) else -1
        return found if found >= 0 and self._stored.ids[found] == key else -1

    def _begin(self, part: SegmentPart | None, columns: SegmentColumns, state: SegmentIndexState) -> None:
        self._stored = part
        self.columns = columns
        self.model, self.setting = state.model, state.setting
        self.blocks = None if state.blocks is UNSET else state.blocks
        self._tail_numbers = np.empty(0, np.uint8)
        self._end = state.end
        self._order: Int64 = np.argsort(part.ids, kind="stable") if part else np.empty(0, np.int64)
        self._segments: list[ContextSegment] = []
        self._texts: list[str] = []
        self._cut: list[Sequence[SegmentChunk]] = []
        self._tail = None
        self._tail_vectors = None
        self._changed: dict[int, ContextSegment] = {}
        self._rows: dict[str, int] = {}
        self.previous = np.full(len(columns), -1)
        self.following = np.full(len(columns), -1)
        self._link(np.arange(len(columns)))
        self.lexicon = Lexicon([one.postings for one, _ in self._parts()])

    def _open(self) -> None:
        """Open the generation, or begin with nothing where there is none that fits the journal."""
        path, tokens = self.places.latest(KIND), self.places.chunk_tokens
        reason = path.reason if isinstance(path, Damaged) else ""
        if isinstance(path, Path):
            try:
                part, columns, state = read_part(path, self.places.load)
                if self.places.journal.checksum(STREAM, state.end) != state.checksum:
                    reason = "it is of another journal"
                elif state.chunk_tokens == tokens:
                    return self._begin(part, columns, state)
            except (OSError, ValueError, KeyError, StoreError) as error:
                reason = str(error)
        if reason:
            self.notes.append(f"the index of the stash is rebuilt from its journal ({reason})")
        return self._begin(None, make_columns((), ()), SegmentIndexState(0, 0, 0, "", "", tokens))

    def _fold(self) -> None:
        """Bring in the rest of the journal: what segments are now, and how often they were used since."""
        states: dict[int, ContextSegment | None] = {}
        uses: list[tuple[int, str]] = []
        for end, entry in self.places.journal.read(STREAM, self._end):
            self._end = end
            if entry.kind == PUT:
                self._put(entry, states)
            elif entry.kind == REMOVED:
                states[self._find(str(entry.body.get("id", "")))] = None
            elif entry.kind in (SHOWN, MERGED):
                uses += [(self._find(identifier), entry.kind) for identifier in used_segments(entry)]
        self._recall()
        touched = self._extend()
        for row, segment in states.items():
            if row >= 0:
                touched.add(int(self.columns.sessions[row]))
                self._decide(row, segment)
                touched.add(int(self.columns.sessions[row]))
        for row, kind in uses:
            if row >= 0:
                (self.columns.shown if kind == SHOWN else self.columns.merged)[row] += 1
        if touched:
            sessions = np.fromiter(touched, np.uint64, len(touched))
            self._link(np.flatnonzero(np.isin(self.columns.sessions, sessions)))

    def _put(self, entry: Entry, states: dict[int, ContextSegment | None]) -> None:
        try:
            segment = SEGMENTS.from_body(entry.body)
        except ParseError:
            return  # as the ledger reports
        row = self._find(segment.id)
        if row < 0:
            row = self._rows[segment.id] = self.stored + len(self._segments)
            self._segments.append(segment)
            self._texts.append(str(entry.body.get("text") or ""))
        states[row] = segment

    def _recall(self) -> None:
        """Read the texts of segments that were gone when the generation was written and came back since."""
        missing = {one.id: at for at, one in enumerate(self._segments) if not self._texts[at]}
        if missing:
            for identifier, text in self.places.texts(list(missing)).items():
                self._texts[missing[identifier]] = text

    def _decide(self, row: int, segment: ContextSegment | None) -> None:
        if segment is None or (row >= self.stored and not self._texts[row - self.stored]):
            self.columns.alive[row] = False
        else:
            self.columns.set(row, segment)
            self._changed[row] = segment

    def _extend(self) -> set[int]:
        """Make the tail of all that is in it, and return the sessions of what is new."""
        fresh = len(self._cut)
        if fresh == len(self._segments):
            return set()
        segments, texts = self._segments[fresh:], self._texts[fresh:]
        self.columns = join_columns([self.columns, make_columns(segments, texts)])
        self.previous = np.concatenate([self.previous, np.full(len(segments), -1)])
        self.following = np.concatenate([self.following, np.full(len(segments), -1)])
        self._cut += map(self._chunks_of, segments, texts)
        self._tail = SegmentPart(
            build_postings(map(_terms, self._segments, self._texts)),
            make_chunks(self._cut),
            make_pool(map(record_bytes, self._segments)),
            make_pool(map(text_bytes, self._texts)),
            np.fromiter((text_key(one.id) for one in self._segments), np.uint64, len(self._segments)),
            None,
        )
        self.lexicon = Lexicon([part.postings for part, _ in self._parts()])
        return set(self.columns.sessions[self.stored + fresh :].tolist())

    def _chunks_of(self, segment: ContextSegment, text: str) -> Sequence[SegmentChunk]:
        count, size = self.places.count_tokens, self.places.chunk_tokens
        if count(text) > size:
            places = definition_places(text, segment.type, segment.source)
            return cut_segment(text, segment.type, count, size=size, definitions=places)
        whole = cut_segment(text, segment.type, count, size=size)
        if whole:
            return (*whole, *sentence_chunks(text, segment.type))
        return (SegmentChunk(0, 0),)

    def _link(self, rows: Int64) -> None:
        """Order segments by session, time and as they were stashed, and link those that are side by side."""
        columns = self.columns
        self.previous[rows] = self.following[rows] = -1
        rows = rows[columns.alive[rows] & (columns.sessions[rows] != 0)]
        order = rows[np.lexsort((rows, columns.times[rows], columns.sessions[rows]))]
        same = columns.sessions[order[1:]] == columns.sessions[order[:-1]]
        self.previous[order[1:][same]] = order[:-1][same]
        self.following[order[:-1][same]] = order[1:][same]


def _terms(segment: ContextSegment, text: str) -> dict[str, int]:
    """Return the terms a segment is found by: of its text, its topic and the file it is from."""
    file = PurePosixPath(segment.source).name if _FILE.fullmatch(segment.source) else ""
    return count_terms("\n".join(filter(None, (text, segment.topic, file))))
