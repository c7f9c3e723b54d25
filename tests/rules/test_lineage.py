"""Texts of a file before and after a change are paired as a person would pair them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.rules.curation.lineage import align, text_digest

TEXTS = st.lists(
    st.sampled_from(["Use tabs.", "Run the tests.", "Never push.", "Use spaces.", "x y z"]), max_size=8
)


def test_an_unchanged_file_pairs_with_itself() -> None:
    """Equal texts are the same rule, also twice."""
    assert align(["a b", "c d", "a b"], ["a b", "c d", "a b"]) == [(0, 0), (1, 1), (2, 2)]


def test_a_reworded_text_is_the_same_rule() -> None:
    """What changed between the same neighbours is paired; what is new or gone stands alone."""
    before = ["Use tabs.", "Run all the tests first.", "Never push."]
    assert align(before, ["Use tabs.", "Run all unit tests first.", "Never push."]) == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]
    assert align(before, ["Use tabs.", "Paint the shed.", "Never push."]) == [
        (0, 0),
        (None, 1),
        (2, 2),
        (1, None),
    ]


def test_a_moved_text_is_the_same_rule() -> None:
    """Order does not matter to what is equal, and a moved text that was reworded is found by its words."""
    assert align(["a one", "b two", "c three"], ["c three", "a one"]) == [(2, 0), (0, 1), (1, None)]
    moved = align(
        ["Keep functions under forty lines.", "b two"], ["b two", "Keep functions under thirty lines."]
    )
    assert moved == [(1, 0), (0, 1)]


def test_white_space_and_case_do_not_count() -> None:
    """A rewrapped line is the same text."""
    assert text_digest("Use  tabs\n always") == text_digest("use tabs always")


def test_digests_stand_for_what_a_file_said() -> None:
    """Where a text in the store is worded otherwise than in the file, its digest tells they are the same."""
    assert align(["Never: log tokens"], ["log tokens"], [text_digest("log tokens")]) == [(0, 0)]


@given(TEXTS, TEXTS)
def test_each_text_is_in_one_pair(before: list[str], after: list[str]) -> None:
    """Nothing is lost or doubled, and equal texts always find each other."""
    pairs = align(before, after)
    assert sorted(old for old, _ in pairs if old is not None) == list(range(len(before)))
    assert [new for _, new in pairs if new is not None] == list(range(len(after)))
    same = sum(1 for old, new in pairs if old is not None and new is not None and before[old] == after[new])
    assert same == sum(min(before.count(text), after.count(text)) for text in set(before))


def test_thousands_of_new_texts_take_no_time() -> None:
    """A file rewritten from end to end is compared within bounds."""
    before = [f"Rule number {at} of the old kind." for at in range(10_000)]
    after = [f"Norm no. {at} of a newer sort." for at in range(10_000)]
    assert len(align(before, after)) >= 10_000
