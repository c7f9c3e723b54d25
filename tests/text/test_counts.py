"""Counts as people read them."""

from __future__ import annotations

import pytest

from workbench.text.counts import counted, shorten_middle


@pytest.mark.parametrize(
    ("count", "nouns", "text"),
    [
        (0, ("file",), "0 files"),
        (1, ("file",), "1 file"),
        (2_000, ("file",), "2,000 files"),
        (1, ("entry", "entries"), "1 entry"),
        (3, ("entry", "entries"), "3 entries"),
    ],
)
def test_a_count_has_its_noun(count: int, nouns: tuple[str, ...], text: str) -> None:
    """One is singular, thousands are separated, a plural without s is given."""
    assert counted(count, *nouns) == text


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    """Texts that differ at the end still differ, and none is too wide."""
    assert shorten_middle("words of the task in its path", 40) == "words of the task in its path"
    assert shorten_middle("words of the task in its path", 15) == "words… its path"
    assert all(len(shorten_middle("abcdefghij", width)) <= width for width in range(2, 12))
