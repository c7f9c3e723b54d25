"""What the alignment of two texts shows, as numbers: symmetric, named, the same for every pair.

Two sets: what speaks for a contradiction and what for a repetition. Learned weights over them are in
`weights`; each feature's share of the sum is the evidence that a judgement gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from workbench.comparison.alignment import Aligned, Alignment, Link, align, weight
from workbench.comparison.reference import REFERENCE, TOLD, reference_features, scene
from workbench.comparison.scope import Scoped, Word


@dataclass(frozen=True, slots=True)
class Overlay:
    """Two texts' alignment, measured. Masses are sums of word weights."""

    alignment: Alignment
    left_mass: float
    right_mass: float
    matched: float
    denials: tuple[Aligned, ...]
    antonyms: tuple[Aligned, ...]
    texts: tuple[Scoped, Scoped]


def overlay(left: Scoped, right: Scoped) -> Overlay:
    """Return two texts laid over each other."""
    found = align(left, right)
    opposed = [pair for pair in found.pairs if pair.opposed]
    if _same_heads(found):
        opposed = [pair for pair in opposed if pair.link is Link.OPPOSITE]
    return Overlay(
        found,
        mass(left.words),
        mass(right.words),
        sum((weight(left.words[p.left]) + weight(right.words[p.right])) / 2 for p in found.pairs),
        tuple(pair for pair in opposed if pair.link is not Link.OPPOSITE),
        tuple(pair for pair in opposed if pair.link is Link.OPPOSITE),
        (left, right),
    )


def _same_heads(found: Alignment) -> bool:
    """Whether both texts deny the same words first; what else only one denies is then a matter of order."""
    mine = {at for at, word in enumerate(found.left) if word.head}
    theirs = {at for at, word in enumerate(found.right) if word.head}
    if not mine or not theirs:
        return False
    to = {pair.left: pair for pair in found.pairs}
    partners = {to[at].right for at in mine if at in to and not to[at].opposed}
    return len(partners) == len(mine) and partners == theirs


def mass(words: Iterable[Word]) -> float:
    """Return the weight of some words together."""
    return sum(map(weight, words))


