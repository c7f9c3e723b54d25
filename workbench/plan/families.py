"""Files that are like a likelier one: translations, copies in other folders, siblings made after one pattern.

A pack shows one of them and names the others with it. What counts is the name and the share of terms that two
contents have in common, which the cuts of both have already.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.plan.cuts import FileCut

COPIES: Final = 0.6  # of the terms of two files of one name that both have
SIBLINGS: Final = 0.8  # of those of two files of one folder and ending
LEAST_TERMS: Final = 8  # of a smaller file nothing can be told
_LOCALE: Final = re.compile(
    r"(?:(?<=/)|(?<=^)|(?<=[._-]))(?:ar|bn|cs|da|de|el|en|es|fa|fi|fr|he|hi|hu|id|it|ja|ko|nl|no|pl|pt|ro|ru|sv|th|tr|uk|vi|zh)"
    r"(?:[-_](?:[A-Za-z]{2}|hans|hant|Hans|Hant))?(?=/|\.)"
)


def find_head(path: str, cut: FileCut, likelier: Sequence[tuple[str, FileCut]]) -> str:
    """Return the likelier file that a file is like, empty where there is none.

    A translation is like another one whatever it holds.
    """
    key = _LOCALE.sub("*", path)
    if key != path:
        for other, _ in likelier:
            if _LOCALE.sub("*", other) == key:
                return other
    folder, _, name = path.rpartition("/")
    ending = name.rpartition(".")[2]
    for other, its_cut in likelier:
        its_folder, _, its_name = other.rpartition("/")
        least = COPIES if name == its_name else SIBLINGS if folder == its_folder else 1.0
        if least < 1.0 and its_name.endswith(ending) and common_share(cut.terms, its_cut.terms) >= least:
            return other
    return ""


def common_share(terms: NDArray[np.uint32], others: NDArray[np.uint32]) -> float:
    """Return the share of the terms of two files that both have (Jaccard, 1912), 0 for small files.

    terms, others: uint32 [t], ascending and distinct.
    """
    if min(len(terms), len(others)) < LEAST_TERMS:
        return 0.0
    common = len(np.intersect1d(terms, others, assume_unique=True))
    return common / (len(terms) + len(others) - common)
