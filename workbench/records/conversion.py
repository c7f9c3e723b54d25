"""Typed decoding for every package: JSON, msgpack and plain values become records.

msgspec examines a type when it is first used and publishes what it found before that is complete; a second
thread that uses the type, or one that holds it, meanwhile ends the process with a segmentation fault. So a
type is examined here, by one thread at a time, and used only afterwards. Nothing else calls msgspec's typed
decoding.
"""

from __future__ import annotations

import json
import re
from threading import Lock
from typing import Any, TypeVar, cast

import msgspec

Value = TypeVar("Value")

# Decoders hold nothing of what they decode, so all threads share one a type.
_JSON: dict[Any, msgspec.json.Decoder[Any]] = {}
_MSGPACK: dict[Any, msgspec.msgpack.Decoder[Any]] = {}
_EXAMINING = Lock()


def convert(value: object, kind: type[Value], *, strict: bool = True) -> Value:
    """Return builtin values as `kind`, unless `strict` also texts as the numbers and truths they spell.

    Raises: msgspec.ValidationError, a ValueError.
    """
    if kind not in _MSGPACK:
        _examine(kind)
    return msgspec.convert(value, kind, strict=strict)


def decode_json(data: bytes | bytearray | memoryview | str | msgspec.Raw, kind: type[Value]) -> Value:
    """Return JSON as `kind`, strictly. Raises: msgspec.DecodeError, a ValueError; UnicodeDecodeError."""
    if kind not in _JSON:
        _examine(kind)
    return cast("Value", _JSON[kind].decode(data))


def decode_msgpack(data: bytes | bytearray | memoryview, kind: type[Value]) -> Value:
    """Return msgpack as `kind`, strictly. Raises: msgspec.DecodeError, a ValueError."""
    if kind not in _MSGPACK:
        _examine(kind)
    return cast("Value", _MSGPACK[kind].decode(data))


def explain_refusal(error: Exception, kind: type[Any]) -> str:
    """Return why a value is not a `kind`, with the words that are allowed where one of them is expected."""
    text = str(error)
    field = re.match(r"\w+", text.rpartition(".")[2])
    if field is None or not text.startswith("Invalid enum value "):
        return text
    _, parts = msgspec.json.schema_components((kind,), ref_template="{name}")
    properties = [part.get("properties", {}) for part in parts.values()]
    fields = [group[field[0]] for group in properties if field[0] in group]
    names = re.findall(r'"\$ref": "(\w+)"', json.dumps(fields))
    words = [word for schema in [*fields, *map(parts.get, names)] for word in schema.get("enum", ())]
    return f"{text}, which is one of {', '.join(dict.fromkeys(words))}"


def encode_lossless(value: object) -> bytes:
    """Return a value as JSON on one line, whatever its texts hold, for `decode_lossless`."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # Names that are not UTF-8 are lone surrogates, which the standard library's JSON alone can write.
        return json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode("ascii")


def encode_whole(value: object) -> bytes:
    """Return a value as JSON for programs of others: `?` for what UTF-8 cannot say."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=False).encode("utf-8", "replace")


def decode_lossless(data: bytes, kind: type[Value]) -> Value:
    """Return what `encode_lossless` wrote, strictly. Raises: ValueError, RecursionError if it is damaged."""
    if b"\\ud" in data or b"\\uD" in data:
        # Only the standard library reads lone surrogates back, and only they are worth its slowness.
        return convert(json.loads(data), kind)
    return decode_json(data, kind)


def path_bytes(path: str) -> bytes:
    """Return the bytes of a path; names need not be UTF-8."""
    return path.encode("utf-8", "surrogateescape")


def path_text(raw: bytes) -> str:
    """Return the path of bytes; those that are not UTF-8 become lone surrogates and survive a round trip."""
    return raw.decode("utf-8", "surrogateescape")


def _examine(kind: type[Value]) -> None:
    with _EXAMINING:
        _JSON[kind] = msgspec.json.Decoder(kind)
        _MSGPACK[kind] = msgspec.msgpack.Decoder(kind)
