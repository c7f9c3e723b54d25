"""The files of a project as they are on disk now, safe to show, with their definitions.

Lines are sanitised and without secrets, as in packs. Definitions come from the index while it describes the
content, and are extracted again where it does not. Only files of the index are read, and nothing outside.
"""

from __future__ import annotations

from pathlib import Path

from workbench.project.admission import content_refusal
from workbench.project.index import ProjectIndex
from workbench.project.languages import language_of, role_of
from workbench.project.scan import decode, read_bytes
from workbench.project.snapshot import Snapshot, content_hash
from workbench.records.dataclass import dataclass
from workbench.records.project import Role, Skipped, Symbol
from workbench.text.redact import redact_bytes
from workbench.text.sanitize import safe_lines


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it is now: its lines are safe to show unless unmasked, `digest` is that of its content."""

    path: str
    role: Role
    language: str
    digest: str
    lines: tuple[str, ...]
    symbols: tuple[Symbol, ...]


class Sources:
    """Reads the files that an answer needs, each once."""

    def __init__(self, root: Path, index: ProjectIndex, snapshot: Snapshot, cap: int) -> None:
        self.index = index
        self._root = root
        self._cap = cap
        self._rows = {path: row for row, path in enumerate(snapshot.paths)}
        self._hashes = snapshot.hashes
        self._bytes: dict[str, bytes | Skipped] = {}
        self._files: dict[str, SourceFile | Skipped] = {}
        self._unmasked: dict[str, SourceFile] = {}

    def data(self, path: str) -> bytes | Skipped:
        """Return a file's content with all that is in it: to search, never to show."""
        if path not in self._bytes:
            data = read_bytes(self._root, path, self._cap)
            refused = None if isinstance(data, Skipped) else content_refusal(path, data)
            self._bytes[path] = data if refused is None else Skipped(path, refused)
        return self._bytes[path]

    def file(self, path: str) -> SourceFile | Skipped:
        """Return a file, or why it cannot be shown."""
        if path not in self._files:
            data = self.data(path)
            self._files[path] = data if isinstance(data, Skipped) else self._read(path, data, masked=True)
        return self._files[path]

    def read_unmasked(self, path: str) -> SourceFile | Skipped:
        """Return a file with its secrets, for whoever counts its lines and shows none."""
        data = self.data(path)
        if isinstance(data, Skipped):
            return data
        if path not in self._unmasked:
            self._unmasked[path] = self._read(path, data, masked=False)
        return self._unmasked[path]

    def importers(self, path: str) -> int:
        """Return how many files import a file."""
        position = self.index.positions.get(path, -1)
        return int((self.index.edges[:, 1] == position).sum())

    def symbols(self, position: int) -> tuple[Symbol, ...]:
        """Return the definitions of an indexed file as the index has them."""
        return self.index.record(position)[0]

    def _read(self, path: str, data: bytes, *, masked: bool) -> SourceFile:
        digest = content_hash(data)
        if masked:
            data, _ = redact_bytes(data)
        position = self.index.positions.get(path)
        row = self._rows.get(path)
        language = language_of(path, data[:200].decode("utf-8", "replace").split("\n", 1)[0])
        if position is not None and row is not None and self._hashes[row] == digest:
            symbols = self.symbols(position)
        else:
            from workbench.project.symbols import extract_symbols  # parsers, for files that just changed

            symbols, _ = extract_symbols(language, data)
        return SourceFile(path, role_of(path), language, digest, tuple(safe_lines(decode(data))), symbols)
