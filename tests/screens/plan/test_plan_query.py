"""What is asked of the planner: wishes, budgets, what is kept, and the command line that does the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screens.plan.query import (
    MAX_BUDGET,
    MIN_BUDGET,
    PlanQuery,
    check_budget,
    dump_query,
    load_query,
    parse_budget,
    step_budget,
)
from workbench.entry.cli.main import cli
from workbench.records.plan import QueryType

NAMES = st.lists(st.sampled_from(["a.py", "b.py", "rule-1", "-x"]), max_size=4)
ASKED = st.builds(
    PlanQuery,
    task=st.text(max_size=20),
    budget=st.sampled_from([0, MIN_BUDGET, 3000, MAX_BUDGET]),
    baseline=st.booleans(),
    query_type=st.sampled_from(["", "bugfix", "general"]),
    strict=st.sampled_from([None, True, False]),
)


@given(ASKED, NAMES, NAMES)
def test_a_name_is_pinned_or_excluded_or_neither(asked: PlanQuery, pins: list[str], outs: list[str]) -> None:
    """No wish contradicts another, none stands twice, and the same key again takes a wish back."""
    both = asked.pinning(pins).excluding(outs)
    assert not set(both.pinned) & set(both.excluded)
    assert len(set(both.pinned)) == len(both.pinned)
    if outs:
        assert not set(asked.excluding(outs).excluding(outs).excluded) & set(outs)
        assert set(outs) <= set(asked.excluding(outs).excluded)


@given(ASKED, NAMES)
def test_what_is_kept_comes_back(asked: PlanQuery, pins: list[str]) -> None:
    """Through JSON and back nothing is lost."""
    wished = asked.pinning(pins)
    assert load_query(json.loads(json.dumps(dump_query(wished)))) == wished


@given(
    st.dictionaries(
        st.sampled_from(["task", "budget", "baseline", "query_type", "strict", "pinned", "excluded"]),
        st.one_of(st.none(), st.integers(), st.text(max_size=3), st.lists(st.integers()), st.booleans()),
    )
)
def test_foreign_values_cost_nothing_but_themselves(values: dict[str, object]) -> None:
    """Whatever stands in the file, a sound question comes back."""
    asked = load_query(values)
    assert asked.budget == 0 or MIN_BUDGET <= asked.budget <= MAX_BUDGET
    assert all(isinstance(name, str) for name in (*asked.pinned, *asked.excluded))


@given(st.integers(MIN_BUDGET, MAX_BUDGET), st.integers(-3, 3))
def test_steps_move_the_budget_their_way(budget: int, steps: int) -> None:
    """A step up is never a step down, and the limits hold."""
    moved = step_budget(budget, steps)
    assert MIN_BUDGET <= moved <= MAX_BUDGET
    assert (moved - budget) * steps >= 0


@pytest.mark.parametrize(
    ("budget", "up", "down"),
    [(3000, 3250, 2750), (4000, 5000, 3750), (4321, 5000, 4000), (100, 250, 50), (10_000, 11_000, 9_000)],
)
def test_steps_are_round_and_grow(budget: int, up: int, down: int) -> None:
    """Up to 4,000 a step is 250, beyond 1,000."""
    assert (step_budget(budget, 1), step_budget(budget, -1)) == (up, down)


@pytest.mark.parametrize(("text", "tokens"), [(" 3000 ", 3000), ("12,000", 12_000), ("1_000", 1000)])
def test_a_budget_may_be_typed_with_separators(text: str, tokens: int) -> None:
    """What people write as a number is one."""
    assert check_budget(text) == ""
    assert parse_budget(text) == tokens


@pytest.mark.parametrize("text", ["", "many", "-5", "0", "9" * 30, "3.5", "٣٠٠٠"])
def test_a_wrong_budget_is_told(text: str) -> None:
    """What is no number of tokens says so and changes nothing."""
    assert "tokens" in check_budget(text)


def test_the_request_takes_the_settings_where_nothing_was_decided() -> None:
    """Budget and strictness are those of the settings until a key says otherwise."""
    plain = PlanQuery("fix it").request("/p", 4000, True)
    assert (plain.token_budget, plain.strict, plain.query_type) == (4000, True, None)
    asked = PlanQuery("fix it", 900, query_type="bugfix", strict=False, pinned=("a",), excluded=("b",))
    made = asked.request("/p", 4000, True)
    assert (made.token_budget, made.strict, made.query_type) == (900, False, QueryType.BUGFIX)
    assert (made.pinned, made.excluded) == (("a",), ("b",))


@given(ASKED.filter(lambda one: not one.blank), NAMES)
def test_the_command_line_means_the_same(asked: PlanQuery, pins: list[str]) -> None:
    """The program reads back what was asked, whatever the task begins with."""
    import click

    wished = asked.pinning(pins)
    name, *rest = wished.arguments("--copy")
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    context = command.make_context("plan", list(rest), resilient_parsing=False)
    assert " ".join(context.params["task"]) == wished.task
    assert (context.params["budget"] or 0) == wished.budget
    assert tuple(context.params["pins"]) == wished.pinned
    assert context.params["copy"] is True
