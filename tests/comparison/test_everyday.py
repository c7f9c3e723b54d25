"""Everyday English for comparing sentences."""

from __future__ import annotations

from workbench.comparison.everyday import kinds_of, meaning, opposites_of


def test_forms_and_synonyms_share_a_meaning() -> None:
    """Irregular forms, British spelling and synonyms come together."""
    assert meaning("ran") == meaning("running") == meaning("sprint")
    assert meaning("optimise") == meaning("optimize")
    assert meaning("children") == meaning("kid")
    assert meaning("add") == meaning("adding")


def test_opposition_goes_both_ways() -> None:
    """A word opposes what opposes it, and never itself."""
    for word in ("full", "open", "enable", "before", "sync", "hit"):
        for other in opposites_of(meaning(word)):
            assert meaning(word) in opposites_of(other)
            assert other != meaning(word)
    assert meaning("empty") in opposites_of(meaning("full"))


def test_kinds_are_transitive() -> None:
    """A puppy is an animal because a dog is one."""
    assert meaning("animal") in kinds_of(meaning("puppy"))
    assert meaning("food") in kinds_of(meaning("carrot"))
    assert frozenset() == kinds_of("nothing known")
