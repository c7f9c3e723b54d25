"""Locality-sensitive hashing over MinHash signatures, for a collection that grows one text at a time.

Most of the collection lies in sorted arrays, one a band; what was added since lies in a dictionary that is
folded into them when it gets large. A look-up is one binary search a band.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from workbench.comparison.duplicates import band_keys

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    UInt64 = NDArray[np.uint64]
    Int32 = NDArray[np.int32]

BANDS: Final = 32
ROWS: Final = 4
"""Two texts with a Jaccard index of 0.5 meet in a band with probability 0.87, with 0.7 nearly always, with
0.2 in one of twenty cases."""

_TAIL: Final = 4096
_BATCH: Final = 20_000
_MOST: Final = 256
"""Members of one bucket that are looked at, the first ones: a bucket is this full of copies only."""


class Bands:
    """Which positions share a band with a set of terms. Sets without terms are never found."""

    def __init__(self) -> None:
        self._keys: list[UInt64] = []
        self._places: list[Int32] = []
        self._tail: dict[tuple[int, int], list[int]] = {}
        self._rows: list[tuple[int, UInt64]] = []
        self._known: dict[int, UInt64] = {}

    def add(self, positions: Sequence[int], sets: Sequence[frozenset[str]]) -> None:
        """Add sets of terms under their positions."""
        filled = [(at, terms) for at, terms in zip(positions, sets, strict=True) if terms]
        for start in range(0, len(filled), _BATCH):
            part = filled[start : start + _BATCH]
            for (at, _), row in zip(part, band_keys([terms for _, terms in part], BANDS, ROWS), strict=True):
                self._rows.append((at, row))
                self._known[at] = row
        if len(self._rows) > _TAIL:
            self._fold()
            return
        for at, row in self._rows[len(self._rows) - len(filled) :]:
            for band, key in enumerate(row.tolist()):
                self._tail.setdefault((band, key), []).append(at)

    def near(self, terms: frozenset[str]) -> set[int]:
        """Return the positions that share a band with a set of terms."""
        if not terms:
            return set()
        return self._near(band_keys([terms], BANDS, ROWS)[0])

    def beside(self, position: int) -> set[int]:
        """Return the positions that share a band with the set under a position, that one included."""
        row = self._known.get(position)
        return set() if row is None else self._near(row)

    def _near(self, row: UInt64) -> set[int]:
        found: set[int] = set()
        for band, key in enumerate(row.tolist()):
            found.update(self._tail.get((band, key), ())[:_MOST])
        for band, (keys, places) in enumerate(zip(self._keys, self._places, strict=True)):
            start, end = keys.searchsorted(row[band], "left"), keys.searchsorted(row[band], "right")
            found.update(places[start : min(end, start + _MOST)].tolist())
        return found

    def _fold(self) -> None:
        """Move what was added into the sorted arrays."""
        import numpy as np

        places = np.asarray([at for at, _ in self._rows], np.int32)
        fresh = np.asarray([row for _, row in self._rows], np.uint64)
        for band in range(BANDS):
            keys, at = fresh[:, band], places
            if band < len(self._keys):
                keys, at = np.r_[self._keys[band], keys], np.r_[self._places[band], at]
            order = np.lexsort((at, keys))
            if len(self._keys) <= band:
                self._keys.append(keys[order])
                self._places.append(at[order])
            else:
                self._keys[band], self._places[band] = keys[order], at[order]
        self._rows, self._tail = [], {}
