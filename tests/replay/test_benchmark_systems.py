"""The systems of a benchmark answer as the program does, each by its own relevance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from workbench.records.rules import Rule
from workbench.replay.benchmark import BM25, HYBRID, VECTOR, RuleSystem, rule_systems
from workbench.rules.matching.match import MatchParams, RuleQuery
from workbench.rules.matching.relevance import rule_texts, rule_vectors
from workbench.rules.matching.search import index_rules, match_message

RULES = (
    Rule("tabs", "Tabs", "Indent with tabs.", priority=100, examples=("how wide is a step",)),
    Rule("push", "Push", "Never force-push to main.", priority=0),
    Rule("off", "Off", "Indent with blanks.", enabled=False),
)


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return unit vectors by three subjects; a text about none of them lies between."""
    rows = np.array(
        [[float(word in text.lower()) for word in ("indent", "push", "wide")] for text in texts], np.float32
    )
    rows[rows.sum(axis=1) == 0] = 1.0
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


@pytest.fixture
def systems() -> dict[str, RuleSystem]:
    return {system.name: system for system in rule_systems(RULES, embed, model="m")}


def test_there_are_three_systems_and_one_without_a_model(systems: dict[str, RuleSystem]) -> None:
    """Vector and hybrid need the message's vector, BM25 needs none and is left alone without a model."""
    assert {name: system.needs_vector for name, system in systems.items()} == {
        VECTOR: True,
        BM25: False,
        HYBRID: True,
    }
    assert [system.name for system in rule_systems(RULES, None)] == [BM25]


def test_meaning_words_and_both(systems: dict[str, RuleSystem]) -> None:
    """Meaning finds what shares no word, words find what has no vector of use, both find either."""
    step = "a wide one"
    assert systems[VECTOR].rank(step, embed([step])[0])[0][0] == "tabs"
    assert systems[BM25].rank("lunch", None) == ()
    assert systems[BM25].rank("force it to main", None)[0][0] == "push"
    assert [rule for rule, _ in systems[VECTOR].rank("force it to main", embed(["indent"])[0])] == ["tabs"]
    push = "force push"
    assert systems[HYBRID].rank(push, embed([push])[0])[0][0] == "push"


def test_what_is_disabled_is_never_found(systems: dict[str, RuleSystem]) -> None:
    """Business filters hold in a benchmark too."""
    text = "indent with blanks"
    for system in systems.values():
        assert "off" not in dict(system.rank(text, embed([text])[0]))


def test_rankings_are_by_relevance_alone(systems: dict[str, RuleSystem]) -> None:
    """Scores fall, are in (0, 1] and are those of the program; priority decides nothing."""
    text = "indent with tabs, then push"
    vector = embed([text])[0]
    found = systems[HYBRID].rank(text, vector)
    assert [rule for rule, _ in found] == ["push", "tabs"]  # though the other has the higher priority
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    texts = rule_texts(RULES)
    index = index_rules(RULES, vectors=rule_vectors(texts, embed(texts.texts), "m"))
    report = match_message(index, RuleQuery(text), vector, MatchParams(threshold=0.0))
    assert dict(found) == {match.rule.id: match.relevance for match in report.matches if match.relevance > 0}


def test_the_limit_of_the_parameters_holds() -> None:
    """At most `limit` rules are ranked."""
    words = ("tabs", "hooks", "secrets", "logs", "types", "flags")
    others = [f"Subject{chr(97 + number)} {number}" for number in range(26)]
    rules = [Rule(word, "R", f"Mind the {word}.") for word in (*words, *others)]
    system = rule_systems(rules, None, params=MatchParams(limit=4))[0]
    assert len(system.rank(" ".join(words), None)) == 4


def test_meaning_needs_a_vector(systems: dict[str, RuleSystem]) -> None:
    """A system that needs a vector refuses to answer by words in its name."""
    with pytest.raises(ValueError, match="vector cannot match"):
        systems[VECTOR].rank("indent", None)
