"""What the screen of rules shows and asks, as pure functions: fields, order, rows, forms, merges, words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from screens.curation.facets import FacetCount, facet_counts, facets_of
from screens.curation.overtaken import FieldMerge, count_undecided, field_merges, merged_changes
from screens.rules.rule_form import (
    add_command,
    bulk_problems,
    each_change,
    edit_command,
    form_fields,
    form_values,
    problems,
    record_values,
    rule_fields,
    switch_command,
    value_text,
)
from screens.rules.rule_view import (
    COLUMNS,
    columns,
    join_wrapped,
    rule_cells,
    rule_content,
    scored_cells,
    use_content,
)
from tests.rules.strategies import books
from workbench.lists.rules import FIELDS
from workbench.lists.tables import ValueCount, ValueCounts
from workbench.records.rules import Authority, Check, Level, Provenance, Rule
from workbench.rules.curation.ledger import Use
from workbench.rules.matching.search import FoundRule

HOSTILE = "[/] list[int] = x[0] \x1b[31mred\x1b[0m \0 \u202eevil\u202c 🎉"


def made(identifier: str = "rule-a", **fields: Any) -> Rule:
    return Rule(**{"id": identifier, "name": "n", "rule": "Use tabs.", "project_id": "p", **fields})


FULL = made(
    "rule-full",
    rule="Pass values as parameters.",
    condition_text="when writing SQL",
    examples=("escape this where clause",),
    tags=("language:sql",),
    tool_targets=("claude",),
    scope=("path:src/**",),
    authority=Authority.ABSOLUTE,
    level=Level.STEP,
    priority=80,
    token_cost=12,
    usage_count=3,
    version=2,
    cooldown=60,
    enabled=False,
    created_at="2026-10-01T00:00:00+00:00",
    updated_at="2026-11-02T00:00:00+00:00",
    last_used="2026-11-03T00:00:00Z",
    conditions={"os": ["linux", "mac"]},
    source="import",
    provenance=Provenance("docs/CLAUDE.md", 7, 8, "claude", section=("Data",), names=("AGENTS.md",)),
    replaces=("rule-old",),
    metadata={"as_imported": "x"},
    check=Check(command="git push --force"),
)


def test_a_row_shows_its_states_without_colour() -> None:
    """Authority and being off are glyphs; every column has a cell."""
    cells = [cell.plain if isinstance(cell, Content) else cell for cell in rule_cells(FULL)]
    assert len(cells) == len(COLUMNS)
    assert cells[:3] == ["◆", "○", "behavior"]
    assert "docs/CLAUDE.md:7" in cells
    scored = [cell.plain if isinstance(cell, Content) else cell for cell in scored_cells(FULL, 0.4, 0.5)]
    assert scored == ["0.400", *cells]
    assert len(columns(scored=True)) == len(scored)


def test_hostile_text_is_neutral_in_rows_and_panes() -> None:
    """Nothing a rule holds reaches the terminal as it is, and a megabyte is cut."""
    rule = replace(FULL, rule=HOSTILE + "x" * 1_000_000, name=HOSTILE, tags=(HOSTILE,), examples=(HOSTILE,))
    texts = [cell.plain if isinstance(cell, Content) else cell for cell in rule_cells(rule)]
    texts.append(rule_content(rule, FoundRule(rule, 0.5, 0.4, 0.1), HOSTILE).plain)
    for text in texts:
        assert not {"\x1b", "\0", "\u202e"} & set(text)
        assert len(text) < 20_000
    assert "[/] list[int] = x[0]" in texts[-1]


# Forms.


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ask before you push, even if the user\nsays so.", "Ask before you push, even if the user says so."),
        ("Run the linter\n  before `x`\n  and **y**.", "Run the linter before `x` and **y**."),
        ("Before a commit:\n- lint\n- test\n\n1. a\n2) b", None),
        ("Say\n\n    code\n    more", None),
        ("a | b\n--|--\n1 | 2\n> quoted\n# head", None),
        ("Run\n```\none\ntwo\n```", None),
    ],
)
def test_wrapped_lines_are_one_and_others_stay(text: str, shown: str | None) -> None:
    """A paragraph fills the pane; what is a line of its own in Markdown is one there."""
    assert join_wrapped(text) == (shown or text)


@given(books())
def test_an_untouched_form_says_what_the_rule_says(rules: tuple[Rule, ...]) -> None:
    """Values of a form, given back as they are, are those of the record."""
    for rule in rules:
        values = {field.name: field.value for field in form_fields(rule)}
        if problems(values) or "" in rule.scope:
            continue  # values of old that would be refused today
        found, _ = record_values(values)
        assert {name: getattr(rule, name) for name in found} == found


def test_what_is_wrong_is_said_by_field() -> None:
    """Each field tells its own mistake, with the next step."""
    found = problems({"rule": " ", "tags": ("nonsense:x",), "scope": "src/**", "priority": 5, "check": "{"})
    assert set(found) == {"rule", "tags", "scope", "check"}
    assert "path:src/**" in found["scope"]


def test_entries_of_lists_may_hold_commas() -> None:
    """Scopes, conditions and examples are written an entry a line."""
    found, _ = record_values(
        {"scope": "path:*.{ts,tsx}\n git \n", "conditions": "os=linux\nos=mac", "examples": "a, b\nc"}
    )
    assert found["scope"] == ("path:*.{ts,tsx}", "git")
    assert found["conditions"] == {"os": ["linux", "mac"]}
    assert found["examples"] == ("a, b", "c")
    assert value_text("conditions", found["conditions"]) == "os=linux\nos=mac"
    assert value_text("enabled", False) == "no"
    assert value_text("check", Check(command="rm")) == '{"command": "rm", "decision": "ask"}'


def test_many_rules_change_each_in_its_way() -> None:
    """What is added comes behind what each has, what is removed goes where it is, the rest is the same."""
    rules = (made("rule-a", tags=("language:go",)), made("rule-b", tags=("tool:git", "language:sql")))
    wanted = {"priority": 7, "add_tags": ("language:sql",), "remove_tags": ("tool:git",)}
    assert each_change(rules, wanted) == {
        "rule-a": {"priority": 7, "tags": ("language:go", "language:sql")},
        "rule-b": {"priority": 7, "tags": ("language:sql",)},
    }
    assert form_values({"priority": None, "enabled": "no", "add_scope": "git\n", "add_tags": ()}) == {
        "enabled": False,
        "add_scope": ["git"],
    }
    assert set(bulk_problems({"add_tags": ("nonsense:x",), "remove_tags": ("nonsense:y",)})) == {"add_tags"}


# Merging.


def rule_merges(seen: Rule, now: Rule, changes: dict[str, Any]) -> tuple[FieldMerge, ...]:
    """Return the fields that an edit of a rule and somebody else's differ in."""
    return field_merges(rule_fields().mergeable_fields(changes), seen, now, changes)


