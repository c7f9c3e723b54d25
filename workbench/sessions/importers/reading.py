"""A session's files read: its tasks, and how much of what stands there was understood."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import PurePath
from typing import Any

from workbench.sessions.importers import codex
from workbench.sessions.importers.detect import Format, format_of
from workbench.sessions.importers.exported import read_export
from workbench.sessions.importers.folding import Fold, Told
from workbench.sessions.importers.moments import Tally, counted_moments
from workbench.sessions.importers.places import Group, Transcript, agent_directory_session
from workbench.sessions.importers.transcripts import Record, Unreadable, mapping, text
from workbench.sessions.importers.trimming import read_trimmed

_PEEKED = 20  # records


@dataclass(slots=True)
class Reading:
    """What was read of a session. `bodies` are episodes of an export, which need no folding.

    `source` is empty for files that no known agent wrote; `fault` says why a file could not be read to
    its end.
    """

    source: str = ""
    told: Told = field(default_factory=Told)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    fault: str = ""


def read_session(group: Group, project_id: str = "") -> Reading:
    """Read the files of a session, line by line. Nothing in them is an error: it is counted."""
    reading = Reading()
    with closing(_records(group.main, reading)) as opened:
        found, records = format_of(opened)
        if found is None:
            return reading
        reading.source = found.source
        if found.moments is None:
            _take_export(records, reading, project_id)
            return reading
        fold = Fold(found.source)
        fold.take(counted_moments(found.moments(records), reading.tally))
    for agent in group.agents:
        _take_agent(agent, fold, found, reading)
    reading.told = fold.finish()
    return reading


def _records(file: Transcript, reading: Reading) -> Generator[Record | Unreadable, None, None]:
    """Yield the records of a file; what ends the reading early becomes a fault of the reading."""
    cut: list[int] = []
    try:
        with file.open() as handle:
            yield from read_trimmed(handle, cut)
    except (OSError, EOFError, zlib.error) as error:
        reading.fault = getattr(error, "strerror", None) or str(error) or type(error).__name__
    finally:
        reading.tally.bytes_cut += sum(cut)


def _take_agent(file: Transcript, fold: Fold, expected: Format, reading: Reading) -> None:
    name = PurePath(file.path).name.split(".jsonl")[0].removeprefix("agent-")
    with closing(_records(file, reading)) as opened:
        found, records = format_of(opened)
        if found is not None and found.moments is not None and found.source == expected.source:
            fold.take_agent(name, counted_moments(found.moments(records), reading.tally))


def _take_export(records: Iterator[Record | Unreadable], reading: Reading, project_id: str) -> None:
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


def family(file: Transcript) -> tuple[str, str]:
    """Return (session, session whose sub-agent wrote it or empty), by a file's place and first records."""
    kept_under = agent_directory_session(file.path)
    if kept_under:
        return "", kept_under
    for value in _first_values(file):
        if value.get("type") == "session_meta":
            payload = mapping(value.get("payload"))
            setting = next(codex.moments([Record(1, {"type": "session_meta", "payload": payload})]))
            return text(payload.get("id")), getattr(setting, "parent", "")
        session = text(value.get("sessionId"))
        if session:
            helper = value.get("isSidechain") is True and file.path.name.startswith("agent-")
            return ("", session) if helper else (session, "")
    return "", ""


def _first_values(file: Transcript) -> list[dict[str, Any]]:
    try:
        with file.open() as handle:
            records = islice(read_trimmed(handle), _PEEKED)
            return [dict(record.value) for record in records if isinstance(record, Record)]
    except (OSError, EOFError, zlib.error):
        return []
