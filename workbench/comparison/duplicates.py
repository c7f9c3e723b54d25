"""Texts that repeat each other: a normal form for equal ones, MinHash for similar ones.

Similar means a high Jaccard index of term sets, found without comparing all pairs: signatures are cut into
bands, and texts that agree in a whole band are candidates (Broder 1997; Leskovec, Rajaraman, Ullman, ch. 3).
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

BANDS: Final = 16
ROWS: Final = 8
"""Two texts with a Jaccard index of 0.8 meet in a band with probability 0.95, with 0.9 nearly always, with
0.5 in one of sixteen cases."""

MOST_PARTNERS: Final = 32
"""In a bucket of more than this many texts each is paired with this many that follow it, not with all."""

_SEED: Final = 20
_LINK = re.compile(r"!?\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_MARK = re.compile(r"^(?:\s*(?:\[[ xX~]\]|[-*+•]|\d+[.)])\s+)+", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*{1,3}|_{2,3})(?=\S)|(?<=\S)(\*{1,3}|_{2,3})")
_SPAN = re.compile(r"(`+[^`\n]*`+)")


@lru_cache(maxsize=131_072)
def normal_text(text: str) -> str:
    """Return a text without what makes no difference: case outside of code, Markdown marks, white space,
    punctuation at the end. Two texts with one normal form say the same."""
    pieces = _unmarked(text)
    pieces[::2] = [piece.replace("’", "'").casefold() for piece in pieces[::2]]
    pieces[1::2] = [piece.strip("`") for piece in pieces[1::2]]
    return " ".join("".join(pieces).split()).rstrip(" .,;:!")


def without_marks(text: str) -> str:
    """Return a text without list marks, links and emphasis; case and code spans stay."""
    return "".join(_unmarked(text))


def _unmarked(text: str) -> list[str]:
    """Return a text's pieces without marks: prose and code spans in turn."""
    text = _MARK.sub("", text)
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
