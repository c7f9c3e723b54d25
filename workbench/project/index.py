"""The project index: files as columns, their terms as posting lists, imports and tests as edges.

One immutable base plus a small tail: a changed file is read again into the tail and its entry in the base
dies, so an edit costs one file however large the project is. Positions of files never change by an edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.project.arrays import Pool, open_arrays
from workbench.records.conversion import decode_msgpack
from workbench.records.dataclass import dataclass
from workbench.records.project import Role, Symbol
from workbench.text.postings import Postings, inverse_document_frequency, unpack_postings
from workbench.text.terms import TERMS_VERSION
from workbench.text.tokens import estimated_tokens

if TYPE_CHECKING:
    from workbench.project.snapshot import Snapshot


FIELDS = ("path", "name", "body")
_LOOKED_UP = 400  # lists of terms that are kept as they were found

Int32 = NDArray[np.int32]
Float32 = NDArray[np.float32]
Specifiers = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class IndexSegment:
    """Posting lists per field over d documents, and a record each.

    rows: int32 [d], the position of the file that a document describes, -1 once another one describes it
    """

    rows: Int32
    fields: dict[str, Postings]
    records: Sequence[bytes] | Pool
    whole: bool = True  # no row is -1


Lists = tuple[tuple[IndexSegment, Int32, Int32, Int32], ...]
"""For each segment that has a term its documents, their files' positions and their counts."""


@dataclass(frozen=True, slots=True)
class ProjectIndex:
    """n files (removed ones included) in columns.

    alive: bool [n]; size: int64 [n] bytes; edges: int32 [m, 2] importer → imported;
    tests: int32 [t, 2] test → source; imports: the specifiers of each file
    """

    paths: tuple[str, ...]
    languages: tuple[str, ...]
    roles: tuple[Role, ...]
    size: NDArray[np.int64]
    lines: Int32
    alive: NDArray[np.bool_]
    segments: tuple[IndexSegment, ...]
    edges: Int32
    tests: Int32
    positions: Mapping[str, int] = field(repr=False)
    imports: Specifiers = field(repr=False)
    _looked_up: dict[tuple[str, str], Lists] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    @property
    def count(self) -> int:
        """Number of columns, removed files included."""
        return len(self.paths)

    def record(self, position: int) -> tuple[tuple[Symbol, ...], tuple[str, ...]]:
        """Return the (symbols, imports) of a living file."""
        return decode_record(self.raw_record(position))

    def raw_record(self, position: int) -> bytes:
        """Return the packed record of a living file. Raises IndexError for others."""
        for segment in reversed(self.segments):
            if position < len(segment.rows) and segment.rows[position] == position:
                return segment.records[position]
            found = np.flatnonzero(segment.rows == position)
            if len(found):
                return segment.records[int(found[0])]
        raise IndexError(position)

    def frequency(self, name: str, term: str) -> int:
        """Number of living files that hold a term in a field."""
        return sum(len(rows) for _, _, rows, _ in self._lists(name, term))

    def holders(self, name: str, terms: Sequence[str]) -> list[int]:
        """Return the positions of living files that hold all terms in a field, ascending; none without."""
        found: set[int] | None = None
        for term in terms:
            rows = {int(row) for _, _, rows, _ in self._lists(name, term) for row in rows}
            found = rows if found is None else found & rows
        return sorted(row for row in found or () if self.alive[row])

    def holding(self, name: str, term: str) -> NDArray[np.bool_]:
        """Return bool [n], which living files hold a term in a field."""
        found = np.zeros(self.count, np.bool_)
        for _, _, rows, _ in self._lists(name, term):
            found[rows] = True
        return found

    def bm25(self, name: str, terms: Mapping[str, float], *, k1: float = 1.2, b: float = 0.75) -> Float32:
        """Return BM25 scores float32 [n] of weighted query terms in a field; removed files score 0."""
        scores = np.zeros(self.count, dtype=np.float32)
        living = int(self.alive.sum())
        if not living:
            return scores
        total = sum(int(_current(segment, segment.fields[name].lengths).sum()) for segment in self.segments)
        mean = max(total / living, 1.0)
        for term, weight in terms.items():
            found = self._lists(name, term)
            frequency = sum(len(rows) for _, _, rows, _ in found)
            if not frequency:
                continue
            idf = inverse_document_frequency(frequency, living) * weight
            for segment, docs, rows, counts in found:
                norm = k1 * (1 - b + b * segment.fields[name].lengths[docs] / mean)
                scores[rows] += idf * counts * (k1 + 1) / (counts + norm)
        return scores

    def rarest(self, name: str, terms: Iterable[str]) -> Float32:
        """Return float32 [n] in [0, 1]: the scaled idf of the rarest query term that a file's field holds."""
        scores = np.zeros(self.count, dtype=np.float32)
        living = int(self.alive.sum())
        for term in terms:
            found = self._lists(name, term)
            frequency = sum(len(rows) for _, _, rows, _ in found)
            if not frequency:
                continue
            value = np.float32(inverse_document_frequency(frequency, living))
            for _, _, rows, _ in found:
                scores[rows] = np.maximum(scores[rows], value)
        return scores / np.float32(np.log1p(2.0 * living + 1.0))

    def coverage(self, name: str, terms: Mapping[str, float]) -> Float32:
        """Return float32 [n]: the idf-weighted share of the query's known terms that a file's field holds."""
        scores = np.zeros(self.count, dtype=np.float32)
        living = int(self.alive.sum())
        total = 0.0
        for term, weight in terms.items():
            found = self._lists(name, term)
            frequency = sum(len(rows) for _, _, rows, _ in found)
            if not frequency:
                continue
            value = inverse_document_frequency(frequency, living) * weight
            total += value
            for _, _, rows, _ in found:
                scores[rows] += value
        return scores / np.float32(total) if total else scores

    def _lists(self, name: str, term: str) -> Lists:
        """Return the lists of a term, living files only; those of a plan's terms are asked for six times."""
        found = self._looked_up.get((name, term))
        if found is None:
            if len(self._looked_up) >= _LOOKED_UP:
                self._looked_up.clear()
            found = self._looked_up[name, term] = tuple(self._read_lists(name, term))
        return found

    def _read_lists(self, name: str, term: str) -> Iterator[tuple[IndexSegment, Int32, Int32, Int32]]:
        for segment in self.segments:
            docs, counts = segment.fields[name].posting(term)
            if not len(docs):
                continue
            rows = segment.rows[docs]
            if not segment.whole:
                keep = rows >= 0
                docs, rows, counts = docs[keep], rows[keep], counts[keep]
            if len(rows):
                yield segment, docs, rows, counts


