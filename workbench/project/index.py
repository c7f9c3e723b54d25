"""The project index: files as columns, their terms as posting lists, imports and tests as edges.

One immutable base plus a small tail: a changed file is re-extracted into the tail and its base entry dies,
so an edit costs one file however large the project is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.project.imports import resolve_imports
from workbench.project.postings import (
    Postings,
    PostingsBuilder,
    inverse_document_frequency,
    merge_postings,
)
from workbench.project.testmap import map_tests
from workbench.records.project import FileFacts, Role, Symbol
from workbench.text.terms import count_terms

FIELDS = ("path", "name", "body")

Int32 = NDArray[np.int32]
Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive files from position `start`: posting lists per field, and a record each."""

    start: int
    fields: dict[str, Postings]
    records: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class ProjectIndex:
    """n files (dead ones included) in columns.

    alive: bool [n]; size: int64 [n] bytes; edges: int32 [m, 2] importer → imported;
    tests: int32 [t, 2] test → source
    """

    paths: tuple[str, ...]
    languages: tuple[str, ...]
    roles: tuple[Role, ...]
    size: NDArray[np.int64]
    lines: Int32
    alive: NDArray[np.bool_]
    segments: tuple[Segment, ...]
    edges: Int32
    tests: Int32
    positions: Mapping[str, int] = field(repr=False)

    @property
    def count(self) -> int:
        """Number of columns, dead files included."""
        return len(self.paths)

    def record(self, position: int) -> tuple[tuple[Symbol, ...], tuple[str, ...]]:
        """Return the (symbols, imports) of a file."""
        return decode_record(_raw_record(self, position))

    def frequency(self, name: str, term: str) -> int:
        """Number of living files that hold a term in a field."""
        return sum(
            int(self.alive[segment.start + segment.fields[name].posting(term)[0]].sum())
            for segment in self.segments
        )

    def bm25(self, name: str, terms: Mapping[str, float], *, k1: float = 1.2, b: float = 0.75) -> Float32:
        """Return BM25 scores float32 [n] of weighted query terms in a field; dead files score 0."""
        scores = np.zeros(self.count, dtype=np.float32)
        living = int(self.alive.sum())
        if not living:
            return scores
        lengths = np.concatenate([segment.fields[name].lengths for segment in self.segments])
        mean = max(float(lengths[self.alive].sum()) / living, 1.0)
        for term, weight in terms.items():
            found = [(segment, *segment.fields[name].posting(term)) for segment in self.segments]
            frequency = sum(int(self.alive[segment.start + docs].sum()) for segment, docs, _ in found)
            if not frequency:
                continue
            idf = inverse_document_frequency(frequency, living) * weight
            for segment, docs, counts in found:
                norm = k1 * (1 - b + b * segment.fields[name].lengths[docs] / mean)
                scores[segment.start + docs] += idf * counts * (k1 + 1) / (counts + norm)
        scores[~self.alive] = 0
        return scores

    def rarest(self, name: str, terms: Iterable[str]) -> Float32:
        """Return float32 [n] in [0, 1]: the scaled idf of the rarest query term that a file's field holds."""
        scores = np.zeros(self.count, dtype=np.float32)
        living = int(self.alive.sum())
        for term in terms:
            found = [(segment, segment.fields[name].posting(term)[0]) for segment in self.segments]
            frequency = sum(int(self.alive[segment.start + docs].sum()) for segment, docs in found)
            if not frequency:
                continue
            value = np.float32(inverse_document_frequency(frequency, living))
            for segment, docs in found:
                rows = segment.start + docs
                scores[rows] = np.maximum(scores[rows], value)
        scores[~self.alive] = 0
        return scores / np.float32(np.log1p(2.0 * living + 1.0))

    def coverage(self, name: str, terms: Mapping[str, float]) -> Float32:
        """Return float32 [n]: the idf-weighted share of the query's known terms that a file's field holds."""
        scores = np.zeros(self.count, dtype=np.float32)
        living = int(self.alive.sum())
        total = 0.0
        for term, weight in terms.items():
            found = [(segment, segment.fields[name].posting(term)[0]) for segment in self.segments]
            frequency = sum(int(self.alive[segment.start + docs].sum()) for segment, docs in found)
            if not frequency:
                continue
            value = inverse_document_frequency(frequency, living) * weight
            total += value
            for segment, docs in found:
                scores[segment.start + docs] += value
        scores[~self.alive] = 0
        return scores / np.float32(total) if total else scores