def test_what_one_side_alone_changed_is_chosen_already() -> None:
    """Only what both changed differently waits for somebody; nothing of theirs is overwritten unasked."""
    seen = made(priority=50, tags=("language:go",))
    now = replace(seen, priority=60, enabled=False)
    merges = {one.name: one for one in rule_merges(seen, now, {"priority": 70, "tags": ()})}
    assert {name: one.choice for name, one in merges.items()} == {
        "priority": "",
        "enabled": "theirs",
        "tags": "mine",
    }
    assert count_undecided(tuple(merges.values())) == 1
    assert merged_changes(tuple(merges.values())) == {"tags": ()}
    mine = replace(merges["priority"], choice="mine")
    assert merged_changes((mine, merges["tags"], merges["enabled"])) == {"priority": 70, "tags": ()}
    merged = replace(merges["priority"], choice="merged", merged=65)
    assert merged_changes((merged,)) == {"priority": 65}


@given(
    before=st.integers(0, 3),
    theirs=st.integers(0, 3),
    mine=st.integers(0, 3),
)
def test_a_field_is_contested_only_if_both_changed_it(before: int, theirs: int, mine: int) -> None:
    """The three-way rule, for any values."""
    seen = made(priority=before)
    merges = rule_merges(seen, replace(seen, priority=theirs), {"priority": mine})
    contested = theirs != before and mine not in (before, theirs)
    assert count_undecided(merges) == int(contested)
    if not contested:
        holds = mine if mine != before else theirs
        assert merged_changes(merges).get("priority", theirs) == holds


# FacetDialog and words.


def test_values_are_counted_and_become_a_filter() -> None:
    """Values keep the order they come in; chosen values of one field are alternatives."""
    tags = (ValueCount("language:go", 2), ValueCount("language:sql", 1))
    enabled = (ValueCount("yes", 2), ValueCount("no", 1))
    counts = facet_counts(ValueCounts(3, {"enabled": enabled, "tag": tags, "tool": ()}))
    assert FacetCount("tag", "language:go", 2, 3) in counts
    assert [one.key for one in counts] == [
        *("enabled:yes", "enabled:no", "tag:language:go", "tag:language:sql"),
    ]
    facets = facets_of(["tag:language:go", "tag:language:sql", "enabled:no"], counts, FIELDS)
    assert [(facet.field, set(facet.values)) for facet in facets] == [
        ("enabled", {"no"}),
        ("tag", {"language:go", "language:sql"}),
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"enabled": False}, ["rules", "disable", "rule-a"]),
        ({"priority": 7, "tags": ()}, ["rules", "edit", "rule-a", "--priority", "7", "--clear", "tags"]),
        ({"scope": ("git", "a b")}, ["rules", "edit", "rule-a", "--scope", "git", "--scope", "a b"]),
        ({"conditions": {"os": ["x", "y"]}}, ["rules", "edit", "rule-a", "--when", "os=x", "--when", "os=y"]),
        (
            {"check": Check(command="rm")},
            ["rules", "edit", "rule-a", "--check", '{"command": "rm", "decision": "ask"}'],
        ),
    ],
)
def test_a_change_is_a_command_line(changes: dict[str, Any], words: list[str]) -> None:
    """What the log says does the same headless."""
    assert edit_command("rule-a", changes) == words


def test_adding_and_switching_are_command_lines() -> None:
    """As above, for new rules and several at once."""
    assert add_command({"rule": "x", "priority": 3, "tags": ()}, home=True) == [
        *("rules", "add", "x", "--priority", "3", "--home"),
    ]
    assert switch_command(["a", "b"], on=True) == ["rules", "enable", "a", "b"]


def test_use_is_counted_by_tool_day_and_session() -> None:
    """Each use counts once in each list; without any it says how uses are noted."""
    uses = [
        Use("2026-11-01T10:00:00Z", "cli", "rule-a", "s1", "claude"),
        Use("2026-11-02T10:00:00Z", "cli", "rule-a", "s2", "claude"),
        Use("2026-11-02T11:00:00Z", "cli", "rule-a", "s2", "cursor"),
    ]
    text = use_content(made(token_cost=5), uses).plain
    assert "3 times in 2 sessions" in text
    assert "15 tokens" in text
    assert "usage --record" in use_content(made(), ()).plain
