"""Many arrays in one file, opened memory-mapped: one file to write, to make durable and to open.

Layout: a magic line, the header's length and checksum, the header (msgpack: name, type, shape, offset of each
array), then the arrays, each at a multiple of 64 bytes. Many byte strings are two of them, a pool.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.records.conversion import decode_msgpack
from workbench.records.dataclass import dataclass

Arrays = dict[str, NDArray[Any]]

_MAGIC = b"workbench arrays 1\n"
_ALIGN = 64
_LENGTHS = 16  # bytes: the header's length and checksum, 8 each
_KINDS = frozenset("biuf")

_Entry = tuple[str, str, tuple[int, ...], int]


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any] | bytes]) -> None:
    """Write arrays and byte strings (as uint8 arrays) under their names."""
    columns = {
        name: np.frombuffer(array, dtype=np.uint8)
        if isinstance(array, bytes)
        else np.ascontiguousarray(array)
        for name, array in arrays.items()
    }
    entries: list[_Entry] = []
    offset = 0
    for name, column in columns.items():
        entries.append((name, column.dtype.newbyteorder("<").str, column.shape, offset))
        offset += column.nbytes + -column.nbytes % _ALIGN
    header = msgspec.msgpack.encode(entries)
    lengths = len(header).to_bytes(8, "little") + zlib.crc32(header).to_bytes(8, "little")
    with path.open("wb") as file:
        file.write(_pad(_MAGIC + lengths + header))
        for column in columns.values():
            data = column.astype(column.dtype.newbyteorder("<"), copy=False)
            file.write(data.data.cast("B") if data.size else b"")
            file.write(bytes(-column.nbytes % _ALIGN))


def open_arrays(path: Path) -> Arrays:
    """Open what `write_arrays` wrote: read-only views of the mapped file.

    Raises: OSError if it cannot be read, ValueError if it is damaged.
    """
    size = path.stat().st_size
    if size < len(_MAGIC) + _LENGTHS:
        raise ValueError(f"{path.name} is too short")
    mapped = np.memmap(path, dtype=np.uint8, mode="r")
    start = len(_MAGIC) + _LENGTHS
    lead = mapped[:start].tobytes()
    length = int.from_bytes(lead[-16:-8], "little")
    header = mapped[start : start + length].tobytes()
    if not lead.startswith(_MAGIC) or zlib.crc32(header) != int.from_bytes(lead[-8:], "little"):
        raise ValueError(f"{path.name} does not begin as it should")
    entries = decode_msgpack(header, list[_Entry])
    base = start + length + -(start + length) % _ALIGN
    content = mapped[base:].view(np.ndarray)
    return {name: _column(path, content, kind, shape, offset) for name, kind, shape, offset in entries}


def _column(
    path: Path, content: NDArray[np.uint8], kind: str, shape: tuple[int, ...], offset: int
) -> NDArray[Any]:
    dtype = np.dtype(kind)
    end = offset + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    if dtype.kind not in _KINDS or offset < 0 or min(shape, default=0) < 0 or end > len(content):
        raise ValueError(f"{path.name} is cut short")
    return content[offset:end].view(dtype).reshape(shape)


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGN)


def offsets(sizes: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    """Return where pieces of these sizes begin one after the other, int64 [n + 1], the end last."""
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Byte strings one after the other: `data` uint8, string i from `starts[i]` to `starts[i + 1]`."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, position: int) -> bytes:
        if not 0 <= position < len(self):
            raise IndexError(position)
        return self.data[self.starts[position] : self.starts[position + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return map(self.__getitem__, range(len(self)))

    def rows(self, kept: NDArray[np.int64]) -> list[Pool]:
        """Return the strings of some rows (ascending): pools that are parts of this one, in order."""
        runs = np.split(kept, np.flatnonzero(np.diff(kept) != 1) + 1) if len(kept) else []
        found = []
        for first, last in ((int(run[0]), int(run[-1]) + 1) for run in runs):
            starts = self.starts[first : last + 1]
            found.append(Pool(self.data[starts[0] : starts[-1]], starts - starts[0]))
        return found

    def pack(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for a file of arrays."""
        return {f"{name}.data": self.data, f"{name}.starts": self.starts}


def make_pool(strings: Iterable[bytes]) -> Pool:
    """Return a pool of byte strings."""
    given = list(strings)
    return Pool(np.frombuffer(b"".join(given), np.uint8), offsets([len(one) for one in given]))


def join_pools(parts: Sequence[Pool]) -> Pool:
    """Return pools one after the other."""
    ends = np.cumsum([0, *(len(part.data) for part in parts)])
    starts = [part.starts[1:] + end for part, end in zip(parts, ends.tolist(), strict=False)]
    data = [part.data for part in parts]
    return Pool(
        np.concatenate([np.empty(0, np.uint8), *data]), np.concatenate([np.zeros(1, np.int64), *starts])
    )


def unpack_pool(arrays: Mapping[str, NDArray[Any]], name: str, count: int) -> Pool:
    """Undo `pack`. Raises: KeyError, ValueError if the pool is damaged or of another number of strings."""
    pool = Pool(arrays[f"{name}.data"], arrays[f"{name}.starts"])
    if len(pool) != count or int(pool.starts[-1]) != len(pool.data):
        raise ValueError(f"the pool {name} does not add up")
    return pool
