"""Equal texts have one normal form, similar sets meet as candidates."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.comparison.similarity import MOST_PARTNERS, jaccard, normal_text, similar_pairs, window


def test_marks_case_and_space_make_no_difference() -> None:
    """Markdown marks, case outside of code, white space and a final stop are not part of a text."""
    texts = ("- **Use** `Make` first.", "use   `Make` first", "1. Use `Make` [first](http://x.y)!")
    assert {normal_text(text) for text in texts} == {"use Make first"}


def test_case_in_code_makes_a_difference() -> None:
    """`Foo` and `foo` are different names."""
    assert normal_text("Use `Foo`") != normal_text("Use `foo`")


@given(st.text(max_size=200))
def test_a_normal_form_is_one_line_without_outer_space(text: str) -> None:
    """The normal form has no line feeds and no space at its ends."""
    found = normal_text(text)
    assert found == " ".join(found.split())


@given(st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1), max_size=12))
def test_equal_sets_always_meet(sets: list[frozenset[str]]) -> None:
    """Every pair of equal sets is a candidate; candidates are ordered and not of themselves."""
    found = set(similar_pairs(sets))
    equal = {(a, b) for a in range(len(sets)) for b in range(a + 1, len(sets)) if sets[a] == sets[b]}
    assert equal <= found
    assert all(a < b for a, b in found)


def test_similar_sets_meet_and_others_do_not() -> None:
    """Of 200 sets only the two that share nine of ten words are candidates."""
    sets = [frozenset(f"{at} {word}" for word in range(10)) for at in range(200)]
    sets.append(frozenset([*list(sets[7])[:9], "other"]))
    assert jaccard(sets[7], sets[200]) > 0.8
    assert set(similar_pairs(sets)) == {(7, 200)}


def test_a_large_bucket_gives_a_bounded_number_of_pairs() -> None:
    """Each member of a large bucket meets a bounded number of others."""
    assert len(list(window(range(1000)))) < 1000 * MOST_PARTNERS
    assert len(list(window(range(4)))) == 6
