"""Two sentences laid over each other: which word of one corresponds to which of the other, and how.

Words are the same (equal or synonyms) or they oppose each other (antonyms, "un-", "in-", "non-"). Pairs are
taken one to one, the surest first, nearest places first. What remains is what only one of them says
(monolingual alignment after Sultan, Bethard and Sumner 2014, reduced to word evidence).

Below are the guards that keep two sentences in which something is opposed from contradicting each other. Each
knows one reason: too little in common, opposites that both deny, a denial that the other side states as an
opposite.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from workbench.comparison.negation import ScopedText, Word
from workbench.comparison.tokens import LIGHT
from workbench.comparison.vocabulary import meaning, opposites_of
from workbench.records.dataclass import dataclass

FAMILY: Final = 5
"""Letters that two words begin with alike if one is derived from the other: perform, performance."""

PLAIN: Final = 0.5
"""Mass from which words say something of their own."""

NEAR: Final = 2
"""Words after the head of a denial that are surely in its scope."""

LEAST: Final = 1.5
"""Mass that two texts must share before what they do not share is weighed at all."""

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
    """Two texts' words with the pairs among them, and the positions that have no partner.

    `own_left` and `own_right` are the words at those positions. `denials` are the pairs of which one side
    denies the word, `antonyms` the opposites that are not denied away. Masses are sums of word weights,
    `matched` is that of the pairs.
    """

    texts: tuple[ScopedText, ScopedText]
    left: tuple[Word, ...]
    right: tuple[Word, ...]
    pairs: tuple[Aligned, ...]
    only_left: tuple[int, ...]
    only_right: tuple[int, ...]
    own_left: tuple[Word, ...]
    own_right: tuple[Word, ...]
    denials: tuple[Aligned, ...]
    antonyms: tuple[Aligned, ...]
    left_mass: float
    right_mass: float
    matched: float

    def words(self, pair: Aligned) -> tuple[Word, Word]:
        """Return the two words of a pair."""
        return self.left[pair.left], self.right[pair.right]


def weight(word: Word) -> float:
    """Return how much a word says: names and content words 1, numbers 0.8, light words and places less."""
    if word.kind in ("place", "modal"):
        return 0.25
    if word.kind == "number":
        return 0.8
    return 0.3 if word.term in LIGHT else 1.0


def mass(words: Iterable[Word]) -> float:
    """Return the weight of some words together."""
    return sum(map(weight, words))


def align(left: ScopedText, right: ScopedText) -> Alignment:
    """Return the alignment of two texts."""
    mine, theirs = left.words, right.words
    pairs, only_left, only_right = _pairs(mine, theirs)
    opposed = [pair for pair in pairs if pair.opposed]
    if _same_heads(mine, theirs, pairs):
        opposed = [pair for pair in opposed if pair.link is Link.OPPOSITE]
    return Alignment(
        (left, right),
        mine,
        theirs,
        pairs,
        only_left,
        only_right,
        tuple(mine[at] for at in only_left),
        tuple(theirs[at] for at in only_right),
        tuple(pair for pair in opposed if pair.link is not Link.OPPOSITE),
        tuple(pair for pair in opposed if pair.link is Link.OPPOSITE),
        mass(mine),
        mass(theirs),
        sum((weight(mine[p.left]) + weight(theirs[p.right])) / 2 for p in pairs),
    )


def _pairs(
    mine: tuple[Word, ...], theirs: tuple[Word, ...]
) -> tuple[tuple[Aligned, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the pairs of words, and the positions on both sides that have no partner."""
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
    return tuple(pairs), tuple(free_left), tuple(free_right)


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


_RELATIONS: Final = ((Link.SAME, _same), (Link.OPPOSITE, _opposite), (Link.FAMILY, _family))


def _same_heads(left: tuple[Word, ...], right: tuple[Word, ...], pairs: tuple[Aligned, ...]) -> bool:
    """Whether both texts deny the same words first; what else only one denies is then a matter of order."""
    mine = {at for at, word in enumerate(left) if word.head}
    theirs = {at for at, word in enumerate(right) if word.head}
    if not mine or not theirs:
        return False
    to = {pair.left: pair for pair in pairs}
    partners = {to[at].right for at in mine if at in to and not to[at].opposed}
    return len(partners) == len(mine) and partners == theirs


def depth(found: Alignment, pair: Aligned) -> int:
    """Return how many words after the head of its denial a denied word is."""
    mine, theirs = found.words(pair)
    return mine.depth if mine.denied else theirs.depth


def lone_denial(found: Alignment) -> bool:
    """Whether one text denies something that the other does not speak of."""
    return any(word.head for word in (*found.own_left, *found.own_right))


def is_elsewhere(found: Alignment) -> bool:
    """Whether the texts oppose each other or place what they speak of differently ("on", "under")."""
    return bool(found.antonyms or found.denials) or both_own(found, "place")


def both_own(found: Alignment, *kinds: str) -> bool:
    """Whether each side has words of these kinds that the other lacks."""
    return all(any(word.kind in kinds for word in own) for own in (found.own_left, found.own_right))


def states_opposite(found: Alignment) -> bool:
    """Whether one text denies a word and the other says its opposite: "not stable", "volatile"."""
    return any(
        pair.link is Link.OPPOSITE
        and not pair.opposed
        and found.left[pair.left].kind != "place"
        and depth(found, pair) <= NEAR
        for pair in found.pairs
    )


def other_numbers(found: Alignment) -> bool:
    """Whether one text denies a number of its own: "in five groups", "not in ten"."""
    mine = [word for word in found.own_left if _counts(word)]
    theirs = [word for word in found.own_right if _counts(word)]
    return bool(found.denials and mine and theirs) and any(word.denied for word in (*mine, *theirs))


def _counts(word: Word) -> bool:
    return word.kind == "number" or word.term in _NUMBERS


_NUMBERS: Final = frozenset(map(meaning, "two three four five six seven eight nine ten".split()))


def both_deny(found: Alignment) -> bool:
    """Whether all that is opposed are opposites that both deny: what did not rise need not have dropped."""
    words = [found.words(pair) for pair in found.antonyms]
    return not found.denials and bool(words) and all(one.denied and other.denied for one, other in words)


def enough_in_common(found: Alignment) -> bool:
    """Whether two sentences share enough to be about the same: two words, or all that they say."""
    rest = mass(found.own_left) + mass(found.own_right)
    return found.matched >= LEAST or rest < PLAIN


def is_taken_back(found: Alignment) -> bool:
    """Whether a second contrast takes the first one back: "public ones need it", "private ones don't"."""
    kinds = [found.left[pair.left].kind for pair in found.antonyms]
    return bool(found.denials) and any(kind != "place" for kind in kinds)
