"""A message finds what applies and is relevant; a search finds what its filters let through."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.rules.strategies import books, queries
from workbench.errors import UsageError
from workbench.records.rules import Authority, Category, Rule
from workbench.rules.fetching.facets import column_rules
from workbench.rules.fetching.queries import get_rules, rule_filter
from workbench.rules.matching.lexical import index_words
from workbench.rules.matching.match import MatchParams, RuleQuery
from workbench.rules.matching.relevance import WITHOUT_VECTORS, Mode, rule_texts, rule_vectors
from workbench.rules.matching.search import (
    RuleIndex,
    index_rules,
    match_message,
    search_selected,
    with_vectors,
)

Make = Callable[..., Rule]
Float32 = NDArray[np.float32]
MINILM = "sentence-transformers/all-MiniLM-L6-v2@int8-1"
TASKS = (
    "git-rebase: rebase on main before opening a pull request",
    "parser-tests: run the integration tests when the parser changes",
    "sql-parameters: pass values to SQL as parameters, never in the text",
    "log-privacy: do not log prompts or file contents",
    "token-refresh: refresh the session token on 401 before retrying",
    "release-notes: write a changelog entry for each user-visible change",
)


def embed(texts: list[str]) -> Float32:
    """Return unit vectors of letter pairs: alike texts have alike vectors."""
    rows = np.zeros((len(texts), 256), np.float32)
    for row, text in enumerate(texts):
        for first, second in itertools.pairwise(text):
            rows[row, (ord(first) * 31 + ord(second)) % 256] += 1
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32)


@pytest.fixture
def rules(rule: Make) -> list[Rule]:
    """Six rules about different things, the third with examples."""
    made = [rule(*task.split(": ", 1)) for task in TASKS]
    made[2] = replace(made[2], examples=("how do I query the customers table", "escape this where clause"))
    return sorted(made, key=lambda one: one.id)


@pytest.fixture
def index(rules: list[Rule]) -> RuleIndex:
    texts = rule_texts(rules)
    return index_rules(rules, vectors=rule_vectors(texts, embed(list(texts.texts)), MINILM))


def test_an_example_is_named_in_the_explanation(index: RuleIndex) -> None:
    """A match by an example says which one, with the numbers and the words behind it."""
    message = "how can I query the customers table"
    report = match_message(index, RuleQuery(message), embed([message])[0])
    match = report.matches[0]
    assert match.rule.id == "sql-parameters"
    assert match.example == "how do I query the customers table"
    assert "closest to its example “how do I query the customers table”" in match.why
    assert match.terms == ("query", "customers", "table")
    assert match.vector is not None
    assert match.vector > 0.8
    assert match.hybrid == pytest.approx(0.7 * (match.meaning or 0) + 0.3 * (match.bm25 or 0), abs=1e-5)
    assert report.notes == ()


def test_words_alone_explain_themselves(index: RuleIndex) -> None:
    """Without the message's vector the sentence speaks of words only and the report says why."""
    report = match_message(index, RuleQuery("refresh the token on 401"))
    match = report.matches[0]
    assert (match.rule.id, match.vector, match.example) == ("token-refresh", None, "")
    assert "meaning" not in match.why
    assert "refresh, token, 401" in match.why
    assert report.notes == (WITHOUT_VECTORS,)


def test_a_message_about_nothing_matches_nothing(index: RuleIndex) -> None:
    """No rule is returned for the sake of an answer, and each says why not."""
    for message in ("", "qqq zzz jjj", "xx"):
        report = match_message(index, RuleQuery(message), embed([message])[0])
        assert report.matches == ()
        assert len(report.rejected) == len(TASKS)
        assert all("below 0.50" in reason for _, reason in report.rejected)


def test_kept_words_and_vectors_must_fit(rules: list[Rule], index: RuleIndex) -> None:
    """Words or vectors of other rules are refused."""
    with pytest.raises(ValueError, match="do not fit"):
        index_rules(rules[:-1], index.words)
    with pytest.raises(ValueError, match="do not fit"):
        index_rules(rules[:-1], vectors=index.vectors)


def test_the_gate_is_monotone(index: RuleIndex) -> None:
    """A higher threshold never lets another rule in."""
    message = "run the tests and refresh the token"
    found = [
        {
            match.rule.id
            for match in match_message(
                index, RuleQuery(message), embed([message])[0], MatchParams(threshold=step / 20)
            ).matches
        }
        for step in range(21)
    ]
    assert all(later <= earlier for earlier, later in itertools.pairwise(found))
    assert len(found[0]) == len(TASKS)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
def test_each_mode_finds_and_gives_numbers(index: RuleIndex, mode: Mode) -> None:
    """Every mode finds the rule about the query first, as pairs and with numbers."""
    query = "run the integration tests when the parser changes"
    found = search_selected(index, query, rule_filter(), embed([query])[0], mode=mode)
    assert found.mode == mode
    assert found.notes == ()
    rule, score = found.pairs()[0]
    assert (rule.id, score) == ("parser-tests", found.found[0].score)
    assert score >= 0.5
    assert (found.found[0].vector is None) == (mode == "sparse")


