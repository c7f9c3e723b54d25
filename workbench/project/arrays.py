"""Many arrays in one file, opened memory-mapped: one file to write, to make durable and to open.

Layout: a magic line, the header's length and checksum, the header (msgpack: name, type, shape, offset of each
array), then the arrays, each at a multiple of 64 bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.records.conversion import decode_msgpack

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
