"""The vectors of a generation on a server: under which keys, with which fields, and how they are searched.

The server says which chunks to compare, as sketches do here: similarities come from the vectors themselves,
which every generation has on disk. So a server that does not answer costs time and never an answer. A point's
key is the key of its segment's id and eight bytes of the digest of what was embedded: the same on every
machine, and another one where a chunk was cut otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from workbench.errors import WorkbenchError
from workbench.ports import PointFilter, VectorCollection
from workbench.records.segments import SegmentFilters
from workbench.stash.columns import TYPES, SegmentColumns, seconds, text_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Float32, Int64, PointKeys
    from workbench.stash.segmentparts import SegmentPart

FIELDS: Final = ("type", "topic", "session", "model", "time", "expires")
"""What filters look at: four words, then two numbers in seconds since the epoch."""

_HALF: Final = 8  # bytes of a key: of the segment's id, of the text's digest
_PRIME: Final = np.uint64(0x9E3779B97F4A7C15)
_MORE: Final = 4
_MOST: Final = 10_000
"""Chunks that are asked for at most, where many of the nearest are not among those allowed."""


def point_keys(part: SegmentPart) -> PointKeys:
    """Return the keys of all chunks of a part, uint8 [m, 16]."""
    digests = b"".join(
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_HALF] for text in part.chunk_texts()
    )
    keys = np.empty((len(part.chunks.spans), 2 * _HALF), np.uint8)
    owners = np.repeat(part.ids, np.diff(part.chunks.starts)).astype(">u8")
    keys[:, :_HALF] = owners.view(np.uint8).reshape(-1, _HALF)
    keys[:, _HALF:] = np.frombuffer(digests, np.uint8).reshape(-1, _HALF)
    return keys


def field_rows(part: SegmentPart, columns: SegmentColumns) -> NDArray[np.uint64]:
    """Return the fields of all chunks of a part as numbers, uint64 [m, 6] in the order of `FIELDS`."""
    count = len(part)
    numbers = np.zeros(count, np.uint64) if part.numbers is None else part.numbers
    rows = (columns.types, columns.topics, columns.sessions, numbers, columns.times, columns.expires)
    table = np.stack([np.asarray(row[:count]).astype(np.uint64) for row in rows], axis=1)
    return np.repeat(table, np.diff(part.chunks.starts), axis=0)


def point_fields(rows: NDArray[np.uint64]) -> list[dict[str, Any]]:
    """Return the fields of points as the server keeps them."""
    times = rows[:, 4:].astype(np.int64).tolist()
    return [
        {
            "type": TYPES[kind].value,
            "topic": _word(topic),
            "session": _word(session),
            "model": str(model),
            "time": at,
            "expires": until,
        }
        for (kind, topic, session, model), (at, until) in zip(rows[:, :4].tolist(), times, strict=True)
    ]


class SegmentServer:
    """Searches the chunks of a generation on a server. `fault` says why that failed, empty if it did not.

    `open_collection` opens it for the first search; `sizes` int64 [n] are the chunks of each segment. Where
    a filter leaves no more than `here` chunks they are compared on this machine.
    """

    def __init__(self, open_collection: Callable[[], VectorCollection], sizes: Int64, here: int) -> None:
        self.fault = ""
        self._sizes = sizes
        self._here = here
        self._open = open_collection
        self._collection: VectorCollection | None = None

    @staticmethod
    def filter(filters: SegmentFilters, now: int) -> PointFilter:
        """Return what of a query's filters a server can look at; not at globs of sources."""
        among = {
            "type": tuple(kind.value for kind in filters.types),
            "topic": tuple(_word(text_key(topic)) for topic in filters.topics),
            "session": tuple(_word(text_key(session)) for session in filters.sessions),
        }
        least, most = {"expires": now + 1}, {}
        if filters.start_time:
            least["time"] = seconds(filters.start_time)
        if filters.end_time:
            most["time"] = seconds(filters.end_time)
        return PointFilter({name: values for name, values in among.items() if values}, least, most)

    def nearest(
        self,
        query: Float32,
        count: int,
        rows_of: Callable[[NDArray[np.uint64]], Int64],
        allowed: NDArray[np.bool_],
        only: PointFilter,
    ) -> Int64 | None:
        """Return the segments with the nearest chunks, of those allowed bool [n]; None to look for them here.

        `rows_of` gives the rows of segments by the keys of their ids, -1 for unknown ones. Where many of what
        the server finds are not allowed it is asked for more, and in the end for nothing.
        """
        there = int(self._sizes[allowed].sum())
        if self.fault or there <= self._here:
            return None
        asked = wanted = min(count, there)
        try:
            self._collection = self._collection or self._open()
            while True:
                keys, _ = self._collection.search(query, asked, only)
                rows = rows_of(segment_keys(keys))
                rows = rows[rows >= 0]
                rows = rows[allowed[rows]]
                if len(rows) >= wanted:
                    return np.unique(rows)
                if len(keys) < asked or asked >= _MOST:
                    return None
                asked = min(asked * _MORE, _MOST)
        except WorkbenchError as error:
            self.fault = error.message
            return None


def segment_keys(keys: PointKeys) -> NDArray[np.uint64]:
    """Return the keys of the segments' ids, uint64 [n], of the keys of points."""
    return np.ascontiguousarray(keys[:, :_HALF]).view(">u8").reshape(-1).astype(np.uint64)


def row_digests(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number for the fields of each point, uint64 [m]; others for other fields."""
    found = np.zeros(len(rows), np.uint64)
    for column in rows.T:
        found = (found ^ column) * _PRIME
        found ^= found >> np.uint64(29)
    return found


def _word(key: int) -> str:
    return f"{key:016x}"
