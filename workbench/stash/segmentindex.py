"""The index of the stash: an immutable generation, and a tail folded from the journal since [rag §6, §8].

A generation says up to where the journal is in it: opening it folds the rest. One that is damaged, or whose
journal is another one, is of no use, and all is folded again. The vectors of a model serve until a generation
by another one is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import UNSET

from workbench.errors import ParseError, StoreError
from workbench.ports import Damaged, Entry, Journal, PointFilter, VectorIndex
from workbench.records.dataclass import dataclass
from workbench.records.segments import ContextSegment
from workbench.stash.chunking import SegmentChunk, speaker_label
from workbench.stash.columns import (
    SegmentColumns,
    bytes_record,
    bytes_text,
    join_columns,
    make_columns,
    record_bytes,
    text_key,
)
from workbench.stash.lexicon import Lexicon
from workbench.stash.segmentmodels import EmbeddingModel, ModelBlocks, Progress, numbers_of
from workbench.stash.segmentparts import (
    SegmentIndexState,
    SegmentPart,
    embed_part,
    merge_parts,
    read_part,
    write_part,
)
from workbench.stash.segmenttail import SegmentTail, segment_chunks
from workbench.stash.segmenttype import MERGED, PUT, REMOVED, SEGMENTS, SHOWN, STREAM
from workbench.stash.stashstore import used_segments
from workbench.text.fusion import MINILM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, Int64
    from workbench.stash.segmentserver import SegmentServer

KIND: Final = "stash"
LABELLED: Final = 20
"""Segments with a name that are looked at for who speaks in them."""

TAIL: Final = 512
"""Segments since the last generation from which the next one is due."""

PART_OF: Final = 256
"""And of a large one so many times fewer than it has: writing a million takes half a minute, folding the tail
a third of a millisecond a segment."""

STEP: Final = 50_000
"""Segments that are in memory at once while very many come in."""


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
    after a segment in its session, -1 for none. `server` searches the vectors of the generation, None where
    that is done here. `notes` say what was found amiss.
    """

    columns: SegmentColumns
    model: str
    setting: str
    blocks: ModelBlocks | None
    previous: Int64
    following: Int64
    lexicon: Lexicon
    server: SegmentServer | None
    _tail: SegmentTail

    def __init__(self, places: IndexPlaces) -> None:
        self.places = places
        self.server = None
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
    def generation(self) -> SegmentPart | None:
        """The segments of the generation, None before the first."""
        return self._stored

    @property
    def approximate(self) -> bool:
        """Whether its vectors are searched through a graph, here or on a server."""
        if self.server is not None:
            return True
        vectors = None if self._stored is None else self._stored.vectors
        return vectors is not None and not isinstance(vectors, np.ndarray) and vectors.approximate

    def refresh(self, *, write: bool = False) -> None:
        """Take in what the journal has got since. Raises: StoreError.

        With `write` very many segments without vectors are written in generations on the way, so that what is
        in memory does not grow with them.
        """
        revision = self.places.journal.revision(STREAM)
        if revision == self._revision:
            return
        if self._revision is None or self.places.journal.size(STREAM) < self._end:
            self._open()
        while not self._fold(STEP if write and not self.model else None):
            self._write(None)
        self._revision = revision

    def embed_tail(self, model: EmbeddingModel, progress: Progress | None = None) -> None:
        """Embed what was stashed since, where that is the model of the generation. Raises: ModelError."""
        types = self.columns.types[self.stored :]
        other = self._stored is not None and self.model != model.model
        if other or not self._tail.embed(model, types, progress):
            return
        self.model, self.setting = model.model, model.setting
        if self.blocks is None and self._tail.part is not None:
            self.blocks = model.measure(types, self._tail.part.chunk_text)
        if self.blocks is not None:
            self._tail.number(self.blocks.types, types)

    def is_behind(self, model: str) -> bool:
        """Whether the next generation is due: for what came or went since, for another model or type."""
        gone = len(self) - int(self.columns.alive.sum())
        other = len(self) > 0 and model != "" and (model != self.model or self._is_retyped())
        due = max(TAIL, self.stored // PART_OF)
        return other or len(self._tail) >= due or (gone >= TAIL and 4 * gone > len(self))

    def publish(self, model: EmbeddingModel | None, progress: Progress | None = None) -> None:
        """Write a generation of the segments that are there, with their vectors, and go on from it.

        Vectors by the same model are taken over, those by another one are made again; without a model there
        are those there were. Raises: StoreError, ModelError.
        """
        self._write(model, progress)
        self._fold()

    def _write(self, model: EmbeddingModel | None, progress: Progress | None = None) -> None:
        if model is not None and self.model in ("", model.model):
            self.embed_tail(model, progress)
        kept = np.flatnonzero(self.columns.alive)
        changed = {row: record_bytes(segment) for row, segment in self._changed.items()}
        part = merge_parts(self._parts(), kept, changed)
        if model is not None and len(part):
            types = self.columns.types[kept]
            part = embed_part(part, types, model, progress, known=self.model == model.model)
            self.model, self.setting = model.model, model.setting
            self.blocks = model.measure(types, part.chunk_text)
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
        write = partial(write_part, part=part, columns=self.columns.rows(kept), state=state)
        self.places.publish(KIND, partial(write, build=self.places.build))
        self._open()

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

    def nearest(
        self, query: Float32, count: int, allowed: NDArray[np.bool_], only: PointFilter | None = None
    ) -> Int64:
        """Return the rows of the segments that are nearest, of those allowed; all of the tail are.

        `only` is what a server is to look at of the filters that led to `allowed`; what was changed since the
        generation was written, of which the server knows no better, is always among them.
        """
        searches = [(query, allowed, only)]
        if self.blocks is not None:
            numbers, models = self._numbers(), range(len(self.blocks.models))
            searches = [
                (
                    self.blocks.part_of(query, one),
                    allowed & (numbers == one),
                    only and only.also("model", str(one)),
                )
                for one in models
            ]
        found = [np.empty(0, np.int64)]
        for asked, among, where in searches:
            for part, start in self._parts():
                mine, rows = among[start : start + len(part)], None
                if self.server is not None and where is not None and part is self._stored:
                    rows = self.server.nearest(asked, count, self._rows_of, mine, where)
                if rows is None:
                    rows = part.nearest(asked, count, mine) + start
                elif self._changed:
                    changed = np.fromiter(self._changed, np.int64)
                    changed = changed[changed < len(part)]
                    rows = np.union1d(rows, changed[mine[changed]])
                found.append(rows)
        return np.concatenate(found)

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

    def parts(self) -> list[SegmentPart]:
        """Return the generation and the tail, of these those that there are."""
        return [part for part, _ in self._parts()]

    def _parts(self) -> list[tuple[SegmentPart, int]]:
        stored = [] if self._stored is None else [(self._stored, 0)]
        return stored if self._tail.part is None else [*stored, (self._tail.part, self.stored)]

    def _place(self, row: int) -> tuple[SegmentPart, int]:
        start = 0 if row < self.stored else self.stored
        part = self._stored if row < self.stored else self._tail.part
        assert part is not None
        return part, row - start

    def _find(self, identifier: str) -> int:
        if identifier in self._tail.rows or self._stored is None:
            return self._tail.rows.get(identifier, -1)
        key, ids = np.uint64(text_key(identifier)), self._stored.ids
        at = int(np.searchsorted(ids, key, sorter=self._order))
        return int(self._order[at]) if at < len(ids) and ids[self._order[at]] == key else -1

    def _rows_of(self, keys: NDArray[np.uint64]) -> Int64:
        """Return the rows of the generation by the keys of ids, -1 for those that are not in it."""
        assert self._stored is not None
        ids = self._stored.ids[self._order]
        at = np.minimum(np.searchsorted(ids, keys), len(ids) - 1)
        return np.where(ids[at] == keys, self._order[at], -1)

    def _begin(self, part: SegmentPart | None, columns: SegmentColumns, state: SegmentIndexState) -> None:
        self._stored = part
        self.server = None
        self.columns = columns
        self.model, self.setting = state.model, state.setting
        self.blocks = None if state.blocks is UNSET else state.blocks
        self._end = state.end
        self._order: Int64 = np.argsort(part.ids, kind="stable") if part else np.empty(0, np.int64)
        count, size = self.places.count_tokens, self.places.chunk_tokens
        self._tail = SegmentTail(self.stored, partial(segment_chunks, count=count, size=size))
        self._changed: dict[int, ContextSegment] = {}
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

    def _fold(self, most: int | None = None) -> bool:
        """Bring in the rest of the journal: what segments are now, and how often they were used since.

        Return False where that ended early, as the tail has come to hold `most` segments.
        """
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
            if most is not None and len(self._tail) >= most:
                break
        whole = most is None or len(self._tail) < most
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
        return whole

    def _put(self, entry: Entry, states: dict[int, ContextSegment | None]) -> None:
        try:
            segment = SEGMENTS.from_body(entry.body)
        except ParseError:
            return  # as the ledger reports
        row = self._find(segment.id)
        if row < 0:
            row = self._tail.put(segment, str(entry.body.get("text") or ""))
        states[row] = segment

    def _decide(self, row: int, segment: ContextSegment | None) -> None:
        if segment is None or (row >= self.stored and not self._tail.has_text(row)):
            self.columns.alive[row] = False
        else:
            self.columns.set(row, segment)
            self._changed[row] = segment

    def _extend(self) -> set[int]:
        """Bring what was put since into the tail, and return the sessions of what is new."""
        segments, texts = self._tail.extend(self.places.texts)
        if not segments:
            return set()
        self.columns = join_columns([self.columns, make_columns(segments, texts)])
        self.previous = np.concatenate([self.previous, np.full(len(segments), -1)])
        self.following = np.concatenate([self.following, np.full(len(segments), -1)])
        self.lexicon = Lexicon([part.postings for part, _ in self._parts()])
        return set(self.columns.sessions[-len(segments) :].tolist())

    def _link(self, rows: Int64) -> None:
        """Link the segments of whole sessions that are side by side in them."""
        self.previous[rows] = self.following[rows] = -1
        before, after = self.columns.neighbours(rows)
        self.previous[after], self.following[before] = before, after
