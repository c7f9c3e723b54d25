"""Outlines and enclosing definitions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.project.outline import enclosing_symbols, outline
from workbench.project.symbols import extract_symbols
from workbench.records.project import Symbol

SOURCE = b"""\
LIMIT = 3

class Store:
    def read(self):
        return 1

    def _hidden(self):
        return 2

def main() -> None:
    pass
"""
SYMBOLS = extract_symbols("python", SOURCE)[0]


def test_outline_nests_signatures_with_line_numbers() -> None:
    """Each definition is a line, members below their class."""
    assert outline(SYMBOLS, "python") == (
        " 1  LIMIT = 3\n 3  class Store\n 4    def read(self)\n"
        " 7    def _hidden(self)\n10  def main() -> None"
    )


def test_outline_keeps_the_weightiest_when_there_are_too_many() -> None:
    """Members and constants go first, and the last line counts what is left out."""
    shown = outline(SYMBOLS, "python", max_lines=3)
    assert shown == " 3  class Store\n10  def main() -> None\n    … 3 more"


def test_outline_cuts_long_lines() -> None:
    """No line is wider than asked for."""
    symbol = Symbol("f", "function", 1, 1, "def f(" + "x" * 300 + ")")
    assert len(outline([symbol], max_width=40)) == 40


def test_outline_of_nothing_is_empty() -> None:
    """A file without definitions has no outline."""
    assert outline((), "python") == ""
    assert outline(SYMBOLS, "python", max_lines=0) == ""


def test_sections_show_their_level() -> None:
    """A Markdown heading keeps its marks."""
    symbols, _ = extract_symbols("markdown", b"# One\n\n## Two\n")
    assert outline(symbols, "markdown") == "1  # One\n3    ## Two"


def test_enclosing_symbols() -> None:
    """Definitions around a line are found with those around them, each once."""
    assert [symbol.name for symbol in enclosing_symbols(SYMBOLS, [5, 4])] == ["Store", "read"]
    assert enclosing_symbols(SYMBOLS, [2, 9, 99]) == ()
    assert enclosing_symbols(SYMBOLS, []) == ()


RANGES = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 20)), max_size=30)


@given(RANGES, st.integers(1, 12))
def test_outlines_stay_within_their_lines(ranges: list[tuple[int, int]], room: int) -> None:
    """Whatever overlaps, an outline has at most the lines asked for, in line order."""
    symbols = [
        Symbol(f"s{n}", "function", line, line + length, f"s{n}") for n, (line, length) in enumerate(ranges)
    ]
    lines = outline(symbols, max_lines=room).split("\n")
    assert len(lines) <= max(room, 1)
    numbers = [int(line.split()[0]) for line in lines if line.split() and line.split()[0].isdigit()]
    assert numbers == sorted(numbers)
