"""Filters over columns decide as the filters of one rule do, whatever the rules and the query."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.strategies import PROJECTS, TOOLS, books
from workbench.records.rules import Activation, Level, Provenance, Rule
from workbench.rules.matching.context import RuleContext
from workbench.rules.matching.filters import (
    RuleQuery,
    match_arrays,
    match_columns_from,
    match_columns_of,
    passing,
    refusals,
    reject,
)
from workbench.rules.ruleset import rule_set

WHERE = st.sampled_from(
    (
        None,
        Provenance("a/release.mdc", 1, 1, "cursor", activation=Activation.MANUAL),
        Provenance("CLAUDE.md", 1, 1, "claude"),
    )
)
CONDITIONS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    ({}, {"kind": "bugfix"}, {"kind": ["feature", 1]}, {"branch": "main", "kind": "bugfix"})
)
EXTRAS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "provenance": WHERE,
        "conditions": CONDITIONS,
        "level": st.sampled_from(Level),
        "cooldown": st.sampled_from((0, 60)),
        "last_used": st.sampled_from((None, "1970-01-01T00:16:30Z", "not a time")),
    }
)
NAMES = ("", "git", "tests")
CONTEXTS = st.builds(
    RuleContext,
    paths=st.sampled_from(((), ("src/a.py",), ("b.ts", "c.py"))),
    names=st.sampled_from((frozenset[str](), frozenset({"git"}), frozenset({"tests", "other"}))),
    facts=st.sampled_from(
        ({}, {"kind": ("bugfix",)}, {"kind": ("feature", "x"), "branch": ("main",)}, {"kind": ("1",)})
    ),
    tool=st.sampled_from(("", *TOOLS)),
    scenario=st.sampled_from(NAMES),
    step=st.sampled_from(NAMES),
)
QUERIES = st.builds(
    RuleQuery,
    text=st.sampled_from(("", "use @release", "fix it")),
    project_id=st.sampled_from((None, *PROJECTS)),
    context=st.one_of(st.none(), CONTEXTS),
    now=st.sampled_from((None, 1000.0, 9999.0)),
)


@st.composite
def ruled(draw: st.DrawFn) -> tuple[Rule, ...]:
    """Rules with every property that filters look at."""
    return tuple(replace(rule, **draw(EXTRAS)) for rule in draw(books()))


@given(ruled(), QUERIES)
def test_columns_and_filters_agree(rules: tuple[Rule, ...], query: RuleQuery) -> None:
    """A rule passes exactly if no filter gives a reason against it."""
    expected = [reject(rule, query) for rule in rules]
    assert passing(match_columns_of(rules), query).tolist() == [not reason for reason in expected]
    reason_of, reasons = refusals(match_columns_of(rules), query)
    assert [reasons[number] for number in reason_of.tolist()] == expected


def test_ranks_are_by_id() -> None:
    """Ties break by id, also where two rules share one."""
    rules = [Rule(id=name, name="", rule="") for name in ("b", "a", "c", "a")]
    assert match_columns_of(rules).rank.tolist() == [2, 0, 3, 1]
    assert match_columns_of([]).rank.tolist() == []


@given(ruled(), ruled(), QUERIES, st.sets(st.integers(0, 9)))
def test_columns_go_on_from_those_that_are_kept(
    before: tuple[Rule, ...], after: tuple[Rule, ...], query: RuleQuery, places: set[int]
) -> None:
    """Rules that come, go, change and are used pass as in columns of all, those read back, too."""
    kept = {
        name: np.frombuffer(held, np.uint8) if isinstance(held, bytes) else held
        for name, held in match_arrays(match_columns_of(before)).items()
    }
    base = rule_set(before)
    base.base.kept_matching = lambda: match_columns_from(kept, before)
    assert passing(base.matching, query).tolist() == passing(match_columns_of(before), query).tolist()
    now = {rule.id: rule for rule in after}
    same = {rule.id for rule in before if now.get(rule.id) == rule}
    changed = base.with_changes(
        {key: now[key] for key in now.keys() - same}, {rule.id for rule in before} - now.keys()
    )
    some = [after[place] for place in places if place < len(after)]
    used = {rule.id: replace(rule, last_used="1970-01-01T00:16:39Z") for rule in some}
    changed = changed.with_counts(used)
    whole = tuple(used.get(rule.id, rule) for rule in after)
    ours, theirs = changed.matching, match_columns_of(whole)
    assert passing(ours, query).tolist() == passing(theirs, query).tolist()
    for name in ("rank", "priority", "absolute", "claims"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist()
    assert ours.singular == theirs.singular


def test_columns_of_others_are_refused() -> None:
    """Of another number of rules, or with values that are not there."""
    rules = [Rule(f"r{number}", "", "Use tabs.") for number in range(3)]
    kept = {
        name: np.frombuffer(held, np.uint8) if isinstance(held, bytes) else held
        for name, held in match_arrays(match_columns_of(rules)).items()
    }
    with pytest.raises(ValueError, match="other rules"):
        match_columns_from(kept, rules[:2])
    with pytest.raises(ValueError, match="tools"):
        match_columns_from({**kept, "tools_of": kept["tools_of"] + 7}, rules)
