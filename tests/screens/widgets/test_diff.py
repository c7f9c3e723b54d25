"""Differences on screen: the words and lines that differ are marked, and only those."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screens.widgets.diff import LEFT_STYLE, RIGHT_STYLE, WordDiff, mark_words, unify_lines
from tests.screens.widgets.staging import HOSTILE, Stage, seen

LINES = st.lists(st.sampled_from(["a", "b", "", "c d", "\t"]), max_size=12).map("\n".join)


def test_differing_words_are_marked_without_colour_too() -> None:
    """Words the other side lacks are bold and underlined."""
    left, right = mark_words("Always use tabs.", "Never use tabs.")
    assert [(span.start, span.end, span.style) for span in left.spans] == [(0, 6, LEFT_STYLE)]
    assert [(span.start, span.end, span.style) for span in right.spans] == [(0, 5, RIGHT_STYLE)]
    assert "bold underline" in LEFT_STYLE
    assert "bold underline" in RIGHT_STYLE


def test_very_many_marks_end_in_one() -> None:
    """Beyond a bound the rest is marked as a whole, from its first word to its last."""
    left = "\n".join(f"{n} old" if n % 2 else f"{n}" for n in range(490))
    content, _ = mark_words(left, left.replace("old", "new"))
    assert len(content.spans) == 200
    assert content.spans[-1].end == len(left)


@given(before=LINES, after=LINES)
def test_a_diff_has_both_texts(before: str, after: str) -> None:
    """With all context the lines are both texts with their numbers; equal texts have no lines."""
    lines = unify_lines(before, after, context=100)
    old = [(line.old, line.text) for line in lines if line.kind in ("same", "old")]
    new = [(line.new, line.text) for line in lines if line.kind in ("same", "new")]
    if before == after:
        assert lines == ()
    elif lines:
        assert list(enumerate(_lines(before), 1)) == old
        assert list(enumerate(_lines(after), 1)) == new


def test_only_what_is_near_a_change_is_shown() -> None:
    """Lines far from any change become gaps that tell how many they are."""
    before = "\n".join(f"line {number}" for number in range(1, 41))
    lines = unify_lines(before, before.replace("line 20", "another"), context=1)
    assert [(line.kind, line.text, line.old, line.new) for line in lines] == [
        ("gap", "18 unchanged", 0, 0),
        ("same", "line 19", 19, 19),
        ("old", "line 20", 20, 0),
        ("new", "another", 0, 20),
        ("same", "line 21", 21, 21),
        ("gap", "19 unchanged", 0, 0),
    ]


async def test_sides_stand_below_each_other_where_it_is_narrow() -> None:
    """Two columns need room; titles and texts are there either way, and another pair can be shown."""
    app = Stage(lambda: WordDiff("Use tabs.", "Use spaces.", left_title="old", right_title="new"))
    async with app.run_test(size=(80, 24)) as pilot:
        assert any("tabs" in line and "spaces" in line for line in seen(app).splitlines())
        await pilot.resize_terminal(50, 24)
        await pilot.pause()
        assert not any("tabs" in line and "spaces" in line for line in seen(app).splitlines())
        app.screen.query_one(WordDiff).show("one", "two", left_title="l", right_title="r")
        await pilot.pause()
        assert "one" in seen(app)
        assert "tabs" not in seen(app)


@pytest.mark.parametrize("text", HOSTILE)
async def test_texts_are_literal(text: str) -> None:
    """Nothing in a text is obeyed on either side."""
    app = Stage(lambda: WordDiff(text, f"{text} more", left_title=text))
    async with app.run_test(size=(80, 24)):
        assert seen(app)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
