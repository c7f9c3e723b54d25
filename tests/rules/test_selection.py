"""A plan takes binding rules always, scoped rules by its files, the rest by relevance, within limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.rules.reports import match_report
from workbench.records.rules import Activation, Authority, Level, Provenance, Rule
from workbench.rules.conflicts.findings import Duplicate
from workbench.rules.matching.context import make_context
from workbench.rules.matching.match import RuleQuery
from workbench.rules.matching.selection import PlanRuleLimits, RuleSelection, select_rules

Make = Callable[..., Rule]
ABSOLUTE = Authority.ABSOLUTE


def selected(
    rules: list[Rule],
    paths: Sequence[str] = (),
    limits: PlanRuleLimits | None = None,
    *,
    relevance: Sequence[float] | None = None,
    project_id: str | None = None,
    pinned: Sequence[tuple[Rule, str]] = (),
    excluded: Sequence[str] = (),
    had: Sequence[str] = (),
    duplicates: Sequence[tuple[str, str]] = (),
    **known: Any,
) -> RuleSelection:
    """Return the rules of a plan for files at hand, with what else is known of the work.

    `duplicates` are pairs of ids: a rule, and one that adds nothing to it.
    """
    query = RuleQuery("", project_id, make_context(paths=paths, **known), 1000.0)
    report = match_report(rules, query, relevance=relevance or [0.0] * len(rules))
    stamp = ("", "")
    repeated = [Duplicate(f"conflict-{keep}-{drop}", keep, drop, stamp, stamp) for keep, drop in duplicates]
    return select_rules(
        rules,
        report,
        query,
        limits,
        pinned=pinned,
        excluded=[*excluded, *had],
        had=had,
        duplicates=lambda claimed: [one for one in repeated if {one.keep, one.drop} <= claimed.keys()],
    )


def test_the_order_of_claims(rule: Make) -> None:
    """Global absolute, absolute by file, matched, default by file; the rest stays out."""
    rules = [
        rule("default", "Use d."),
        rule("by-file", "Use f.", scope=("path:*.py",)),
        rule("matched", "Use m."),
        rule("absolute-file", "Use af.", authority=ABSOLUTE, scope=("path:src/",)),
        rule("absolute", "Use a.", authority=ABSOLUTE, provenance=Provenance("CLAUDE.md", 7, 7, "claude")),
        rule("other-file", "Use o.", authority=ABSOLUTE, scope=("path:*.ts",)),
        rule("off", "Use off.", authority=ABSOLUTE, enabled=False),
        rule(
            "asked-for",
            "Use r.",
            authority=ABSOLUTE,
            provenance=Provenance("a.mdc", 1, 1, "cursor", activation=Activation.REQUESTED),
        ),
    ]
    picked = selected(rules, ["src/a.py"], relevance=[0, 0, 0.9, 0, 0, 0, 0, 0])
    chosen = picked.selected
    assert [item.rule.id for item in chosen] == ["absolute", "absolute-file", "matched", "by-file"]
    assert chosen[0].why == "applies everywhere"
    assert chosen[1].why == "applies to src/a.py"
    assert "relevance 0.90" in chosen[2].why
    assert chosen[3].why == "applies to src/a.py"
    assert {item.rule.id: item.reason for item in picked.dropped} == {
        "other-file": "is for path:*.ts, and no file at hand is one of them",
        "asked-for": "is read where its description fits the task, and this is another one",
    }


def test_limits_drop_with_reasons(rule: Make) -> None:
    """Caps and tokens drop the least important, and say so; a short rule still fits after a long one."""
    rules = [rule(f"r{n}", f"Use {n}.", authority=ABSOLUTE, priority=90 - n, token_cost=40) for n in range(3)]
    rules.append(rule("long", "Use long.", authority=ABSOLUTE, priority=99, token_cost=1000))
    picked = selected(rules, [], PlanRuleLimits(tokens=100, absolute=2))
    assert [item.rule.id for item in picked.selected] == ["r0", "r1"]
    assert picked.tokens == 80
    assert [(item.rule.id, item.reason) for item in picked.dropped] == [
        ("long", "takes 1000 tokens, and rules have 100 in all"),
        ("r2", "is beyond the first 2 absolute rules"),
    ]


def test_equal_texts_enter_once(rule: Make) -> None:
    """The same sentence in two rule files is shown once."""
    rules = [rule("a", "Use tabs.", authority=ABSOLUTE), rule("b", "use  tabs.", authority=ABSOLUTE)]
    assert len(selected(rules).selected) == 1


def test_texts_that_differ_in_marks_of_sentences_enter_once(rule: Make) -> None:
    """Semicolon or colon, full stop or none say the same; a mark that is meant, as in code, does not."""
    rules = [
        rule("a", "Use tabs; never spaces.", authority=ABSOLUTE),
        rule("b", "Use tabs: never spaces", authority=ABSOLUTE),
        rule("c", "End lines with ;", authority=ABSOLUTE),
        rule("d", "End lines with :", authority=ABSOLUTE),
        rule("e", "Sort by `a;b`", authority=ABSOLUTE),
        rule("f", "Sort by `a:b`", authority=ABSOLUTE),
    ]
    result = selected(rules)
    assert [one.rule.id for one in result.selected] == ["a", "c", "d", "e", "f"]
    assert [(one.rule.id, one.repeats) for one in result.dropped] == [("b", "a")]


def ids(selection: RuleSelection) -> list[str]:
    """Return the ids of a plan's rules in their order."""
    return [item.rule.id for item in selection.selected]


