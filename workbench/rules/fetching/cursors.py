"""Cursors: where a page of rules ended, as an opaque text that belongs to one query.

A cursor holds the key of the last rule that was answered, not a position (keyset pagination), so that rules
that come or go between two pages shift nothing.
"""

from __future__ import annotations

import binascii
import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

from workbench.errors import UsageError

_LONGEST = 100_000  # characters; ids are shorter, and nothing longer is worth decoding
_CHECK = 8  # bytes of the digest that ties a cursor to its query


def encode_cursor(key: tuple[int, int, str], query: str) -> str:
    """Return the cursor after the rule with that key (see `columns.answer_key`) in answers to a query."""
    payload = json.dumps(key, separators=(",", ":")).encode("ascii")
    return urlsafe_b64encode(_digest(payload, query) + payload).decode("ascii").rstrip("=")


def decode_cursor(cursor: str, query: str) -> tuple[int, int, str]:
    """Return the key in a cursor. Raises: UsageError for any text that is no cursor of this query."""
    try:
        if len(cursor) > _LONGEST:
            raise ValueError
        data = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        check, payload = data[:_CHECK], data[_CHECK:]
        if check != _digest(payload, query) or cursor != _unpadded(data):
            raise ValueError
        group, priority, identifier = json.loads(payload)
    except (ValueError, binascii.Error):
        shown = cursor if len(cursor) <= 40 else cursor[:40] + "…"
        raise UsageError(
            f"{shown!r} is no cursor of this query",
            hint="Use next_cursor of the page before with the same filters, or start without a cursor.",
        ) from None
    return int(group), int(priority), str(identifier)


def _unpadded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _digest(payload: bytes, query: str) -> bytes:
    text = query.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(payload, digest_size=_CHECK, key=hashlib.sha256(text).digest()).digest()
