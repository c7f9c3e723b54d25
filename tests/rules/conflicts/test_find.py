"""Conflicts are found whatever the order of the rules, and only between rules that can meet."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.vectors import build_index
from workbench.records.conflicts import ConflictKind, conflict_id
from workbench.records.rules import Rule
from workbench.rules.conflicts.detection import find_conflicts

Make = Callable[..., Rule]

TEXTS = (
    "Use tabs for indentation.",
    "use tabs for indentation",
    "Indent with spaces.",
    "Never use semicolons.",
    "Use semicolons.",
    "Do not forget to run the tests before committing.",
    "Run the tests before committing.",
    "Keep lines under 80 characters.",
    "Lines must not exceed 120 characters.",
    "Use npm instead of yarn.",
    "Use yarn instead of npm.",
    "Validate user input.",
    "Validate user input on the server.",
    "Comments are allowed.",
    "Comments are not allowed.",
    "",
    "```\ncode\n```",
)
SCOPES: tuple[tuple[str, ...], ...] = ((), ("path:*.py",), ("path:*.ts",), ("path:src/**",))
RULES = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(SCOPES)), max_size=14).map(
    lambda rows: [Rule(f"r{at:02}", text[:20], text, scope=scope) for at, (text, scope) in enumerate(rows)]
)


@given(RULES, st.randoms(use_true_random=False))
def test_the_order_of_the_rules_makes_no_difference(rules: list[Rule], rng: random.Random) -> None:
    """A permutation of the rules has the same conflicts, to the last word."""
    mixed = list(rules)
    rng.shuffle(mixed)
    assert find_conflicts(mixed) == find_conflicts(rules)


@given(RULES)
def test_every_copy_is_found_and_no_pair_of_disjoint_scopes(rules: list[Rule]) -> None:
    """A rule with an equal one before it in force is in an exact conflict; `*.py` never meets `*.ts`."""
    conflicts = find_conflicts(rules)
    exact = {item.right for item in conflicts if item.kind is ConflictKind.EXACT}
    by_id = {rule.id: rule for rule in rules}
    for at, rule in enumerate(rules):
        earlier = [other for other in rules[:at] if other.rule == rule.rule and other.scope == rule.scope]
        if rule.rule and earlier:
            assert rule.id in exact
    apart = {("path:*.py",), ("path:*.ts",)}
    assert [item for item in conflicts if {by_id[item.left].scope, by_id[item.right].scope} == apart] == []


@given(RULES, st.sets(st.integers(0, 13)))
def test_what_changed_gives_the_same_conflicts_as_everything(rules: list[Rule], rows: set[int]) -> None:
    """With `changed` exactly those conflicts are returned that one of the ids is part of."""
    changed = {f"r{row:02}" for row in rows}
    whole = [item for item in find_conflicts(rules) if {item.left, item.right} & changed]
    assert list(find_conflicts(rules, changed=changed)) == whole


@given(RULES)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_conflicts_are_sound_records(rules: list[Rule]) -> None:
    """Ids come from the pair, left is the lesser id, scores and evidence lie in [0, 1], surest first."""
    found = find_conflicts(rules)
    assert all(item.id == conflict_id(item.right, item.left) and item.left < item.right for item in found)
    assert all(0 <= item.score <= 1 and item.evidence and item.why and item.suggestion.why for item in found)
    assert all(0 <= one.score <= 1 for item in found for one in item.evidence)
    assert [(-item.score, item.id) for item in found] == sorted((-item.score, item.id) for item in found)
    assert len({item.id for item in found}) == len(found)


def test_allowed_is_no_duplicate_of_not_allowed(rule: Make) -> None:
    """The two contradict each other, whatever their vectors say."""
    rules = [rule("a", "Force pushing is allowed."), rule("b", "Force pushing is not allowed.")]
    same = np.asarray([[1.0, 0.0], [1.0, 0.0]], np.float32)
    (found,) = find_conflicts(rules, same, build_index(same))
    assert found.kind is ConflictKind.CONTRADICTORY
    assert (found.left_words, found.right_words) == ((), ("not",))
    assert found.evidence[0].test == "negation"


def test_neighbours_by_vector_are_compared(rule: Make) -> None:
    """Rules that share no rare word and no band of words meet through their vectors."""
    texts = ["Write documentation for each exported symbol of the package", "Use tabs"]
    rules = [rule("a", texts[0]), rule("b", texts[0].replace("each", "every")), rule("c", texts[1])]
    vectors = np.asarray([[1, 0], [1, 0], [0, 1]], np.float32)
    (found,) = find_conflicts(rules, vectors, build_index(vectors))
    assert (found.left, found.right, found.kind) == ("a", "b", ConflictKind.NEAR)
    assert ("meaning", 1.0) in [(item.test, item.score) for item in found.evidence]


def test_a_disabled_rule_is_in_no_conflict(rule: Make) -> None:
    """What is not in force contradicts nothing."""
    rules = [rule("a", "Use semicolons."), rule("b", "Never use semicolons.", enabled=False)]
    assert find_conflicts(rules) == ()


def test_a_text_that_stands_often_gives_each_contradiction_once(rule: Make) -> None:
    """Fifty copies are forty-nine duplicates and one contradiction."""
    copies = [rule(f"a{at:02}", "Use semicolons.") for at in range(50)]
    conflicts = find_conflicts([*copies, rule("b", "Never use semicolons.")])
    kinds = [item.kind for item in conflicts]
    assert kinds.count(ConflictKind.EXACT) == 49
    assert kinds.count(ConflictKind.CONTRADICTORY) == 1


def test_the_items_of_a_list_do_not_contradict_each_other(rule: Make) -> None:
    """Two retry counts are a contradiction, fifty are a table."""
    texts = [f"Retry failed requests {at} times before giving up" for at in range(50)]
    rules = [rule(f"r{at:02}", text) for at, text in enumerate(texts)]
    assert [item.kind for item in find_conflicts(rules[:2])] == [ConflictKind.CONTRADICTORY]
    assert find_conflicts(rules) == ()


def test_progress_is_told_and_vectors_are_checked(rule: Make) -> None:
    """The caller hears of each stage; a wrong number of vectors is refused."""
    heard: list[str] = []
    rules = [rule("a", "Use tabs."), rule("b", "Use spaces.")]
    find_conflicts(rules, progress=lambda what, done, total: heard.append(what))
    assert heard == ["subjects", "terms", "rare terms"]
    with pytest.raises(ValueError, match="2 rules have 1 vectors"):
        find_conflicts(rules, np.ones((1, 2), np.float32))


@given(st.lists(st.text(max_size=120), max_size=6))
def test_any_text_can_be_compared(texts: list[str]) -> None:
    """Hostile text breaks nothing."""
    rules = [Rule(f"r{at}", "x", text) for at, text in enumerate(texts)]
    assert find_conflicts(rules) == find_conflicts(rules[::-1])