def conflict_features(found: Overlay, *, instruct: bool) -> dict[str, float]:
    """Return what speaks for and against a contradiction; `instruct` if both texts are instructions.

    Instructions list things to do: what one rules out is rarely what another one merely mentions.
    """
    a = found.alignment
    flipped = mass(a.left[p.left] for p in found.denials)
    heads = [p for p in found.denials if a.left[p.left].head or a.right[p.right].head]
    content = [p for p in found.antonyms if a.left[p.left].kind != "place"]
    denied_left = any(w.denied for w in a.left)
    denied_right = any(w.denied for w in a.right)
    left_only, right_only = [a.left[i] for i in a.only_left], [a.right[i] for i in a.only_right]
    denied_extra = mass(w for w in (*left_only, *right_only) if w.denied)
    # The side that denies claims more the less it says; what the other side adds takes nothing back.
    if denied_left and not denied_right:
        strong, weak, size, texts = left_only, right_only, found.left_mass, found.texts
    elif denied_right and not denied_left:
        strong, weak, size, texts = right_only, left_only, found.right_mass, found.texts[::-1]
    else:
        strong, weak = sorted((left_only, right_only), key=mass)
        size, texts = min(found.left_mass, found.right_mass), found.texts
    free = mass(w for w in strong if not w.denied)
    small, large = sorted((found.left_mass, found.right_mass))
    kept = found.matched - flipped - len(content)
    alone = any(w.head and w.denied for w in (*left_only, *right_only))
    order = float(instruct)
    features = {
        "instruction": order,
        "instruction, head alone": order * alone,
        "instruction, head": order * bool(heads),
        "instruction, denying side only": order * math.log1p(free + denied_extra),
        "instruction, other side only": order * math.log1p(mass(weak)),
        "instruction, lengths": order * small / max(large, 1.0),
        "instruction, matched": order * min(found.matched, 5.0) / 5,
        "denied": min(flipped, 4.0) / 4 if found.denials else 0.0,
        "denied head": float(bool(heads)),
        "denied deep": float(bool(found.denials) and min(depth(a, p) for p in found.denials) > NEAR),
        "denied near": sum(depth(a, p) <= NEAR for p in found.denials) / (NEAR + 1),
        "head alone": float(alone),
        "near alone": min(mass(w for w in (*left_only, *right_only) if w.denied and w.depth <= NEAR), 3.0),
        "antonym": float(bool(content)),
        "antonyms": float(len(content) > 1),
        "attribute": float(bool(content) and all(_attributes(a, p) for p in content)),
        "attribute, told": float(not instruct and bool(content) and all(_attributes(a, p) for p in content)),
        "opposite place": float(len(found.antonyms) > len(content)),
        "denied only": math.log1p(denied_extra),
        "denying side only": math.log1p(free),
        "other side only": math.log1p(mass(weak)),
        "denying side covered": 1 - min((free + denied_extra) / max(size, 1.0), 1.0),
        "shorter covered": min(found.matched / max(small, 1.0), 1.0),
        "longer covered": min(found.matched / max(large, 1.0), 1.0),
        "kept": min(kept, 5.0) / 5,
        "both deny": float(denied_left and denied_right),
        "numbers differ": float(_both(left_only, right_only, "number")),
        "names differ": float(_both(left_only, right_only, "name")),
        "turned": inverted(a),
        "length": math.log1p(large),
        "antonym settled": float(bool(content) and not left_only and not right_only),
        "denial settled": float(bool(heads) and not strong and not weak),
        "denying side settled": float(bool(heads) and mass(strong) < PLAIN),
        "shorter settled": float(bool(heads) and mass(min((left_only, right_only), key=mass)) < PLAIN),
        "lengths": small / max(large, 1.0),
        "longer denies": float(bool(found.denials) and size > small and small < 0.7 * large),
        "existential": float(any(p.left == 0 and p.right == 0 for p in heads)),
        "covered long": min(found.matched / max(small, 1.0), 1.0) * min(found.matched, 8.0) / 8,
        "denied, narrowed": float(bool(heads) and mass(weak) < PLAIN <= denied_extra),
        "denied, a word apart": float(
            bool(heads) and PLAIN <= mass(strong) <= 1.5 and PLAIN <= mass(weak) <= 1.5
        ),
        "denied subject": float(any(p.left == 0 and p.right == 0 for p in found.denials)),
        "subjects differ": float(bool(a.left and a.right) and not _starts(a)),
        "settled": float(bool(heads) and free + denied_extra < PLAIN),
    }
    if denied_left != denied_right:
        features |= reference_features(*texts, denied_only=denied_extra, free=free, other_only=mass(weak))
    else:
        features |= dict.fromkeys(REFERENCE, 0.0)
    statement = float(not all(map(scene, found.texts)))
    return {
        **features,
        "statement": statement,
        **{f"statement, {name}": statement * features[name] for name in TOLD},
    }


def lone_denial(found: Overlay) -> bool:
    """Whether one text denies something that the other does not speak of."""
    a = found.alignment
    return any(a.left[i].head for i in a.only_left) or any(a.right[i].head for i in a.only_right)


def duplicate_features(found: Overlay) -> dict[str, float]:
    """Return what speaks for and against a repetition."""
    a = found.alignment
    left_only, right_only = [a.left[i] for i in a.only_left], [a.right[i] for i in a.only_right]
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
        "in sequence": _bigrams(a),
        "turned": inverted(a),
        "opposed": float(bool(found.denials or found.antonyms)),
        "numbers differ": float(_both(left_only, right_only, "number")),
        "number only": float(any(w.kind == "number" for w in (*left_only, *right_only))),
        "names differ": float(_both(left_only, right_only, "name")),
        "name only": float(any(w.kind == "name" for w in (*left_only, *right_only))),
        "own verbatim": float(first == 0.0),
        "ends differ": float(not _ends(a)),
        "starts differ": float(not _starts(a)),
        "by family": float(sum(p.link is Link.FAMILY for p in a.pairs)) / max(len(a.pairs), 1),
    }


def _attributes(a: Alignment, pair: Aligned) -> bool:
    """Whether two opposites describe the same thing, no verbs: "a big dog", "a small dog" may be two dogs."""
    words = (a.left[pair.left], a.right[pair.right])
    followed = any((p.left, p.right) == (pair.left + 1, pair.right + 1) for p in a.pairs)
    return followed and not any(word.text.endswith(("ing", "ed")) for word in words)


