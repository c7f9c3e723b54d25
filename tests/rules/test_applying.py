"""A plan takes binding rules always, scoped rules by its files, the rest by relevance, within limits."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from workbench.records.rules import Activation, Authority, Provenance, Rule
from workbench.rules.matching.applying import PlanRuleLimits, rules_for_plan, select_rules
from workbench.rules.matching.match import RuleQuery, match_rules

Make = Callable[..., Rule]
ABSOLUTE = Authority.ABSOLUTE


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
    matches = match_rules(rules, RuleQuery(paths=("src/a.py",)), relevance=[0, 0, 0.9, 0, 0, 0, 0, 0])
    chosen = rules_for_plan(rules, matches, ["src/a.py"])
    assert [item.rule.id for item in chosen] == ["absolute", "absolute-file", "matched", "by-file"]
    assert chosen[0].why == "absolute and valid everywhere (CLAUDE.md:7)"
    assert chosen[1].why == "absolute for src/a.py"
    assert "relevance 0.90" in chosen[2].why
    assert chosen[3].why == "default for src/a.py"


def test_limits_drop_with_reasons(rule: Make) -> None:
    """Caps and tokens drop the least important, and say so; a short rule still fits after a long one."""
    rules = [rule(f"r{n}", f"Use {n}.", authority=ABSOLUTE, priority=90 - n, token_cost=40) for n in range(3)]
    rules.append(rule("long", "Use long.", authority=ABSOLUTE, priority=99, token_cost=1000))
    picked = select_rules(rules, [], [], PlanRuleLimits(tokens=100, absolute=2))
    assert [item.rule.id for item in picked.selected] == ["r0", "r1"]
    assert picked.tokens == 80
    assert [(item.rule.id, item.reason) for item in picked.dropped] == [
        ("long", "its 1000 tokens exceed the rules' 100"),
        ("r2", "more than 2 absolute rules"),
    ]


def test_only_top_files_are_at_hand(rule: Make) -> None:
    """A file far down the ranking brings no rules."""
    rules = [rule("a", scope=("path:*.py",))]
    paths = [f"x{n}.ts" for n in range(10)]
    assert rules_for_plan(rules, [], [*paths, "a.py"]) == []
    assert len(rules_for_plan(rules, [], ["a.py", *paths])) == 1


def test_equal_texts_enter_once(rule: Make) -> None:
    """The same sentence in two rule files is shown once."""
    rules = [rule("a", "Use tabs.", authority=ABSOLUTE), rule("b", "use  tabs.", authority=ABSOLUTE)]
    assert len(rules_for_plan(rules, [], [])) == 1


def test_the_query_filters(rule: Make) -> None:
    """Rules of another project or tool stay out of the plan."""
    rules = [rule("a", "Use a.", authority=ABSOLUTE, project_id="q"), rule("b", "Use b.", authority=ABSOLUTE)]
    chosen = rules_for_plan(rules, [], [], None, RuleQuery(project_id="p"))
    assert [item.rule.id for item in chosen] == ["b"]


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
    picked = select_rules(rules, [], ["a.py"], PlanRuleLimits(tokens=tokens))
    assert picked.tokens == sum(item.rule.token_cost for item in picked.selected) <= tokens
    assert not {item.rule.id for item in picked.selected} & {item.rule.id for item in picked.dropped}
