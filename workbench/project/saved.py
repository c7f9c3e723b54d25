"""The project index as files in a directory, opened memory-mapped.

The caller owns the directory's life (temporary, published, removed); this module only knows its format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.project.index import FIELDS, ProjectIndex, Segment, compact
from workbench.project.postings import load_array, load_postings, save_postings
from workbench.records.project import Role

FORMAT = 1

_COLUMNS = ("size", "lines", "edges", "tests")


class MappedRecords(Sequence[bytes]):
    """Byte records in one mapped file: `offsets` int64 [n+1] into `data`."""

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self._data = data
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

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


def save_index(index: ProjectIndex, directory: Path) -> None:
    """Write an index, compacted to one segment, into an existing directory."""
    whole = index if len(index.segments) == 1 and bool(index.alive.all()) else compact(index)
    segment = whole.segments[0]
    for name in FIELDS:
        save_postings(segment.fields[name], directory, name)
    for column in _COLUMNS:
        np.save(directory / f"{column}.npy", getattr(whole, column))
    offsets = np.zeros(len(segment.records) + 1, dtype=np.int64)
    np.cumsum([len(record) for record in segment.records], out=offsets[1:])
    np.save(directory / "records.offsets.npy", offsets)
    (directory / "records.bin").write_bytes(b"".join(segment.records))
    document = {
        "format": FORMAT,
        "paths": [path.encode("utf-8", "surrogateescape") for path in whole.paths],
        "languages": whole.languages,
        "roles": [role.value for role in whole.roles],
    }
    (directory / "files.msgpack").write_bytes(msgspec.msgpack.encode(document))


def load_index(directory: Path) -> ProjectIndex:
    """Open what `save_index` wrote. Raises OSError, ValueError or KeyError if it is damaged."""
    document = msgspec.msgpack.decode((directory / "files.msgpack").read_bytes())
    if document["format"] != FORMAT:
        raise ValueError(f"index format {document['format']}, expected {FORMAT}")
    paths = tuple(path.decode("utf-8", "surrogateescape") for path in document["paths"])
    columns = {name: load_array(directory / f"{name}.npy", mapped=False) for name in _COLUMNS}
    data = directory / "records.bin"
    mapped = np.memmap(data, dtype=np.uint8, mode="r") if data.stat().st_size else np.zeros(0, dtype=np.uint8)
    offsets = load_array(directory / "records.offsets.npy", mapped=False)
    records = MappedRecords(mapped, offsets)
    if not len(paths) == len(records) == len(columns["size"]) or offsets[-1] != len(mapped):
        raise ValueError("the index's columns do not have the same length")
    roles = {role.value: role for role in Role}
    return ProjectIndex(
        paths=paths,
        languages=tuple(document["languages"]),
        roles=tuple(roles[role] for role in document["roles"]),
        alive=np.ones(len(paths), dtype=np.bool_),
        segments=(Segment(0, {name: load_postings(directory, name) for name in FIELDS}, records),),
        positions={path: position for position, path in enumerate(paths)},
        **columns,
    )
