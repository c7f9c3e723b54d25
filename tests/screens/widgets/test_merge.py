"""Merging: every choice gives the text it says, free edits survive, and only valid results leave."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import TextArea

from screens.widgets.merge import MergeEditor, Side, merge_parts, parts_of
from tests.screens.widgets.staging import HOSTILE, Answers, seen

TEXTS = st.text(st.sampled_from("ab \n."), max_size=30)
LEFT = "Use tabs. Run the tests."
RIGHT = "Use spaces. Run all the tests."


@given(left=TEXTS, right=TEXTS)
def test_one_side_of_everything_is_that_text(left: str, right: str) -> None:
    """All left is the left text and all right the right one; the same texts have nothing to choose."""
    parts = parts_of(left, right)
    count = sum(part.differs for part in parts)
    assert merge_parts(parts, ["left"] * count) == left
    assert merge_parts(parts, ["right"] * count) == right
    assert (count == 0) == (left == right)


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        (["right", "left"], "Use spaces. Run the tests."),
        (["both", "right"], "Use tabs spaces. Run all the tests."),
    ],
)
def test_each_difference_is_chosen_for_itself(choices: list[Side], text: str) -> None:
    """Sides can be mixed, and both can be taken with a space between."""
    assert merge_parts(parts_of(LEFT, RIGHT), choices) == text


def test_several_lines_are_merged_by_lines() -> None:
    """A list is chosen from line by line, not word by word."""
    parts = parts_of("- a b\n- c\n", "- a x\n- c\n")
    assert [(part.left, part.right) for part in parts] == [("- a b\n", "- a x\n"), ("- c\n", "- c\n")]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize(
    ("keys", "result"),
    [
        (["f2"], LEFT),
        (["l", "f2"], "Use spaces. Run the tests."),
        (["n", "right", "f2"], "Use tabs. Run all the tests."),
        (["R", "f2"], RIGHT),
        (["R", "N", "h", "f2"], "Use tabs. Run all the tests."),
        (["b", "f2"], "Use tabs spaces. Run the tests."),
        (["R", "L", "f2"], LEFT),
        (["e", "f4", "f8", "f4", "f2"], RIGHT),
        (["e", "X", "escape", "f2"], "X" + LEFT),
        (["R", "escape"], None),
    ],
)
async def test_keys_take_sides(size: tuple[int, int], keys: list[str], result: str | None) -> None:
    """Every key does what the line below says, while the result is written in too."""
    app = Answers(MergeEditor(LEFT, RIGHT))
    async with app.run_test(size=size) as pilot:
        await pilot.press(*keys)
        assert app.answers == [result]


async def test_what_a_key_replaced_comes_back() -> None:
    """Taking a side over a free edit is an edit that can be undone."""
    app = Answers(MergeEditor(LEFT, RIGHT))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e", "X", "f4")
        area = app.screen.query_one(TextArea)
        assert area.text == "Use spaces. Run the tests."
        await pilot.press("ctrl+z")
        assert area.text == f"X{LEFT}"


async def test_what_was_written_is_not_dropped_unasked() -> None:
    """Escape asks where somebody wrote into the result; no leads back to it."""
    app = Answers(MergeEditor(LEFT, RIGHT))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e", "X", "escape", "escape", "n")
        editor = app.screen
        assert isinstance(editor, MergeEditor)
        assert editor.result == "X" + LEFT
        await pilot.press("escape", "y")
        assert app.answers == [None]


async def test_an_invalid_result_stays() -> None:
    """What is wrong is told literally and the screen stays until it is right."""
    app = Answers(MergeEditor(LEFT, RIGHT, validate=lambda text: "no [/] tabs" if "tabs" in text else ""))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f2")
        await pilot.pause()
        assert "! no [/] tabs" in seen(app)
        assert app.answers == []
        await pilot.press("R", "f2")
        assert app.answers == [RIGHT]


@pytest.mark.parametrize(("size", "beside"), [((99, 24), False), ((100, 24), True)])
async def test_panes_stand_where_there_is_room(size: tuple[int, int], beside: bool) -> None:
    """Titles of all three panes are seen, in one line only where there is room for it."""
    app = Answers(MergeEditor(LEFT, RIGHT, left_title="mine", right_title="theirs"))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        lines = seen(app).splitlines()
        assert all(any(word in line for line in lines) for word in ("mine", "Merge: result", "theirs"))
        assert beside == any("mine" in line and "theirs" in line for line in lines)
        assert any("difference 1 of 2: left" in line for line in lines)


async def test_it_leaves_at_any_size() -> None:
    """On a terminal that is far too small escape still leaves, from the result as well."""
    app = Answers(MergeEditor(LEFT, RIGHT))
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.press("e", "escape", "escape")
        assert app.answers == [None]


@pytest.mark.parametrize("text", HOSTILE)
async def test_texts_are_literal(text: str) -> None:
    """Nothing in a text, a title or a result is obeyed."""
    app = Answers(
        MergeEditor(text, f"{text} more", title=text, left_title=text, validate=lambda _: text[:99])
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("R", "f2")
        await pilot.pause()
        assert seen(app)
        await pilot.press("escape")
        assert app.answers == [None]
