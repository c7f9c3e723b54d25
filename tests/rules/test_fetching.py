"""Fetching by filters: what is let through, in which order, in pages that miss and repeat nothing."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.strategies import IDS, books, queries
from tests.rules.strategies import rules as rules_with
from workbench.errors import UsageError
from workbench.records.rules import Authority, Category, Rule
from workbench.rules.fetching.facets import (
    RuleColumns,
    RuleFilter,
    allowed_positions,
    column_rules,
    columns_arrays,
    columns_from,
)
from workbench.rules.fetching.queries import (
    MAX_LIMIT,
    RulePage,
    every,
    fetch,
    get_context_rules,
    get_rules,
    rule_filter,
)
from workbench.rules.ruleset import rule_set

Make = Callable[..., Rule]


def ids(page: RulePage) -> list[str]:
    return [rule.id for rule in page.rules]


def lets_through(
    rule: Rule,
    scope: Sequence[str] = (),
    project_id: str | None = None,
    category: str | None = None,
    authority: str | None = None,
    tool_targets: Sequence[str] = (),
    tags: Sequence[str] = (),
    enabled: bool | None = True,
) -> bool:
    """Decide about one rule, word for word as the specification does; globs take in two known paths."""
    taken = {"path:src/a.py": {"path:src/**", "path:*.py"}, "path:b.py": {"path:*.py"}}
    wanted = set(scope).union(*(taken.get(entry, set()) for entry in scope))
    return (
        (not scope or not rule.scope or bool(wanted & set(rule.scope)))
        and (project_id is None or rule.project_id in (None, project_id))
        and category in (None, rule.category)
        and authority in (None, rule.authority)
        and (not tool_targets or not rule.tool_targets or bool(set(tool_targets) & set(rule.tool_targets)))
        and (not tags or bool(set(tags) & set(rule.tags)))
        and enabled in (None, rule.enabled)
    )


@given(books(), queries())
def test_filters_let_through_what_the_specification_says(
    book: tuple[Rule, ...], query: dict[str, Any]
) -> None:
    """For all rules and filters the answer is the rules each filter lets through, absolute ones first."""
    page = get_rules(column_rules(book), limit=MAX_LIMIT, **query)
    expected = [rule for rule in book if lets_through(rule, **query)]
    expected.sort(key=lambda rule: (rule.authority is not Authority.ABSOLUTE, -rule.priority, rule.id))
    assert page == RulePage(tuple(expected), len(expected), None)


@given(books(), queries(), st.integers(1, 7))
def test_pages_give_each_rule_exactly_once(book: tuple[Rule, ...], query: dict[str, Any], limit: int) -> None:
    """Following the cursors to the end gives what one large page gives, and the count is that of all."""
    columns = column_rules(book)
    whole = get_rules(columns, limit=MAX_LIMIT, **query)
    page = get_rules(columns, limit=limit, **query)
    found = list(page.rules)
    while page.next_cursor is not None:
        assert len(page.rules) == limit
        page = get_rules(columns, limit=limit, cursor=page.next_cursor, **query)
        assert page.total_count == whole.total_count
        found += page.rules
    assert tuple(found) == whole.rules


@given(books(), queries(), st.integers(1, 5), st.data())
def test_pages_survive_rules_that_come_and_go(
    book: tuple[Rule, ...], query: dict[str, Any], limit: int, data: st.DataObject
) -> None:
    """Rules that are there all the time come exactly once, whatever is added and removed between pages."""
    by_id = {rule.id: rule for rule in book}
    lasting = set(by_id)
    page = get_rules(column_rules(book), limit=limit, **query)
    seen = ids(page)
    while page.next_cursor is not None:
        for identifier in data.draw(st.lists(st.sampled_from(IDS), max_size=3)):
            if identifier in by_id:
                del by_id[identifier]
                lasting.discard(identifier)
            elif identifier not in lasting:
                by_id[identifier] = data.draw(rules_with(identifier))
        current = tuple(by_id[identifier] for identifier in sorted(by_id))
        page = get_rules(column_rules(current), limit=limit, cursor=page.next_cursor, **query)
        seen += ids(page)
    expected = {rule.id for rule in book if rule.id in lasting and lets_through(rule, **query)}
    assert sorted(expected) == sorted(identifier for identifier in seen if identifier in expected)


@given(st.text())
def test_any_other_text_is_no_cursor(text: str) -> None:
    """A text that no page gave is refused with what to do instead, whatever it holds."""
    with pytest.raises(UsageError, match="is not a cursor of this query") as caught:
        get_rules(column_rules(()), cursor=text)
    assert "next_cursor" in caught.value.hint


def test_a_cursor_belongs_to_its_query(rule: Make) -> None:
    """A cursor of other filters, a changed one and one with a tail are refused; the limit may change."""
    columns = column_rules([rule(f"r{number}") for number in range(5)])
    cursor = get_rules(columns, limit=2, tool_targets=["claude", "codex"]).next_cursor
    assert cursor is not None
    following = get_rules(columns, limit=3, tool_targets=["codex", "claude", "codex"], cursor=cursor)
    assert (ids(following), following.next_cursor) == (["r2", "r3", "r4"], None)
    data = bytearray(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    data[-3] ^= 1
    changed = base64.urlsafe_b64encode(bytes(data)).decode().rstrip("=")
    for wrong, query in (
        (cursor, {"tool_targets": ["claude"]}),
        (changed, {"tool_targets": ["claude", "codex"]}),
        (cursor + "A", {"tool_targets": ["claude", "codex"]}),
        ("A" * 200_000, {}),
    ):
        with pytest.raises(UsageError, match="not a cursor"):
            get_rules(columns, limit=2, cursor=wrong, **query)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ({"category": "style"}, "unknown category 'style'", "Use one of preference, behavior, agent."),
        ({"category": ""}, "unknown category ''", "preference"),
        ({"authority": "Absolute"}, "unknown authority 'Absolute'", "Use one of absolute, default."),
        ({"limit": 0}, "limit 0 is outside 1 to 1000", "page by page"),
        ({"limit": 1001}, "limit 1001 is outside", "page by page"),
        ({"limit": -5}, "limit -5 is outside", "page by page"),
    ],
)
def test_requests_that_make_no_sense_name_the_choices(query: dict[str, Any], message: str, hint: str) -> None:
    """Unknown names and limits out of range are refused, saying what would be right."""
    with pytest.raises(UsageError) as caught:
        get_rules(column_rules(()), **query)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_one_text_counts_as_one_entry(rule: Make) -> None:
    """A text where a list is expected is one value, not its letters; order and repetition don't matter."""
    columns = column_rules([rule("r1", scope=("git",)), rule("r2", scope=("g",)), rule("r3")])
    assert ids(get_rules(columns, scope="git")) == ["r1", "r3"]
    assert rule_filter(tags=["b", "a", "b"]) == rule_filter(tags=("a", "b"))


