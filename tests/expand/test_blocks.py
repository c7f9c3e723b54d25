"""Blocks never exceed the budget, are cut from the end, and leave out what was given."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.expand.blocks import HandleText, Make, SessionLines, block_text, fill, spans_of
from workbench.records.expansion import Found
from workbench.records.usage import ShownLines
from workbench.text.tokens import token_counter

COUNT = token_counter().count


def block(name: str, lines: list[str]) -> Make:
    """Return what makes a block of a file's lines that were not given."""

    def make(held: SessionLines) -> HandleText:
        numbers = [one for one in range(1, len(lines) + 1) if one not in held.of_file(name, "d")]
        shown = tuple(lines[number - 1] for number in numbers)
        return HandleText(
            Found.SHOWN, name, shown, tuple(numbers), name, "d", more=lambda n: f"{len(shown) - n} more"
        )

    return make


FILES = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.lists(st.text(max_size=40).map(lambda one: one.replace("\n", " ")), max_size=12),
    ),
    min_size=1,
    max_size=5,
)


@given(FILES, st.integers(min_value=1, max_value=200))
def test_a_text_never_exceeds_its_budget(files: list[tuple[str, list[str]]], budget: int) -> None:
    """Measured as a whole; and no line of a content is shown twice."""
    text, blocks = fill([block(name, lines) for name, lines in files], SessionLines(), budget, COUNT)
    assert COUNT(text) <= budget
    shown = [(one.path, number) for one in blocks for number in one.numbers]
    assert len(shown) == len(set(shown))


def test_small_blocks_are_whole_and_large_ones_say_what_is_missing() -> None:
    """The room that small ones leave goes to the others."""
    makes = [
        block("large", [f"line {number} of it" for number in range(200)]),
        block("small", ["one", "two"]),
    ]
    text, (large, small) = fill(makes, SessionLines(), 200, COUNT)
    assert small.found is Found.SHOWN
    assert large.found is Found.CUT
    assert 20 < len(large.lines) < 200
    assert f"⋮ {200 - len(large.lines)} more\n" in text
    assert COUNT(text) > 150


def test_what_has_no_room_is_named() -> None:
    """A block of which not a line fits is left out and said to be."""
    makes = [block("first", ["x" * 400]), block("second", ["fits"])]
    text, (first, second) = fill(makes, SessionLines(), 30, COUNT)
    assert (first.found, second.found) == (Found.LEFT_OUT, Found.SHOWN)
    assert text == "second\n  fits\nNo room for: first\n"


def test_lines_that_were_given_are_left_out_while_the_content_is_the_same() -> None:
    """Of another content all lines are new."""
    make = block("a", ["1", "2", "3", "4"])
    held = SessionLines.of({"a": (ShownLines("d", ((2, 3),)),)}, ())
    assert block_text(make(held)) == "a\n  1\n⋮ 4\n  4\n"
    assert make(SessionLines.of({"a": (ShownLines("e", ((2, 3),)),)}, ())).numbers == (1, 2, 3, 4)


def test_numbers_become_ranges() -> None:
    """Both ends included."""
    assert spans_of(()) == ()
    assert spans_of((1, 2, 3, 7, 9, 10)) == ((1, 3), (7, 7), (9, 10))
