"""Takes secrets out of text before it is kept or sent: each becomes `[secret:<kind>]`, and is counted.

It finds what announces itself, by the shape of the token, the place it is in, or the name beside it.
A password by itself that looks like a word is not found. Lines keep their numbers; redacting twice
changes nothing more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Final, TypeVar, cast

from workbench.text.secrets.find import Span, spans

Value = TypeVar("Value")

_ROUNDS: Final = 16  # what hides behind a secret is found in the next round
_WORD: Final = re.compile(r"[a-z_.-]{0,24}")  # announces nothing, and most names are one


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


def redact_values(value: Value) -> Value:
    """Return values as JSON holds them, or records of such, with each text redacted, keys included.

    What holds no secret is the same object. A name and the secret it announces are only found together
    where one text has both.
    """
    # One look at all texts costs a fraction of a look at each; most have nothing to hide.
    together = "\n".join(_texts(value)).encode("utf-8", "surrogatepass")
    return cast("Value", _redacted(value)) if together and spans(together) else value


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if not _WORD.fullmatch(value):
            yield value
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield from _texts(key)
            yield from _texts(held)
    elif isinstance(value, list | tuple | set | frozenset):
        for held in value:
            yield from _texts(held)
    elif is_dataclass(value):
        for part in fields(value):
            yield from _texts(getattr(value, part.name))


def _redacted(value: object) -> object:
    if type(value) is str:
        return redact(value).text
    if isinstance(value, Mapping):
        return {_redacted(key): _redacted(held) for key, held in value.items()}
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(_redacted(held) for held in value)  # type: ignore[call-arg,attr-defined]
    if is_dataclass(value) and not isinstance(value, type):
        found = {part.name: getattr(value, part.name) for part in fields(value) if part.init}
        changed = {name: after for name, held in found.items() if (after := _redacted(held)) != held}
        return replace(value, **changed) if changed else value
    return value


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
