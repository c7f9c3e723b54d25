"""Past changes in today's line numbers."""

from __future__ import annotations

import difflib

from hypothesis import given
from hypothesis import strategies as st

from workbench.plan.cuts import FileCut, cut_file
from workbench.plan.touches import LineTouch, chunk_touches, find_touches, move_spans, new_lines, task_numbers
from workbench.records.worktree import Hunk
from workbench.sessions.edits import FileEdit
from workbench.text.tokens import token_counter

TEXTS = st.lists(st.sampled_from("abcdef"), max_size=12)


def hunks_between(old: list[str], new: list[str]) -> tuple[Hunk, ...]:
    """Return the difference as git numbers it: a start with a count of 0 names the line before."""
    found = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            found.append(Hunk(a + 1 if b > a else a, b - a, c + 1 if d > c else c, d - c))
    return tuple(found)


@given(TEXTS, TEXTS)
def test_unchanged_lines_are_followed_exactly(old: list[str], new: list[str]) -> None:
    """A line that an edit kept is found where it is afterwards, with the same text."""
    hunks = hunks_between(old, new)
    removed = {line for hunk in hunks for line in range(hunk.old_start, hunk.old_start + hunk.old_lines)}
    for number, text in enumerate(old, start=1):
        if number not in removed:
            ((start, end),) = move_spans([(number, number)], hunks)
            assert start == end
            assert new[start - 1] == text


@given(TEXTS, TEXTS)
def test_a_hunk_leaves_its_new_lines(old: list[str], new: list[str]) -> None:
    """What an edit touched lies inside the file it made, or beside the gap it left."""
    for hunk in hunks_between(old, new):
        start, end = new_lines(hunk)
        assert 1 <= start <= end <= max(len(new) + 1, 2)


def test_rewritten_lines_give_way_to_what_replaced_them() -> None:
    """A range inside a replaced block becomes the block; a removed range is gone."""
    assert move_spans([(5, 6)], [Hunk(4, 4, 4, 2)]) == [(4, 5)]
    assert move_spans([(5, 6)], [Hunk(4, 4, 3, 0)]) == []
    assert move_spans([(3, 9)], [Hunk(5, 2, 4, 0)]) == [(3, 7)]
    assert move_spans([(5, 6)], [Hunk(0, 0, 1, 10)]) == [(15, 16)]


def test_touches_are_in_todays_numbers_newest_first() -> None:
    """Ages, task numbers and likeness come with ranges that later edits moved."""
    edits = (FileEdit(20, (Hunk(0, 0, 1, 3),)), FileEdit(15, ()), FileEdit(7, (Hunk(10, 1, 10, 2),)))
    tasks = task_numbers([30, 25, 20, 12, 11, 10, 9, 7])
    first, second, third = find_touches(edits, tasks, [0.0, 0.0, 0.5])
    assert (first.spans, first.age, first.task, first.likeness) == (((1, 3),), 0, 2, 0.5)
    assert (second.task, second.likeness) == (2, 0.0)  # no task that is known: as new as the one before
    assert (third.spans, third.age, third.task, third.likeness) == (((13, 14),), 2, 7, 0.0)


def test_the_edit_that_created_a_file_is_no_touch() -> None:
    """All lines of a new file were written together, which says nothing about any of them."""
    edits = (FileEdit(3, (Hunk(1, 1, 1, 1),)), FileEdit(2, (), whole=True), FileEdit(1, ()))
    assert [touch.task for touch in find_touches(edits, {3: 0, 2: 1, 1: 2})] == [0]
    assert find_touches((), {}) == ()


def read() -> FileCut:
    blocks = (
        f"def helper_{number}(value):\n    first = value\n    return first\n\n\n" for number in range(12)
    )
    return cut_file("python", "".join(blocks), [], token_counter())


def test_lines_a_similar_task_changed_count() -> None:
    """The chunk that a similar task changed, and no other, has the features of it."""
    found = read()
    chunk = found.chunk(1)
    touch = LineTouch(((chunk.start, chunk.end),), age=0, task=4, likeness=0.9)
    assert chunk_touches(found, [touch, touch]) == {
        1: {"touched": 2.0, "touched_lately": 1 / 1.4, "touched_alike": 0.9, "touched_often": 1.8}
    }


def test_touches_outside_the_file_are_harmless() -> None:
    """Ranges beyond the end (a working copy shorter than the last commit) touch nothing."""
    assert chunk_touches(read(), [LineTouch(((10_000, 10_010),), age=0, task=0)]) == {}