_Record = tuple[tuple[Symbol, ...], tuple[str, ...]]


def encode_record(facts: FileFacts) -> bytes:
    """Pack what is looked up only for files that are shown: symbols and import specifiers."""
    return msgspec.msgpack.encode((facts.symbols, facts.imports))


def decode_record(record: bytes) -> _Record:
    """Undo `encode_record`."""
    found: _Record = msgspec.msgpack.decode(record, type=_Record)
    return found


def path_terms(path: str) -> dict[str, int]:
    """Return the terms of a path; the file name counts twice, for it says more than its folders."""
    counts = dict(count_terms(path))
    for term, count in count_terms(path.rsplit("/", 1)[-1]).items():
        counts[term] = counts.get(term, 0) + count
    return counts


class IndexBuilder:
    """Collects files one by one, in path order; their words are let go at once, so memory stays small."""

    def __init__(self) -> None:
        self._fields = {name: PostingsBuilder() for name in FIELDS}
        self._records: list[bytes] = []
        self._facts: list[tuple[str, str, Role, int, int, tuple[str, ...]]] = []

    def add(self, path: str, facts: FileFacts, size: int) -> None:
        """Take the next file; `size` is in bytes."""
        for name, terms in zip(FIELDS, (path_terms(path), facts.name_terms, facts.body_terms), strict=True):
            self._fields[name].add(terms)
        self._records.append(encode_record(facts))
        self._facts.append((path, facts.language, facts.role, size, facts.lines, facts.imports))

    def segment(self, start: int = 0) -> Segment:
        """Return the files as a segment that begins at position `start`."""
        fields = {name: builder.finish() for name, builder in self._fields.items()}
        return Segment(start, fields, self._records)

    def finish(self) -> ProjectIndex:
        """Return the index of all files."""
        segment = self.segment()
        self._fields.clear()
        paths = tuple(facts[0] for facts in self._facts)
        languages = tuple(facts[1] for facts in self._facts)
        roles = tuple(facts[2] for facts in self._facts)
        edges = resolve_imports(paths, languages, [facts[5] for facts in self._facts])
        return ProjectIndex(
            paths=paths,
            languages=languages,
            roles=roles,
            size=np.asarray([facts[3] for facts in self._facts], dtype=np.int64),
            lines=np.asarray([facts[4] for facts in self._facts], dtype=np.int32),
            alive=np.ones(len(paths), dtype=np.bool_),
            segments=(segment,),
            edges=edges,
            tests=map_tests(paths, roles, edges),
            positions={path: position for position, path in enumerate(paths)},
        )


def build_segment(paths: Sequence[str], facts: Sequence[FileFacts], start: int = 0) -> Segment:
    """Build the posting lists of some files."""
    builder = IndexBuilder()
    for path, fact in zip(paths, facts, strict=True):
        builder.add(path, fact, 0)
    return builder.segment(start)


def build_index(paths: Sequence[str], facts: Iterable[FileFacts], sizes: Sequence[int]) -> ProjectIndex:
    """Build an index of all files of a project."""
    builder = IndexBuilder()
    for path, fact, size in zip(paths, facts, sizes, strict=True):
        builder.add(path, fact, size)
    return builder.finish()


def update_index(
    index: ProjectIndex,
    changed: Mapping[str, tuple[FileFacts, int]],
    removed: Iterable[str] = (),
) -> ProjectIndex:
    """Return the index with some files replaced, added ({path: (facts, bytes)}) or removed.

    Changed files move to the tail; positions of untouched files stay valid. Imports are resolved anew for the
    changed files, and for all files when a path appeared or disappeared: that can redirect anyone's import.
    """
    gone = {path for path in removed if path in index.positions}
    replaced = set(changed) | gone
    alive = index.alive.copy()
    for path in replaced:
        position = index.positions.get(path)
        if position is not None:
            alive[position] = False
    added = sorted(changed)
    facts = [changed[path][0] for path in added]
    start = index.count
    paths = (*index.paths, *added)
    languages = (*index.languages, *(fact.language for fact in facts))
    roles = (*index.roles, *(fact.role for fact in facts))
    alive = np.concatenate([alive, np.ones(len(added), dtype=np.bool_)])
    positions = {path: position for path, position in index.positions.items() if path not in gone}
    positions.update({path: start + offset for offset, path in enumerate(added)})
    same_paths = not gone and all(path in index.positions for path in added)
    fresh = {start + offset: fact.imports for offset, fact in enumerate(facts)}
    if same_paths:
        edges = _moved_edges(index, positions, added, fresh, paths, languages)
    else:
        edges = _living_edges(index, paths, languages, fresh, alive)
    return ProjectIndex(
        paths=paths,
        languages=languages,
        roles=roles,
        size=np.concatenate([index.size, np.asarray([changed[path][1] for path in added], dtype=np.int64)]),
        lines=np.concatenate([index.lines, np.asarray([fact.lines for fact in facts], dtype=np.int32)]),
        alive=alive,
        segments=(*index.segments, build_segment(added, facts, start)),
        edges=edges,
        tests=_living_tests(paths, roles, edges, alive),
        positions=positions,
    )


