"""Which agent wrote a transcript, by its first records, and the moments of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
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
    """Return who wrote most of the first records, None if nobody known, and all of the records."""
    first = list(islice(records, _LOOKED_AT))
    votes: Counter[int] = Counter()
    for record in first:
        if isinstance(record, Record):
            wrote = (place for place, each in enumerate(FORMATS) if each.belongs(record.value))
            votes.update(islice(wrote, 1))
    # Lines of another format may have got between; of equally many the first format counts.
    found = FORMATS[max(votes, key=lambda place: (votes[place], -place))] if votes else None
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
