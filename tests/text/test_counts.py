"""Counts as people read them."""

from __future__ import annotations

import pytest

from workbench.text.counts import counted


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
