"""Copies of files that others delete: without secrets, compressed, named by content, up to a size in all.

Each copy is written whole before its name appears, readable by its owner alone. When there is no room the
oldest copies go. An index next to them maps each copy to its source.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import msgspec

from store.files import PRIVATE_FILE, private_dir, read_state, sync_data, translate_errors, write_atomic
from workbench.records.conversion import decode_json
from workbench.records.dataclass import dataclass
from workbench.records.ids import new_id
from workbench.text.redact import redact_bytes

DIRECTORY: Final = "archive"
Clean = Callable[[bytes], bytes]

_INDEX: Final = "index.json"
_SUFFIX: Final = ".jsonl.gz"
_LEVEL: Final = 4
_BLOCK: Final = 1 << 20
_LONGEST: Final = 64 << 20  # bytes of a line


class Copy(msgspec.Struct, frozen=True):
    """A copy of the file `path`: its name here, the file's size and time of change (ns), the copy's bytes."""

    path: str
    name: str
    size: int
    changed: int
    stored: int
    order: int


@dataclass(frozen=True, slots=True)
class ArchiveSource:
    """A file to copy, as it was found."""

    path: str
    size: int
    changed: int
    open: Callable[[], IO[bytes]]


class Archive:
    """Copies below `<state>/archive`, at most `max_bytes` in all. One process at a time writes.

    `cleaning` is called for each file and gives what is called with each of its lines, in order.
    """

    source = ArchiveSource

    def __init__(self, root: Path, max_bytes: int, cleaning: Callable[[], Clean] | None = None) -> None:
        self._cleaning = cleaning
        self.root = root / DIRECTORY
        self.max_bytes = max_bytes
        self.dropped = 0
        self.refused = 0

    def copies(self) -> tuple[Copy, ...]:
        """Return all copies, oldest first; none where there is no readable index."""
        try:
            found = decode_json(read_state(self.root / _INDEX), list[Copy])
        except (OSError, msgspec.MsgspecError):
            return ()
        return tuple(sorted(found, key=lambda copy: copy.order))

    def _is_indexed(self) -> bool:
        """Whether the index can be read, or there is none yet."""
        try:
            decode_json(read_state(self.root / _INDEX), list[Copy])
        except FileNotFoundError:
            return True
        except (OSError, msgspec.MsgspecError):
            return False
        return True

    def faults(self) -> list[str]:
        """Return what of the copies is damaged, after reading all of them."""
        found = [] if self._is_indexed() else [f"{_INDEX} cannot be read: no copy is listed"]
        aside = len(list(self.root.glob(f"*.{_INDEX}")))
        found += [f"{aside} damaged lists are set aside, whose copies are kept"] if aside else []
        for copy in self.copies():
            try:
                with self.open(copy) as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
            except (OSError, EOFError, zlib.error) as error:
                found.append(f"{copy.name} cannot be read: {error}")
                continue
            if digest + _SUFFIX != copy.name:
                found.append(f"{copy.name} has changed since it was written")
        return found

    def open(self, copy: Copy) -> IO[bytes]:
        """Open a copy's content. Raises: OSError."""
        return gzip.open(self.root / copy.name, "rb")  # type: ignore[return-value]

    def keep(self, sources: list[ArchiveSource]) -> dict[str, str]:
        """Copy the files that changed since their copies were made; return the copies' names by path.

        A file's former copy goes when the new one is there. Raises: StoreError.
        """
        held = {copy.path: copy for copy in self.copies()}
        order = max((copy.order for copy in held.values()), default=0)
        for source in sources:
            before = held.get(source.path)
            if before is not None and (before.size, before.changed) == (source.size, source.changed):
                continue
            order += 1
            made = self._copy(source, order)
            if made is None:
                self.refused += 1
                continue
            if before is not None and before.size > source.size:  # another file took its place
                aside = f"{before.path}@{before.order}"
                held[aside] = Copy(
                    aside, before.name, before.size, before.changed, before.stored, before.order
                )
            held[source.path] = made
        self._settle(held)
        return {source.path: held[source.path].name for source in sources if source.path in held}

    def rewrite(self, change: Callable[[Copy, bytes], bytes | None], *, dry: bool) -> int:
        """Write copies again as a change leaves them, or remove them; return how many. `dry` only counts.

        Raises: StoreError.
        """
        rows, count = [], 0
        with translate_errors(f"rewriting {self.root}"):
            for copy in self.copies():
                with self.open(copy) as file:
                    before = file.read()
                after = change(copy, before)
                if after == before:
                    rows.append(copy)
                    continue
                count += 1
                if after is not None and not dry:
                    name = hashlib.sha256(after).hexdigest() + _SUFFIX
                    packed = gzip.compress(after, _LEVEL, mtime=0)
                    write_atomic(self.root / name, packed)
                    rows.append(msgspec.structs.replace(copy, name=name, stored=len(packed)))
        if count and not dry:
            self.max_bytes = sum(copy.stored for copy in rows)
            self._settle({copy.path: copy for copy in rows})
        return count

    def forget(self, before: float, *, dry: bool) -> tuple[int, int]:
        """Remove the copies that were made before a time in seconds; return how many, and their bytes.

        `dry` only counts. Raises: StoreError.
        """
        old = []
        with translate_errors(f"looking through {self.root}"):
            for copy in self.copies():
                with suppress(FileNotFoundError):
                    if (self.root / copy.name).stat().st_mtime < before:
                        old.append(copy)
        if old and not dry:
            rows = [copy for copy in self.copies() if copy not in old]
            self.max_bytes = sum(copy.stored for copy in rows)
            self._settle({copy.path: copy for copy in rows})
        return len(old), sum(copy.stored for copy in old)

    def _copy(self, source: ArchiveSource, order: int) -> Copy | None:
        """Write a copy; None if it is more than fits at all."""
        private_dir(self.root)
        temporary = self.root / f".{new_id()}.tmp"
        digest = hashlib.sha256()
        with translate_errors(f"archiving {source.path}"):
            try:
                descriptor = os.open(
                    temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE
                )
                with os.fdopen(descriptor, "wb") as file:
                    with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed:
                        for block in _safe(_blocks(source), self._cleaning() if self._cleaning else None):
                            digest.update(block)
                            packed.write(block)
                    file.flush()
                    sync_data(file.fileno())
                    stored = os.fstat(file.fileno()).st_size
                if stored > self.max_bytes:
                    return None
                name = digest.hexdigest() + _SUFFIX
                os.replace(temporary, self.root / name)
            finally:
                temporary.unlink(missing_ok=True)
        return Copy(source.path, name, source.size, source.changed, stored, order)

    def _settle(self, held: dict[str, Copy]) -> None:
        """Let the oldest copies go until the rest fits, write the index, and remove what it does not name."""
        room = sum({copy.name: copy.stored for copy in held.values()}.values())
        for copy in sorted(held.values(), key=lambda copy: copy.order):
            if room <= self.max_bytes:
                break
            del held[copy.path]
            self.dropped += 1
            room = sum({copy.name: copy.stored for copy in held.values()}.values())
        if not held and not self.root.is_dir():
            return
        rows = sorted(held.values(), key=lambda copy: copy.order)
        listed = {copy.name for copy in self.copies()}
        if not self._is_indexed():  # its copies may be all that is left of what they copy
            os.replace(self.root / _INDEX, self.root / f"{new_id()}.{_INDEX}")
        write_atomic(self.root / _INDEX, msgspec.json.encode(rows))
        named = {copy.name for copy in rows}
        damaged = any(self.root.glob(f"*.{_INDEX}"))
        for path in self.root.glob(f"*{_SUFFIX}"):
            if path.name not in named and (path.name in listed or not damaged):
                with suppress(FileNotFoundError):
                    path.unlink()


def _blocks(source: ArchiveSource) -> Iterator[bytes]:
    """Yield a file's content up to the size it was found with: what is being appended comes the next time."""
    left = source.size
    with source.open() as file:
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            left -= len(block)
            yield block


def _safe(blocks: Iterator[bytes], clean: Clean | None) -> Iterator[bytes]:
    """Yield the content without secrets, in pieces of whole lines unless a line is longer than any is."""
    held = b""
    for block in blocks:
        held += block
        end = held.rfind(b"\n") + 1 or (len(held) if len(held) > _LONGEST else 0)
        if end:
            yield _redact(held[:end], clean)
            held = held[end:]
    if held:
        yield _redact(held, clean)


def _redact(lines: bytes, clean: Clean | None) -> bytes:
    cleaned = lines if clean is None else b"".join(map(clean, lines.splitlines(keepends=True)))
    return redact_bytes(cleaned)[0]
