"""A text cut into sentences with the code that follows each, as a reader meets them, with their places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_FENCE: Final = re.compile(r"^[ \t>]*(?:```|~~~)", re.MULTILINE)
_END: Final = re.compile(r"(?<=[.!?。！？])[\"')\]*_`]{0,3}(?:\s+|(?<=[。！？]))(?=\S)|\n+")
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|[A-Za-z][.)])\s+")
_CODE_LINE: Final = re.compile(
    r"\s*(?:[{}()\[\];,]+\s*$|//|#include|import\s|from\s+\S+\s+import|def\s|class\s|return\b|for\s*\(|if\s*\(|\w+\s*=[^=]|"
    r"@\w+|>>>|\$\s|<\/?\w+|\w+\(.*\)\s*[;{]?\s*$|.*[;{}]\s*$|(?:const|let|var|public|private|static|fn|func)\s)"
)
_LONGEST: Final = 600  # characters of a sentence that are looked at


@dataclass(frozen=True, slots=True)
class Segment:
    """A sentence or a line of code at `[start, end)`; `item` marks list items and headings.

    `code` is the code right below a sentence, for a line of code the line itself; `is_code` says which.
    """

    start: int
    end: int
    text: str
    code: str = ""
    item: bool = False
    is_code: bool = False


def segments(text: str) -> tuple[Segment, ...]:
    """Return the sentences and lines of code of a text in order."""
    found: list[Segment] = []
    for start, end, fenced in _blocks(text):
        if fenced:
            _attach(found, start, end, text[start:end])
        else:
            found += _sentences(text, start, end)
    return tuple(found)


def _blocks(text: str) -> list[tuple[int, int, bool]]:
    """Return (start, end, whether fenced) of the parts between fences."""
    marks = [match.start() for match in _FENCE.finditer(text)]
    edges = [0, *marks, len(text)]
    return [(a, b, index % 2 == 1) for index, (a, b) in enumerate(pairwise(edges)) if a < b]


def _attach(found: list[Segment], start: int, end: int, code: str) -> None:
    """Give code to the sentence above it, and keep it as a segment of its own."""
    if found and not found[-1].is_code:
        last = found[-1]
        found[-1] = Segment(last.start, last.end, last.text, last.code + code[:4000], last.item)
    found.append(Segment(start, end, code[:_LONGEST], code[:4000], is_code=True))


def _sentences(text: str, start: int, end: int) -> list[Segment]:
    found = []
    at = start
    edges = [*((match.start(), match.end()) for match in _END.finditer(text, start, end)), (end, end)]
    for stop, after in edges:
        raw = text[at:stop]
        item = _ITEM.match(raw)
        body = raw[item.end() :] if item else raw
        plain = body.strip().lstrip("`>|*_~ ")
        if plain and not plain.startswith(("```", "~~~")):
            code = _CODE_LINE.match(raw[:_LONGEST]) is not None
            found.append(Segment(at, stop, plain[:_LONGEST], plain if code else "", item is not None, code))
        at = after
    return found
