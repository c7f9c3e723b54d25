"""Texts that repeat each other: a normal form for equal ones, MinHash for similar ones.

Similar means a high Jaccard index of term sets, found without comparing all pairs: signatures are cut into
bands, and texts that agree in a whole band are candidates (Broder 1997; Leskovec, Rajaraman, Ullman, ch. 3).
`similar_pairs` searches a collection at once, `Bands` one that grows: most of it lies in sorted arrays, one a
band, what was added since in a dictionary that is folded into them when it gets large.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    UInt64 = NDArray[np.uint64]

    Int32 = NDArray[np.int32]


BANDS: Final = 16
ROWS: Final = 8
"""Two texts with a Jaccard index of 0.8 meet in a band with probability 0.95, with 0.9 nearly always, with
0.5 in one of sixteen cases."""

MOST_PARTNERS: Final = 32
"""In a bucket of more than this many texts each is paired with this many that follow it, not with all."""

_SEED: Final = 20
_LINK = re.compile(r"!?\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_MARK = re.compile(r"(\A|(?<!\s)[^\S\n]*+\n)\s*+(?:(?:\[[ xX~]\]|[-*+•]|\d+[.)])\s+)+")
_EMPHASIS = re.compile(r"(\*{1,3}|_{2,3})(?=\S)|(?<=\S)(\*{1,3}|_{2,3})")
_SPAN = re.compile(r"((?<!`)(?:`++[^`\n]*+`+|``+))")


@lru_cache(maxsize=131_072)
def normal_text(text: str) -> str:
    """Return a text without what makes no difference: case outside of code, Markdown marks, white space,
    punctuation at the end. Two texts with one normal form say the same."""
    pieces = _strip_marks(text)
    pieces[::2] = [piece.replace("’", "'").casefold() for piece in pieces[::2]]
    pieces[1::2] = [piece.strip("`") for piece in pieces[1::2]]
    return " ".join("".join(pieces).split()).rstrip(" .,;:!")


@lru_cache(maxsize=65_536)
def plain(text: str) -> str:
    """Return a text without list marks, links and emphasis; case and code spans stay."""
    return "".join(_strip_marks(text))


def _strip_marks(text: str) -> list[str]:
    """Return a text's pieces without marks: prose and code spans in turn."""
    text = _MARK.sub(r"\1", text)
    if "[" in text:
        text = _LINK.sub(lambda match: match[1] or "", text)
    pieces = _SPAN.split(text)
    pieces[::2] = map(_plain, pieces[::2])
    return pieces


def _plain(piece: str) -> str:
    return _EMPHASIS.sub("", piece) if "*" in piece or "__" in piece else piece


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the share of two sets' elements that both have; 0 for two empty ones."""
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def similar_pairs(
    sets: Sequence[frozenset[str]], bands: int = BANDS, rows: int = ROWS
) -> Iterator[tuple[int, int]]:
    """Yield candidates (first < second) for similar term sets, each at least once. Empty sets have none."""
    import numpy as np

    filled = [at for at, terms in enumerate(sets) if terms]
    if len(filled) < 2:
        return
    places = np.asarray(filled)
    for keys in band_keys([sets[at] for at in filled], bands, rows).T:
        yield from pairs_of_buckets(keys, places)


def band_keys(sets: Sequence[frozenset[str]], bands: int, rows: int) -> UInt64:
    """Return uint64 [n, bands] for term sets that are not empty: equal keys mean agreement in a band."""
    import numpy as np
    from rensa import RMinHash

    tokens = [sorted(terms) for terms in sets]
    matrix = RMinHash.digest_matrix_from_token_sets(tokens, bands * rows, _SEED)
    values = np.asarray(matrix.to_rows(), dtype=np.uint64).reshape(len(sets), bands, rows)
    keys = np.zeros((len(sets), bands), np.uint64)
    for column in range(rows):
        keys = keys * np.uint64(0x9E3779B97F4A7C15) + values[:, :, column] + np.uint64(1)
    return keys


def pairs_of_buckets(keys: UInt64, places: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield (first < second) of places with equal keys, in order; large buckets in part."""
    for bucket in buckets(keys, places):
        yield from window(bucket)


def buckets(keys: UInt64, places: NDArray[np.int64]) -> Iterator[list[int]]:
    """Yield the ascending places of each key that more than one has."""
    import numpy as np

    if not len(keys):
        return
    order = np.lexsort((places, keys))
    ordered = keys[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    ends = np.r_[starts[1:], len(ordered)]
    for start, end in zip(starts[ends - starts > 1], ends[ends - starts > 1], strict=True):
        members = sorted(set(places[order[start:end]].tolist()))
        if len(members) > 1:
            yield members


def window(members: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Return the pairs of ascending members: all of a small group, neighbours in a large one."""
    if len(members) <= MOST_PARTNERS:
        return combinations(members, 2)
    return (
        (first, second)
        for at, first in enumerate(members)
        for second in members[at + 1 : at + 1 + MOST_PARTNERS]
    )


INDEX_BANDS: Final = 32
INDEX_ROWS: Final = 4
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
            keys = band_keys([terms for _, terms in part], INDEX_BANDS, INDEX_ROWS)
            for (at, _), row in zip(part, keys, strict=True):
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
        return self._near(band_keys([terms], INDEX_BANDS, INDEX_ROWS)[0])

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
        for band in range(INDEX_BANDS):
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
