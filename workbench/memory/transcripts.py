"""The iterations of a file: output of `claude -p`, a transcript of Claude Code, or a rollout of Codex.

The readers of `sessions` say what the records mean; here they become raw iterations, one after another, so
that a file of any size takes the memory of its largest iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from workbench.memory.assembly import Assembler, Gathering, Seen
from workbench.records.iterations import RawIterationOutput
from workbench.sessions.importers import claude_code, codex, transcripts
from workbench.sessions.importers.lines import WHOLE, Trimmer, read_trimmed
from workbench.sessions.importers.readers import format_of
from workbench.sessions.importers.transcripts import (
    Prompt,
    Setting,
    TranscriptRecord,
    Unknown,
    Unreadable,
    decode_record,
    mapping,
    text,
)

_BLANK = b" \t\r\n\0"


class LineFeeder:
    """Takes chunks of bytes and gives the JSON records of the lines that ended in them.

    A line of more than 512 KB is held with each of its texts cut to 128 KB; `bytes_cut` counts what was
    left out.
    """

    __slots__ = ("_held", "_number", "_trimmer", "bytes_cut", "bytes_seen")

    def __init__(self) -> None:
        self.bytes_seen = 0
        self.bytes_cut = 0
        self._number = 0
        self._held = bytearray()
        self._trimmer: Trimmer | None = None

    def feed(self, chunk: bytes) -> Iterator[TranscriptRecord | Unreadable]:
        """Take a chunk; yield the records of the lines that it completes."""
        self.bytes_seen += len(chunk)
        at = 0
        while (end := chunk.find(b"\n", at)) >= 0:
            self._keep(chunk[at : end + 1])
            at = end + 1
            record = self._line()
            if record is not None:
                yield record
        if at < len(chunk):
            self._keep(chunk[at:])

    def finish(self) -> TranscriptRecord | Unreadable | None:
        """Return the record of a last line without its end, None where there is none."""
        return self._line() if self._held or self._trimmer is not None else None

    def _keep(self, piece: bytes) -> None:
        if self._trimmer is not None:
            if not self._trimmer.full:
                self._trimmer.take(piece)
            return
        self._held += piece
        if len(self._held) > WHOLE:
            self._trimmer = Trimmer()
            self._trimmer.take(bytes(self._held))
            self._held.clear()

    def _line(self) -> TranscriptRecord | Unreadable | None:
        self._number += 1
        trimmer, self._trimmer = self._trimmer, None
        raw = bytes(self._held) if trimmer is None else bytes(trimmer.kept)
        self._held.clear()
        if trimmer is not None:
            self.bytes_cut += trimmer.dropped
            if trimmer.full:
                return Unreadable(self._number, f"the line is longer than {transcripts.MAX_LINE >> 20} MB")
        if self._number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        return decode_record(self._number, raw) if raw.strip(_BLANK) else None


@dataclass(slots=True)
class TranscriptReading:
    """What is known of a file while it is read. `source` is empty for what nobody known wrote."""

    source: str = ""
    seen: Seen = field(default_factory=Seen)
    bytes_cut: int = 0


def read_iterations(handle: IO[bytes], reading: TranscriptReading) -> Iterator[RawIterationOutput]:
    """Yield the iterations of a file as they end; `reading` counts what else was in it. Raises: OSError."""
    cuts: list[int] = []
    found, records = format_of(read_trimmed(handle, cuts))
    if found is None or found.source not in _READERS:
        return
    reading.source = found.source
    yield from _READERS[found.source](records, reading)
    reading.bytes_cut = sum(cuts)


def _claude(
    records: Iterator[TranscriptRecord | Unreadable], reading: TranscriptReading
) -> Iterator[RawIterationOutput]:
    assembler = Assembler()
    reading.seen = assembler.seen
    for record in records:
        ended = assembler.take(record)
        if ended is not None:
            yield ended
    last = assembler.finish()
    if last is not None:
        yield last


class _Tap:
    """Looks at records on their way to a reader that passes over the agent's words and model."""

    def __init__(self, records: Iterator[TranscriptRecord | Unreadable], seen: Seen) -> None:
        self.records = records
        self.seen = seen
        self.words: list[str] = []
        self.model = ""
        self.branch = ""
        self.when = ""

    def __iter__(self) -> Iterator[TranscriptRecord | Unreadable]:
        for record in self.records:
            self.seen.lines += 1
            if isinstance(record, TranscriptRecord):
                value = record.value
                payload = mapping(value.get("payload")) or value
                self.when = text(value.get("timestamp"))
                if payload.get("type") == "message" and payload.get("role") == "assistant":
                    self.words += _parts(payload.get("content"))
                elif value.get("type") == "turn_context":
                    self.model = text(payload.get("model")) or self.model
                elif value.get("type") == "session_meta":
                    self.branch = text(mapping(payload.get("git")).get("branch"))
            yield record


def _codex(
    records: Iterator[TranscriptRecord | Unreadable], reading: TranscriptReading
) -> Iterator[RawIterationOutput]:
    tap = _Tap(records, reading.seen)
    session, cwd = "", ""
    places: Counter[str] = Counter()
    now: Gathering | None = None

    def gathering() -> Gathering:
        started = Gathering(codex.SOURCE, session, places[session])
        places[session] += 1
        return started

    for moment in codex.moments(tap):
        if isinstance(moment, (Unreadable, Unknown)):
            reading.seen.count(moment.reason)
            continue
        reading.seen.events += 1
        if isinstance(moment, Setting):
            session, cwd = moment.session or session, moment.cwd or cwd
            continue
        if isinstance(moment, Prompt) and now is not None and not now.empty:
            yield now.finish()
            now = None
        now = now or gathering()
        now.tell(
            cwd=now.raw.cwd or cwd, branch=now.raw.branch or tap.branch, model=tap.model or now.raw.model
        )
        now.at(tap.when)
        for words in tap.words:
            now.say(words)
        tap.words.clear()
        if isinstance(moment, Prompt):
            now.tell(prompt=now.raw.prompt or moment.text)
        else:
            now.take(moment)
    if now is not None and not now.empty:
        yield now.finish()


def _parts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [text(mapping(part).get("text")) for part in content] if isinstance(content, list) else []


_READERS = {claude_code.STREAM_SOURCE: _claude, claude_code.SOURCE: _claude, codex.SOURCE: _codex}