def _current(segment: IndexSegment, column: Int32) -> Int32:
    return column if segment.whole else column[segment.rows >= 0]


def encode_record(symbols: tuple[Symbol, ...], imports: tuple[str, ...]) -> bytes:
    """Pack what is looked up only for files that are shown: symbols and import specifiers."""
    return msgspec.msgpack.encode((symbols, imports))


def decode_record(record: bytes) -> tuple[tuple[Symbol, ...], tuple[str, ...]]:
    """Undo `encode_record`."""
    return decode_msgpack(record, tuple[tuple[Symbol, ...], tuple[str, ...]])


FORMAT = f"5.{TERMS_VERSION}"  # of the arrays, and of the terms in them
FILE = "index.arrays"

COLUMNS = ("size", "lines", "edges", "tests")


class StoredImports(Sequence[tuple[str, ...]]):
    """The specifiers of each file, read when the first one is asked for."""

    def __init__(self, data: NDArray[np.uint8], count: int) -> None:
        self._data = data
        self._count = count
        self._found: tuple[tuple[str, ...], ...] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, position: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[tuple[str, ...]]: ...
    def __getitem__(self, position: int | slice) -> tuple[str, ...] | Sequence[tuple[str, ...]]:
        return self._all()[position]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self._all())

    def _all(self) -> tuple[tuple[str, ...], ...]:
        if self._found is None:
            self._found = decode_msgpack(self._data.data, tuple[tuple[str, ...], ...])
        return self._found


def load_index(directory: Path) -> ProjectIndex:
    """Open what `save_index` wrote.

    Raises: OSError, ValueError, KeyError or MsgspecError if it is damaged.
    """
    arrays = open_arrays(directory / FILE)
    document = msgspec.msgpack.decode(arrays["files"].data)
    if document["format"] != FORMAT:
        raise ValueError(f"index format {document['format']}, expected {FORMAT}")
    paths = tuple(path.decode("utf-8", "surrogateescape") for path in document["paths"])
    columns = {name: arrays[name] for name in COLUMNS}
    records = Pool(arrays["records"], arrays["records.offsets"])
    rows = np.arange(len(paths), dtype=np.int32)
    same = len(paths) == len(records) == len(columns["size"]) == len(columns["lines"])
    if not same or records.starts[-1] != len(records.data):
        raise ValueError("the index's columns do not have the same length")
    roles = {role.value: role for role in Role}
    return ProjectIndex(
        paths=paths,
        languages=tuple(document["languages"]),
        roles=tuple(roles[role] for role in document["roles"]),
        alive=np.ones(len(paths), dtype=np.bool_),
        segments=(IndexSegment(rows, {name: unpack_postings(arrays, name) for name in FIELDS}, records),),
        positions={path: position for position, path in enumerate(paths)},
        imports=StoredImports(arrays["imports"], len(paths)),
        **columns,
    )


Columns = Mapping[str, Sequence[Any]]


def artifact_columns(
    index: ProjectIndex, snapshot: Snapshot, paths: Sequence[str]
) -> tuple[Columns, Columns, Columns]:
    """Return some living files, their symbols, and the imports and tests of all files, each as columns.

    `tokens` are estimated from the size: those of what a plan reads are counted then.
    """
    rows = {path: row for row, path in enumerate(snapshot.paths)}
    positions = [index.positions[path] for path in paths]
    symbols = [
        (path, found)
        for path, position in zip(paths, positions, strict=True)
        for found in index.record(position)[0]
    ]
    pairs = [
        (index.paths[source], index.paths[target], kind)
        for kind, edges in (("import", index.edges), ("test", index.tests))
        for source, target in edges.tolist()
        if index.alive[source] and index.alive[target]
    ]
    return (
        {
            "path": paths,
            "language": [index.languages[position] for position in positions],
            "role": [str(index.roles[position]) for position in positions],
            "size": [int(index.size[position]) for position in positions],
            "mtime_ns": [int(snapshot.mtimes[rows[path]]) for path in paths],
            "content_hash": [snapshot.hashes[rows[path]] for path in paths],
            "lines": [int(index.lines[position]) for position in positions],
            "tokens": [estimated_tokens(int(index.size[position])) for position in positions],
        },
        {
            "path": [path for path, _ in symbols],
            "name": [found.name for _, found in symbols],
            "kind": [found.kind for _, found in symbols],
            "line": [found.line for _, found in symbols],
            "end_line": [found.end_line for _, found in symbols],
            "signature": [found.signature for _, found in symbols],
            "parent": [found.parent for _, found in symbols],
            "exported": [found.exported for _, found in symbols],
        },
        {
            "from_path": [pair[0] for pair in pairs],
            "to_path": [pair[1] for pair in pairs],
            "kind": [pair[2] for pair in pairs],
        },
    )
