"""Values that stay in the lines of a file until somebody asks for one: lists and mappings of such values.

What is asked for once is decoded once, also by copies: they share what was decoded and nothing else.
"""

from __future__ import annotations

import os
import re
import weakref
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence, ValuesView
from pathlib import Path
from typing import IO, Any, Final, Generic, TypeVar, overload

from workbench.errors import StoreError

BLOCK: Final = 1 << 14
"""Bytes of lines that are read and compared with what was written at once."""

_AT_ONCE: Final = 1 << 16  # bytes of lines in which a word is sought
_MORE: Final = re.compile(rb"[\x80-\xff]")

Value = TypeVar("Value")
Other = TypeVar("Other")


class DamagedLines(StoreError):
    """Lines of a file are not what was written."""


class StoredFile:
    """A file that stays open as long as somebody asks for its lines."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.descriptor = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self.descriptor)


class FileLines:
    """Lines of a file from the offset `begin` on that are read when they are asked for, by blocks.

    Not mapped: a file that somebody cuts short meanwhile would end the process. `ends` are the offsets after
    the lines, ascending, and `checksums` those of the blocks, None where the whole file was compared.
    Any number of threads may ask.
    """

    def __init__(
        self, file: StoredFile, ends: array[int], checksums: Sequence[int] | None = None, begin: int = 0
    ) -> None:
        self.ends = ends
        self._file = file
        self._checksums = checksums
        self._begin = begin
        self._size = ends[-1] if ends else 0
        self._block = (-1, b"")

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: int) -> bytes:
        """Return a line without its newline. Raises: DamagedLines."""
        return self._span(self.ends[number - 1] if number else 0, self.ends[number] - 1)

    def _span(self, start: int, stop: int) -> bytes:
        first, last = start // BLOCK, max(start, stop - 1) // BLOCK
        data = b"".join([self._read(block) for block in range(first, last + 1)])
        return data[start - first * BLOCK : stop - first * BLOCK]

    def with_word(self, word: str) -> Iterator[int]:
        """Yield the numbers of lines that have a word of lower-case ASCII in any case, or more than ASCII.

        Raises: DamagedLines.
        """
        sought, number = word.encode("ascii"), 0
        while number < len(self.ends):
            start = self.ends[number - 1] if number else 0
            last = min(bisect_right(self.ends, start + _AT_ONCE), len(self.ends) - 1)
            data = self._span(start, self.ends[last]).lower()
            at = 0
            while (found := _find_word(data, sought, at)) >= 0:
                line = bisect_right(self.ends, start + found)
                yield line
                at = self.ends[line] - start
            number = last + 1

    def whole(self) -> bytes:
        """Return all lines. Raises: DamagedLines."""
        return b"".join([self._read(number) for number in range(-(-self._size // BLOCK))])

    def _read(self, number: int) -> bytes:
        known, data = self._block
        if known != number:
            start = number * BLOCK
            size, checksums = min(BLOCK, self._size - start), self._checksums
            data = os.pread(self._file.descriptor, size, self._begin + start)
            if len(data) < size or (checksums is not None and zlib.crc32(data) != checksums[number]):
                raise DamagedLines(
                    f"the index file {self._file.name} has changed since it was written",
                    hint="Run the command again: it is written again from the journals.",
                )
            self._block = number, data
        return data


def _find_word(data: bytes, word: bytes, start: int) -> int:
    """Return the first place of a word or of more than ASCII, -1 for none."""
    found = data.find(word, start)
    other = None if data.isascii() else _MORE.search(data, start, found if found >= 0 else len(data))
    return found if other is None else other.start()


def write_lines(file: IO[bytes], lines: Iterable[bytes]) -> tuple[array[int], list[int]]:
    """Write lines that end in newlines; return their ends and the checksums of their blocks."""
    ends, checksums = array("q"), []
    end, waiting = 0, bytearray()
    for line in lines:
        end += len(line)
        ends.append(end)
        waiting += line
        while len(waiting) >= BLOCK:
            block = bytes(waiting[:BLOCK])
            checksums.append(zlib.crc32(block))
            file.write(block)
            del waiting[:BLOCK]
    if waiting:
        checksums.append(zlib.crc32(waiting))
        file.write(waiting)
    return ends, checksums


class StoredValues(Generic[Value]):
    """Values in lines, each decoded when it is first asked for. Any number of threads may ask."""

    def __init__(self, lines: FileLines, decode: Callable[[bytes], Value]) -> None:
        self.lines = lines
        self.decoded: dict[int, Value] = {}
        self._decode = decode

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, number: int) -> Value:
        found = self.decoded.get(number)
        return self.decoded.setdefault(number, self._decode(self.lines[number])) if found is None else found

    def all(self) -> tuple[Value, ...]:
        """Return all values, decoded."""
        return tuple([self[number] for number in range(len(self))])


class LazyList(Sequence[Value]):
    """A list that begins with stored values; values are only ever added."""

    def __init__(self, values: Iterable[Value] = (), *, stored: StoredValues[Value] | None = None) -> None:
        self.stored = stored
        self.added = list(values)

    @property
    def begun(self) -> int:
        """How many of the values were stored."""
        return 0 if self.stored is None else len(self.stored)

    def append(self, value: Value) -> None:
        """Add a value at the end."""
        self.added.append(value)

    def copy(self) -> LazyList[Value]:
        """Return a list of the same values; what is added to either is not in the other."""
        return LazyList(self.added, stored=self.stored)

    def __len__(self) -> int:
        return self.begun + len(self.added)

    @overload
    def __getitem__(self, index: int) -> Value: ...

    @overload
    def __getitem__(self, index: slice) -> list[Value]: ...

    def __getitem__(self, index: int | slice) -> Value | list[Value]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if self.stored is not None and 0 <= place < len(self.stored):
            return self.stored[place]
        if place < self.begun:
            raise IndexError("list index out of range")
        return self.added[place - self.begun]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (LazyList, list)) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"LazyList({list(self)!r})"


class _Values(ValuesView[Value]):
    _mapping: LazyDict[Value]

    def __reversed__(self) -> Iterator[Value]:
        return (self._mapping[key] for key in reversed(self._mapping))


class LazyDict(MutableMapping[str, Value]):
    """A dict that keeps its order and begins with stored values; `places` says which line is whose."""

    def __init__(
        self, *, stored: StoredValues[Value] | None = None, places: Mapping[str, int] | None = None
    ) -> None:
        self.stored = stored
        self.places: Mapping[str, int] = places or {}
        self._values: dict[str, Any] = dict(self.places)  # a number stands for what nobody asked for yet

    def place(self, key: str) -> int | None:
        """Return the line of a value that nobody asked for yet, None for one that is at hand."""
        found = self._values[key]
        return found if type(found) is int else None

    def with_word(self, word: str) -> Iterator[Value]:
        """Yield values, among them all in whose lines there is a word of lower-case ASCII, in any case."""
        lines = frozenset(() if self.stored is None else self.stored.lines.with_word(word))
        yield from [
            self[key] for key, value in self._values.items() if type(value) is not int or value in lines
        ]

    def copy(self) -> LazyDict[Value]:
        """Return a dict of the same values; what is set in either is not set in the other."""
        copied: LazyDict[Value] = LazyDict(stored=self.stored)
        copied.places, copied._values = self.places, self._values.copy()
        return copied

    @overload
    def get(self, key: str, default: None = None, /) -> Value | None: ...

    @overload
    def get(self, key: str, default: Value | Other, /) -> Value | Other: ...

    def get(self, key: str, default: object = None, /) -> object:
        """Return a value, or the default; unlike the inherited one without an error on the way."""
        return self[key] if key in self._values else default

    def values(self) -> _Values[Value]:
        """Return the values, which may be reversed."""
        return _Values(self)

    def __getitem__(self, key: str) -> Value:
        found = self._values[key]
        if type(found) is int and self.stored is not None:
            found = self._values[key] = self.stored[found]
        value: Value = found
        return value

    def __setitem__(self, key: str, value: Value) -> None:
        self._values[key] = value

    def __delitem__(self, key: str) -> None:
        del self._values[key]

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"LazyDict({dict(self)!r})"
