"""A file cut into chunks with its terms counted in each: a pure function of its content, as arrays.

What no task changes is computed once for a content and kept (`workbench/plan/cut_cache.py`), so that a plan
only looks terms up. Terms are known by their CRC-32: two that share one are taken for the same, which costs a
ranking little.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.plan.chunks import Chunk, ChunkKind, cut
from workbench.records.conversion import decode_msgpack
from workbench.records.dataclass import dataclass
from workbench.records.project import Symbol
from workbench.text.sanitize import safe_lines
from workbench.text.terms import parts, word_terms, words_of
from workbench.text.tokens import TokenCounter

Int32 = NDArray[np.int32]
UInt32 = NDArray[np.uint32]

VERSION: Final = 1
KINDS: Final = tuple(ChunkKind)
_KIND_PLACES: Final = {kind: place for place, kind in enumerate(KINDS)}
START, END, KIND, NAME, PARENT, PART, SUBSTANCE, TOKENS, WORDS = range(9)
_COLUMNS: Final = 9
_NONE: Final = -1
_HALF: Final = np.uint64(32)  # bits
_NOWHERE: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class FileCut:
    """The chunks of a file and the terms in them. c chunks, n names of definitions, t terms, p places.

    table: int32 [c, 9], the columns START to WORDS: 1-based inclusive lines, place in KINDS, places in
    `names` or -1, the fields of a `Chunk`, tokens and words. `terms`: uint32 [t], ascending; the chunks that
    have term i, and how often, are `chunks` and `times` from `starts[i]` to `starts[i + 1]`.
    `name_terms` are those of name i from `name_starts[i]`; `spelled`: uint32 [n], the whole name as one word,
    and `mention`, the term of a text that mentions it, 0 for a name of one part.
    """

    lines: int
    names: tuple[str, ...]
    table: Int32
    terms: UInt32
    starts: Int32
    chunks: Int32
    times: Int32
    name_terms: UInt32
    name_starts: Int32
    spelled: UInt32
    mention: UInt32
    _made: dict[int, Chunk] = field(default_factory=dict, init=False, repr=False)

    @property
    def count(self) -> int:
        """Number of chunks."""
        return len(self.table)

    def chunk(self, index: int) -> Chunk:
        """Return one chunk."""
        found = self._made.get(index)
        if found is None:
            start, end, kind, name, parent, part, substance, _tokens, _words = self.table[index].tolist()
            names = self._name(name), self._name(parent)
            found = self._made[index] = Chunk(start, end, KINDS[kind], *names, part, substance)
        return found

    def find_terms(self, terms: UInt32) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where some terms are, int64 [h] each: their places in `terms`, and places in `chunks`."""
        if not len(self.terms) or not len(terms):
            return _NOWHERE, _NOWHERE
        at = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        found = np.flatnonzero(self.terms[at] == terms)
        at = at[found]
        lengths = self.starts[at + 1] - self.starts[at]
        begins = np.cumsum(lengths) - lengths
        places = np.repeat(self.starts[at] - begins, lengths)
        return np.repeat(found, lengths), places + np.arange(len(places))

    def _name(self, place: int) -> str:
        return self.names[place] if place >= 0 else ""


@lru_cache(maxsize=200_000)
def term_id(term: str) -> int:
    """Return the number that a term is known by."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def cut_file(language: str, text: str, symbols: Sequence[Symbol], counter: TokenCounter) -> FileCut:
    """Cut a file's text (secrets masked) and count the terms of its chunks."""
    lines = safe_lines(text)
    found = cut(language, lines, symbols)
    names = tuple(dict.fromkeys(name for one in found for name in (one.name, one.parent) if name))
    place = {name: index for index, name in enumerate(names)} | {"": _NONE}
    rows: list[tuple[int, ...]] = []
    numbers: dict[str, int] = {}
    spoken: list[int] = []  # the words of all chunks by their number in the file
    for one in found:
        shown = "\n".join(lines[one.start - 1 : one.end])
        words = words_of(shown)
        spoken += [numbers.setdefault(word, len(numbers)) for word in words]
        rows.append(
            (
                one.start,
                one.end,
                _KIND_PLACES[one.kind],
                place[one.name],
                place[one.parent],
                one.part,
                one.substance,
                counter.count(shown + "\n"),
                len(words),
            )
        )
    table = np.asarray(rows, np.int32).reshape(-1, _COLUMNS)
    terms, starts, chunks, times = _count([*numbers], np.asarray(spoken, np.int64), table[:, WORDS])
    name_terms = [_name_terms(name) for name in names]
    joined = ["".join(piece for word in words_of(name) for piece in parts(word)) for name in names]
    return FileCut(
        lines=len(lines),
        names=names,
        table=table,
        terms=terms,
        starts=starts,
        chunks=chunks,
        times=times,
        name_terms=np.asarray([term for terms in name_terms for term in terms], np.uint32),
        name_starts=_starts(map(len, name_terms)),
        spelled=np.asarray([term_id(one) for one in joined], np.uint32),
        mention=np.asarray(
            [
                term_id(f"={one}") if one and len(parts(name)) > 1 else 0
                for one, name in zip(joined, names, strict=True)
            ],
            np.uint32,
        ),
    )


