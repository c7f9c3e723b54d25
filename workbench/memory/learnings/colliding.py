"""The pairs of texts that repeat or contradict each other, found once for each collection and kept.

Finding them is what takes long among very many learnings. A feature's texts give the same pairs until one of
them changes: the pairs are kept under a digest of the texts, in memory and beside the journals, and found
anew when what is kept is damaged or of another version.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from workbench import __version__
from workbench.errors import StoreError
from workbench.records.conversion import convert

if TYPE_CHECKING:
    from workbench.comparison.candidates import TextPair

GENERATION: Final = "learning_pairs"
_FILE: Final = "pairs.json"
_FORMAT: Final = 2
_SMALL: Final = 50
"""Collections of fewer texts are looked through anew faster than they are kept."""

Finder = Callable[[Sequence[str]], "list[TextPair]"]
Latest = Callable[[str], Path | None]
Publish = Callable[[str, Callable[[Path], None]], Path]


class Collisions:
    """Finds the pairs of collections; with `latest` and `publish` across processes."""

    def __init__(self, latest: Latest | None = None, publish: Publish | None = None) -> None:
        self._latest = latest
        self._publish = publish
        self._known: dict[str, list[TextPair]] | None = None
        self._used: dict[str, list[TextPair]] = {}
        self._new = False

    def find(self, texts: Sequence[str]) -> list[TextPair]:
        """Return what `find_duplicates` does."""
        from workbench.comparison.candidates import find_duplicates

        if len(texts) < _SMALL:
            return find_duplicates(texts)
        if self._known is None:
            self._known = self._load()
        key = _digest(texts)
        found = self._used.get(key)
        if found is None:
            found = self._known.get(key)
        if found is None:
            found, self._new = find_duplicates(texts), True
        self._used[key] = self._known[key] = found
        return list(found)

    def keep(self) -> None:
        """Keep what was found since the last time; what nobody asked for since is forgotten."""
        used, self._used, new, self._new = self._used, {}, self._new, False
        if not new or self._publish is None:
            return
        self._known = used
        body = {"version": f"{__version__} {_FORMAT}", "groups": used}
        data = msgspec.json.encode(body)
        try:
            self._publish(GENERATION, lambda directory: _write(directory, data))
        except StoreError:
            return  # where nothing can be kept, each process finds them anew

    def _load(self) -> dict[str, list[TextPair]]:
        from workbench.comparison.candidates import TextPair

        directory = self._latest(GENERATION) if self._latest is not None else None
        if directory is None:
            return {}
        try:
            document: Any = json.loads((directory / _FILE).read_bytes())
            if document["version"] != f"{__version__} {_FORMAT}":
                return {}
            return convert(document["groups"], dict[str, list[TextPair]])
        except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError):
            return {}  # damaged: found anew instead


def _digest(texts: Sequence[str]) -> str:
    digest = sha256()
    for text in texts:
        told = text.encode("utf-8", "surrogatepass")
        digest.update(len(told).to_bytes(4, "big") + told)
    return digest.hexdigest()


def _write(directory: Path, data: bytes) -> None:
    (directory / _FILE).write_bytes(data)
