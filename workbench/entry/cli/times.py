"""Moments and spans of time as people write them on the command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from workbench.errors import UsageError

_SPAN = re.compile(r"(\d+)\s*(m|h|d|w)")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def parse_span(text: str) -> int:
    """Return the seconds of a span like 30m, 24h, 7d or 2w. Raises UsageError."""
    match = _SPAN.fullmatch(text.strip().lower())
    if match is None or len(match[1]) > 6:
        raise UsageError(f"{text!r} is no span of time", hint="Use a number and m, h, d or w: 30m, 24h, 7d.")
    return int(match[1]) * _SECONDS[match[2]]


def since_time(text: str) -> datetime:
    """Return the time in UTC that a span before now or a date names. Raises: UsageError."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.astimezone()).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    try:
        return datetime.now(UTC) - timedelta(seconds=parse_span(text))
    except (UsageError, OverflowError):
        hint = "Use a span (24h, 7d) or a date (2026-01-31)."
        raise UsageError(f"{text!r} is not a time", hint=hint) from None


def moment(text: str) -> str:
    """Return the time that a date or datetime names, as journals write it: a date means its end, in UTC.

    Raises: UsageError.
    """
    try:
        found = datetime.fromisoformat(text.strip())
        if len(text.strip()) <= len("2026-01-31"):
            found += timedelta(days=1, microseconds=-1)
        found = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is no date", hint="Write 2026-01-31, or 2026-01-31T18:30, both in UTC."
        ) from None
    return found.isoformat(timespec="microseconds")[:-6] + "Z"
