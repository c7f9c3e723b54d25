"""Keys tell requests apart; stored pages come back as they were or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.strategies import books, queries
from workbench.records.rules import Check, Provenance, Rule
from workbench.rules.fetching.facets import column_rules
from workbench.rules.fetching.queries import RulePage, RuleRequest, get_rules, rule_filter, rule_request
from workbench.rules.fetching.stored_pages import cache_key, decode_page, encode_page, shared_prefix

TEXTS = st.lists(st.text("a,|:%none\udcff "), max_size=3)


def test_keys_read_as_specified() -> None:
    """Ordinary values give the specification's key, lists sorted, followed by what it did not have."""
    asked = rule_filter(
        scope=["tests", "git"],
        project_id="shop-1f",
        category="behavior",
        authority="absolute",
        tool_targets=["codex", "claude"],
    )
    assert cache_key(RuleRequest(asked)) == (
        "project:shop-1f|scope:git,tests|category:behavior|authority:absolute|tools:claude,codex"
        "|tags:|enabled:true|limit:100|cursor:none"
    )
    assert cache_key(RuleRequest(rule_filter(enabled=None), limit=5)) == (
        "project:none|scope:|category:none|authority:none|tools:|tags:|enabled:none|limit:5|cursor:none"
    )


@given(
    st.tuples(TEXTS, TEXTS, TEXTS, st.one_of(st.none(), st.text("none|:%"))),
    st.tuples(TEXTS, TEXTS, TEXTS, st.one_of(st.none(), st.text("none|:%"))),
)
def test_different_requests_have_different_keys(one: tuple[Any, ...], two: tuple[Any, ...]) -> None:
    """Separators, emptiness, and words like `none` inside of values never make two requests look the same."""
    first, second = (
        rule_filter(scope=scope, tool_targets=tools, tags=tags, project_id=project)
        for scope, tools, tags, project in (one, two)
    )
    same = first == second
    assert (cache_key(RuleRequest(first)) == cache_key(RuleRequest(second))) is same
    assert cache_key(RuleRequest(first)).isascii()


def test_pages_limits_and_switches_are_part_of_the_key() -> None:
    """What changes the answer changes the key."""
    columns = column_rules([Rule(id=f"r{number}", name="n", rule="t") for number in range(5)])
    everything = rule_filter()
    cursor = get_rules(columns, limit=2).next_cursor
    requests = [
        rule_request(everything),
        rule_request(everything, limit=2),
        rule_request(everything, limit=2, cursor=cursor),
        rule_request(replace(everything, enabled=False)),
        rule_request(replace(everything, enabled=None)),
    ]
    assert len({cache_key(request) for request in requests}) == len(requests)


@given(books(), queries(), st.integers(1, 5))
def test_stored_pages_come_back_as_they_were(
    book: tuple[Rule, ...], query: dict[str, Any], limit: int
) -> None:
    """Every field survives, and names that are not UTF-8 do."""
    page = get_rules(column_rules(book), limit=limit, **query)
    assert decode_page("k", encode_page("k", page)) == page


def test_every_field_of_a_rule_survives() -> None:
    """Nested records, facts and metadata come back, with odd characters in them."""
    rule = Rule(
        id="r",
        name="\udcff|\\ud800",
        rule="[/] \x1b[31m \\udc00",
        conditions={"os": ["linux", "mac"], "ci": True},
        metadata={"a": {"b": [1, 2.5, None]}},
        provenance=Provenance("src/\udce4.md", 1, 2, "claude", globs=("*.py",)),
        check=Check(tools=("Bash",), command="git push --force"),
    )
    page = RulePage((rule,), 7, "abc")
    assert decode_page("k", encode_page("k", page)) == page


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\xff",
        b"null",
        b"[]",
        b"{}",
        b'{"key":"k"}',
        b'{"key":"k","page":{"rules":[{"id":1}],"total_count":1}}',
        b'{"key":"k","page":{"rules":[],"total_count":"1"}}',
        b'{"key":"k","page":{"rules":[{"id":"r","name":"n","rule":"t","authority":"both"}],"total_count":1}}',
        b'{"key":"other","page":{"rules":[],"total_count":0}}',
        b'{"key":"k","page":{"rules":[],"total_count":0}',
        b'{"key":"\\ud800","page":{"rules":[],"total_count":0}}',
        b"[" * 100_000,
        b'"\\ud8' + b"[" * 100_000,
    ],
)
def test_anything_else_is_no_page(data: bytes) -> None:
    """Damaged, foreign and mistyped values, and pages of other keys, are as good as none."""
    assert decode_page("k", data) is None


@given(st.binary(max_size=60))
def test_random_bytes_are_no_page(data: bytes) -> None:
    """No bytes break the reading."""
    assert decode_page("k", data) is None


def test_prefixes_tell_projects_apart() -> None:
    """Each project has its own, whatever its name holds."""
    assert shared_prefix("shop-1f").startswith("workbench:rules:")
    assert shared_prefix("shop-1f").endswith(":{shop-1f}")
    assert len({shared_prefix(name) for name in ("a", "a}", "a:{b", "", "\udcff")}) == 5
