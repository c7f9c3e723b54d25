"""Numbers in instructions: what they count, and whether they bound it from above, from below or fix it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.comparison.tokens import FUNCTION, Token
from workbench.comparison.vocabulary import canonical, choices_of, units
from workbench.text.terms import stem

_UPPER = re.compile(
    r"(?:at most|up to|under|below|less than|fewer than|maximum(?: of)?|max|limit(?:ed)?(?: to)?|within|"
    r"shorter than|≤|<=|<|no later than)\W*(?:\w+\W+){0,2}$"
)
_LOWER = re.compile(
    r"(?:at least|minimum(?: of)?|min|more than|above|over|greater than|exceeds?|≥|>=|>|from)"
    r"\W*(?:\w+\W+){0,2}$"
)
_LIMIT = re.compile(r"\b(?:max(?:imum)?|limit|exceed|at most|no more than)\b")
_LEAST = re.compile(r"\b(?:min(?:imum)?|at least)\b")
BOUND_TERMS = frozenset(
    canonical(word)
    for word in """
    least most under below above over maximum minimum max min less fewer greater longer newer higher later
    lower older limit limited exceed up within shorter target
    """.split()
)
_OR_MORE = re.compile(
    r"^\s*(?:or (?:higher|newer|later|above|more|greater)|and (?:above|up|newer|later)|minimum)\b"
)
_OR_LESS = re.compile(r"^\s*(?:or (?:lower|older|less|fewer|below|under)|maximum|max)\b")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what it counts: `bound` is -1 for at least, 1 for at most, 0 for just this."""

    unit: str
    value: tuple[int, ...]
    bound: int
    text: str


def quantity_at(text: str, tokens: Sequence[Token], at: int) -> tuple[Quantity, set[int]]:
    """Return the quantity at a token, with the positions of the words that belong to it."""
    _, token, start, end = tokens[at]
    used: set[int] = set()
    digits = tuple(int(part) for part in re.findall(r"\d+", token.replace(",", ""))[:4])
    unit = re.sub(r"[\d.,<>≤≥=v+x\s]", "", token)
    following = tokens[at + 1].text if at + 1 < len(tokens) else ""
    spaced = text[end : tokens[at + 1].start] if at + 1 < len(tokens) else ""
    if not unit and following in units() and spaced.strip(" -") == "":
        unit = units()[following]
        used.add(at + 1)
    elif not unit and following == "spaces":
        unit = "space"
        used.add(at + 1)
    elif not unit and (before := _named(tokens, at)):
        unit = "of " + (before if before in choices_of() else stem(before))
    head, tail = text[:start], text[end:]
    return Quantity(unit, digits, _bound(token, head, tail), text[start:end].strip()), used


def _named(tokens: Sequence[Token], at: int) -> str:
    """Return the word that a number is of: the one before it, signs left out ("Node >= 20"); '' for none."""
    last = next((token for token in reversed(tokens[:at]) if token.kind != "symbol"), None)
    return last.text if last is not None and last.kind == "word" and last.text not in FUNCTION else ""


def _bound(token: str, head: str, tail: str) -> int:
    """Return in which direction a number bounds, by its own signs, then by the words next to it."""
    if token.endswith("+") or token.startswith((">", "≥")) or _OR_MORE.match(tail):
        return -1
    if token.startswith(("<", "≤")) or _OR_LESS.match(tail) or _UPPER.search(head):
        return 1
    if _LOWER.search(head):
        return -1
    if _LIMIT.search(head):
        return 1
    return -1 if _LEAST.search(head) else 0
