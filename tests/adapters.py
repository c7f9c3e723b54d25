"""Adapters of the ports that keep everything in memory, for tests and benchmarks."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from workbench.errors import ModelError
from workbench.ports import Completion, Entry
from workbench.records.ids import IdSource

Value = TypeVar("Value")


class ManualClock:
    """A clock that does not move by itself (port `Clock`)."""

    def __init__(self, seconds: float = 1_700_000_000.0) -> None:
        self._seconds = seconds

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self._seconds

    def advance(self, seconds: float) -> None:
        self._seconds += seconds


class MemoryJournal:
    """Streams of entries in lists (port `Journal`); offsets count entries instead of bytes."""

    def __init__(self, clock: ManualClock | None = None) -> None:
        self._clock = clock or ManualClock()
        self._ids = IdSource(lambda: int(self._clock.now() * 1000))
        self._streams: dict[str, list[Entry]] = {}

    def append(
        self, stream: str, kind: str, bodies: Sequence[Mapping[str, Any]], *, by: str, sync: bool = True
    ) -> list[Entry]:
        return self.append_all(stream, [(kind, body) for body in bodies], by=by, sync=sync)

    def append_all(
        self, stream: str, drafts: Sequence[tuple[str, Mapping[str, Any]]], *, by: str, sync: bool = True
    ) -> list[Entry]:
        """Append one entry per (kind, body)."""
        del sync  # memory is as durable as it gets
        at = datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="microseconds")[:-6] + "Z"
        entries = [
            Entry(id=identifier, at=at, kind=kind, by=by, body=copy.deepcopy(dict(body)))
            for identifier, (kind, body) in zip(self._ids.several(len(drafts)), drafts, strict=True)
        ]
        if entries:
            self._streams.setdefault(stream, []).extend(entries)
        return entries

    def read(self, stream: str, start: int = 0) -> Iterator[tuple[int, Entry]]:
        """Yield (offset after the entry, entry) from `start`."""
        entries = self._streams.get(stream, [])
        for position in range(start, len(entries)):
            yield position + 1, entries[position]

    def size(self, stream: str) -> int:
        """Return the offset after the last entry."""
        return len(self._streams.get(stream, []))

    def revision(self, stream: str) -> str:
        """Return how many entries there are and which one is the last."""
        entries = self._streams.get(stream, [])
        return f"{len(entries)}:{entries[-1].id}" if entries else "0"

    def checksum(self, stream: str, end: int) -> int:
        """Return the checksum of the entries before `end`, -1 if there are fewer."""
        entries = self._streams.get(stream, [])
        return zlib.crc32(repr(entries[:end]).encode("utf-8", "surrogatepass")) if end <= len(entries) else -1

    def streams(self) -> list[str]:
        return sorted(self._streams)


class MemoryCache(Generic[Value]):
    """Values by key in a dict (port `Cache`). `broken` makes it fail as a remote one does."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.broken = ""

    @property
    def fault(self) -> str:
        """Return what `broken` says."""
        return self.broken

    def get(self, key: str) -> Value | None:
        return None if self.broken else self.values.get(key)

    def put(self, key: str, value: Value, weight: int = 1) -> None:
        del weight
        if not self.broken:
            self.values[key] = value

    def clear(self) -> None:
        self.values.clear()


class ScriptedModel:
    """A language model that gives prepared answers in turn (port `LanguageModel`); an error is raised."""

    def __init__(self, *answers: Mapping[str, Any] | ModelError, model: str = "scripted") -> None:
        self.model = model
        self.asked: list[tuple[str, str, float, int]] = []
        self._answers = list(answers)

    def complete_json(
        self, prompt: str, schema: Mapping[str, Any], *, system: str = "", timeout: float, max_tokens: int
    ) -> Completion:
        """Return the next answer, whatever its shape; remember (system, prompt, timeout, max_tokens)."""
        del schema
        self.asked.append((system, prompt, timeout, max_tokens))
        answer = self._answers.pop(0)
        if isinstance(answer, ModelError):
            raise answer
        return Completion(copy.deepcopy(dict(answer)), 0, 0)
