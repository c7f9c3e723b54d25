"""Segments as columns: what filters, neighbours and orders a million of them is a few arrays [rag §6].

Sessions and topics are hashes of 64 bits, times are seconds since the epoch; the record and the text of each
are in pools, byte strings one after the other, of which only those of hits are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from workbench.records.conversion import decode_lossless, encode_lossless
from workbench.records.dataclass import dataclass
from workbench.records.segments import ContextSegment, SegmentType
from workbench.text.postings import UInt64, term_hash

if TYPE_CHECKING:
    from workbench.ports import Int64

NEVER: Final = np.iinfo(np.int64).max
"""When what does not expire expires."""

NONE: Final = 0
"""The key of no session and of no topic."""

TYPES: Final = tuple(SegmentType)
_CODES: Final = {kind: code for code, kind in enumerate(TYPES)}


@dataclass(slots=True, eq=False)
class SegmentColumns:
    """Arrays of n segments in the order in which they were first put aside.

    `alive` are those that were not removed. `asks` says that a text ends with a question. `shown` and
    `merged` count how often a query found a segment, and how often it was taken back into a context.
    """

    types: NDArray[np.int8]
    topics: UInt64
    sessions: UInt64
    times: Int64
    stashed: Int64
    expires: Int64
    alive: NDArray[np.bool_]
    asks: NDArray[np.bool_]
    shown: NDArray[np.int32]
    merged: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.types)

    def set(self, row: int, segment: ContextSegment) -> None:
        """Take over what was decided about a segment; its text never changes."""
        self.types[row] = _CODES[segment.type]
        self.topics[row] = text_key(segment.topic or "")
        self.sessions[row] = text_key(segment.session_id)
        self.times[row] = seconds(segment.timestamp)
        self.stashed[row] = seconds(segment.stashed_at)
        self.expires[row] = _expiry(segment)
        self.alive[row] = True

    def neighbours(self, rows: Int64) -> tuple[Int64, Int64]:
        """Return (before, after) of rows that are side by side in a session by time and as they were stashed.

        `rows` are all of some sessions; those that were removed, or are of no session, are left out.
        """
        rows = rows[self.alive[rows] & (self.sessions[rows] != NONE)]
        order = rows[np.lexsort((rows, self.times[rows], self.sessions[rows]))]
        same = self.sessions[order[1:]] == self.sessions[order[:-1]]
        return order[:-1][same], order[1:][same]

    def pack(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for a file of arrays."""
        return {f"columns.{field.name}": getattr(self, field.name) for field in fields(self)}

    def rows(self, kept: Int64) -> SegmentColumns:
        """Return copies of the columns of some rows."""
        return SegmentColumns(**{field.name: getattr(self, field.name)[kept] for field in fields(self)})


def unpack_columns(arrays: Mapping[str, NDArray[Any]]) -> SegmentColumns:
    """Undo `pack`, with arrays that can be written. Raises: KeyError, ValueError if they are damaged."""
    names = [field.name for field in fields(SegmentColumns)]
    columns = SegmentColumns(**{name: np.array(arrays[f"columns.{name}"]) for name in names})
    if any(len(getattr(columns, name)) != len(columns) for name in names):
        raise ValueError("the columns of segments do not add up")
    return columns


def make_columns(segments: Sequence[ContextSegment], texts: Sequence[str]) -> SegmentColumns:
    """Return the columns of segments that are there, with their texts."""
    count = len(segments)
    columns = SegmentColumns(
        types=np.zeros(count, np.int8),
        topics=np.zeros(count, np.uint64),
        sessions=np.zeros(count, np.uint64),
        times=np.zeros(count, np.int64),
        stashed=np.zeros(count, np.int64),
        expires=np.zeros(count, np.int64),
        alive=np.ones(count, np.bool_),
        asks=np.fromiter((text.rstrip().endswith("?") for text in texts), np.bool_, count),
        shown=np.zeros(count, np.int32),
        merged=np.zeros(count, np.int32),
    )
    for row, segment in enumerate(segments):
        columns.set(row, segment)
    return columns


def join_columns(parts: Sequence[SegmentColumns]) -> SegmentColumns:
    """Return columns one after the other."""
    names = [field.name for field in fields(SegmentColumns)]
    return SegmentColumns(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def text_key(text: str) -> int:
    """Return the 64 bits that a session, a topic or an id is known by, `NONE` for no text."""
    return term_hash(text) if text else NONE


def text_bytes(text: str) -> bytes:
    """Return a text for a pool; unpaired surrogates stay what they are."""
    return text.encode("utf-8", "surrogatepass")


def bytes_text(data: bytes) -> str:
    """Undo `text_bytes`."""
    return data.decode("utf-8", "surrogatepass")


def record_bytes(segment: ContextSegment) -> bytes:
    """Return a segment without its text for a pool."""
    return encode_lossless(replace(segment, text=""))


def bytes_record(data: bytes) -> ContextSegment:
    """Undo `record_bytes`. Raises: ValueError if it is damaged."""
    return decode_lossless(data, ContextSegment)


def seconds(moment: str) -> int:
    """Return a time in ISO 8601 as seconds since the epoch, 0 for an invalid one."""
    try:
        return int(datetime.fromisoformat(moment).timestamp())
    except (ValueError, OverflowError):
        return 0


def _expiry(segment: ContextSegment) -> int:
    if segment.expires_at is None or segment.protected:
        return int(NEVER)
    return seconds(segment.expires_at)
