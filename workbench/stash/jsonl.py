"""Segments as JSON lines, in and out: `{segment_id?, session_id, type, text, timestamp?, …}` [rag §4].

What is written is what is read. A line that is no segment is named with its reason, and the others are read;
a document with a list of segments, as `stash list --json` prints, is read as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import IO, Any, Final

from workbench.records.dataclass import dataclass
from workbench.records.segments import MAX_SEGMENT, ContextSegment, SegmentType, text_digest
from workbench.sessions.importers.transcripts import (
    MAX_LINE,
    TranscriptRecord,
    Unreadable,
    decode_record,
    mapping,
    text,
)
from workbench.stash.outputs import sound_text
from workbench.stash.times import utc_time

PART: Final = 200_000
"""Characters of a part of a text that is too long for one segment."""
_TYPES: Final = {one.value: one for one in SegmentType}
_WRITTEN: Final = (
    "segment_id session_id type text timestamp stashed_at tokens topic source references expires_at "
    "protected metadata".split()
)


@dataclass(frozen=True, slots=True)
class MalformedSegment:
    """A line that is no segment, and why."""

    line: int
    reason: str


def is_segment(record: Mapping[str, Any]) -> bool:
    """Whether a record is meant as a segment, and is not a line of a transcript."""
    known = "session_id" in record or "segment_id" in record or record.get("type") in list(_TYPES)
    return (
        known
        and isinstance(record.get("text"), str)
        and not record.keys() & {"payload", "content", "message"}
    )


def read_jsonl(
    handle: IO[bytes], session: str = ""
) -> Iterator[tuple[int, ContextSegment] | MalformedSegment]:
    """Yield (line, segment) of each line, or what is wrong with it. Raises: OSError.

    `session` is the session of segments that name none. A text that is too long for one segment comes in
    parts, which have the id of the whole and a number.
    """
    for record in _records(handle):
        if isinstance(record, Unreadable):
            yield MalformedSegment(record.line, record.reason)
            continue
        made = parse_segment(record.value, session)
        if isinstance(made, str):
            yield MalformedSegment(record.line, made)
        else:
            yield from ((record.line, part) for part in segment_parts(made))


def _records(handle: IO[bytes]) -> Iterator[TranscriptRecord | Unreadable]:
    number = 0
    while raw := handle.readline(MAX_LINE + 1):
        number += 1
        if number == 1 and raw.strip(b"\xef\xbb\xbf \t\r\n") in (b"{", b"["):
            yield from _document(raw + handle.read(MAX_LINE), bool(handle.read(1)))
            return
        if len(raw) > MAX_LINE:
            while raw and not raw.endswith(b"\n"):
                raw = handle.readline(MAX_LINE)
            yield Unreadable(number, f"the line is longer than {MAX_LINE >> 20} MB")
            continue
        line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if not line.strip(b" \t\r\n\0"):
            continue
        record = decode_record(number, line)
        if isinstance(record, TranscriptRecord) and isinstance(record.value.get("segments"), list):
            yield from (_member(number, one) for one in record.value["segments"])
        else:
            yield record


def _document(raw: bytes, more: bool) -> Iterator[TranscriptRecord | Unreadable]:
    """Yield the segments of a document, each with its place in the list."""
    if more:
        yield Unreadable(1, f"a document of more than {MAX_LINE >> 20} MB; give a segment a line")
        return
    try:
        value = json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        yield Unreadable(1, f"it is not JSON: {str(error)[:120]}")
        return
    listed = value if isinstance(value, list) else mapping(value).get("segments")
    if not isinstance(listed, list):
        yield Unreadable(1, "the document has no list of segments")
        return
    yield from (_member(place, one) for place, one in enumerate(listed, 1))


def _member(line: int, value: object) -> TranscriptRecord | Unreadable:
    if isinstance(value, dict):
        return TranscriptRecord(line, value)
    return Unreadable(line, "it is not a JSON object")


def parse_segment(record: Mapping[str, Any], session: str = "") -> ContextSegment | str:
    """Return the segment of a record, or what is malformed. Fields of others are passed over."""
    words = record.get("text")
    if not isinstance(words, str) or not words.strip():
        return "it has no text" if not isinstance(words, str) else "its text is empty"
    whole = record.get("digest")
    if isinstance(whole, str) and whole and whole != text_digest(words):
        return "its text is not the whole one; `workbench stash export` writes whole texts"
    owner = _name(record.get("session_id")) or session
    if not owner:
        return "it has no session_id; give one, or --session for all"
    kind = _TYPES.get(text(record.get("type", "message")).strip().casefold())
    if kind is None:
        return f"its type {str(record.get('type'))[:40]!r} is not one of {', '.join(_TYPES)}"
    times = {}
    for name in ("timestamp", "expires_at"):
        times[name] = utc_time(record.get(name))
        if record.get(name) not in (None, "") and not times[name]:
            return f"its {name} {str(record[name])[:60]!r} is not a time, such as 2026-05-01T10:00:00Z"
    references = [] if record.get("references") is None else record["references"]
    if not isinstance(references, list) or not all(_name(one) for one in references):
        return "its references are no list of ids"
    facts = {} if record.get("metadata") is None else record["metadata"]
    if not isinstance(facts, dict):
        return "its metadata is not an object"
    return ContextSegment(
        segment_id=_name(record.get("segment_id")),
        session_id=owner,
        text=sound_text(words),
        type=kind,
        timestamp=times["timestamp"],
        topic=_name(record.get("topic")) or None,
        source=_name(record.get("source")),
        references=tuple(map(_name, references)),
        expires_at=times["expires_at"] or None,
        protected=record.get("protected") is True,
        metadata={str(name): _fact(value) for name, value in facts.items() if value is not None},
    )


def _name(value: object) -> str:
    """Return a name or an id, which exports also write as a number."""
    named = str(value) if isinstance(value, int) and not isinstance(value, bool) else text(value).strip()
    return sound_text(named)


def _fact(value: object) -> str:
    return sound_text(value) if isinstance(value, str) else json.dumps(value)


def segment_parts(segment: ContextSegment) -> Iterator[ContextSegment]:
    """Yield a segment, or the parts of one whose text is too long, with the id of the whole and a number."""
    if len(segment.text) <= MAX_SEGMENT:
        yield segment
        return
    count = -(-len(segment.text) // PART)
    for number in range(count):
        part = segment.text[number * PART : (number + 1) * PART]
        own = f"{segment.segment_id}.{number + 1}" if segment.segment_id else ""
        facts = {**segment.metadata, "part": f"{number + 1}/{count}"}
        if part.strip():
            yield replace(segment, segment_id=own, text=part, metadata=facts)


def write_segment(segment: ContextSegment) -> dict[str, Any]:
    """Return a segment as a line of an export: what `read_jsonl` reads, its tokens, when it was stashed."""
    values = {name: getattr(segment, name) for name in _WRITTEN}
    return {
        **values,
        "type": segment.type.value,
        "references": [*segment.references],
        "metadata": dict(segment.metadata),
    }