def test_dense_without_vectors_answers_by_words(rules: list[Rule], index: RuleIndex) -> None:
    """Without an embedder the same search answers by words and says so."""
    bare = with_vectors(index, None)
    expected = search_selected(bare, "refresh the session token", rule_filter(), mode="sparse")
    found = search_selected(bare, "refresh the session token", rule_filter(), mode="dense")
    assert found.pairs() == expected.pairs() != []
    assert (found.mode, found.notes) == ("sparse", (WITHOUT_VECTORS,))


def test_search_refuses_what_it_does_not_know(index: RuleIndex) -> None:
    """An unknown category or authority is an error with a hint."""
    for wrong in ({"category": "mood"}, {"authority": "royal"}):
        with pytest.raises(UsageError) as caught:
            search_selected(index, "x", rule_filter(**wrong))  # type: ignore[arg-type]
        assert caught.value.hint


def test_search_filters_before_it_searches(rules: list[Rule]) -> None:
    """Better rules outside the filter take no places of those inside."""
    many = [
        replace(rules[0], id=f"z{n:02}", rule="refresh token", action_text="refresh token", scope=("docs",))
        for n in range(20)
    ]
    index = index_rules([*rules, *many])
    found = search_selected(index, "refresh the session token on 401", rule_filter(scope=("git",)), limit=3)
    assert [one.rule.id for one in found.found][:1] == ["token-refresh"]
    assert all(one.rule.scope != ("docs",) for one in found.found)


@given(books(), queries(), st.integers(0, 5))
def test_no_rule_outside_the_filters_is_found(
    rules: tuple[Rule, ...], asked: dict[str, Any], limit: int
) -> None:
    """What a search finds is what the same filters fetch, at most so many, in order."""
    index, columns = index_rules(rules), column_rules(rules)
    let = {rule.id for rule in get_rules(columns, **asked, limit=1000).rules}
    found = search_selected(index, "use tabs or spaces", rule_filter(**asked), limit=limit, least=0.0).found
    assert len(found) <= limit
    assert {one.rule.id for one in found} <= let
    keys = [(-one.score, -one.rule.priority, one.rule.id) for one in found]
    assert keys == sorted(keys)


@given(st.permutations(list(range(len(TASKS)))), st.sampled_from(TASKS))
def test_order_of_rules_does_not_matter(order: list[int], message: str) -> None:
    """The same rules in another order give the same matches with the same numbers."""
    rules = [Rule(id=task.split(":")[0], name="", rule=task.split(": ")[1]) for task in TASKS]

    def matched(some: list[Rule]) -> list[tuple[str, float]]:
        texts = rule_texts(some)
        index = index_rules(some, vectors=rule_vectors(texts, embed(list(texts.texts)), MINILM))
        report = match_message(index, RuleQuery(message), embed([message])[0], MatchParams(threshold=0.01))
        return [(match.rule.id, round(match.final, 5)) for match in report.matches]

    assert matched([rules[at] for at in order]) == matched(rules)


def test_filters_are_those_of_fetching(rule: Make) -> None:
    """Category, authority and project mean the same as when rules are fetched."""
    rules = [
        rule("a", "Use tabs.", category=Category.PREFERENCE, authority=Authority.ABSOLUTE),
        rule("b", "Use tabs.", project_id="p"),
        rule("c", "Use tabs.", project_id="q"),
        rule("d", "Use tabs.", enabled=False),
        *(rule(f"x{n:02}", f"Other thing{n}.") for n in range(20)),
    ]
    index = index_rules(rules, index_words(rules))

    def ids(**filters: str) -> list[str]:
        found = search_selected(index, "use tabs", rule_filter(**filters), least=0.05)  # type: ignore[arg-type]
        return [one.rule.id for one in found.found]

    assert ids() == ["a", "b", "c"]
    assert ids(project_id="p") == ["a", "b"]
    assert ids(category="preference") == ids(authority="absolute") == ["a"]


@pytest.mark.parametrize("mode", ["hybrid", "sparse"])
def test_a_search_of_all_rules_finds_what_one_without_filters_finds(index: RuleIndex, mode: Any) -> None:
    """Leaving properties out changes nothing but the time it takes."""
    selected = rule_filter(enabled=None)
    wanted = search_selected(index, TASKS[4], selected, None, mode=mode, limit=4, least=0.0)
    assert wanted.found
    assert search_selected(index, TASKS[4], None, None, mode=mode, limit=4, least=0.0) == wanted


def test_by_words_a_rule_with_all_words_of_a_query_is_found(rule: Make) -> None:
    """Copies in the files of other tools, or being the only rule, hide no rule that says what is asked."""
    said = ("Never use floats for money.", "Floats are never used for money.", "For money never use a float.")
    rules = [*(rule(f"m{n}", text) for n, text in enumerate(said)), rule("x", "Write a test for each bug.")]
    index = index_rules(rules)
    for query in ("floats money", "never use floats for money"):
        found = search_selected(index, query, None, mode="sparse")
        assert {one.rule.id for one in found.found} == {"m0", "m1", "m2"}
        assert all(one.score >= 0.5 for one in found.found)
    assert search_selected(index, "floats yen", None, mode="sparse").found == ()
    assert [one.rule.id for one in search_selected(index_rules(rules[3:]), "bug", None).found] == ["x"]
    assert match_message(index, RuleQuery("floats money")).matches == ()
