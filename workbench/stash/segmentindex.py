"""The index of the stash: an immutable generation, and a tail folded from the journal since [rag §6, §8].

A generation says up to where the journal is in it: opening it folds the rest. One that is damaged, or whose
journal is another one, is of no use, and all is folded again. The vectors of a model serve until a generation
by another one is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import UNSET

from workbench.errors import ParseError, StoreError
from workbench.ports import Damaged, Entry, Journal, VectorIndex
from workbench.records.dataclass import dataclass
from workbench.records.segments import ContextSegment
from workbench.stash.columns import (
    SegmentColumns,
    join_columns,
    make_columns,
    record_bytes,
)
from workbench.stash.lexicon import Lexicon
from workbench.stash.segmentmodels import EmbeddingModel, Progress
from workbench.stash.segmentparts import (
    SegmentIndexState,
    SegmentPart,
    embed_part,
    merge_parts,
    read_part,
    write_part,
)
from workbench.stash.segmentrows import IndexedSegments
from workbench.stash.segmenttail import SegmentTail, segment_chunks
from workbench.stash.segmenttype import MERGED, PUT, REMOVED, SEGMENTS, SHOWN, STREAM
from workbench.stash.stashstore import used_segments

if TYPE_CHECKING:
    from workbench.ports import Int64

KIND: Final = "stash"
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


class SegmentIndex(IndexedSegments):
    """All segments of a stash. `refresh` brings it up to the journal; `notes` say what was found amiss."""

    def __init__(self, places: IndexPlaces) -> None:
        self.places = places
        self.notes: list[str] = []
        self._revision: str | None = None
        self._begin(None, make_columns((), ()), SegmentIndexState(0, 0, 0, "", "", places.chunk_tokens))

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
        other = len(self) > 0 and model != "" and (model != self.model or self.is_retyped())
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
        part = merge_parts(self.placed_parts(), kept, changed)
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
        self.lexicon = Lexicon([one.postings for one, _ in self.placed_parts()])

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
        self.lexicon = Lexicon([part.postings for part, _ in self.placed_parts()])
        return set(self.columns.sessions[-len(segments) :].tolist())

    def _link(self, rows: Int64) -> None:
        """Link the segments of whole sessions that are side by side in them."""
        self.previous[rows] = self.following[rows] = -1
        before, after = self.columns.neighbours(rows)
        self.previous[after], self.following[before] = before, after
