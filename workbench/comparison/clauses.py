"""A text cut into clauses that each say one thing, without examples, code and asides."""

from __future__ import annotations

import re
from typing import Final

MAX_CHARS: Final = 4000

_CLAUSE = re.compile(
    r"(?<=[.!?;])\s+|;\s*|\n+|\s[—–]\s|\s--?\s"
    r"|,?\s+(?:and|but)\s+(?=(?:do not|don't|never|avoid|not|always|must|should)\b)"
    r"|,\s+(?=(?:do not|don't|never|avoid|use|prefer|always)\b)|\s+but\s+"
    r"|(?<=\))\s+(?=[A-Z])",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"(?:when(?:ever)?|if|while|once|until|unless|where|in case|for|in|on|before|after)\b[^,;:.]*$",
    re.IGNORECASE,
)  # a condition or place without what holds there
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LEADING = re.compile(r"^(?:\[[ xX~]\]\s+|[-*•+]\s+|\d+[.)]\s+)+")
_EXAMPLE = re.compile(
    r"(?:\be\.\s?g\.|\bi\.\s?e\.|\bfor example\b|\bfor instance\b|\bsuch as\b|\bexamples?\s*:|\blike:|"
    r"(?:[❌✅]|\b(?:good|bad|correct|incorrect|wrong|right)\s*:)).*",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
LABEL = re.compile(r"^\s*([^\W\d_][\w ,/&-]{0,40}?)(?:\s*:|\s+(?:--?|[—–]))\s+(?=\S)")
_CODE_LINE = re.compile(r"[{};]\s*$|^\s*[\w.$]+\([^`]*\)\s*;?\s*$|^\s*[$@}{)]|^\s*[\w.]+\s*=[^=]")
_CONTINUES = re.compile(
    r"(?:less|fewer|more|at least|at most|max(?:imum)?|min(?:imum)?|up to|no more|no less|under|over|about|"
    r"\d)\b",
    re.IGNORECASE,
)  # a number without what it counts
ANAPHORIC = re.compile(
    r"^(?:(?:this|these|that|those|it|they) |\w+ (?:it|them)\b|"
    r"(?:\w+ ){0,3}(?:it|them|this|that|these|those)\W*$|"
    r".*\b(?:these|those|the following|the (?:above|below))\b)",
    re.IGNORECASE,
)  # speaks of what an earlier sentence names


def clauses(text: str) -> list[str]:
    """Return the clauses of plain text, in order; a condition stays with what holds under it."""
    text = _FENCED.sub("\n", text[:MAX_CHARS])
    lines = (
        _EXAMPLE.sub(" ", _ASIDE.sub(" ", line))
        for line in map(_spaced, text.split("\n"))
        if not _CODE_LINE.search(line)
    )
    found: list[str] = []
    for line in lines:
        for piece in _pieces(_LEADING.sub("", line.strip())):
            cleaned = piece.strip()
            if not cleaned:
                continue
            if found and (_OPEN.match(found[-1]) or _CONTINUES.match(cleaned)):
                found[-1] = f"{found[-1].rstrip(' .;')}, {cleaned}"
            else:
                found.append(cleaned)
    return found


def _pieces(line: str) -> list[str]:
    """Return the clauses of a line; a label stays with the first of them."""
    head = LABEL.match(line)
    start = head.end() if head else 0
    first, *others = _CLAUSE.split(line[start:])
    return [line[:start] + first, *others]


def _spaced(line: str) -> str:
    return " ".join(line.split())
