"""Immutable generations of an index: `<root>/index/<kind>-<n>/`, and a pointer that names the current one.

A generation is written beside, made durable, renamed into place, and only then named by the pointer, which is
replaced atomically: readers see the old one or the new one, whole. The one before stays, as readers may still
have it mapped. What killed writers left is removed by the next one that publishes.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from store import locks
from store.files import (
    PRIVATE_DIR,
    PRIVATE_FILE,
    private_dir,
    read_state,
    sync_data,
    sync_dir,
    translate_errors,
    write_atomic,
)
from workbench.errors import StoreBusy, StoreError
from workbench.ports import Clock
from workbench.records.conversion import decode_json
from workbench.records.dataclass import dataclass
from workbench.records.ids import new_id

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"

_KIND = re.compile(r"[a-z][a-z0-9_]{0,40}")
_LOCK = ".lock"
_BLOCK = 1024 * 1024
_ATTEMPTS = 5
_UNREADABLE: Final = -1  # the number of a generation whose pointer cannot be read


@dataclass(frozen=True, slots=True)
class Generation:
    """A published generation. `files` maps names relative to `path` to sizes in bytes."""

    kind: str
    number: int
    path: Path
    created_at: float
    files: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DamagedGeneration:
    """A current generation that cannot be used: the caller builds a new one."""

    kind: str
    number: int
    reason: str


class _File(msgspec.Struct):
    size: int
    crc32: int


class _Manifest(msgspec.Struct):
    format: int
    kind: str
    created_at: float
    files: dict[str, _File]


class _Sealed(msgspec.Struct):
    crc32: int
    manifest: msgspec.Raw


class _Pointer(msgspec.Struct):
    generation: int


def latest(root: Path, kind: str) -> Generation | DamagedGeneration | None:
    """Return the current generation, None before the first; checks the manifest and every file's size."""
    number = _current(root, kind)
    while number is not None:
        found = _load(root, kind, number)
        if isinstance(found, Generation):
            return found
        # Two writers may have published meanwhile, and the second one removed what we looked at.
        seen, number = number, _current(root, kind)
        if number == seen:
            return found
    return None


def _load(root: Path, kind: str, number: int) -> Generation | DamagedGeneration:
    if number < 0:
        return DamagedGeneration(kind, 0, "the pointer to the current generation cannot be read")
    path = _path(root, kind, number)
    try:
        manifest = _read_manifest(path)
        for name, file in manifest.files.items():
            found = os.lstat(path / name)
            size = found.st_size
            if not stat.S_ISREG(found.st_mode):
                return DamagedGeneration(kind, number, f"{name} is not a file")
            if size != file.size:
                return DamagedGeneration(kind, number, f"{name} has {size} bytes instead of {file.size}")
    except (OSError, ValueError) as error:
        return DamagedGeneration(kind, number, str(error))
    if manifest.format != FORMAT or manifest.kind != kind:
        return DamagedGeneration(kind, number, "written by another version of the program")
    return Generation(
        kind, number, path, manifest.created_at, {name: file.size for name, file in manifest.files.items()}
    )


def check(generation: Generation) -> list[str]:
    """Read a generation whole and return what differs from its manifest, for `doctor`."""
    try:
        manifest = _read_manifest(generation.path)
        return [
            f"{name} has changed since it was written"
            for name, file in sorted(manifest.files.items())
            if _checksum(generation.path / name) != file.crc32
        ]
    except (OSError, ValueError) as error:
        return [str(error)]


def publish(root: Path, kind: str, write: Callable[[Path], None], *, clock: Clock) -> Generation:
    """Let `write` fill an empty directory and make it the current generation.

    Several processes may build at once; the last to finish is current. If `write` raises, nothing changes.
    Raises: StoreError, StoreBusy.
    """
    if not _KIND.fullmatch(kind):
        raise StoreError(
            f"{kind!r} cannot be the name of an index", hint="Use lower-case letters and digits."
        )
    index = private_dir(root / "index")
    _clean(index, kind)
    with _building(index, kind) as building:
        with translate_errors(f"writing the index {kind}"):
            write(building)
            files = _settle(building)
        manifest = _Manifest(FORMAT, kind, clock.now(), files)
        raw = msgspec.json.encode(manifest)
        sealed = _Sealed(zlib.crc32(raw), msgspec.Raw(raw))
        write_atomic(building / MANIFEST, msgspec.json.encode(sealed))
        with (
            locks.exclusive(root / "locks" / f"index.{kind}.lock"),
            translate_errors(f"publishing the index {kind}"),
        ):
            before = _current(root, kind)
            number = max(_numbers(index, kind), default=0) + 1
            path = _path(root, kind, number)
            os.rename(building, path)
            (path / _LOCK).unlink()
            sync_dir(index)
            write_atomic(pointer(root, kind), msgspec.json.encode(_Pointer(number)))
            _prune(index, kind, number, before)
    sizes = {name: file.size for name, file in files.items()}
    return Generation(kind, number, path, manifest.created_at, sizes)


