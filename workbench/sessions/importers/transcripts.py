"""Transcripts of coding agents as typed events, read line by line whatever is in them.

The base of the readers of each agent's format: a file of any size is streamed, a line that is no record
is an event of its own that names the place, and what is told twice comes once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

MAX_LINE = 64 << 20  # bytes; a longer line is passed over
_CHUNK = 1 << 20


class Outcome(StrEnum):
    """What became of a tool call."""

    RAN = "ran"
    FAILED = "failed"
    REJECTED = "rejected"  # by the user, a hook or the sandbox: it did not run
    UNKNOWN = "unknown"  # the transcript has no result


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool. `at` is ISO 8601 as written, empty if unknown; `subagent` marks calls of helpers."""

    id: str
    tool: str
    input: Mapping[str, Any]
    at: str
    session: str
    cwd: str
    agent: str
    subagent: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to the call of the same id.

    `told` is the beginning and the end of its text, `created` whether a file was made that was not there,
    `at` when it came, and `agent_id` the sub-agent that was started.
    """

    id: str
    outcome: Outcome
    line: int = 0
    told: str = field(default="", compare=False)
    created: bool = field(default=False, compare=False)
    at: str = field(default="", compare=False)
    agent_id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that is no record of its format, and why."""

    line: int
    reason: str


Event = ToolUse | ToolResult | Unreadable


@dataclass(frozen=True, slots=True)
class Record:
    """A line's JSON object and its number, 1-based."""

    line: int
    value: Mapping[str, Any]


def read_records(path: Path) -> Iterator[Record | Unreadable]:
    """Yield the records of a JSONL file. Raises: OSError if it cannot be read."""
    with path.open("rb") as handle:
        number = 0
        while raw := handle.readline(MAX_LINE + 1):
            number += 1
            if len(raw) > MAX_LINE:
                while raw and not raw.endswith(b"\n"):
                    raw = handle.readline(_CHUNK)
                yield Unreadable(number, f"the line is longer than {MAX_LINE >> 20} MB")
                continue
            text = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
            if text.strip(b" \t\r\n\0"):
                yield decode_record(number, text)


def decode_record(number: int, raw: bytes) -> Record | Unreadable:
    """Return the object of the line `number`, or why there is none."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:  # the standard library takes lone surrogates, which cut-off texts have
            value = json.loads(raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            return Unreadable(number, f"it is not JSON: {str(error)[:120]}")
    if not isinstance(value, dict):
        return Unreadable(number, "it is not a JSON object")
    return Record(number, value)


def find_transcripts(places: Iterable[Path]) -> tuple[Path, ...]:
    """Return the files given and the JSONL files below directories given, each once, in order of their paths.

    Links to directories are not followed.
    """
    found: dict[Path, None] = {}
    for place in places:
        if place.is_dir():
            found.update(dict.fromkeys(sorted(path for path in place.rglob("*.jsonl") if path.is_file())))
        else:
            found[place] = None
    return tuple(found)


def mapping(value: object) -> Mapping[str, Any]:
    """Return a value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """Return a value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""
