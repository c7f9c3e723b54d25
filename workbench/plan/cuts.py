"""A file cut into chunks with its terms counted in each: a pure function of its content, as arrays.

What no task changes is computed once for a content and kept (`workbench/plan/cut_cache.py`), so that a plan
only looks terms up. Terms are known by their CRC-32: two that share one are taken for the same, which costs a
ranking little.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
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
START, END, KIND, NAME, PARENT, PART, SUBSTANCE, TOKENS, WORDS = range(9)
_COLUMNS: Final = 9
_NONE: Final = -1


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

    @property
    def count(self) -> int:
        """Number of chunks."""
        return len(self.table)

    def chunk(self, index: int) -> Chunk:
        """Return one chunk."""
        start, end, kind, name, parent, part, substance, _tokens, _words = self.table[index].tolist()
        return Chunk(start, end, KINDS[kind], self._name(name), self._name(parent), part, substance)

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
    postings: dict[int, list[tuple[int, int]]] = {}
    for index, one in enumerate(found):
        shown = "\n".join(lines[one.start - 1 : one.end])
        words = words_of(shown)
        for term, times in _count(words).items():
            postings.setdefault(term, []).append((index, times))
        rows.append(
            (
                one.start,
                one.end,
                KINDS.index(one.kind),
                place[one.name],
                place[one.parent],
                one.part,
                one.substance,
                counter.count(shown + "\n"),
                len(words),
            )
        )
    terms = sorted(postings)
    flat = [pair for term in terms for pair in postings[term]]
    name_terms = [_name_terms(name) for name in names]
    joined = ["".join(piece for word in words_of(name) for piece in parts(word)) for name in names]
    return FileCut(
        lines=len(lines),
        names=names,
        table=np.asarray(rows, np.int32).reshape(-1, _COLUMNS),
        terms=np.asarray(terms, np.uint32),
        starts=_starts(len(postings[term]) for term in terms),
        chunks=np.asarray([chunk for chunk, _ in flat], np.int32),
        times=np.asarray([times for _, times in flat], np.int32),
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


def _count(words: Sequence[str]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for word, times in Counter(words).items():
        for term in word_terms(word):
            key = term_id(term)
            counts[key] = counts.get(key, 0) + times
    return counts


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
