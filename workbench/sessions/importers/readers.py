"""Reads a session's files: which agent wrote them, their tasks, and how much of them was understood."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import field
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import Any

from workbench.records.dataclass import dataclass
from workbench.sessions.importers import claude_code, codex, export
from workbench.sessions.importers.export import read_export
from workbench.sessions.importers.fold import Fold, SessionStory
from workbench.sessions.importers.lines import read_trimmed
from workbench.sessions.importers.places import SessionFiles, TranscriptFile, agent_directory_session
from workbench.sessions.importers.transcripts import (
    Event,
    Moment,
    ReadTally,
    TranscriptRecord,
    Unreadable,
    count_moments,
    events_of,
    mapping,
    read_records,
    text,
)

_PEEKED = 20  # records

_LOOKED_AT = 50  # records

Records = Iterable[TranscriptRecord | Unreadable]


@dataclass(slots=True)
class SessionReading:
    """What was read of a session. `bodies` are episodes of an export, which need no fold.

    `source` is empty for files that no known agent wrote; `fault` is why a file could not be read to
    its end.
    """

    source: str = ""
    story: SessionStory = field(default_factory=SessionStory)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    tally: ReadTally = field(default_factory=ReadTally)
    fault: str = ""


def read_session(group: SessionFiles, project_id: str = "") -> SessionReading:
    """Read the files of a session, line by line. Nothing in them is an error: it is counted."""
    reading = SessionReading()
    with closing(_records(group.main, reading)) as opened:
        found, records = format_of(opened)
        if found is None:
            return reading
        reading.source = found.source
        if found.moments is None:
            _take_export(records, reading, project_id)
            return reading
        fold = Fold(found.source)
        fold.take(count_moments(found.moments(records), reading.tally))
    for agent in group.agents:
        _take_agent(agent, fold, found, reading)
    reading.story = fold.finish()
    return reading


def _records(
    file: TranscriptFile, reading: SessionReading
) -> Generator[TranscriptRecord | Unreadable, None, None]:
    """Yield the records of a file; what ends the reading early becomes a fault of the reading."""
    cut: list[int] = []
    try:
        with file.open() as handle:
            yield from read_trimmed(handle, cut)
    except (OSError, EOFError, zlib.error) as error:
        reading.fault = getattr(error, "strerror", None) or str(error) or type(error).__name__
    finally:
        reading.tally.bytes_cut += sum(cut)


def _take_agent(file: TranscriptFile, fold: Fold, expected: Format, reading: SessionReading) -> None:
    name = PurePath(file.path).name.split(".jsonl")[0].removeprefix("agent-")
    with closing(_records(file, reading)) as opened:
        found, records = format_of(opened)
        if found is not None and found.moments is not None and found.source == expected.source:
            fold.take_agent(name, count_moments(found.moments(records), reading.tally))


def _take_export(
    records: Iterator[TranscriptRecord | Unreadable], reading: SessionReading, project_id: str
) -> None:
    tally = reading.tally
    for _, body in read_export(records, project_id):
        tally.lines += 1
        tally.events += 1
        if isinstance(body, str) and body:
            tally.reasons[body] += 1
            continue
        tally.lines_understood += 1
        tally.events_understood += 1
        if isinstance(body, dict):
            reading.bodies.append(body)


def family(file: TranscriptFile) -> tuple[str, str]:
    """Return (session, session whose sub-agent wrote it or empty), by a file's place and first records."""
    kept_under = agent_directory_session(file.path)
    if kept_under:
        return "", kept_under
    for value in _first_values(file):
        if value.get("type") == "session_meta":
            payload = mapping(value.get("payload"))
            setting = next(codex.moments([TranscriptRecord(1, {"type": "session_meta", "payload": payload})]))
            return text(payload.get("id")), getattr(setting, "parent", "")
        session = text(value.get("sessionId"))
        if session:
            helper = value.get("isSidechain") is True and file.path.name.startswith("agent-")
            return ("", session) if helper else (session, "")
    return "", ""


def _first_values(file: TranscriptFile) -> list[dict[str, Any]]:
    try:
        with file.open() as handle:
            records = islice(read_trimmed(handle), _PEEKED)
            return [dict(record.value) for record in records if isinstance(record, TranscriptRecord)]
    except (OSError, EOFError, zlib.error):
        return []


@dataclass(frozen=True, slots=True)
class Format:
    """A form of transcripts. `moments` is None for this tool's own export, which holds finished episodes."""

    source: str
    belongs: Callable[[Mapping[str, Any]], bool]
    moments: Callable[[Records], Iterator[Moment]] | None


FORMATS = (
    Format(export.SOURCE, export.belongs, None),
    Format(codex.SOURCE, codex.belongs, codex.moments),
    Format(claude_code.STREAM_SOURCE, claude_code.belongs_to_stream, claude_code.stream_moments),
    Format(claude_code.SOURCE, claude_code.belongs, claude_code.moments),
)


def format_of(
    records: Iterator[TranscriptRecord | Unreadable],
) -> tuple[Format | None, Iterator[TranscriptRecord | Unreadable]]:
    """Return who wrote most of the first records, None if nobody known, and all of the records."""
    first = list(islice(records, _LOOKED_AT))
    votes: Counter[int] = Counter()
    for record in first:
        if isinstance(record, TranscriptRecord):
            wrote = (place for place, each in enumerate(FORMATS) if each.belongs(record.value))
            votes.update(islice(wrote, 1))
    # Lines of another format may have got between; of equally many the first format counts.
    found = FORMATS[max(votes, key=lambda place: (votes[place], -place))] if votes else None
    return found, chain(first, records)


def read_events(path: Path) -> Iterator[Event] | None:
    """Return the events of a transcript, None if no known agent wrote it. Raises: OSError.

    The file is read as the events are taken.
    """
    found, records = format_of(read_records(path))
    return None if found is None or found.moments is None else events_of(found.moments(records))