def depth(a: Alignment, pair: Aligned) -> int:
    """Return how many words after the head of its denial a denied word is."""
    mine, theirs = a.left[pair.left], a.right[pair.right]
    return mine.depth if mine.denied else theirs.depth


def _both(left: list[Word], right: list[Word], kind: str) -> bool:
    return any(w.kind == kind for w in left) and any(w.kind == kind for w in right)


def _ends(a: Alignment) -> bool:
    last = (len(a.left) - 1, len(a.right) - 1)
    return any((p.left, p.right) == last for p in a.pairs)


def _starts(a: Alignment) -> bool:
    return any((p.left, p.right) == (0, 0) for p in a.pairs)


def _bigrams(a: Alignment) -> float:
    """Return the share of neighbouring words whose partners are neighbours, too."""
    to = {p.left: p.right for p in a.pairs}
    kept = sum(1 for at, place in to.items() if to.get(at + 1) == place + 1)
    return kept / max(min(len(a.left), len(a.right)) - 1, 1)


def inverted(a: Alignment) -> float:
    """Return the share of pairs of aligned words that are in another order on the other side."""
    order = [p.right for p in sorted(a.pairs, key=lambda p: p.left) if weight(a.left[p.left]) >= PLAIN]
    size = len(order)
    if size < 2:
        return 0.0
    turned = sum(order[i] > order[j] for i in range(size) for j in range(i + 1, size))
    return turned / (size * (size - 1) / 2)


PLAIN: Final = 0.5

NEAR: Final = 2
"""Words after the head of a denial that are surely in its scope."""

SHORT: Final = 11.0
"""Mass up to which a single exchanged word makes a difference; longer sentences are paraphrased freely."""


def obstacle(found: Overlay, left: Scoped, right: Scoped, *, instruct: bool = False) -> str:
    """Return what rules out that two texts repeat each other, in words; '' if nothing does."""
    a = found.alignment
    left_only, right_only = [a.left[i] for i in a.only_left], [a.right[i] for i in a.only_right]
    size = max(found.left_mass, found.right_mass)
    short = size <= SHORT
    if found.denials or any(short or a.left[p.left].kind != "place" for p in found.antonyms):
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
    if short and _exchanged(left_only, right_only):
        instead = [" ".join(w.text for w in side) for side in (left_only, right_only)]
        return " where the other says ".join(instead)
    if turned_around(found, left, right, instruct=instruct):
        return "what one does to the other is turned around"
    return ""


TERSE: Final = 8.0
"""Mass up to which a name or number that only one side has makes a difference."""

LEAST: Final = 1.5
"""Mass that two texts must share before what they do not share is weighed at all."""

SLOT: Final = 3
"""Words that can take the same place in a sentence."""


def _exchanged(left: list[Word], right: list[Word]) -> bool:
    """Whether both say something of their own in one place, the rest being the same."""
    mine, theirs = (sum(w.kind in ("word", "place") for w in side) for side in (left, right))
    if not mine or not theirs or max(mine, theirs) > SLOT:
        return False
    places = all(word.kind == "place" for word in (*left, *right))
    return places or max(mass(left), mass(right)) >= PLAIN


def elsewhere(found: Overlay) -> bool:
    """Whether the texts oppose each other or place what they speak of differently ("on", "under")."""
    a = found.alignment
    mine = any(a.left[at].kind == "place" for at in a.only_left)
    return bool(found.antonyms or found.denials) or (
        mine and any(a.right[i].kind == "place" for i in a.only_right)
    )


def turned_around(found: Overlay, left: Scoped, right: Scoped, *, instruct: bool = False) -> bool:
    """Whether two words change sides around one between them: "dog bites man", "man bites dog".

    Only in short texts, and not where one is passive. An instruction may put its condition first: there the
    function words must be the same, too.
    """
    a = found.alignment
    if max(found.left_mass, found.right_mass) > SHORT:
        return False
    if left.small != right.small and (instruct or ("by" in left.small) != ("by" in right.small)):
        return False
    order = [p.right for p in sorted(a.pairs, key=lambda p: p.left) if weight(a.left[p.left]) >= PLAIN]
    return any(
        order[last] < middle < order[first]
        for at, middle in enumerate(order)
        for first in range(at)
        for last in range(at + 1, len(order))
    )
