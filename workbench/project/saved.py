"""The project index as files in a directory, opened memory-mapped.

The caller owns the directory's life (temporary, published, removed); this module only knows its format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.project.arrays import open_arrays, write_arrays
from workbench.project.index import FIELDS, ProjectIndex, Segment
from workbench.project.postings import pack_postings, unpack_postings
from workbench.records.conversion import decode_msgpack
from workbench.records.project import Role

FORMAT = 3
FILE = "index.arrays"

_COLUMNS = ("size", "lines", "edges", "tests")


class MappedRecords(Sequence[bytes]):
    """Byte records in one mapped file: `offsets` int64 [n+1] into `data`."""

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._data = data
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def total(self) -> int:
        """How many bytes all records have together."""
        return int(self._offsets[-1])

    @overload
    def __getitem__(self, position: int) -> bytes: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[bytes]: ...
    def __getitem__(self, position: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(position, slice):
            return [self[number] for number in range(*position.indices(len(self)))]
        if not 0 <= position < len(self):
            raise IndexError(position)
        return self._data[self._offsets[position] : self._offsets[position + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return (self[number] for number in range(len(self)))


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


def save_index(index: ProjectIndex, directory: Path) -> None:
    """Write an index, compacted to one segment, into an existing directory."""
    from workbench.project.updating import compact, is_compact  # resolvers, which no reader needs

    whole = index if is_compact(index) else compact(index)
    segment = whole.segments[0]
    arrays: dict[str, NDArray[Any] | bytes] = {name: getattr(whole, name) for name in _COLUMNS}
    for name in FIELDS:
        arrays |= pack_postings(segment.fields[name], name)
    offsets = np.zeros(len(segment.records) + 1, dtype=np.int64)
    np.cumsum([len(record) for record in segment.records], out=offsets[1:])
    arrays["records.offsets"] = offsets
    arrays["records"] = b"".join(segment.records)
    arrays["imports"] = msgspec.msgpack.encode([list(found) for found in whole.imports])
    document = {
        "format": FORMAT,
        "paths": [path.encode("utf-8", "surrogateescape") for path in whole.paths],
        "languages": whole.languages,
        "roles": [role.value for role in whole.roles],
    }
    arrays["files"] = msgspec.msgpack.encode(document)
    write_arrays(directory / FILE, arrays)


def load_index(directory: Path) -> ProjectIndex:
    """Open what `save_index` wrote.

    Raises: OSError, ValueError, KeyError or MsgspecError if it is damaged.
    """
    arrays = open_arrays(directory / FILE)
    document = msgspec.msgpack.decode(arrays["files"].data)
    if document["format"] != FORMAT:
        raise ValueError(f"index format {document['format']}, expected {FORMAT}")
    paths = tuple(path.decode("utf-8", "surrogateescape") for path in document["paths"])
    columns = {name: arrays[name] for name in _COLUMNS}
    records = MappedRecords(arrays["records"], arrays["records.offsets"])
    rows = np.arange(len(paths), dtype=np.int32)
    same = len(paths) == len(records) == len(columns["size"]) == len(columns["lines"])
    if not same or records.total != len(arrays["records"]):
        raise ValueError("the index's columns do not have the same length")
    roles = {role.value: role for role in Role}
    return ProjectIndex(
        paths=paths,
        languages=tuple(document["languages"]),
        roles=tuple(roles[role] for role in document["roles"]),
        alive=np.ones(len(paths), dtype=np.bool_),
        segments=(Segment(rows, {name: unpack_postings(arrays, name) for name in FIELDS}, records),),
        positions={path: position for position, path in enumerate(paths)},
        imports=StoredImports(arrays["imports"], len(paths)),
        **columns,
    )