def test_paths_at_hand_are_taken_in_by_globs(rule: Make) -> None:
    """A `path:` entry reaches rules whose globs match it, exceptions included; a context name never does."""
    columns = column_rules(
        [
            rule("r1", scope=("path:src/**", "path:!src/gen/**")),
            rule("r2", scope=("path:docs/**",)),
            rule("r3", scope=("git",)),
            rule("r4"),
        ]
    )
    assert ids(get_rules(columns, scope=["path:src/a.py"])) == ["r1", "r4"]
    assert ids(get_rules(columns, scope=["path:src/gen/a.py"])) == ["r4"]
    assert ids(get_rules(columns, scope=["git", "path:docs/x.md"])) == ["r2", "r3", "r4"]
    assert ids(get_rules(columns, scope=["src/a.py"])) == ["r4"]


@given(books(), queries())
def test_a_search_is_kept_to_the_positions_let_through(book: tuple[Rule, ...], query: dict[str, Any]) -> None:
    """Positions count in the rulebook's own order, ascending, and are those of the rules a fetch gives."""
    columns = column_rules(book)
    positions = allowed_positions(columns, rule_filter(**query)).tolist()
    assert positions == sorted(positions)
    assert {book[position].id for position in positions} == set(
        ids(get_rules(columns, limit=MAX_LIMIT, **query))
    )