def retire(root: Path, kind: str, number: int) -> None:
    """Let a kind have no current generation, if that is this one: whoever needs it builds the next.

    Its files stay until then. Raises: StoreError, StoreBusy.
    """
    with (
        locks.exclusive(root / "locks" / f"index.{kind}.lock"),
        translate_errors(f"retiring the index {kind}"),
    ):
        if _current(root, kind) in (number, _UNREADABLE):
            pointer(root, kind).unlink(missing_ok=True)
            sync_dir(root / "index")


def _path(root: Path, kind: str, number: int) -> Path:
    return root / "index" / f"{kind}-{number}"


def pointer(root: Path, kind: str) -> Path:
    """Return the file that names the current generation; missing before the first."""
    return root / "index" / f"{kind}.current"


def _current(root: Path, kind: str) -> int | None:
    """Return the number the pointer names, None where there is no pointer."""
    try:
        return decode_json(read_state(pointer(root, kind)), _Pointer).generation
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return _UNREADABLE


def _numbers(index: Path, kind: str) -> list[int]:
    found = (re.fullmatch(rf"{kind}-(\d{{1,18}})", path.name) for path in index.iterdir())
    return sorted(int(match[1]) for match in found if match)


def _read_manifest(path: Path) -> _Manifest:
    sealed = decode_json(read_state(path / MANIFEST), _Sealed)
    if zlib.crc32(sealed.manifest) != sealed.crc32:
        raise ValueError("the manifest has changed since it was written")
    manifest = decode_json(sealed.manifest, _Manifest)
    if any(Path(name).is_absolute() or ".." in Path(name).parts for name in manifest.files):
        raise ValueError("the manifest names files outside its generation")
    return manifest


def _settle(building: Path) -> dict[str, _File]:
    """Make every file durable and its owner's alone; return their sizes and checksums by name."""
    files: dict[str, _File] = {}
    for path in sorted(building.rglob("*")):
        if path.is_dir():
            path.chmod(PRIVATE_DIR)
            sync_dir(path)
        elif path != building / _LOCK:
            path.chmod(PRIVATE_FILE)  # whatever the umask
            with path.open("rb+") as file:
                sync_data(file.fileno())
            files[path.relative_to(building).as_posix()] = _File(path.stat().st_size, _checksum(path))
    return files


def _checksum(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


@contextlib.contextmanager
def _building(index: Path, kind: str) -> Iterator[Path]:
    """Give a directory of one's own; the lock in it shows others that its writer is alive."""
    for _ in range(_ATTEMPTS):
        path = index / f".{kind}-{new_id()}"
        with translate_errors(f"making the directory {path}"):
            path.mkdir(PRIVATE_DIR)  # what it is renamed to is made durable, its own name need not be
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locks.exclusive(path / _LOCK, timeout=0))
                (path / _LOCK).stat()
            except (StoreBusy, OSError):
                continue  # someone cleaning up came between making the directory and locking it
            try:
                yield path
            finally:
                _remove(path)  # gone already if it was published
            return
    raise StoreError(f"no directory for the index {kind} could be made", hint="Try again.")


def _remove(path: Path) -> None:
    from shutil import rmtree  # for those who write

    rmtree(path, ignore_errors=True)


def _clean(index: Path, kind: str) -> None:
    """Remove what writers that are no more left behind."""
    for path in sorted(index.glob(f".{kind}-*")):
        if not (path / _LOCK).exists():
            with contextlib.suppress(OSError):
                path.rmdir()  # only if empty: killed before it was locked
            continue
        with contextlib.suppress(StoreBusy), locks.exclusive(path / _LOCK, timeout=0):
            _remove(path)


def _prune(index: Path, kind: str, number: int, before: int | None) -> None:
    """Remove old generations, but for the current one and the one before it."""
    for old in _numbers(index, kind):
        if old not in (number, before):
            _remove(index / f"{kind}-{old}")
