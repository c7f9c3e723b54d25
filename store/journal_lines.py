"""The lines of journals: `{"v":1,"id":…,"at":…,"kind":…,"by":…,"body":{…}}`, one an entry."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from workbench.errors import JournalError
from workbench.ports import Entry
from workbench.records.conversion import convert, decode_json

VERSION: Final = 1
OTHER_VERSION: Final = "written by another version of the program"
MAX_LINE: Final = 16 * 1024 * 1024  # bytes, newline included

_REASON_LENGTH = 200


class _Line(msgspec.Struct):
    v: int
    id: str
    at: str
    kind: str
    by: str
    body: dict[str, Any]


_ENCODER = msgspec.json.Encoder()


def encode_line(entry: Entry) -> bytes:
    """Return an entry as a line, with its newline. Raises: JournalError if no line can hold it."""
    line = _Line(VERSION, entry.id, entry.at, entry.kind, entry.by, dict(entry.body))
    try:
        data = _encode_any(line)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise JournalError(
            f"a {entry.kind} entry cannot be written as JSON: {str(error)[:_REASON_LENGTH]}",
            hint="Report this with what you did: the program made an entry that no journal can hold.",
        ) from error
    if len(data) > MAX_LINE:
        raise JournalError(
            f"a {entry.kind} entry of {len(data)} bytes is too long; {MAX_LINE} is the most",
            hint="Split it, or leave out what it quotes.",
        )
    return data


def _encode_any(line: _Line) -> bytes:
    try:
        return _ENCODER.encode(line) + b"\n"
    except UnicodeEncodeError:
        # File names that are not UTF-8 arrive as lone surrogates, which JSON can escape and UTF-8 not hold.
        escaped = json.dumps(msgspec.to_builtins(line), ensure_ascii=True, separators=(",", ":"))
        return escaped.encode("ascii") + b"\n"


def decode_line(line: bytes | None) -> Entry | str:
    """Return the entry of a line, or why there is none; no reason for a blank line, which hides nothing."""
    if line is None:
        return f"longer than {MAX_LINE} bytes"
    if not line.strip():
        return ""
    try:
        parsed = _parse(line)
    except (ValueError, RecursionError) as error:
        return str(error)[:_REASON_LENGTH] or type(error).__name__
    if parsed.v != VERSION:
        return f"{OTHER_VERSION} (v {parsed.v})"
    return Entry(id=parsed.id, at=parsed.at, kind=parsed.kind, by=parsed.by, body=parsed.body)


def _parse(line: bytes) -> _Line:
    try:
        return decode_json(line, _Line)
    except msgspec.DecodeError:
        if b"\\u" not in line:
            raise
        # Lone surrogates again: the standard library reads them back as they were.
        return convert(json.loads(line), _Line)
