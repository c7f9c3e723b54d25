"""What two texts have in common, word by word, in bounded time.

For everybody who shows a change: `rules edit`, `rules history` and the screens mark the same words. Words
where that is quick, lines where the texts are long, and all of what lies between the common ends where even
those are too many. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final, TypeAlias

from workbench.text.terms import count_shared

Piece: TypeAlias = tuple[str, str]
"""(`same`, `old` or `new`; text): what both have, what only the old text has, what only the new one has."""

Span: TypeAlias = tuple[int, int]
"""From (inclusive) and to (exclusive), in characters."""

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_LINE = re.compile(r"[^\n]+\n?|\n")
_MOST_PAIRS: Final = 150_000
"""Pairs of equal tokens a comparison may look at: some 30 ms; 400 words against another 400."""


def word_pieces(before: str, after: str) -> tuple[Piece, ...]:
    """Return two texts as pieces, the old one before the new one at each place, none of them empty.

    The pieces that are not `new` are the old text, those that are not `old` the new one.
    """
    return _pieces(before, after, (_WORD, _LINE))


def line_pieces(before: str, after: str) -> tuple[Piece, ...]:
    """Return two texts as pieces of whole lines, in the order of `word_pieces`."""
    return _pieces(before, after, (_LINE,))


def word_spans(left: str, right: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return where each text has words that the other lacks; without those both are the same text."""
    spans: dict[str, list[Span]] = {"old": [], "new": []}
    at = {"old": 0, "new": 0}
    for kind, text in word_pieces(left, right):
        if kind == "same":
            at = {side: place + len(text) for side, place in at.items()}
        else:
            spans[kind].append((at[kind], at[kind] + len(text)))
            at[kind] += len(text)
    return tuple(spans["old"]), tuple(spans["new"])


def _pieces(before: str, after: str, patterns: Sequence[re.Pattern[str]]) -> tuple[Piece, ...]:
    """Compare the texts between their common ends by the first pattern, by the others if that is too much."""
    if not patterns:
        return (("old", before), ("new", after))
    old, new = patterns[0].findall(before), patterns[0].findall(after)
    start = count_shared(old, new)
    end = count_shared(old[start:][::-1], new[start:][::-1])
    old_middle, new_middle = old[start : len(old) - end], new[start : len(new) - end]
    if _pairs(old_middle, new_middle) <= _MOST_PAIRS:
        middle = _compare(old_middle, new_middle)
    else:
        middle = _pieces("".join(old_middle), "".join(new_middle), patterns[1:])
    return _join(old[:start], middle, old[len(old) - end :])


def _compare(old: Sequence[str], new: Sequence[str]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(("same", "".join(old[a:b])))
        else:
            pieces += [("old", "".join(old[a:b])), ("new", "".join(new[c:d]))]
    return tuple(pieces)


def _join(start: Sequence[str], middle: Sequence[Piece], end: Sequence[str]) -> tuple[Piece, ...]:
    """Return the pieces with texts, neighbours that both have as one."""
    joined: list[Piece] = []
    for kind, text in [("same", "".join(start)), *middle, ("same", "".join(end))]:
        if not text:
            continue
        if joined and kind == "same" == joined[-1][0]:
            joined[-1] = ("same", joined[-1][1] + text)
        else:
            joined.append((kind, text))
    return tuple(joined)


def _pairs(old: Sequence[str], new: Sequence[str]) -> int:
    counts = Counter(new)
    return sum(number * counts[token] for token, number in Counter(old).items())
