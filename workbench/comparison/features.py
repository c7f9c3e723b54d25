"""What the alignment of two texts shows, as numbers: symmetric, named, the same for every pair.

One set where something is denied, one where words oppose each other, one for repetitions. `data/weights.json`
holds learned weights of them; each feature's share of the sum is the evidence that a judgement gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from workbench.comparison.alignment import (
    LEAST,
    NEAR,
    PLAIN,
    Aligned,
    Alignment,
    Link,
    both_own,
    depth,
    lone_denial,
    mass,
    weight,
)
from workbench.comparison.negation import ScopedText, Word


def denial_features(found: Alignment) -> dict[str, float]:
    """Return what speaks for and against a contradiction where one side denies what the other says."""
    flipped = mass(found.left[pair.left] for pair in found.denials)
    heads = any(word.head for pair in found.denials for word in found.words(pair))
    content = [pair for pair in found.antonyms if found.left[pair.left].kind != "place"]
    denied = mass(word for word in (*found.own_left, *found.own_right) if word.denied)
    denying, other = _sides(found)
    free = mass(word for word in denying if not word.denied)
    small, large = sorted((found.left_mass, found.right_mass))
    return {
        "denied near": sum(depth(found, pair) <= NEAR for pair in found.denials) / (NEAR + 1),
        "head alone": float(any(word.head and word.denied for word in (*found.own_left, *found.own_right))),
        "longer covered": min(found.matched / max(large, 1.0), 1.0),
        "kept": min(found.matched - flipped - len(content), 5.0) / 5,
        "both deny": float(_denies(found.left) and _denies(found.right)),
        "denial settled": float(heads and not denying and not other),
        "lengths": small / max(large, 1.0),
        "denied, narrowed": float(heads and mass(other) < PLAIN <= denied),
        "settled": float(heads and free + denied < PLAIN),
    }


def antonym_features(found: Alignment) -> dict[str, float]:
    """Return what speaks for and against a contradiction where both sides say opposites."""
    content = [pair for pair in found.antonyms if found.left[pair.left].kind != "place"]
    own = (*found.own_left, *found.own_right)
    denying, other = _sides(found)
    return {
        "near alone": min(mass(word for word in own if word.denied and word.depth <= NEAR), 3.0),
        "attribute": float(bool(content) and all(_attributes(found, pair) for pair in content)),
        "opposite place": float(len(found.antonyms) > len(content)),
        "denying side only": math.log1p(mass(word for word in denying if not word.denied)),
        "other side only": math.log1p(mass(other)),
        "length": math.log1p(max(found.left_mass, found.right_mass)),
        "subjects differ": float(bool(found.left and found.right) and not _starts(found)),
    }


def _denies(words: Iterable[Word]) -> bool:
    return any(word.denied for word in words)


def _sides(found: Alignment) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """Return the words that only the side that denies says, or else the one with fewer, and the other's.

    The side that denies claims more the less it says; what the other side adds takes nothing back.
    """
    left, right = _denies(found.left), _denies(found.right)
    if left == right:
        shorter, longer = sorted((found.own_left, found.own_right), key=mass)
        return shorter, longer
    return (found.own_left, found.own_right) if left else (found.own_right, found.own_left)


def duplicate_features(found: Alignment) -> dict[str, float]:
    """Return what speaks for and against a repetition."""
    left_only, right_only = found.own_left, found.own_right
    first, second = sorted((mass(left_only), mass(right_only)))
    small, large = sorted((found.left_mass, found.right_mass))
    return {
        "shared": found.matched / max(small + large - found.matched, 1.0),
        "shorter covered": min(found.matched / max(small, 1.0), 1.0),
        "longer covered": min(found.matched / max(large, 1.0), 1.0),
        "less own": math.log1p(first),
        "more own": math.log1p(second),
        "common": math.log1p(found.matched),
        "length": math.log1p(large),
        "in sequence": _bigrams(found),
        "turned": inversions(found),
        "opposed": float(bool(found.denials or found.antonyms)),
        "numbers differ": float(both_own(found, "number")),
        "number only": float(any(w.kind == "number" for w in (*left_only, *right_only))),
        "names differ": float(both_own(found, "name")),
        "name only": float(any(w.kind == "name" for w in (*left_only, *right_only))),
        "own verbatim": float(first == 0.0),
        "ends differ": float(not _ends(found)),
        "starts differ": float(not _starts(found)),
        "by family": float(sum(p.link is Link.FAMILY for p in found.pairs)) / max(len(found.pairs), 1),
    }


def _attributes(found: Alignment, pair: Aligned) -> bool:
    """Whether two opposites describe the same thing, no verbs: "a big dog", "a small dog" may be two dogs."""
    words = (found.left[pair.left], found.right[pair.right])
    followed = any((p.left, p.right) == (pair.left + 1, pair.right + 1) for p in found.pairs)
    return followed and not any(word.text.endswith(("ing", "ed")) for word in words)


def _ends(found: Alignment) -> bool:
    last = (len(found.left) - 1, len(found.right) - 1)
    return any((p.left, p.right) == last for p in found.pairs)


def _starts(found: Alignment) -> bool:
    return any((p.left, p.right) == (0, 0) for p in found.pairs)


def _bigrams(found: Alignment) -> float:
    """Return the share of neighbouring words whose partners are neighbours, too."""
    to = {p.left: p.right for p in found.pairs}
    kept = sum(1 for at, place in to.items() if to.get(at + 1) == place + 1)
    return kept / max(min(len(found.left), len(found.right)) - 1, 1)


def inversions(found: Alignment) -> float:
    """Return the share of pairs of aligned words that are in another order on the other side."""
    order = _order(found)
    size = len(order)
    if size < 2:
        return 0.0
    turned = sum(order[i] > order[j] for i in range(size) for j in range(i + 1, size))
    return turned / (size * (size - 1) / 2)


def _order(found: Alignment) -> list[int]:
    """Return the positions on the right of the pairs that say something, in the order of the left."""
    pairs = sorted(found.pairs, key=lambda pair: pair.left)
    return [pair.right for pair in pairs if weight(found.left[pair.left]) >= PLAIN]


SHORT: Final = 11.0
"""Mass up to which a single exchanged word makes a difference; longer sentences are paraphrased freely."""


def obstacle(found: Alignment, left: ScopedText, right: ScopedText, *, instruct: bool = False) -> str:
    """Return what rules out that two texts repeat each other, in words; '' if nothing does."""
    left_only, right_only = found.own_left, found.own_right
    size = max(found.left_mass, found.right_mass)
    short = size <= SHORT
    if found.denials or any(short or found.left[p.left].kind != "place" for p in found.antonyms):
        return "one denies what the other says"
    if lone_denial(found):
        return "one denies something the other does not speak of"
    if found.matched < LEAST and (left_only or right_only):
        return "too little in common"
    if short and left.limits != right.limits:
        return "only one is limited: " + ", ".join(sorted(left.limits ^ right.limits))
    for kind in ("name", "number"):
        mine = sorted({w.text for w in left_only if w.kind == kind})
        theirs = sorted({w.text for w in right_only if w.kind == kind})
        both, one = bool(mine and theirs), bool(mine or theirs)
        if (both and (short or kind == "name")) or (one and size <= TERSE):
            return f"other {kind}s: {', '.join(mine) or 'none'} and {', '.join(theirs) or 'none'}"
    if short and _is_exchange(left_only, right_only):
        instead = [" ".join(w.text for w in side) for side in (left_only, right_only)]
        return " where the other says ".join(instead)
    if swaps_sides(found, left, right, instruct=instruct):
        return "what one does to the other is turned around"
    return ""


TERSE: Final = 8.0
"""Mass up to which a name or number that only one side has makes a difference."""

SLOT: Final = 3
"""Words that can take the same place in a sentence."""


def _is_exchange(left: Sequence[Word], right: Sequence[Word]) -> bool:
    """Whether both say something of their own in one place, the rest being the same."""
    mine, theirs = (sum(w.kind in ("word", "place") for w in side) for side in (left, right))
    if not mine or not theirs or max(mine, theirs) > SLOT:
        return False
    places = all(word.kind == "place" for word in (*left, *right))
    return places or max(mass(left), mass(right)) >= PLAIN


def swaps_sides(found: Alignment, left: ScopedText, right: ScopedText, *, instruct: bool = False) -> bool:
    """Whether two words change sides around one between them: "dog bites man", "man bites dog".

    Only in short texts, and not where one is passive. An instruction may put its condition first: there the
    function words must be the same, too.
    """
    if max(found.left_mass, found.right_mass) > SHORT:
        return False
    if left.small != right.small and (instruct or ("by" in left.small) != ("by" in right.small)):
        return False
    order = _order(found)
    return any(
        order[last] < middle < order[first]
        for at, middle in enumerate(order)
        for first in range(at)
        for last in range(at + 1, len(order))
    )
