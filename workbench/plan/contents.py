"""The text of candidates, read from disk at the moment of the plan, cut into chunks and counted.

Content is never taken from the index: what a pack shows is what the file holds now. Symbols come from the
index while the content hash agrees, and are extracted again when it does not.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.plan.render import FileView
from workbench.plan.representations import outline_view
from workbench.plan.snippets import FileText, read_file
from workbench.project.admission import content_refusal
from workbench.project.index import ProjectIndex
from workbench.project.languages import language_of, role_of
from workbench.project.scan import read_bytes
from workbench.project.snapshot import Snapshot, content_hash
from workbench.records.project import Skipped, Symbol
from workbench.text.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class Content:
    """A file as it is now: its lines in chunks, tokens int per chunk, and its definitions."""

    text: FileText
    tokens: tuple[int, ...]
    outline: FileView


class Contents:
    """Reads files for a plan; keeps the most recently used ones by content hash."""

    def __init__(self, root: Path, counter: TokenCounter, *, cap: int, keep: int = 400) -> None:
        self.root = root
        self.counter = counter
        self.cap = cap
        self.hits = 0
        self.misses = 0
        self._keep = keep
        self._known: OrderedDict[tuple[str, str], Content] = OrderedDict()

    def read(self, path: str, index: ProjectIndex, digests: dict[str, str]) -> Content | Skipped:
        """Return a file's content as of now, or why it cannot be shown. `digests` are the index's hashes."""
        data = read_bytes(self.root, path, self.cap)
        if isinstance(data, Skipped):
            return data
        refused = content_refusal(path, data)
        if refused is not None:
            return Skipped(path, refused)
        digest = content_hash(data)
        key = (path, digest)
        known = self._known.get(key)
        if known is not None:
            self.hits += 1
            self._known.move_to_end(key)
            return known
        self.misses += 1
        position = index.positions.get(path)
        if position is not None and digests.get(path) == digest:
            symbols, _ = index.record(position)
        else:
            from workbench.project.symbols import extract_symbols  # parsers, for files that just changed

            symbols, _ = extract_symbols(_language(path, data), data)
        content = content_of(path, data, symbols, self.counter)
        self._known[key] = content
        while len(self._known) > self._keep:
            self._known.popitem(last=False)
        return content


def content_of(path: str, data: bytes, symbols: Sequence[Symbol], counter: TokenCounter) -> Content:
    """Return a file's content from its bytes and its symbols."""
    text = read_file(path, _language(path, data), role_of(path), data, tuple(symbols))
    tokens = tuple(
        counter.count("\n".join(text.lines[chunk.start - 1 : chunk.end]) + "\n") for chunk in text.chunks
    )
    return Content(text, tokens, outline_view(path, symbols))


def _language(path: str, data: bytes) -> str:
    return language_of(path, data[:200].decode("utf-8", "replace").split("\n", 1)[0])


def digests_of(snapshot: Snapshot) -> dict[str, str]:
    """Return the content hash of every indexed file."""
    return dict(zip(snapshot.paths, snapshot.hashes, strict=True))