def _living_edges(
    index: ProjectIndex,
    paths: Sequence[str],
    languages: Sequence[str],
    fresh: Mapping[int, tuple[str, ...]],
    alive: NDArray[np.bool_],
) -> Int32:
    living = np.flatnonzero(alive)
    edges = resolve_imports(
        [paths[position] for position in living.tolist()],
        [languages[position] for position in living.tolist()],
        [fresh[position] if position in fresh else index.record(position)[1] for position in living.tolist()],
    )
    return living[edges].astype(np.int32).reshape(-1, 2)


def _moved_edges(
    index: ProjectIndex,
    positions: Mapping[str, int],
    changed: Sequence[str],
    fresh: Mapping[int, tuple[str, ...]],
    paths: Sequence[str],
    languages: Sequence[str],
) -> Int32:
    moved = np.arange(len(paths), dtype=np.int32)
    for path in changed:
        moved[index.positions[path]] = positions[path]
    living = sorted(positions.values())
    found = resolve_imports(
        [paths[position] for position in living],
        [languages[position] for position in living],
        [fresh.get(position, ()) for position in living],
    )
    own = np.asarray(living, dtype=np.int32)[found].reshape(-1, 2)
    kept = index.edges[~np.isin(moved[index.edges[:, 0]], sorted(fresh))]
    edges = np.concatenate([moved[kept].reshape(-1, 2), own]).astype(np.int32)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def _living_tests(
    paths: Sequence[str], roles: Sequence[Role], edges: Int32, alive: NDArray[np.bool_]
) -> Int32:
    living = np.flatnonzero(alive)
    renumber = np.full(len(paths), -1, dtype=np.int32)
    renumber[living] = np.arange(len(living))
    pairs = map_tests(
        [paths[position] for position in living.tolist()],
        [roles[position] for position in living.tolist()],
        renumber[edges].reshape(-1, 2),
    )
    return living[pairs].astype(np.int32).reshape(-1, 2)


def compact(index: ProjectIndex) -> ProjectIndex:
    """Return the same living files as one segment, in path order."""
    order = sorted(index.positions)
    old = np.asarray([index.positions[path] for path in order], dtype=np.int64)
    moved = np.full(index.count, -1, dtype=np.int32)
    moved[old] = np.arange(len(order), dtype=np.int32)
    fields = {
        name: merge_postings(
            [
                (segment.fields[name], moved[segment.start : segment.start + segment.fields[name].size])
                for segment in index.segments
            ],
            len(order),
        )
        for name in FIELDS
    }
    records = [_raw_record(index, position) for position in old.tolist()]
    edges = moved[index.edges].reshape(-1, 2)
    tests = moved[index.tests].reshape(-1, 2)
    return ProjectIndex(
        paths=tuple(order),
        languages=tuple(index.languages[position] for position in old.tolist()),
        roles=tuple(index.roles[position] for position in old.tolist()),
        size=index.size[old],
        lines=index.lines[old],
        alive=np.ones(len(order), dtype=np.bool_),
        segments=(Segment(0, fields, records),),
        edges=edges[np.lexsort((edges[:, 1], edges[:, 0]))],
        tests=tests[np.lexsort((tests[:, 1], tests[:, 0]))],
        positions={path: position for position, path in enumerate(order)},
    )


def _raw_record(index: ProjectIndex, position: int) -> bytes:
    for segment in reversed(index.segments):
        if position >= segment.start:
            return segment.records[position - segment.start]
    raise IndexError(position)