def test_what_the_agent_has_in_the_same_words_is_left_out(rule: Make) -> None:
    """A copy of a rule that a session has says nothing new; one of a rule that is excluded does."""
    rules = [
        rule("copy", "Never use floats: count cents", authority=ABSOLUTE, priority=90),
        rule("has", "Never use floats; count cents.", authority=ABSOLUTE),
        rule("other", "Say it in euros, never in floats.", authority=ABSOLUTE),
        rule("new", "Never log tokens.", authority=ABSOLUTE),
    ]
    found = selected(rules, had=["has"], duplicates=[("has", "other")])
    assert [one.rule.id for one in found.selected] == ["new"]
    assert {one.rule.id: one.repeats for one in found.dropped} == {"copy": "has", "other": "has"}
    assert [one.rule.id for one in selected(rules, excluded=["has"]).selected] == ["copy", "new", "other"]


def test_a_known_duplicate_gives_its_place_to_the_rule_it_repeats(rule: Make) -> None:
    """The better one comes in where the first of them would, whatever its own claim; the reason names it."""
    file = Provenance("CLAUDE.md", 3, 3, "claude")
    rules = [
        rule("a", "Use a."),
        rule("b", "Use b."),
        rule("c", "Use a, always.", scope=("path:*.py",), provenance=file),
    ]
    picked = selected(rules, ["x.py"], relevance=[0.9, 0.8, 0], duplicates=[("c", "a")])
    assert ids(picked) == ["c", "b"]
    assert [(item.rule.id, item.reason, item.repeats) for item in picked.dropped] == [
        (
            "a",
            "adds nothing to the rule of CLAUDE.md:3, which is in the pack; settle it by `workbench rules "
            "conflicts resolve conflict-c-a --suggested`, or with `--action keep-both` to have both",
            "c",
        )
    ]
    assert ids(selected(rules, ["x.ts"], relevance=[0.9, 0.8, 0], duplicates=[("c", "a")])) == ["a", "b"]


def test_a_duplicate_is_packed_where_the_better_one_is_not(rule: Make) -> None:
    """One that is excluded or too long takes nobody's place; what a person pinned stays."""
    rules = [
        rule("a", "Use a.", authority=ABSOLUTE),
        rule("b", "Use a, always.", authority=ABSOLUTE, token_cost=60),
    ]
    pairs = [("b", "a")]
    assert ids(selected(rules, duplicates=pairs)) == ["b"]
    assert ids(selected(rules, limits=PlanRuleLimits(tokens=50), duplicates=pairs)) == ["a"]
    assert ids(selected(rules, excluded=["b"], duplicates=pairs)) == ["a"]
    assert ids(selected(rules, pinned=[(rules[1], "pinned")], duplicates=pairs)) == ["b"]
    assert ids(selected(rules, pinned=[(rules[0], "pinned")], duplicates=pairs)) == ["a", "b"]


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] < pair[1])),
    st.integers(10, 100),
)
def test_of_known_duplicates_one_is_packed(pairs: list[tuple[int, int]], tokens: int) -> None:
    """No pair is packed whole, and a rule is left out only for one that is in the pack, or for its length."""
    rules = [
        Rule(f"r{n}", "", f"Use {n}.", authority=ABSOLUTE, token_cost=10 + 10 * (n == 3)) for n in range(8)
    ]
    known = [(f"r{keep}", f"r{drop}") for keep, drop in pairs]
    picked = selected(rules, limits=PlanRuleLimits(tokens=tokens), duplicates=known)
    packed = set(ids(picked))
    assert all(not packed >= {keep, drop} for keep, drop in known)
    for item in picked.dropped:
        assert (item.repeats in packed and (item.repeats, item.rule.id) in known) or "tokens" in item.reason
    assert packed | {item.rule.id for item in picked.dropped} == {rule.id for rule in rules}


