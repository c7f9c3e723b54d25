"""Times as they are written in transcripts and exports, brought to ISO 8601 in UTC."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Final

from workbench.errors import UsageError

_WEEKDAY: Final = re.compile(r"\(?\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\b\.?\)?,?", re.IGNORECASE)
_FORMS: Final = (
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d",
    "%I:%M %p on %d %B, %Y",
    "%I:%M %p on %d %b, %Y",
    "%d %B %Y",
    "%d %B, %Y",
    "%B %d, %Y",
    "%d %b %Y %H:%M:%S",
    "%d %b %Y %H:%M:%S %z",
    "%b %d, %Y",
    "%b %d, %Y %H:%M",
)
_MILLISECONDS: Final = 1e11  # seconds from the year 5138 on; such numbers are milliseconds


def utc_time(value: object) -> str:
    """Return a time as ISO 8601 in UTC by the second, empty for what is not a time.

    It is ISO 8601, a number of seconds or milliseconds since 1970, or one of the forms that exports use:
    `1:56 pm on 8 May, 2023`, `2023/05/20 (Sat) 02:21`. A time without a zone counts as UTC.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _of_number(float(value))
    if not isinstance(value, str) or not value.strip() or len(value) > 80:
        return ""
    words = value.strip()
    try:
        return _as_text(datetime.fromisoformat(words))
    except (ValueError, OverflowError):
        pass
    words = " ".join(_WEEKDAY.sub(" ", words).split())
    for form in _FORMS:
        try:
            return _as_text(datetime.strptime(words, form))
        except (ValueError, OverflowError):
            continue
    return ""


def require_time(value: object) -> str:
    """Return a time as `utc_time` does. Raises: UsageError for what is not a time."""
    if found := utc_time(value):
        return found
    raise UsageError(
        f"{str(value)[:40]!r} is not a time", hint="Give one as in 2026-11-30 or 2026-11-30T12:00Z."
    )


def _of_number(value: float) -> str:
    if not math.isfinite(value) or value < 0:
        return ""
    seconds = value / 1000 if value >= _MILLISECONDS else value
    try:
        return _as_text(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return ""


def _as_text(moment: datetime) -> str:
    known = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return known.isoformat(timespec="seconds")
