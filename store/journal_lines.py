"""The lines of journals: `{"v":1,"id":…,"at":…,"kind":…,"by":…,"body":{…}}`, one an entry."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from workbench.errors import JournalError
from workbench.ports import Entry, Verbatim
from workbench.records.conversion import convert, decode_json

VERSION: Final = 1
OTHER_VERSION: Final = "written by another version of the program"
MAX_LINE: Final = 16 * 1024 * 1024  # bytes, newline included
MAX_BATCH: Final = 256 * 1024 * 1024  # bytes; Linux cuts a single write at 2 GiB
FIRST: Final = 128  # bytes: up to the first entry's id and time
LAST: Final = 8 * 1024  # bytes: mostly whole lines

_REASON_LENGTH = 200


class _Line(msgspec.Struct):
    v: int
    id: str
    at: str
    kind: str
    by: str
    body: dict[str, Any]


_ENCODER = msgspec.json.Encoder()


def make_entries(
    drafts: Sequence[tuple[str, Mapping[str, Any]]], ids: Sequence[str], now: float, by: str
) -> list[Entry]:
    """Return an entry for each (kind, body), secrets masked in all but `Verbatim` bodies."""
    from workbench.text.redact import redact_values  # for those who write

    at = datetime.fromtimestamp(now, UTC).isoformat(timespec="microseconds")[:-6] + "Z"
    return [
        Entry(
            id=identifier,
            at=at,
            kind=kind,
            by=by,
            body=body if isinstance(body, Verbatim) else redact_values(body),
        )
        for identifier, (kind, body) in zip(ids, drafts, strict=True)
    ]


def check_batch(stream: str, size: int) -> None:
    """Raise JournalError for more bytes than one append may have."""
    if size > MAX_BATCH:
        raise JournalError(
            f"{size} bytes are too many for one append to the journal {stream}",
            hint="Append in smaller batches.",
        )


def revision_text(end: int, first: bytes, last: bytes) -> str:
    """Return the revision of a stream of `end` bytes that begins and ends with these (`FIRST`, `LAST`)."""
    return f"{end}:{hashlib.blake2b(first + last, digest_size=12).hexdigest()}"


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