def test_the_query_filters(rule: Make) -> None:
    """Rules of another project or tool stay out of the plan."""
    rules = [rule("a", "Use a.", authority=ABSOLUTE, project_id="q"), rule("b", "Use b.", authority=ABSOLUTE)]
    chosen = selected(rules, project_id="p").selected
    assert [item.rule.id for item in chosen] == ["b"]


def test_what_a_rule_is_limited_to_decides(rule: Make) -> None:
    """Absolute rules enter where agent, context, step and facts are given, and are dropped elsewhere."""
    rules = [
        rule("agent", "Use a.", authority=ABSOLUTE, tool_targets=("codex",)),
        rule("cooling", "Use c.", authority=ABSOLUTE, cooldown=60, last_used="1970-01-01T00:16:00Z"),
        rule("default", "Use d.", scope=("docs",)),
        rule("fact", "Use f.", authority=ABSOLUTE, conditions={"phase": "release"}),
        rule("irrelevant", "Use i.", scope=("web",)),
        rule("named", "Use n.", authority=ABSOLUTE, scope=("docs",)),
        rule("step", "Use s.", authority=ABSOLUTE, level=Level.STEP),
    ]
    nowhere = selected(rules)
    assert nowhere.selected == ()
    assert {item.rule.id: item.reason for item in nowhere.dropped} == {
        "agent": "is for codex, and no agent is named: name the agent codex",
        "cooling": "was used at 1970-01-01T00:16:00Z and cools down until 1970-01-01T00:17:00Z",
        "fact": "holds where phase is release, and phase is not known: name the fact phase=release",
        "named": "is for docs, which is not in the context: name the context docs",
        "step": "is for a step, and none is active: name the step NAME",
    }
    given_all = selected(rules, tool="codex", contexts=["Docs"], step="review", facts={"phase": ["release"]})
    assert {item.rule.id: item.why for item in given_all.selected} == {
        "agent": "applies everywhere, given codex",
        "fact": "applies everywhere, given phase",
        "step": "applies to the step review",
        "named": "applies to the context docs",
        "default": "applies to the context docs",
    }
    assert [item.rule.id for item in given_all.dropped] == ["cooling"]


def test_relevant_rules_that_do_not_hold_are_dropped_with_the_reason(rule: Make) -> None:
    """A default rule has a claim by being about the task: what its limits took away is told."""
    picked = selected([rule("a", "Use a.", tool_targets=("codex",))], relevance=[0.8], tool="claude")
    assert [item.reason for item in picked.dropped] == ["is for codex, not for claude"]
    assert selected([rule("a", "Use a.", tool_targets=("codex",))], relevance=[0.2]).dropped == ()


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 300), st.booleans(), st.booleans()), max_size=30),
    st.integers(0, 1000),
)
def test_the_token_limit_is_hard(values: list[tuple[int, int, bool, bool]], tokens: int) -> None:
    """Whatever the rules, their tokens stay under the limit and none is both in and out."""
    rules = [
        Rule(
            str(n),
            "n",
            f"Use {n}.",
            priority=priority,
            token_cost=cost,
            authority=ABSOLUTE if absolute else Authority.DEFAULT,
            scope=("path:*.py",) if scoped else (),
        )
        for n, (priority, cost, absolute, scoped) in enumerate(values)
    ]
    picked = selected(rules, ["a.py"], PlanRuleLimits(tokens=tokens))
    assert picked.tokens == sum(item.rule.token_cost for item in picked.selected) <= tokens
    assert not {item.rule.id for item in picked.selected} & {item.rule.id for item in picked.dropped}
