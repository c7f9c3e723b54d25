"""Values of front matter as they are written: quoted only where they would be read as something else."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[^\s\-?:,\[\]{}#&*!|>'\"%@`]")
_AMBIGUOUS = re.compile(r":(?:\s|$)|\s#|^(?:true|false|yes|no|on|off|null|[\d.+-]+)$", re.IGNORECASE)


def scalar(text: str) -> str:
    """Return a text as a value after `key: `, quoted only where it would be read as something else."""
    text = " ".join(text.split())
    plain = _PLAIN.match(text) and not _AMBIGUOUS.search(text)
    return text if plain or not text else quoted(text)


def quoted(text: str) -> str:
    """Return a text in double quotes."""
    return '"' + re.sub(r'([\\"])', r"\\\1", text) + '"'