def _count(
    words: Sequence[str], spoken: NDArray[np.int64], sizes: Int32
) -> tuple[UInt32, Int32, Int32, Int32]:
    """Return terms, starts, chunks and times of a cut.

    words: the distinct words of a file; spoken: int64 [w], places in them, of all chunks in order; sizes:
    int32 [c], words of each chunk.
    """
    places = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    pairs, often = np.unique(places * max(1, len(words)) + spoken, return_counts=True)
    places, spoken = np.divmod(pairs, max(1, len(words)))
    ids = [[*map(term_id, word_terms(word))] for word in words]
    lengths = np.asarray([*map(len, ids)], np.int64)
    begins = np.cumsum(lengths) - lengths
    repeats = lengths[spoken]
    within = np.arange(int(repeats.sum())) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    flat = np.asarray([term for one in ids for term in one], np.uint64)
    keys = flat[np.repeat(begins[spoken], repeats) + within] << _HALF | np.repeat(places, repeats).astype(
        np.uint64
    )
    found, inverse = np.unique(keys, return_inverse=True)
    times = np.bincount(inverse, np.repeat(often, repeats), len(found)).astype(np.int32)
    terms, spread = np.unique(found >> _HALF, return_counts=True)
    return terms.astype(np.uint32), _starts(spread), found.astype(np.uint32).astype(np.int32), times


def _name_terms(name: str) -> list[int]:
    return [*dict.fromkeys(term_id(term) for word in words_of(name) for term in word_terms(word))]


def _starts(sizes: Iterable[int]) -> Int32:
    return np.concatenate([np.zeros(1, np.int32), np.cumsum([*sizes], dtype=np.int32)])


_ARRAYS: Final = (
    ("table", "<i4"),
    ("terms", "<u4"),
    ("starts", "<i4"),
    ("chunks", "<i4"),
    ("times", "<i4"),
    ("name_terms", "<u4"),
    ("name_starts", "<i4"),
    ("spelled", "<u4"),
    ("mention", "<u4"),
)


def encode_cut(found: FileCut) -> bytes:
    """Pack a cut for `decode_cut`."""
    arrays = [np.ascontiguousarray(getattr(found, name), kind) for name, kind in _ARRAYS]
    head = msgspec.msgpack.encode((VERSION, found.lines, found.names, [array.nbytes for array in arrays]))
    lead = len(head).to_bytes(4, "little") + head
    return lead + bytes(-len(lead) % 4) + b"".join(array.tobytes() for array in arrays)


def decode_cut(data: bytes | memoryview) -> FileCut | None:
    """Open what `encode_cut` made, as views of `data`; None if it is damaged or of another version."""
    try:
        end = 4 + int.from_bytes(data[:4], "little")
        version, lines, names, sizes = decode_msgpack(
            bytes(data[4:end]), tuple[int, int, tuple[str, ...], list[int]]
        )
        if version != VERSION:
            return None
        at = end + -end % 4
        arrays = {}
        for (name, kind), size in zip(_ARRAYS, sizes, strict=True):
            arrays[name] = np.frombuffer(data, kind, size // 4, at)
            at += size
        table = arrays.pop("table").reshape(-1, _COLUMNS)
        found = FileCut(lines, names, table, **arrays)
    except (ValueError, msgspec.MsgspecError):
        return None
    return found if _is_sound(found) else None


def _is_sound(found: FileCut) -> bool:
    """Whether every place that an array names is there."""
    chunks, names = found.count, len(found.names)
    return (
        len(found.starts) == len(found.terms) + 1
        and len(found.name_starts) == names + 1 == len(found.spelled) + 1 == len(found.mention) + 1
        and int(found.starts[-1]) == len(found.chunks) == len(found.times)
        and int(found.name_starts[-1]) == len(found.name_terms)
        and bool((np.diff(found.starts) >= 0).all() and (np.diff(found.name_starts) >= 0).all())
        and (not len(found.chunks) or bool((found.chunks >= 0).all() and (found.chunks < chunks).all()))
        and (
            not chunks
            or bool((found.table[:, [NAME, PARENT]] < names).all() and (found.table[:, START] >= 1).all())
        )
        and (
            not chunks
            or bool((found.table[:, KIND] < len(KINDS)).all() and (found.table[:, KIND] >= 0).all())
        )
    )
