"""Transcripts of coding agents as typed events, read line by line whatever is in them.

The base of the readers of each agent's format: a file of any size is streamed, a line that is not a record
is an event of its own that names the place, and what is recorded twice comes once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench.beneath import open_plain
from workbench.records.dataclass import dataclass
from workbench.text.sanitize import visible_line

MAX_LINE = 64 << 20  # bytes; a longer line is passed over
_CHUNK = 1 << 20

_MOST_REASONS = 60
_REASON = 80  # characters


class CallOutcome(StrEnum):
    """What became of a tool call."""

    RAN = "ran"
    FAILED = "failed"
    REJECTED = "rejected"  # by the user, a hook or the sandbox: it did not run
    UNKNOWN = "unknown"  # the transcript has no result


AGENT_TEXT: Final = "text of the agent"
SUMMARY: Final = "summary of a compaction"
SUBAGENT_TASK: Final = "task of a sub-agent"
AGENT_MESSAGE: Final = "message of the assistant"


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

    `output` is the beginning and the end of its text, `created` whether a file was made that was not there,
    `at` when it came, and `agent_id` the sub-agent that was started.
    """

    id: str
    outcome: CallOutcome
    line: int = 0
    output: str = field(default="", compare=False)
    created: bool = field(default=False, compare=False)
    at: str = field(default="", compare=False)
    agent_id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that is not a record of its format, and why."""

    line: int
    reason: str


Event = ToolUse | ToolResult | Unreadable


@dataclass(frozen=True, slots=True)
class TranscriptRecord:
    """A line's JSON object and its number, 1-based."""

    line: int
    value: Mapping[str, Any]


def read_records(path: Path) -> Iterator[TranscriptRecord | Unreadable]:
    """Yield the records of a JSONL file. Raises: OSError if it cannot be read."""
    with open_plain(path) as handle:
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


def decode_record(number: int, raw: bytes) -> TranscriptRecord | Unreadable:
    """Return the object of the line `number`, or why it has none."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:  # the standard library takes lone surrogates, which cut-off texts have
            value = json.loads(raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            return Unreadable(number, f"it is not JSON: {str(error)[:120]}")
    if not isinstance(value, dict):
        return Unreadable(number, "it is not a JSON object")
    return TranscriptRecord(number, value)


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


def joined_text(content: object) -> str:
    """Return a message's or a result's text; the texts of several blocks in lines of their own."""
    if isinstance(content, list):
        parts = (block if isinstance(block, str) else text(mapping(block).get("text")) for block in content)
        return "\n".join(part for part in parts if part)
    return text(content)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user asked for. `id` is the format's own, empty if it has none; `at` ISO 8601 or empty.

    `channel` distinguishes the logs of one file that repeat the same prompts; `guessed` marks the agent's
    opening words, which replace the prompt where the format does not record it.
    """

    text: str
    id: str
    at: str
    session: str
    cwd: str
    line: int
    channel: str = ""
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The user, or an error, ended the agent's work on a prompt before it was done."""

    line: int
    at: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a message, which several lines may repeat: of equal ids the last counts.

    With `total` they are those of the whole session so far.
    """

    id: str
    tokens: int
    line: int
    total: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a session works: its directory, the roots of its work tree, its repository's address.

    `root_session` is the first of the sessions it was forked from, itself if of none; `parent` the session
    whose sub-agent it is.
    """

    session: str
    cwd: str
    line: int
    roots: tuple[str, ...] = ()
    repository: str = ""
    root_session: str = ""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """A call started the sub-agent `agent_id`."""

    agent_id: str
    call_id: str
    line: int


@dataclass(frozen=True, slots=True)
class Aside:
    """Something that is understood and not about tasks: a thought, a hook's progress.

    `text` has the words of the agent, of a sub-agent's task and of compaction summaries, else nothing.
    """

    line: int
    what: str
    at: str = ""
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that is not understood, and why."""

    line: int
    reason: str


Moment = (
    ToolUse | ToolResult | Unreadable | Prompt | Interrupted | Usage | Setting | Started | Aside | Unknown
)


@dataclass(slots=True)
class ReadTally:
    """How much of a file was understood. An event is a part of a line: a text, a call, a result."""

    lines: int = 0
    lines_understood: int = 0
    events: int = 0
    events_understood: int = 0
    bytes_cut: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)

    def add(self, other: ReadTally) -> None:
        """Take in the counts of another file."""
        self.lines += other.lines
        self.lines_understood += other.lines_understood
        self.events += other.events
        self.events_understood += other.events_understood
        self.bytes_cut += other.bytes_cut
        self.reasons.update(other.reasons)
        self.passed.update(other.passed)

    @property
    def share_of_lines(self) -> float:
        """Understood lines in [0, 1]; 1 for an empty file."""
        return self.lines_understood / self.lines if self.lines else 1.0

    @property
    def share_of_events(self) -> float:
        """Understood events in [0, 1]; 1 for an empty file."""
        return self.events_understood / self.events if self.events else 1.0


def events_of(moments: Iterable[Moment]) -> Iterator[Event]:
    """Return the tool calls and results among moments, and what cannot be read, in the order of the file."""
    return (moment for moment in moments if isinstance(moment, (ToolUse, ToolResult, Unreadable)))


def count_moments(moments: Iterable[Moment], tally: ReadTally) -> Iterator[Moment]:
    """Yield the moments and count them; moments of a line come one after another."""
    line, sound = 0, True
    for moment in moments:
        if moment.line != line:
            tally.lines_understood += bool(line) and sound
            tally.lines += 1
            line, sound = moment.line, True
        tally.events += 1
        match moment:
            case Unreadable(reason=reason) | Unknown(reason=reason):
                sound = False
                _count(tally.reasons, reason)
            case Aside(what=what):
                tally.events_understood += 1
                _count(tally.passed, what)
            case _:
                tally.events_understood += 1
        yield moment
    tally.lines_understood += bool(line) and sound


def _count(counter: Counter[str], reason: str) -> None:
    reason = visible_line(reason[:_REASON])
    if reason not in counter and len(counter) >= _MOST_REASONS:
        reason = "other reasons"
    counter[reason] += 1
