"""A transcript that an agent is writing: what was appended since the last look, as moments of its session.

Only whole lines are taken, each once. Of a long file the end is read, with the settings at its head.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from workbench.sessions.importers.fold import Fold, SessionStory, seconds
from workbench.sessions.importers.readers import Format, format_of
from workbench.sessions.importers.touches import touches
from workbench.sessions.importers.transcripts import (
    CallOutcome,
    Moment,
    ToolResult,
    ToolUse,
    TranscriptRecord,
    Unreadable,
    decode_record,
)

FIRST_READ: Final = 8 << 20
"""Bytes of a file's end that the first look reads."""

_LONGEST: Final = 4 << 20  # bytes of a line; longer ones hold images
_SETTINGS: Final = frozenset({"session_meta", "turn_context"})  # what later records of Codex depend on


class TranscriptTail:
    """Follows one transcript. `touched` maps paths as written to (read, edited) in seconds, -1 never."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.touched: dict[str, tuple[int, int]] = {}
        self.last_call: ToolUse | None = None
        self._begin()

    def _begin(self) -> None:
        self._at, self._line, self._inode = 0, 0, -1
        self._format: Format | None = None
        self._fold = Fold("live")
        self._settings: dict[str, TranscriptRecord] = {}
        self._waiting: dict[str, ToolUse] = {}
        self.touched.clear()
        self.last_call = None

    @property
    def story(self) -> SessionStory:
        """What is known of the session; its tasks are the prompts that were read."""
        return self._fold.story

    def read(self) -> bool:
        """Take what was appended; return whether anything was. Raises: OSError if it cannot be read."""
        with self.path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_ino != self._inode or status.st_size < self._at:
                self._begin()
                self._inode = status.st_ino
            if status.st_size == self._at:
                return False
            records: list[TranscriptRecord | Unreadable] = []
            if self._at == 0 and status.st_size > FIRST_READ:
                records += islice(self._lines(file.readline(_LONGEST)), 1)
                file.seek(status.st_size - FIRST_READ)
                self._at = file.tell() + len(file.readline())
            file.seek(self._at)
            while (raw := file.readline(_LONGEST)).endswith(b"\n") or len(raw) == _LONGEST:
                self._at += len(raw)
                records += self._lines(raw)
        self._take(records)
        return bool(records)

    def _lines(self, raw: bytes) -> Iterator[TranscriptRecord | Unreadable]:
        self._line += 1
        if raw.endswith(b"\n") and raw.strip(b" \t\r\n\0"):
            yield decode_record(self._line, raw)

    def _take(self, records: list[TranscriptRecord | Unreadable]) -> None:
        if self._format is None:
            self._format, _ = format_of(iter(records))
        found = self._format
        if found is None or found.moments is None:
            return
        head = list(self._settings.values())
        for record in records:
            kind = record.value.get("type") if isinstance(record, TranscriptRecord) else None
            if isinstance(record, TranscriptRecord) and kind in _SETTINGS:
                self._settings[str(kind)] = record
        self._fold.take(self._watched(found.moments([*head, *records])))

    def _watched(self, moments: Iterator[Moment]) -> Iterator[Moment]:
        for moment in moments:
            if isinstance(moment, ToolUse):
                self.last_call = self._waiting[moment.id] = moment
            elif isinstance(moment, ToolResult):
                call = self._waiting.pop(moment.id, None)
                if call is not None and moment.outcome is CallOutcome.RAN:
                    self._touch(call, max(seconds(moment.at or call.at), 0))
            yield moment

    def _touch(self, call: ToolUse, at: int) -> None:
        for touch in touches(call):
            read, edited = self.touched.get(touch.path, (-1, -1))
            times = (max(read, at), edited) if touch.kind is None else (read, max(edited, at))
            self.touched[touch.path] = times
