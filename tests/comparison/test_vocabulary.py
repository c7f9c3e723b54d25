"""Everyday English for comparing sentences."""

from __future__ import annotations

from workbench.comparison.vocabulary import meaning, opposites_of


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
