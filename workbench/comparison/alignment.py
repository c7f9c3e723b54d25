"""Two sentences laid over each other: which word of one corresponds to which of the other, and how.

Words are the same (equal or synonyms) or they oppose each other (antonyms, "un-", "in-", "non-"). Pairs are
taken one to one, the surest first, nearest places first. What remains is what only one of them says
(monolingual alignment after Sultan, Bethard and Sumner 2014, reduced to word evidence).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workbench.comparison.everyday import opposites_of
from workbench.comparison.scope import Scoped, Word
from workbench.comparison.words import LIGHT

FAMILY: Final = 5
"""Letters that two words begin with alike if one is derived from the other: perform, performance."""

_PREFIXES: Final = ("non-", "non", "un-", "un", "in", "im", "ir", "il", "dis", "mis", "de-", "anti-")


class Link(StrEnum):
    """How two words are aligned."""

    SAME = "same"
    FAMILY = "family"
    OPPOSITE = "opposite"


@dataclass(frozen=True, slots=True)
class Aligned:
    """Two words at positions `left` and `right`. `opposed` if one denies what the other says."""

    left: int
    right: int
    link: Link
    opposed: bool


@dataclass(frozen=True, slots=True)
class Alignment:
    """Two texts' words with the pairs among them, and the positions that have no partner."""

    left: tuple[Word, ...]
    right: tuple[Word, ...]
    pairs: tuple[Aligned, ...]
    only_left: tuple[int, ...]
    only_right: tuple[int, ...]


def weight(word: Word) -> float:
    """Return how much a word says: names and content words 1, numbers 0.8, light words and places less."""
    if word.kind in ("place", "modal"):
        return 0.25
    if word.kind == "number":
        return 0.8
    return 0.3 if word.term in LIGHT else 1.0


def align(left: Scoped, right: Scoped) -> Alignment:
    """Return the alignment of two texts."""
    mine, theirs = left.words, right.words
    free_left, free_right = dict.fromkeys(range(len(mine))), dict.fromkeys(range(len(theirs)))
    pairs: list[Aligned] = []
    for link, relation in _RELATIONS:
        if not free_left or not free_right:
            break
        by_key: dict[str, list[int]] = {}
        for at in free_right:
            for key in relation(theirs[at])[1]:
                by_key.setdefault(key, []).append(at)
        for at in list(free_left):
            word = mine[at]
            options = [
                place
                for key in relation(word)[0]
                for place in by_key.get(key, ())
                if place in free_right
                and (link is not Link.OPPOSITE or (word.kind == "place") == (theirs[place].kind == "place"))
            ]
            if not options:
                continue
            scale = max(len(theirs), 1) / max(len(mine), 1)
            best = min(options, key=lambda place: (abs(place - at * scale), place))
            opposed = (word.denied != theirs[best].denied) != (link is Link.OPPOSITE)
            pairs.append(Aligned(at, best, link, opposed))
            del free_left[at], free_right[best]
    return Alignment(mine, theirs, tuple(pairs), tuple(free_left), tuple(free_right))


def _same(word: Word) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (word.term,), (word.term,)


def _opposite(word: Word) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if word.kind in ("name", "number"):
        return (), ()
    bare = _bare(word.text)
    return (*sorted(opposites_of(word.term)), *bare, f"-{word.text}"), (
        word.term,
        *(f"-{stem}" for stem in bare),
        word.text,
    )


def _bare(text: str) -> tuple[str, ...]:
    """Return a word without a prefix that denies it; none if there is none."""
    return tuple(text[len(p) :] for p in _PREFIXES if text.startswith(p) and len(text) - len(p) >= 4)


def _family(word: Word) -> tuple[tuple[str, ...], tuple[str, ...]]:
    start = (word.text[:FAMILY],) if word.kind == "word" and len(word.text) > FAMILY else ()
    return start, start


_RELATIONS: Final = (
    (Link.SAME, _same),
    (Link.OPPOSITE, _opposite),
    (Link.FAMILY, _family),
)
