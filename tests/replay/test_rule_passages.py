"""A pack of the past holds the rules that were in force when its task began, and no later ones."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workbench.plan.intent import parse_intent
from workbench.plan.passages import RULE_SHARE
from workbench.records.rules import Authority, Rule
from workbench.replay.packs import RuleHistory, RulePassages, collect_rules
from workbench.rules.matching.match import MatchParams

EARLY = Rule(id="r1", name="Tokens", rule="Never log a token.", authority=Authority.ABSOLUTE, token_cost=8)
LATE = Rule(id="r2", name="Late", rule="Never print a token.", authority=Authority.ABSOLUTE, token_cost=8)
CHANGES = ["1970-01-01T00:01:40.500000Z", "1970-01-01T00:03:20.000000Z"]


def in_force(until: str) -> list[Rule]:
    """Return the first rule, and the second from the second change on."""
    return [EARLY] if until == CHANGES[0] else [LATE, EARLY]


def test_rules_hold_from_when_they_were_made() -> None:
    """Before the first change there is none; each change counts from its second on."""
    rules = collect_rules(CHANGES, [50, 100, 150, 199, 200, 300], in_force)
    ids = {moment: [rule.id for rule in rules.at(moment)] for moment in (50, 100, 199, 200, 300)}
    assert ids == {50: [], 100: ["r1"], 199: ["r1"], 200: ["r1", "r2"], 300: ["r1", "r2"]}


@given(st.lists(st.integers(0, 400), min_size=1, max_size=20))
def test_later_rules_do_not_reach_back(moments: list[int]) -> None:
    """What holds at a second is the same whether or not a later change is known."""
    whole, cut = collect_rules(CHANGES, moments, in_force), collect_rules(CHANGES[:1], moments, in_force)
    for moment in moments:
        if moment < 200:
            assert whole.at(moment) == cut.at(moment)


def test_passages_are_of_the_rules_of_the_moment() -> None:
    """An absolute rule is in the pack of a task begun after it was made, and fits its share."""
    then: RuleHistory = collect_rules(CHANGES, [50, 150], in_force)
    given_rules: Any = RulePassages(then, "p", MatchParams())
    assert given_rules.passages(parse_intent("a token is logged"), 50, ["a.py"], 1000) == []
    (passage,) = given_rules.passages(parse_intent("a token is logged"), 150, ["a.py"], 1000)
    assert (passage.id, passage.mandatory) == ("r1", True)
    assert 0 < RULE_SHARE < 1
