"""Counts as people read them."""

from __future__ import annotations

import pytest

from workbench.text.counts import (
    abbreviate,
    plural,
    shorten_middle,
    shown_bytes,
    shown_figure,
    split_path,
)


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
    assert plural(count, *nouns) == text


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    """Texts that differ at the end still differ, and none is too wide."""
    assert shorten_middle("words of the task in its path", 40) == "words of the task in its path"
    assert shorten_middle("words of the task in its path", 15) == "words… its path"
    assert all(len(shorten_middle("abcdefghij", width)) <= width for width in range(2, 12))


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("packages/api/server/AGENTS.md:5", "pa…r/AGENTS.md:5"),
        ("packages/web/client/AGENTS.md:5", "pa…t/AGENTS.md:5"),
        ("a/b/copilot-instructions.md:12", "a/b/c…ions.md:12"),
        ("copilot-instructions.md:12", "copil…ions.md:12"),
    ],
)
def test_paths_of_the_same_name_differ(path: str, seen: str) -> None:
    """The name and the line stay, and the ends of the folders that have room."""
    head, tail = split_path(path, 16)
    assert f"{path[:head]}…{path[len(path) - tail :]}" == seen
    assert head + tail + 1 <= 16


def test_large_numbers_are_short_and_have_their_noun() -> None:
    """One is singular however it is written."""
    assert [abbreviate(value, "token") for value in (0, 1, 812, 14_000, 1_200_000)] == [
        "0 tokens",
        "1 token",
        "812 tokens",
        "14k tokens",
        "1.2M tokens",
    ]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_960, "1.0 MB"),
        (1.26e9, "1.3 GB"),
        (4e12, "4,000.0 GB"),
    ],
)
def test_bytes_are_shown_in_the_unit_that_fits(count: float, text: str) -> None:
    """Never a thousand of a unit where there is a larger one."""
    assert shown_bytes(count) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(15130.6, "15,131"), (999.94, "999.9"), (0.33333, "0.3333"), (0, "0"), (-2e6, "-2,000,000")],
)
def test_figures_have_no_exponent(value: float, text: str) -> None:
    """Large ones are whole, small ones have four digits."""
    assert shown_figure(value) == text
