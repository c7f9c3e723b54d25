"""Differences word by word: nothing is lost in them, and they say no more than differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.text.word_diff import Piece, Span, line_pieces, word_pieces, word_spans

TEXTS = st.text(st.sampled_from("ab \n.,ü\u202e\udcff"), max_size=30)


@pytest.mark.parametrize("pieces_of", [word_pieces, line_pieces])
@given(before=TEXTS, after=TEXTS)
def test_pieces_are_both_texts(
    pieces_of: Callable[[str, str], tuple[Piece, ...]], before: str, after: str
) -> None:
    """Without what is new they are the old text, without what is old the new one; none is empty."""
    pieces = pieces_of(before, after)
    assert "".join(text for kind, text in pieces if kind != "new") == before
    assert "".join(text for kind, text in pieces if kind != "old") == after
    assert all(text for _, text in pieces)
    assert all(one[0] != "same" or other[0] != "same" for one, other in pairwise(pieces))


@given(left=TEXTS, right=TEXTS)
def test_spans_cover_what_differs(left: str, right: str) -> None:
    """Without the spans both texts are the same; spans are in order and not empty; equal texts have none."""
    spans, others = word_spans(left, right)
    assert _without(left, spans) == _without(right, others)
    assert (left == right) == (not spans and not others)
    for text, found in ((left, spans), (right, others)):
        edges = [edge for span in found for edge in span]
        assert edges == sorted(edges)
        assert all(0 <= start < end <= len(text) for start, end in found)


def test_spans_are_words() -> None:
    """A word that differs is marked, the words around it are not."""
    left, right = "Always use tabs here.", "Never use tabs here."
    assert word_spans(left, right) == (((0, 6),), ((0, 5),))


def test_only_the_middle_of_huge_texts_is_told_as_replaced() -> None:
    """Too many words to compare them all: what both begin and end with is still the same."""
    old, new = "a " * 5000, "a b " * 5000
    pieces = word_pieces(f"x {old}y", f"x {new}y")
    assert pieces[0] == ("same", "x a ")
    assert pieces[-1] == ("same", " y")
    assert [kind for kind, _ in pieces[1:-1]] == ["old", "new"]


def test_long_texts_are_compared_by_lines() -> None:
    """Many words on many lines: lines that both have stay the same."""
    lines = [f"the {number} line of the text\n" for number in range(1000)]
    changed = ["first\n", "another\n", *lines[2:500], *lines[501:999], "last\n"]
    assert word_pieces("".join(lines), "".join(changed)) == (
        ("old", "".join(lines[:2])),
        ("new", "first\nanother\n"),
        ("same", "".join(lines[2:500])),
        ("old", lines[500]),
        ("same", "".join(lines[501:999])),
        ("old", lines[999].removesuffix("\n")),
        ("new", "last"),
        ("same", "\n"),
    )


def test_huge_texts_are_told_as_replaced() -> None:
    """Against nothing there is nothing to compare."""
    assert word_pieces("a " * 5000, "") == (("old", "a " * 5000),)


def _without(text: str, spans: Sequence[Span]) -> str:
    kept, at = [], 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])
