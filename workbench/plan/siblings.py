"""What the name of a folder or file says among those of its siblings, for families made after one pattern.

Of `queries/html`, `queries/rust` and two hundred more, a task that says "html" means one. Its history is that
of the family, and of the whole path only one component tells it from the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from workbench.plan.view import Places, RankingView

Float32 = NDArray[np.float32]

_LEAST: int = 2  # letters of a word
_SCALE: float = 8.0  # bits that count as 1


def sibling_signals(view: RankingView, words: Mapping[str, float]) -> dict[str, Float32]:
    """Return what names of folders and files say, float32 [n]: of 256 siblings one says 1.

    `family_named` sums what the words name in a path; `family_other` is the most that they name beside one of
    its folders, `family_sibling` beside the file. words: weights by word.
    """
    count, places, alive = view.index.count, view.places, view.index.alive
    named, other, sibling = (np.zeros(count, dtype=np.float32) for _ in range(3))
    words = {word: weight for word, weight in words.items() if len(word) >= _LEAST}
    for positions, bits, is_named in _folders(places, words):
        if is_named:
            named[positions] += np.float32(bits)
        else:
            other[positions] = np.maximum(other[positions], np.float32(bits))
    sizes = np.bincount(places.folder_of[alive], minlength=int(places.folder_of.max(initial=-1)) + 1)
    for word, weight in words.items():
        files = np.asarray(places.stems.get(word, ()), dtype=np.int64)
        if not len(files):
            continue
        folders, members = np.unique(places.folder_of[files], return_counts=True)
        bits_of = np.zeros(len(sizes), dtype=np.float32)
        bits_of[folders] = weight * np.log2(sizes[folders] / members)
        gain = bits_of[places.folder_of]
        named[files] += gain[files]
        gain[files] = 0.0
        sibling = np.maximum(sibling, gain)
    signals = {"family_named": named, "family_other": other, "family_sibling": sibling}
    return {name: signal / np.float32(_SCALE) for name, signal in signals.items()}


def _folders(places: Places, words: Mapping[str, float]) -> Iterator[tuple[list[int], float, bool]]:
    """Yield (positions, bits, named) of the files below folders, where words name some of a family.

    The files below one that is named come with what its name says, all others with the most that one says.
    """
    families: dict[str, dict[str, float]] = {}
    for word, weight in words.items():
        for parent, names in places.folders.by_parent(word).items():
            family = families.setdefault(parent, {})
            for name in names:
                family[name] = max(family.get(name, 0.0), weight / len(names))
    for parent, family in families.items():
        beside: list[int] = []
        inside: dict[str, list[int]] = {}
        members: set[str] = set()
        for name, positions in places.folders.below(parent):
            members.add(name)
            (inside.setdefault(name, []) if name in family else beside).extend(positions)
        if beside:
            size = math.log2(len(members))
            yield beside, size * max(family.values()), False
            for name, positions in inside.items():
                yield positions, size * family[name], True
