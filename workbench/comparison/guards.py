"""What keeps two sentences in which something is opposed from contradicting each other, or from being merged.

Each guard looks at one overlay and knows one reason: too little in common, steps that undo each other,
opposites that both deny, a denial that the other side states as an opposite.
"""

from __future__ import annotations

from typing import Final

from workbench.comparison.alignment import Link
from workbench.comparison.everyday import meaning, steps
from workbench.comparison.features import LEAST, NEAR, PLAIN, Overlay, depth, mass
from workbench.comparison.scope import Word


def said_positively(found: Overlay) -> bool:
    """Whether one text denies a word and the other says its opposite: "not stable", "volatile"."""
    a = found.alignment
    return any(
        pair.link is Link.OPPOSITE
        and not pair.opposed
        and a.left[pair.left].kind != "place"
        and depth(a, pair) <= NEAR
        for pair in a.pairs
    )


def other_numbers(found: Overlay) -> bool:
    """Whether one text denies a number of its own: "in five groups", "not in ten"."""
    a = found.alignment
    mine = [a.left[i] for i in a.only_left if _counts(a.left[i])]
    theirs = [a.right[i] for i in a.only_right if _counts(a.right[i])]
    return bool(found.denials and mine and theirs) and any(word.denied for word in (*mine, *theirs))


def _counts(word: Word) -> bool:
    return word.kind == "number" or word.term in _NUMBERS


_NUMBERS: Final = frozenset(map(meaning, "two three four five six seven eight nine ten".split()))


def both_denied(found: Overlay) -> bool:
    """Whether all that is opposed are opposites that both deny: what did not rise need not have dropped."""
    a = found.alignment
    words = [(a.left[pair.left], a.right[pair.right]) for pair in found.antonyms]
    return not found.denials and bool(words) and all(one.denied and other.denied for one, other in words)


def enough_in_common(found: Overlay) -> bool:
    """Whether two sentences share enough to be about the same: two words, or all that they say."""
    a = found.alignment
    rest = mass(a.left[i] for i in a.only_left) + mass(a.right[i] for i in a.only_right)
    return found.matched >= LEAST or rest < PLAIN


def taken_back(found: Overlay) -> bool:
    """Whether a second contrast takes the first one back: "public ones need it", "private ones don't"."""
    kinds = [found.alignment.left[pair.left].kind for pair in found.antonyms]
    return bool(found.denials) and any(kind != "place" for kind in kinds)


def only_steps(found: Overlay) -> bool:
    """Whether all that is opposed are actions that undo each other ("create …", "delete …")."""
    words = [found.alignment.left[pair.left].term for pair in found.antonyms]
    return not found.denials and bool(words) and all(word in steps() for word in words)
