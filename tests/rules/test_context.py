"""The context of a request is made in one place, and says of every rule whether it holds and why not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records.rules import Level, Rule
from workbench.records.worktree import HeadState
from workbench.rules.matching.context import (
    CHANGED,
    RuleContext,
    conditions_hold,
    held_by,
    left_out,
    make_context,
    scope_holds,
    tools_hold,
)

Make = Callable[..., Rule]
NAMES = st.sampled_from(("git", "docs", "Web", "review"))
SCOPES = st.lists(st.sampled_from(("git", "docs", "web", "review", "path:*.py", "path:docs/")), max_size=3)
CONTEXTS = st.builds(
    lambda paths, contexts, tool, scenario, step, facts: make_context(
        paths=paths, contexts=contexts, tool=tool, scenario=scenario, step=step, facts=facts
    ),
    st.lists(st.sampled_from(("src/a.py", "docs/b.md", "c.ts")), max_size=2),
    st.lists(NAMES, max_size=2),
    st.sampled_from(("", "claude", "Codex")),
    st.one_of(st.just(""), NAMES),
    st.one_of(st.just(""), NAMES),
    st.dictionaries(st.sampled_from(("phase", "os")), st.lists(st.sampled_from(("a", "b")), min_size=1)),
)


def test_everything_that_is_known_is_in_the_context() -> None:
    """Names and facts come from the files, the kind of task, the agent, git and what is given."""
    made = make_context(
        paths=["src/api/a.py", "README.md"],
        changed=["web/z.ts", "web/b.ts", "README.md"],
        head=HeadState("0" * 40, "Topic"),
        query_type="bugfix",
        tool="Claude_Code",
        scenario="checkout",
        step="review",
        contexts=["Release"],
        facts={"phase": ["beta"], "query_type": ["incident"]},
    )
    assert made.paths == ("src/api/a.py", "README.md", "web/b.ts", "web/z.ts")
    languages = {"python", "markdown", "typescript"}
    given_names = {"release", "claude", "checkout", "review", "topic", "bugfix"}
    assert made.names == languages | given_names | {"src", "api", "web"}
    assert (made.tool, made.scenario, made.step) == ("claude", "checkout", "review")
    assert dict(made.facts) == {
        "language": ("markdown", "python", "typescript"),
        "query_type": ("incident",),
        "tool": ("claude",),
        "scenario": ("checkout",),
        "step": ("review",),
        "branch": ("Topic",),
        "detached": ("false",),
        "dirty": ("true",),
        "phase": ("beta",),
    }


def test_what_nobody_knows_is_in_no_context() -> None:
    """Outside of git, without an agent and a task, there is nothing; a detached head has no branch."""
    assert make_context() == RuleContext()
    assert dict(make_context(head=HeadState("0" * 40, None), changed=()).facts) == {
        "detached": ("true",),
        "dirty": ("false",),
    }
    many = [f"f{number:03}" for number in range(CHANGED + 1)]
    assert make_context(changed=many[::-1]).paths == tuple(many[:CHANGED])


def test_scope_semantics() -> None:
    """Empty is everywhere; else one of the entries must be in force, whatever its case."""
    work = make_context(paths=["a.py"], contexts=["git"])
    for scope, holds in {
        (): True,
        ("Git", "x"): True,
        ("x",): False,
        ("x", "path:*.py"): True,
        ("path:*.ts",): False,
        ("python",): True,
    }.items():
        assert scope_holds(Level.GLOBAL, scope, work) is holds


@pytest.mark.parametrize("level", [Level.SCENARIO, Level.STEP])
def test_a_rule_of_a_scenario_or_step_holds_while_that_is_active(level: Level) -> None:
    """A context of the same name is not enough; without names any scenario or step is."""
    named = make_context(contexts=["review"])
    names = frozenset({"review"})
    active, other = (
        RuleContext(names=names, **{level.value: name})  # type: ignore[arg-type]
        for name in ("Review", "deploy")
    )
    cases = {("review",): (False, True, False), (): (False, True, True)}
    for scope, expected in cases.items():
        assert tuple(scope_holds(level, scope, one) for one in (named, active, other)) == expected


def test_globs_are_the_scenario_of_a_part_of_the_project_and_limit_a_step() -> None:
    """A file at hand makes its part active; a step has to be active besides."""
    scope, here, there = ("path:web/",), make_context(paths=["web/a.ts"]), make_context(paths=["b.py"])
    assert [scope_holds(Level.SCENARIO, scope, one) for one in (here, there)] == [True, False]
    assert not scope_holds(Level.STEP, scope, here)
    assert scope_holds(Level.STEP, scope, make_context(paths=["web/a.ts"], step="x"))
    assert not scope_holds(Level.STEP, scope, make_context(paths=["b.py"], step="x"))


def test_a_rule_for_an_agent_is_for_no_other_and_for_nobody_unnamed() -> None:
    """The name of an agent is the same in each spelling."""
    named = [make_context(tool=tool) for tool in ("claude-code", "codex", "")]
    assert [tools_hold(("Claude",), one) for one in named] == [True, False, False]
    assert all(tools_hold((), one) for one in named)


def test_every_condition_needs_a_fact_with_one_of_its_values() -> None:
    """Values are compared as they are written; a fact that is not known meets none."""
    work = make_context(facts={"os": ["linux"], "beta": ["true"], "build": ["3"]})
    assert conditions_hold({"os": ["mac", "linux"], "beta": True, "build": 3}, work)
    assert not conditions_hold({"os": "linux", "arch": "arm"}, work)
    assert not conditions_hold({"os": "Linux"}, work)


def test_reasons_name_what_is_missing_and_how_to_give_it(rule: Make) -> None:
    """Each is the rest of a sentence about the rule."""
    work = make_context(paths=["a.py"], tool="claude", step="deploy", facts={"phase": ["beta", "rc"]})
    reasons = {
        "is for codex and gemini, not for claude": rule("a", tool_targets=("codex", "gemini")),
        "is for docs or path:*.md, which is not in the context: name the context docs": rule(
            "b", scope=("docs", "path:*.md")
        ),
        "is for path:a/, path:b/, path:c/, path:d/ or 2 more, and no file at hand is one of them": rule(
            "c", scope=tuple(f"path:{name}/" for name in "abcdef")
        ),
        "is for the step review, and deploy is active": rule("d", level=Level.STEP, scope=("review",)),
        "is for the scenario shop, and none is active: name the scenario shop": rule(
            "e", level=Level.SCENARIO, scope=("shop",)
        ),
        "holds where phase is release or final, and it is beta or rc": rule(
            "f", conditions={"phase": ["release", "final"]}
        ),
        "holds where branch is main, and branch is not known: name the fact branch=main": rule(
            "g", conditions={"branch": "main"}
        ),
        "": rule("h", level=Level.STEP, scope=("deploy",), tool_targets=("claude",)),
    }
    assert [left_out(item, work) for item in reasons.values()] == list(reasons)


@given(st.sampled_from(Level), SCOPES, CONTEXTS)
def test_a_scope_that_holds_is_held_by_something(
    level: Level, scope: Sequence[str], work: RuleContext
) -> None:
    """A reason is given exactly where a rule does not hold, and what holds it is said where a scope does."""
    item = Rule(id="r", name="", rule="", level=level, scope=tuple(scope))
    holds = scope_holds(level, scope, work)
    assert (left_out(item, work) == "") is holds
    if holds and (scope or level is not Level.GLOBAL):
        assert held_by(item, work)


@given(st.sampled_from(Level), SCOPES, CONTEXTS, st.lists(NAMES))
def test_more_context_takes_nothing_away(
    level: Level, scope: Sequence[str], work: RuleContext, more: Sequence[str]
) -> None:
    """What holds keeps holding when further names are in force."""
    wider = RuleContext(
        work.paths,
        work.names | {name.casefold() for name in more},
        work.facts,
        work.tool,
        work.scenario,
        work.step,
    )
    assert scope_holds(level, scope, work) <= scope_holds(level, scope, wider)
