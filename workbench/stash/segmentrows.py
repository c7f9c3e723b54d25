"""The segments that are indexed, by rows: what each is and says, and how near it is to a query [rag §6].

The rows of a generation come first, those of the tail follow. What the index changes is in `segmentindex`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from workbench.ports import PointFilter
from workbench.records.segments import ContextSegment
from workbench.stash.chunking import SegmentChunk, speaker_label
from workbench.stash.columns import SegmentColumns, bytes_record, bytes_text, text_key
from workbench.stash.lexicon import Lexicon
from workbench.stash.segmentmodels import ModelBlocks, numbers_of
from workbench.stash.segmentparts import SegmentPart
from workbench.stash.segmenttail import SegmentTail
from workbench.text.fusion import MINILM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, Int64
    from workbench.stash.segmentserver import SegmentServer

LABELLED: Final = 20
"""Segments with a name that are looked at for who speaks in them."""


class IndexedSegments:
    """Segments to be searched.

    `model` is that of the vectors, "" where there are none; `setting` is what it was opened by; `blocks` is
    what is kept of several models, None of one. `previous` and `following` int64 [n] are the rows before and
    after a segment in its session, -1 for none. `server` searches the vectors of the generation, None where
    that is done here.
    """

    columns: SegmentColumns
    model: str
    setting: str
    blocks: ModelBlocks | None
    previous: Int64
    following: Int64
    lexicon: Lexicon
    server: SegmentServer | None
    _stored: SegmentPart | None
    _tail: SegmentTail
    _order: Int64
    _changed: dict[int, ContextSegment]

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
        found = [part.cosines(query) for part, _ in self.placed_parts()]
        return np.concatenate([np.empty(0, np.float32), *found])

    def cosines_of(self, query: Float32, rows: Int64) -> Float32:
        """Return `cosines` of some rows (ascending), float32 [k]."""
        found = []
        for part, start in self.placed_parts():
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
                    self.blocks.part_of(query, model),
                    allowed & (numbers == model),
                    only and only.also("model", str(model)),
                )
                for model in models
            ]
        found = [np.empty(0, np.int64)]
        for asked, among, where in searches:
            for part, start in self.placed_parts():
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
        for part, start in self.placed_parts():
            if part.numbers is not None:
                found[start : start + len(part)] = part.numbers
        return found

    def is_retyped(self) -> bool:
        """Whether the type of a segment was edited since, and has another model."""
        if self.blocks is None:
            return False
        wanted = numbers_of(self.blocks.types, self.columns.types)
        return bool((self._numbers() != wanted)[self.columns.alive].any())

    def parts(self) -> list[SegmentPart]:
        """Return the generation and the tail, of these those that there are."""
        return [part for part, _ in self.placed_parts()]

    def placed_parts(self) -> list[tuple[SegmentPart, int]]:
        """Return these parts with the rows that they begin at."""
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
