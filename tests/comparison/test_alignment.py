"""Two sentences laid over each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.comparison.alignment import Alignment, Link, align
from workbench.comparison.negation import read_scope


def laid(left: str, right: str) -> Alignment:
    return align(read_scope(left), read_scope(right))


def links(found: Alignment) -> set[tuple[str, str, Link]]:
    return {(found.left[p.left].text, found.right[p.right].text, p.link) for p in found.pairs}


def test_synonyms_and_forms_are_the_same() -> None:
    """A word stands for its forms and for the words that mean the same."""
    found = links(laid("A person is slicing a carrot", "The people cut carrots"))
    assert {
        ("person", "people", Link.SAME),
        ("slicing", "cut", Link.SAME),
        ("carrot", "carrots", Link.SAME),
    } == found


def test_a_kind_stands_for_its_genus_where_nothing_else_does() -> None:
    """A man is a person; an equal word is preferred."""
    assert ("person", "person", Link.SAME) in links(laid("A person sees a man", "A man sees a person"))


def test_antonyms_and_denying_prefixes_are_opposed() -> None:
    """Full opposes empty, unsupported opposes supported; twice denied they agree."""
    assert [p.opposed for p in laid("full tank", "empty tank").pairs if p.link is Link.OPPOSITE] == [True]
    assert ("supported", "unsupported", Link.OPPOSITE) in links(laid("is supported", "is unsupported"))
    assert not any(p.opposed for p in laid("the tank is full", "the tank is not empty").pairs)


def test_a_denial_on_one_side_opposes_what_is_in_its_scope() -> None:
    """The subject of a denied verb is not denied."""
    alignment = laid("A man is playing a guitar", "A man is not playing a guitar")
    assert [p.opposed for p in sorted(alignment.pairs, key=lambda p: p.left)] == [False, True, True]


def test_names_are_the_same_only_if_equal() -> None:
    """Code, paths and tools have no synonyms."""
    alignment = laid("Use `get_user` from src/a.py", "Use `get_users` from src/b.py")
    assert (alignment.only_left, alignment.only_right) == ((0, 1), (0, 1))


@given(st.text(max_size=60), st.text(max_size=60))
def test_each_word_has_one_partner_at_most(left: str, right: str) -> None:
    """Positions are partners once or alone, never both."""
    found = laid(left, right)
    assert sorted([*found.only_left, *(p.left for p in found.pairs)]) == list(range(len(found.left)))
    assert sorted([*found.only_right, *(p.right for p in found.pairs)]) == list(range(len(found.right)))
