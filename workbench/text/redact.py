"""Takes secrets out of text before it is kept or sent: each becomes `[secret:<kind>]`, and is counted.

It finds what announces itself, by the shape of the token, the place it is in, or the name beside it.
A password by itself that looks like a word is not found. Lines keep their numbers; redacting twice
changes nothing more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from workbench.text.secrets.find import Span, spans

_ROUNDS: Final = 16  # what hides behind a secret is found in the next round


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and how many of each kind were taken out."""

    text: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret of a text: its kind, its characters `[start, end)`, and the line it begins in, from 1."""

    kind: str
    start: int
    end: int
    line: int


def mark(kind: str) -> str:
    """Return what replaces a secret of a kind in a text."""
    return f"[secret:{kind}]"


def redact(text: str) -> Redacted:
    """Return the text with each secret replaced by its mark; the name that announces it stays."""
    data, counts = redact_bytes(text.encode("utf-8", "surrogatepass"))
    return Redacted(data.decode("utf-8", "surrogatepass") if counts else text, counts)


def redact_bytes(data: bytes) -> tuple[bytes, Mapping[str, int]]:
    """Return a text in UTF-8, or nearly that, without its secrets, and how many of each kind there were.

    Lines of JSON stay JSON: no secret ends in the middle of an escape.
    """
    if not data:
        return data, {}
    counts: Counter[str] = Counter()
    for _ in range(_ROUNDS):
        found = spans(data)
        if not found:
            break
        counts.update(span.kind for span in found)
        data = replaced(data, found)
    return data, dict(sorted(counts.items()))


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return the secrets that `redact` takes out in its first round, in order."""
    data = text.encode("utf-8", "surrogatepass")
    found = []
    at = characters = 0
    line = 1
    for span in spans(data):
        between = data[at : span.start].decode("utf-8", "surrogatepass")
        line += between.count("\n")
        start = characters + len(between)
        inside = data[span.start : span.end].decode("utf-8", "surrogatepass")
        found.append(Secret(span.kind, start, start + len(inside), line))
        line += inside.count("\n")
        at, characters = span.end, start + len(inside)
    return tuple(found)


def replaced(data: bytes, found: tuple[Span, ...]) -> bytes:
    """Return the bytes with marks for secrets; one of several lines keeps its line feeds."""
    parts = []
    at = 0
    for span in found:
        parts += [
            data[at : span.start],
            mark(span.kind).encode(),
            b"\n" * data.count(b"\n", span.start, span.end),
        ]
        at = span.end
    return b"".join([*parts, data[at:]])