@given(books(), st.sampled_from(IDS))
def test_a_rule_is_found_by_its_whole_id(book: tuple[Rule, ...], identifier: str) -> None:
    """The rule with that id, or None; the beginning of an id is not one."""
    assert rule_set(book).find(identifier) == {rule.id: rule for rule in book}.get(identifier)
    assert rule_set(book).find(identifier[:-1]) is None


def test_the_composite_takes_every_absolute_rule_and_the_best_default_ones(rule: Make) -> None:
    """More absolute rules than one page holds all come; the search is asked for default ones, k at most."""
    absolute = [rule(f"a{number:04}", authority=Authority.ABSOLUTE) for number in range(MAX_LIMIT + 5)]
    default = [rule(f"d{number}") for number in range(9)]
    columns = column_rules([*absolute, *default])
    asked: list[tuple[str, RuleFilter, int, float]] = []

    def search(query: str, selected: RuleFilter, limit: int, least: float) -> list[tuple[Rule, float]]:
        asked.append((query, selected, limit, least))
        return [(absolute[0], 0.99), *((found, 0.9) for found in default)]

    selected = rule_filter(project_id="p", category=Category.BEHAVIOR, authority="absolute")
    rules = get_context_rules(
        lambda request: fetch(columns, request), search, "commit", selected, k=4, score_threshold=0.7
    )
    assert rules.absolute == tuple(absolute)
    assert rules.default == tuple((chosen, 0.9) for chosen in default[:4])
    assert rules.rules == (*absolute, *default[:4])
    assert asked == [
        ("commit", rule_filter(project_id="p", category="behavior", authority="default"), 4, 0.7)
    ]
    assert len(list(every(lambda request: fetch(columns, request), RuleFilter()))) == len(columns.rules)


@given(books(), books(), st.lists(queries(), max_size=5), st.integers(1, 7))
def test_rules_put_over_others_answer_as_if_they_were_one(
    before: list[Rule], after: list[Rule], asked: list[dict[str, Any]], limit: int
) -> None:
    """Rules that come, go and change are found, counted and paged as in columns of all, kept ones too."""
    base = rule_set(before)
    kept = {
        name: np.frombuffer(held, np.uint8) if isinstance(held, bytes) else held
        for name, held in columns_arrays(base.columns).items()
    }
    assert _plain(columns_from(kept, before)) == _plain(column_rules(before))
    now = {rule.id: rule for rule in after}
    changed = base.with_changes(now, {rule.id for rule in before} - now.keys())
    assert tuple(changed) == tuple(after)
    assert_same_answers(changed.columns, column_rules(after), asked, limit)


def assert_same_answers(
    columns: RuleColumns, whole: RuleColumns, asked: Sequence[dict[str, Any]], limit: int
) -> None:
    """Compare pages and the rows of a search by two columns of the same rules."""
    for query in ({"enabled": None}, *asked):
        cursor = None
        while True:
            page = get_rules(columns, limit=limit, cursor=cursor, **query)
            assert page == get_rules(whole, limit=limit, cursor=cursor, **query)
            cursor = page.next_cursor
            if cursor is None:
                break
        wanted = rule_filter(**query)
        assert allowed_positions(columns, wanted).tolist() == allowed_positions(whole, wanted).tolist()


def _plain(columns: RuleColumns) -> dict[str, object]:
    """Return columns as plain values, by what decides an answer."""
    properties = {
        name: ({value: held.tolist() for value, held in found.ranks.items()}, found.none.tolist())
        for name in ("scope", "project", "category", "authority", "tools", "tags")
        for found in (getattr(columns, name),)
    }
    globs = {found: held.tolist() for found, held in columns.globs}
    arrays = (list(columns.rules), columns.order.tolist(), list(columns.keys), columns.enabled.tolist())
    return {**properties, "globs": globs, "arrays": arrays}
