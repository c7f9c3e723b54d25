"""The code of modules in one file of the user's cache: finding and reading 280 files is 0.01 s of each hook.

Python looks for a module in directories and reads what it compiled from a file beside it. Here one file has
what short processes import, each module with the place, size and time of its source. One whose source is
another is imported as always, and so is everything where the file is not the user's own. Only modules inside
packages are kept: which package a name means stays Python's to say.
"""

from __future__ import annotations

import marshal
import mmap
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib._bootstrap_external import MAGIC_NUMBER  # importlib.util imports more
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final
from zlib import crc32

_MAGIC: Final = b"modules 1\n"
_END: Final = b"\nend"
_LENGTH: Final = 4  # bytes
_HEADER: Final = 16  # bytes of a compiled file before its code
_MOST: Final = 2_000  # modules that are kept
_OTHERS: Final = 0o022  # whoever else may write a file

Kept = tuple[str, str, bool, int, int, int, int]
"""Source, compiled file, whether it is a package, time (ns) and size of the source, and where the code is."""


class KeptLoader(SourceFileLoader):
    """Loads a module from the code that is kept of it."""

    def __init__(self, name: str, path: str, code: memoryview) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the module."""
        code: CodeType = marshal.loads(self._code)
        return code


class KeptModules:
    """Finds modules whose code is kept, before Python does."""

    def __init__(self, path: Path) -> None:
        """Read what is kept at a path."""
        self._path = path
        self._rows, self._data = _read(path)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module inside a package is, None for one that Python is to find."""
        if path is None or "." not in name:
            return None
        row = self._rows.get(name)
        if row is None:
            return None
        source, cached, is_package, time, size, begin, end = row
        folder = source.rpartition(os.sep)[0]
        try:
            status = os.stat(source)
            is_same = status.st_mtime_ns == time and status.st_size == size
        except OSError:
            is_same = False
        if not is_same or [folder.rpartition(os.sep)[0] if is_package else folder] != list(path)[:1]:
            return None
        loader = KeptLoader(name, source, self._data[begin:end])
        spec = ModuleSpec(name, loader, origin=source, is_package=is_package)
        if is_package:
            spec.submodule_search_locations = [folder]
        spec.has_location, spec.cached = True, cached
        return spec

    def keep(self) -> None:
        """Write the code of what this process imported beside what was kept, if that has not all of it."""
        if sys.dont_write_bytecode:
            return
        new: dict[str, tuple[Kept, bytes]] = {}
        for name, module in list(sys.modules.items()):
            row = _row_of(name, module)
            if row is None or self._rows.get(name, ())[:5] == row[:5]:
                continue
            with suppress(OSError):
                compiled = Path(row[1]).read_bytes()
                if compiled[:_HEADER] == _header(row):
                    new[name] = row, compiled[_HEADER:]
        if new:
            known = {name: (row, bytes(self._data[row[5] : row[6]])) for name, row in self._rows.items()}
            codes = {**known, **new}
            _write(self._path, codes if len(codes) <= _MOST else new)


def _row_of(name: str, module: ModuleType) -> Kept | None:
    """Return what is kept of a module but for its code, None of one that Python read from no source."""
    spec = getattr(module, "__spec__", None)
    if "." not in name or not isinstance(spec, ModuleSpec) or spec.name != name:
        return None
    source, cached = spec.origin, spec.cached
    if type(spec.loader) is not SourceFileLoader or not source or not cached:
        return None
    try:
        status = os.stat(source)
    except OSError:
        return None
    is_package = spec.submodule_search_locations is not None
    return source, cached, is_package, status.st_mtime_ns, status.st_size, 0, 0


def _header(row: Kept) -> bytes:
    """Return how the compiled file of a source of that time and size begins."""
    times = (row[3] // 1_000_000_000, row[4])
    return MAGIC_NUMBER + bytes(4) + b"".join((value & 0xFFFFFFFF).to_bytes(4, "little") for value in times)


def _write(path: Path, codes: dict[str, tuple[Kept, bytes]]) -> None:
    begin, rows = 0, {}
    for name, (row, code) in sorted(codes.items()):
        rows[name] = (*row[:5], begin, begin + len(code))
        begin += len(code)
    head = marshal.dumps(rows)
    partial = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(
                _MAGIC
                + len(head).to_bytes(_LENGTH, "little")
                + crc32(head).to_bytes(_LENGTH, "little")
                + head
            )
            file.writelines(codes[name][1] for name in rows)
            file.write(_END)
        partial.replace(path)


def _read(path: Path) -> tuple[dict[str, Kept], memoryview]:
    """Return what is kept and where its code is; nothing where the file is damaged or not the user's own."""
    nothing: tuple[dict[str, Kept], memoryview] = ({}, memoryview(b""))
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & _OTHERS):
                return nothing
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        return nothing
    begin = len(_MAGIC) + 2 * _LENGTH
    length, check = (
        int.from_bytes(data[at : at + _LENGTH], "little") for at in (len(_MAGIC), len(_MAGIC) + _LENGTH)
    )
    head = data[begin : begin + length]
    if bytes(data[: len(_MAGIC)]) != _MAGIC or bytes(data[-len(_END) :]) != _END or crc32(head) != check:
        return nothing
    rows: dict[str, Kept] = marshal.loads(head)
    return rows, data[begin + length :]


_INSTALLED: Final[list[KeptModules]] = []


def use_kept(cache: Path) -> None:
    """Let this process import what is kept in the user's cache."""
    modules: Any = KeptModules(kept_path(cache))
    sys.meta_path.insert(1, modules)  # behind what imports less
    _INSTALLED.append(modules)


def keep_modules() -> None:
    """Keep for others what this process imported, if it uses what is kept."""
    for modules in _INSTALLED:
        modules.keep()


def kept_path(cache: Path) -> Path:
    """Return where the modules for this build of Python and this installation are in the user's cache."""
    place = crc32(os.fsencode(os.path.dirname(__file__)))
    return cache / "modules" / f"{sys.implementation.cache_tag}-{sys.hexversion:x}-{place:08x}.bin"
