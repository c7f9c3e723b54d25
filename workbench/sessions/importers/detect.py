"""Which agent wrote a transcript, by its first records, and the moments of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from workbench.sessions.importers import claude_code, codex, exported, stream_json
from workbench.sessions.importers.moments import Moment
from workbench.sessions.importers.transcripts import Event, Record, Unreadable, read_records

_LOOKED_AT = 50  # records

Records = Iterable[Record | Unreadable]


@dataclass(frozen=True, slots=True)
class Format:
    """A form of transcripts. `moments` is None for this tool's own export, which holds finished episodes."""

    source: str
    belongs: Callable[[Mapping[str, Any]], bool]
    moments: Callable[[Records], Iterator[Moment]] | None


FORMATS = (
    Format(exported.SOURCE, exported.belongs, None),
    Format(codex.SOURCE, codex.belongs, codex.moments),
    Format(stream_json.SOURCE, stream_json.belongs, stream_json.moments),
    Format(claude_code.SOURCE, claude_code.belongs, claude_code.moments),
)


def format_of(records: Iterator[Record | Unreadable]) -> tuple[Format | None, Iterator[Record | Unreadable]]:
    """Return who wrote the records, None if nobody known, and all of them, the first ones included."""
    first: list[Record | Unreadable] = []
    found = None
    while found is None and len(first) < _LOOKED_AT and (record := next(records, None)) is not None:
        first.append(record)
        if isinstance(record, Record):
            found = next((each for each in FORMATS if each.belongs(record.value)), None)
    return found, chain(first, records)


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
