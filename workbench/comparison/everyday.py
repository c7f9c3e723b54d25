"""Everyday English for comparing sentences: words that mean the same or exclude each other.

The words are in `data/`, by hand: those that developers use in rules and commit messages. `opposites` holds
the stricter ones of instructions to programmers; here two words oppose each other if one sentence cannot hold
while the other does, all else being equal.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from workbench.comparison.opposites import antonym_pairs, canonical, word_groups


@lru_cache(maxsize=1)
def _meanings() -> dict[str, str]:
    """Return {canonical stem: the canonical stem that stands for its group}; the first group wins."""
    found: dict[str, str] = {}
    for line in word_groups("everyday_synonyms"):
        head = found.get(canonical(line[0]), canonical(line[0]))
        for word in line:
            found.setdefault(canonical(word), head)
    return found


_ISE: Final = re.compile(r"(?<=\w{4})is(?=(?:e|ed|es|ing|ations?)$)")  # British spelling


@lru_cache(maxsize=200_000)
def meaning(word: str) -> str:
    """Return the stem that stands for a lower-case word and the words that mean the same in everyday use."""
    root = canonical(_irregular().get(word) or _ISE.sub("iz", word))
    return _meanings().get(root, root)


@lru_cache(maxsize=1)
def _opposed() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    lines = [[meaning(word) for word in line] for line in word_groups("everyday_opposites")]
    known = [[_meanings().get(word, word) for word in pair] for pair in sorted(antonym_pairs())]
    for first, second in [*lines, *known]:
        if first != second:
            found.setdefault(first, set()).add(second)
            found.setdefault(second, set()).add(first)
    return {word: frozenset(others) for word, others in found.items()}


@lru_cache(maxsize=1)
def steps() -> frozenset[str]:
    """Return the meanings of actions that undo each other: as orders both are steps, no contradiction."""
    return frozenset(meaning(word) for line in word_groups("steps") for word in line)


_NONE: Final = frozenset[str]()


def opposites_of(term: str) -> frozenset[str]:
    """Return the meanings that exclude a meaning."""
    return _opposed().get(term, _NONE)


@lru_cache(maxsize=1)
def _irregular() -> dict[str, str]:
    return {form: line[0] for line in word_groups("forms") for form in line[1:]}
