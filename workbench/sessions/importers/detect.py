"""Which agent wrote a transcript, by its first records."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from workbench.sessions.importers import claude_code, codex
from workbench.sessions.importers.transcripts import Event, Record, Unreadable, read_records

_LOOKED_AT = 50  # records


def read_events(path: Path) -> Iterator[Event] | None:
    """Return the events of a transcript, None if no known agent wrote it. Raises: OSError.

    The file is read as the events are taken.
    """
    records = read_records(path)
    first: list[Record | Unreadable] = []
    for record in records:
        first.append(record)
        if isinstance(record, Record):
            if codex.belongs(record.value):
                return codex.events(chain(first, records))
            if claude_code.belongs(record.value):
                return claude_code.events(chain(first, records))
        if len(first) >= _LOOKED_AT:
            break
    return None
