"""Opaque cursors: the place of a row in an order, tied to the query it is the order of."""

from __future__ import annotations

import binascii
import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Final, TypeAlias

from workbench.errors import UsageError

Key: TypeAlias = str | int | float | bool | None

_LONGEST: Final = 100_000  # characters; nothing longer is worth decoding
_CHECK: Final = 8  # bytes of the digest that ties a cursor to its query


def encode_cursor(place: Sequence[Key], query: str) -> str:
    """Return the cursor after the row at a place in the answer to a query."""
    payload = json.dumps(place, separators=(",", ":")).encode("ascii")
    return _text(_digest(payload, query) + payload)


def decode_cursor(cursor: str, query: str) -> tuple[Key, ...]:
    """Return the place in a cursor. Raises: UsageError for any text that is not a cursor of this query."""
    try:
        if len(cursor) > _LONGEST:
            raise ValueError
        data = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        check, payload = data[:_CHECK], data[_CHECK:]
        if check != _digest(payload, query) or cursor != _text(data):
            raise ValueError
        place = json.loads(payload)
    except (ValueError, binascii.Error):
        shown = cursor if len(cursor) <= 40 else cursor[:40] + "…"
        raise UsageError(
            f"{shown!r} is not a cursor of this query",
            hint="Use next_cursor of the page before with the same filters, or start without a cursor.",
        ) from None
    return tuple(place)


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _digest(payload: bytes, query: str) -> bytes:
    text = query.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(payload, digest_size=_CHECK, key=hashlib.sha256(text).digest()).digest()
