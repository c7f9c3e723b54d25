"""Building a project index, and keeping it: files replaced, added and removed, the tail merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.project.arrays import make_pool, write_arrays
from workbench.project.index import (
    COLUMNS,
    FIELDS,
    FILE,
    FORMAT,
    IndexSegment,
    Int32,
    ProjectIndex,
    encode_record,
)
from workbench.project.relations import map_tests, resolve_imports
from workbench.records.project import FileFacts, Role
from workbench.text.postings import PostingsBuilder, merge_postings, pack_postings
from workbench.text.terms import count_terms

Relations = tuple[Int32, Int32]
"""Edges and tests of an index, as `ProjectIndex` has them."""

_MOST_SEGMENTS = 8  # a query looks into each; more are merged, but for the base


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
        self._records.append(encode_record(facts.symbols, facts.imports))
        self._facts.append((path, facts.language, facts.role, size, facts.lines, facts.imports))

    def segment(self, rows: Int32) -> IndexSegment:
        """Return the files as a segment; rows: int32, the position of each."""
        return IndexSegment(
            rows, {name: builder.finish() for name, builder in self._fields.items()}, self._records
        )

    def finish(self) -> ProjectIndex:
        """Return the index of all files."""
        segment = self.segment(np.arange(len(self._facts), dtype=np.int32))
        self._fields.clear()
        paths = tuple(facts[0] for facts in self._facts)
        languages = tuple(facts[1] for facts in self._facts)
        roles = tuple(facts[2] for facts in self._facts)
        imports = tuple(facts[5] for facts in self._facts)
        edges = resolve_imports(paths, languages, imports)
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
            imports=imports,
        )


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
    relations: Relations | None = None,
) -> ProjectIndex:
    """Return the index with some files replaced, added ({path: (facts, bytes)}) or removed.

    A replaced file keeps its position; added ones come after all others. Imports are resolved again only when
    a path came or went or a file imports something else than before, for that can redirect anyone's import;
    `relations` are what an equal update found then. What is not touched is the same object afterwards.
    """
    gone = sorted(
        index.positions[path] for path in removed if path in index.positions and path not in changed
    )
    added = sorted(path for path in changed if path not in index.positions)
    kept = sorted(path for path in changed if path in index.positions)
    grown = _add_columns(index, added, changed) if added else index
    rows = np.asarray([grown.positions[path] for path in (*kept, *added)], dtype=np.int32)
    facts = [changed[path] for path in (*kept, *added)]
    segments = tuple(_without(segment, {*gone, *rows.tolist()}) for segment in index.segments)
    size, lines, alive = grown.size.copy(), grown.lines.copy(), grown.alive
    for row, (fact, count) in zip(rows.tolist(), facts, strict=True):
        size[row], lines[row] = count, fact.lines
    if gone:
        alive = alive.copy()
        alive[gone] = False
    fresh = replace(
        grown,
        size=size,
        lines=lines,
        alive=alive,
        segments=_merge_tail((*segments, _segment((*kept, *added), facts, rows)) if len(rows) else segments),
        positions=_living(grown, gone) if gone else grown.positions,
    )
    if not gone and keeps_relations(index, changed):
        return fresh
    described = _describe(fresh, rows, facts)
    if relations is None:
        return _relate(described)
    return replace(described, edges=relations[0], tests=relations[1])


def keeps_relations(index: ProjectIndex, changed: Mapping[str, tuple[FileFacts, int]]) -> bool:
    """Whether changed files leave all imports and tests as they are: none is new, none imports otherwise."""
    return all(
        path in index.positions
        and tuple(index.imports[index.positions[path]]) == facts.imports
        and index.languages[index.positions[path]] == facts.language
        for path, (facts, _) in changed.items()
    )


def _add_columns(
    index: ProjectIndex, added: Sequence[str], changed: Mapping[str, tuple[FileFacts, int]]
) -> ProjectIndex:
    more = len(added)
    return replace(
        index,
        paths=(*index.paths, *added),
        languages=(*index.languages, *(changed[path][0].language for path in added)),
        roles=(*index.roles, *(changed[path][0].role for path in added)),
        size=np.concatenate([index.size, np.zeros(more, dtype=np.int64)]),
        lines=np.concatenate([index.lines, np.zeros(more, dtype=np.int32)]),
        alive=np.concatenate([index.alive, np.ones(more, dtype=np.bool_)]),
        positions={**index.positions, **{path: index.count + row for row, path in enumerate(added)}},
        imports=(*index.imports, *(() for _ in added)),
    )


def _living(index: ProjectIndex, gone: Sequence[int]) -> dict[str, int]:
    left = set(gone)
    return {path: position for path, position in index.positions.items() if position not in left}


def _describe(index: ProjectIndex, rows: Int32, facts: Sequence[tuple[FileFacts, int]]) -> ProjectIndex:
    """Return the index with what changed files say of themselves in its columns."""
    imports, languages = list(index.imports), list(index.languages)
    for row, (fact, _) in zip(rows.tolist(), facts, strict=True):
        imports[row], languages[row] = fact.imports, fact.language
    return replace(index, imports=tuple(imports), languages=tuple(languages))


def _relate(index: ProjectIndex) -> ProjectIndex:
    """Return the index with imports and tests of all living files resolved again."""
    living = sorted(index.positions.values())
    columns = np.asarray(living, dtype=np.int32)
    paths = [index.paths[position] for position in living]
    edges = resolve_imports(
        paths,
        [index.languages[position] for position in living],
        [index.imports[position] for position in living],
    )
    tests = map_tests(paths, [index.roles[position] for position in living], edges)
    return replace(index, edges=columns[edges].reshape(-1, 2), tests=columns[tests].reshape(-1, 2))


def _segment(paths: Sequence[str], facts: Sequence[tuple[FileFacts, int]], rows: Int32) -> IndexSegment:
    builder = IndexBuilder()
    for path, (fact, size) in zip(paths, facts, strict=True):
        builder.add(path, fact, size)
    return builder.segment(rows)


def _without(segment: IndexSegment, positions: set[int]) -> IndexSegment:
    """Return a segment whose documents no longer describe some files."""
    dead = np.isin(segment.rows, sorted(positions))
    if not dead.any():
        return segment
    return replace(segment, rows=np.where(dead, np.int32(-1), segment.rows), whole=False)


def _merge_tail(segments: tuple[IndexSegment, ...]) -> tuple[IndexSegment, ...]:
    if len(segments) <= _MOST_SEGMENTS:
        return segments
    base, *tail = segments
    rows = np.concatenate([segment.rows[segment.rows >= 0] for segment in tail])
    return base, _merge(tail, rows)


def _merge(segments: Sequence[IndexSegment], rows: Int32) -> IndexSegment:
    """Return what segments say of the files at `rows`, in that order, as one segment."""
    order = np.full(int(rows.max(initial=-1)) + 2, -1, dtype=np.int32)
    order[rows] = np.arange(len(rows), dtype=np.int32)
    maps = [np.where(segment.rows >= 0, order[segment.rows], np.int32(-1)) for segment in segments]
    records: list[bytes] = [b""] * len(rows)
    for segment, mapping in zip(segments, maps, strict=True):
        for document, place in enumerate(mapping.tolist()):
            if place >= 0:
                records[place] = segment.records[document]
    fields = {
        name: merge_postings(
            [(segment.fields[name], mapping) for segment, mapping in zip(segments, maps, strict=True)],
            len(rows),
        )
        for name in FIELDS
    }
    return IndexSegment(rows.astype(np.int32), fields, records)


def compact(index: ProjectIndex) -> ProjectIndex:
    """Return the same living files as one segment, in path order."""
    order = sorted(index.positions)
    old = np.asarray([index.positions[path] for path in order], dtype=np.int32)
    moved = np.full(index.count, -1, dtype=np.int32)
    moved[old] = np.arange(len(order), dtype=np.int32)
    whole = _merge(index.segments, old)
    places = old.tolist()
    return ProjectIndex(
        paths=tuple(order),
        languages=tuple(index.languages[place] for place in places),
        roles=tuple(index.roles[place] for place in places),
        size=index.size[old],
        lines=index.lines[old],
        alive=np.ones(len(order), dtype=np.bool_),
        segments=(replace(whole, rows=np.arange(len(order), dtype=np.int32)),),
        edges=_renumber(index.edges, moved),
        tests=_renumber(index.tests, moved),
        positions={path: position for position, path in enumerate(order)},
        imports=tuple(index.imports[place] for place in places),
    )


def is_compact(index: ProjectIndex) -> bool:
    """Whether an index is one segment of living files in path order."""
    return len(index.segments) == 1 and index.segments[0].whole and bool(index.alive.all())


def _renumber(pairs: Int32, moved: Int32) -> NDArray[np.int32]:
    found = moved[pairs].reshape(-1, 2)
    return found[np.lexsort((found[:, 1], found[:, 0]))]


def save_index(index: ProjectIndex, directory: Path) -> None:
    """Write an index, compacted to one segment, into an existing directory, for `load_index`."""
    whole = index if is_compact(index) else compact(index)
    segment = whole.segments[0]
    arrays: dict[str, NDArray[Any] | bytes] = {name: getattr(whole, name) for name in COLUMNS}
    for name in FIELDS:
        arrays |= pack_postings(segment.fields[name], name)
    records = make_pool(segment.records)
    arrays |= {"records.offsets": records.starts, "records": records.data}
    arrays["imports"] = msgspec.msgpack.encode([list(found) for found in whole.imports])
    document = {
        "format": FORMAT,
        "paths": [path.encode("utf-8", "surrogateescape") for path in whole.paths],
        "languages": whole.languages,
        "roles": [role.value for role in whole.roles],
    }
    arrays["files"] = msgspec.msgpack.encode(document)
    write_arrays(directory / FILE, arrays)
