"""Circles among `replaces` are found, all of them and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from workbench.records.rules import Rule
from workbench.rules.curation.versions import replacement_cycles


def rules(links: Mapping[str, tuple[str, ...]]) -> list[Rule]:
    return [Rule(one, one, one, replaces=others) for one, others in links.items()]


def test_a_chain_of_versions_is_no_circle() -> None:
    """Versions that replace their predecessors, known or not, form no circle."""
    assert replacement_cycles(rules({"c": ("b",), "b": ("a",), "a": ("unknown",), "d": ("b", "c")})) == ()


def test_circles_are_told_from_their_least_id_on() -> None:
    """A rule that replaces itself and three that replace each other are two circles."""
    links: dict[str, tuple[str, ...]] = {"z": ("z",), "c": ("a",), "a": ("b",), "b": ("c", "x"), "x": ()}
    assert replacement_cycles(rules(links)) == (("a", "b", "c"), ("z",))


def test_a_long_chain_needs_no_recursion() -> None:
    """A circle of fifty thousand rules is one circle."""
    links = {f"{at:05}": (f"{(at + 1) % 50_000:05}",) for at in range(50_000)}
    (found,) = replacement_cycles(rules(links))
    assert found == tuple(sorted(links))


IDS = st.sampled_from("abcdef")
GRAPHS = st.dictionaries(IDS, st.lists(IDS, max_size=3).map(tuple), max_size=6)


@given(GRAPHS)
def test_a_rule_is_in_a_circle_if_it_reaches_itself(links: dict[str, tuple[str, ...]]) -> None:
    """Exactly the rules that reach themselves over known ones are named, once, in any order of input."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for other in links[todo.pop()]:
                if other in links and other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen

    found = replacement_cycles(rules(links))
    named = [one for circle in found for one in circle]
    assert sorted(named) == sorted(link for link in links if link in reached(link))
    assert replacement_cycles(reversed(rules(links))) == found
