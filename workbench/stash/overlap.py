"""Whether a text says nothing that another one does not: the lines of a file, the words of a sentence.

What a pack shows anyway is not shown a second time. Lines are compared without their indentation and without
the numbers that agents print before them; words in runs of four (Broder 1997), whatever their case.
"""

from __future__ import annotations

import re
from typing import Final

SAME: Final = 0.8
"""The share of a text's runs of words that another holds from which on it adds nothing to that one."""

_WORDS: Final = 4
_LONGEST: Final = 4_000  # characters of a text that are compared
_WORD: Final = re.compile(r"\w+")
_NUMBER: Final = re.compile(r"^\s*\d{1,7}(?:→|\t|: |\| )")
_LEAST_NUMBERED: Final = 0.8
"""The share of lines that begin with a number from which on the numbers are no part of the text."""


def word_runs(text: str) -> frozenset[str]:
    """Return all runs of four words of a text's beginning, all its words as one where there are fewer."""
    words = _WORD.findall(text[:_LONGEST].casefold())
    if not words:
        return frozenset()
    return frozenset(" ".join(words[at : at + _WORDS]) for at in range(max(1, len(words) - _WORDS + 1)))


def held_share(runs: frozenset[str], others: frozenset[str]) -> float:
    """Return the share in [0, 1] of some runs that others hold; 0 for none."""
    return len(runs & others) / len(runs) if runs else 0.0


def plain_lines(text: str) -> list[str]:
    """Return the lines of a text that are not empty, without indentation and printed line numbers."""
    lines = [line for line in text.splitlines() if line.strip()]
    numbered = sum(_NUMBER.match(line) is not None for line in lines)
    if lines and numbered >= _LEAST_NUMBERED * len(lines):
        lines = [_NUMBER.sub("", line) for line in lines]
    return [line.strip() for line in lines if line.strip()]


def shared_lines(text: str, other: str) -> float:
    """Return the share in [0, 1] of the lines of the shorter of two texts that the other has, too."""
    mine, theirs = set(plain_lines(text)), set(plain_lines(other))
    return len(mine & theirs) / min(len(mine), len(theirs)) if mine and theirs else 0.0


def is_part_of(text: str, whole: str) -> bool:
    """Whether every line of a text is a line of another; False for a text without lines."""
    lines = plain_lines(text)
    return bool(lines) and set(lines) <= {line.strip() for line in whole.splitlines()}
