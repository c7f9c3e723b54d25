"""The searched texts of a record as one text, in which a filter's words are looked for first.

Fields are separated by FIELD, the values of one by VALUE; in values themselves both are blanks. Python's
lower case is kept beside the text, for that of the database differs in a few letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

FIELD: Final = "\x1e"
VALUE: Final = "\x1f"
MAX_TEXT: Final = 4_000
"""Characters of a text that are searched."""

_BLANK: Final = str.maketrans({FIELD: " ", VALUE: " "})


def haystack(fields: Iterable[str | Sequence[str] | None]) -> tuple[str, str]:
    """Return the values of searched fields, in their order, as one text and in lower case."""
    text = FIELD.join(map(_values, fields))
    return text, text.lower()


def _values(found: str | Sequence[str] | None) -> str:
    if found is None:
        return ""
    return plain(found[:MAX_TEXT]) if isinstance(found, str) else VALUE.join(map(plain, found))


def plain(text: str) -> str:
    """Return a text without the separators."""
    return text if text.isprintable() else text.translate(_BLANK)
