"""Which rule of a changed file is which rule of before: the same, changed, new or gone.

Equal texts are the same rule wherever they moved to, equal to what the file said before or to what the store
says now. What is left over is paired where it is between the same neighbours and says similar things: that is
a rule somebody reworded, not one removed and one added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Final

from workbench.text.terms import count_terms

SIMILAR: Final = 0.5
"""Share of words in common (Dice) from which two texts are versions of one rule."""

SIMILAR_IN_PLACE: Final = 0.25
"""The same for the only rule that left a place and the only one that came to it."""

MOST_COMPARED: Final = 400

Pair = tuple[int | None, int | None]


def text_digest(text: str) -> str:
    """Return what identifies a rule's text; white space and case don't count."""
    normal = " ".join(text.split()).casefold()
    return blake2b(normal.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def align(
    before: Sequence[str],
    after: Sequence[str],
    digests: Sequence[str] | None = None,
    current: Sequence[str] = (),
) -> list[Pair]:
    """Pair the texts of a file before and after a change; None stands for a text that is not there.

    `digests` are those of `before` where its texts are not what the file said. `current` are digests of what
    the store says in place of each: words that were written into the file are those of their rule, however
    unlike the old ones. Pairs come in the order of `after`, those that are gone at the end in their own
    order. Each text is in exactly one pair.
    """
    old = list(digests) if digests is not None else [text_digest(text) for text in before]
    new = [text_digest(text) for text in after]
    kept = {at for at, said in enumerate(current) if at < len(old) and said == old[at]}
    matched = _pair_equal(dict(enumerate(old)), dict(enumerate(new)), kept)
    left = set(range(len(old))) - set(matched.values())
    written = {at: current[at] for at in sorted(left) if at < len(current) and current[at]}
    matched.update(_pair_equal(written, {at: said for at, said in enumerate(new) if at not in matched}))
    matched.update(_pair_reworded(before, after, matched))
    gone = sorted(set(range(len(before))) - set(matched.values()))
    return [*((matched.get(at), at) for at in range(len(after))), *((at, None) for at in gone)]


def _pair_equal(
    before: Mapping[int, str], after: Mapping[int, str], kept: Collection[int] = ()
) -> dict[int, int]:
    """Return {after: before} of equal texts by their places, the first with the first.

    Where fewer are left, it is those of `before` that are to be `kept`.
    """
    places, lines = defaultdict(list), defaultdict(list)
    for at in sorted(before):
        places[before[at]].append(at)
    for at in sorted(after):
        lines[after[at]].append(at)
    found: dict[int, int] = {}
    for text, mine in lines.items():
        chosen = sorted(places[text], key=lambda at: at not in kept)[: len(mine)]
        found.update(zip(mine, sorted(chosen), strict=False))
    return found


def _pair_reworded(before: Sequence[str], after: Sequence[str], matched: dict[int, int]) -> dict[int, int]:
    """Return {after: before} of texts that were changed."""
    taken = set(matched.values())
    old_gaps, new_gaps = defaultdict(list), defaultdict(list)
    last = -1
    for at in range(len(before)):
        if at in taken:
            last = at
        else:
            old_gaps[last].append(at)
    last = -1
    for at in range(len(after)):
        if at in matched:
            last = matched[at]
        else:
            new_gaps[last].append(at)
    found: dict[int, int] = {}
    for gap, news in new_gaps.items():
        olds = old_gaps.get(gap, [])
        least = SIMILAR_IN_PLACE if len(olds) == len(news) == 1 else SIMILAR
        found.update(_pair_closest(before, after, olds, news, least))
    taken |= set(found.values())
    left_old = [at for at in range(len(before)) if at not in taken]
    left_new = [at for at in range(len(after)) if at not in matched and at not in found]
    found.update(_pair_closest(before, after, left_old, left_new, SIMILAR))
    return found


def _pair_closest(
    before: Sequence[str], after: Sequence[str], olds: Sequence[int], news: Sequence[int], least: float
) -> dict[int, int]:
    """Pair the most similar first; of very many only the first are compared."""
    olds, news = olds[:MOST_COMPARED], news[:MOST_COMPARED]
    words = {at: set(count_terms(before[at])) for at in olds}
    scored = []
    for new in news:
        mine = set(count_terms(after[new]))
        for old in olds:
            total = len(mine) + len(words[old])
            likeness = 2 * len(mine & words[old]) / total if total else 0.0
            if likeness >= least:
                scored.append((-likeness, abs(new - old), new, old))
    found: dict[int, int] = {}
    used: set[int] = set()
    for _, _, new, old in sorted(scored):
        if new not in found and old not in used:
            found[new] = old
            used.add(old)
    return found
