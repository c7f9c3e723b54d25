"""Matching gates by relevance, orders by the formula, filters first and explains everything."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.reports import match_report
from workbench.records.rules import Activation, Level, Provenance, Rule
from workbench.rules.matching.context import make_context
from workbench.rules.matching.filters import reject
from workbench.rules.matching.lexical import index_words
from workbench.rules.matching.match import (
    MatchParams,
    RuleQuery,
)
from workbench.rules.matching.relevance import relevance_of

Make = Callable[..., Rule]


def test_the_formula(rule: Make) -> None:
    """final = 0.6 relevance + 0.3 priority + 0.1 scope weight."""
    found = match_report([rule("a", priority=80, level=Level.STEP)], RuleQuery(), [0.78]).matches
    assert found[0].relevance == pytest.approx(0.78)
    assert found[0].final == pytest.approx(0.6 * 0.78 + 0.3 * 0.8 + 0.1 * 1.2)
    assert found[0].why == "relevance 0.78 passes 0.50; with priority 80 and step scope it scores 0.828"


def test_priority_without_relevance_does_not_match(rule: Make) -> None:
    """A rule of the highest priority that the message is not about is rejected with its relevance."""
    report = match_report([rule("a", priority=100), rule("b", priority=0)], RuleQuery(), relevance=[0.1, 0.6])
    assert [match.rule.id for match in report.matches] == ["b"]
    assert report.rejected == (("a", "relevance 0.10 is below 0.50"),)


def test_ties_and_limits(rule: Make) -> None:
    """Equal scores break by priority, then id; over-fetch and limit are explained."""
    rules = [rule(name, priority=priority) for name, priority in (("d", 50), ("b", 50), ("c", 60), ("a", 50))]
    params = MatchParams(priority_weight=0.0, over_fetch=3, limit=2)
    report = match_report(rules, RuleQuery(), relevance=[0.8] * 4, params=params)
    assert [match.rule.id for match in report.matches] == ["c", "a"]
    assert dict(report.rejected) == {
        "d": "not among the 3 most relevant",
        "b": "score 0.580 is not among the best 2",
    }


def test_business_filters(rule: Make) -> None:
    """Each filter keeps a rule out with its reason."""
    context = make_context(paths=["src/a.py"], tool="codex", contexts=["git"], facts={"kind": ["bugfix"]})
    query = RuleQuery(project_id="p", context=context, now=1000.0)
    good = [
        rule(
            "ok",
            project_id="p",
            tool_targets=("codex",),
            scope=("git",),
            conditions={"kind": ["bugfix", "x"]},
        ),
        rule("paths", scope=("docs", "path:src/**")),
        rule("warm", cooldown=10, last_used="1970-01-01T00:16:20Z"),
    ]
    assert [reject(item, query) for item in good] == ["", "", ""]
    bad = {
        "disabled": rule("a", enabled=False),
        "another project": rule("b", project_id="q"),
        "is for claude": rule("c", tool_targets=("claude",)),
        "cools down until 1970-01-01T00:16:45Z": rule(
            "d", cooldown=10, last_used="1970-01-01T00:16:35+00:00"
        ),
        "name the context docs": rule("e", scope=("docs",)),
        "no file at hand": rule("f", scope=("path:*.ts",)),
        "holds where kind is feature, and it is bugfix": rule("g", conditions={"kind": "feature"}),
        "branch is not known: name the fact branch=main": rule("h", conditions={"branch": "main"}),
    }
    for reason, item in bad.items():
        assert reason in reject(item, query)
    assert match_report(list(bad.values()), query, relevance=[1.0] * len(bad)).matches == ()
    report = match_report(list(bad.values()), query, relevance=[0.9, 0.1, *[0.9] * 6])
    assert [item.id for item in report.barred] == ["a", "c", "d", "e", "f", "g", "h"]


def test_manual_rules_answer_to_their_name(rule: Make) -> None:
    """A rule of a manual file takes part when the message names the file."""
    where = Provenance(".cursor/rules/release.mdc", 1, 1, "cursor", activation=Activation.MANUAL)
    manual = rule("a", provenance=where)
    assert "named" in reject(manual, RuleQuery("cut a release"))
    assert reject(manual, RuleQuery("cut it @release now")) == ""


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 100), st.sampled_from(Level)), max_size=40),
    st.floats(0, 1),
)
def test_matches_are_relevant_ordered_and_accounted_for(
    values: list[tuple[float, int, Level]], threshold: float
) -> None:
    """Whatever the scores: all matches pass the gate, are in order, and every rule is a match or rejected."""
    rules = [
        Rule(str(i), "n", "r", priority=priority, level=level)
        for i, (_, priority, level) in enumerate(values)
    ]
    params = MatchParams(threshold=threshold)
    report = match_report(rules, RuleQuery(), relevance=[value for value, _, _ in values], params=params)
    assert all(match.relevance >= threshold for match in report.matches)
    keys = [(-match.final, -match.rule.priority, match.rule.id) for match in report.matches]
    assert keys == sorted(keys)
    assert len(report.matches) <= 10
    assert sorted([m.rule.id for m in report.matches] + [name for name, _ in report.rejected]) == sorted(
        item.id for item in rules
    )


def test_words_alone_find_and_abstain(rule: Make) -> None:
    """Without embeddings a message finds the rule that shares its words, and a foreign one finds none."""
    rules = [
        rule("log", "Don't log user prompts or file contents."),
        rule("test", "Run the integration tests when you change the parser."),
        rule("git", "Rebase on main before you open a pull request."),
        rule("sql", "Use parameters in SQL.", examples=("how do I query the customers table",)),
    ]
    words = index_words(rules)
    best = {
        "the log contains user prompts": "log",
        "parser change breaks integration tests": "test",
        "query customers table": "sql",
    }
    for text, expected in best.items():
        found = match_report(rules, RuleQuery(text), relevance=relevance_of(words, text).relevance).matches
        assert [match.rule.id for match in found] == [expected]
    for text in ("recipe for pancakes", "", "what is the weather in Paris", "the and of"):
        assert (
            match_report(rules, RuleQuery(text), relevance=relevance_of(words, text).relevance).matches == ()
        )
