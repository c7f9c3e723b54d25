"""Which rules are fetched by filters [rules]: scope, project, category, authority, tool and tags, in pages.

A request is checked first (`rule_request`) and then answered from the columns of a rulebook (`fetch`), so
that a cache can stand in between. Absolute rules come first, then by priority, then by id.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from enum import StrEnum
from heapq import merge
from itertools import islice
from typing import TypeVar, Unpack

from workbench.errors import UsageError
from workbench.lists.tables import decode_cursor, encode_cursor
from workbench.records.dataclass import dataclass
from workbench.records.requests import FilterFields
from workbench.records.rules import Authority, Category, ContextRules, Rule
from workbench.rules.fetching.facets import Key, RuleColumns, RuleFilter, answer_key, select

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000
TOP_K = 5

_Choice = TypeVar("_Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class RuleRequest:
    """A page of the rules a filter lets through: at most `limit` of those that come after the key `after`."""

    filter: RuleFilter
    limit: int = DEFAULT_LIMIT
    after: Key | None = None


@dataclass(frozen=True, slots=True)
class RulePage:
    """Rules in order. `total_count` counts all pages; `next_cursor` is None on the last one."""

    rules: tuple[Rule, ...]
    total_count: int
    next_cursor: str | None = None


Fetch = Callable[[RuleRequest], RulePage]
Search = Callable[[str, RuleFilter, int, float], Sequence[tuple[Rule, float]]]
"""Answers (query, filter, limit, least score) with (rule, score), best first."""


def get_rules(
    columns: RuleColumns,
    *,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
    **asked: Unpack[FilterFields],
) -> RulePage:
    """Return a page of the rules that hold in a context [rules, Query Mechanisms].

    A rule is let through if it has no scope or shares one with `scope` (none asked: any), belongs to the
    project or to none (None: any), targets no tool or one of `tool_targets`, and has one of `tags`. `path:`
    entries of `scope` are paths at hand, which the globs of rules take in. `enabled` None returns rules that
    are switched off as well. The next page takes `next_cursor` with the same filters: rules that come or go
    meanwhile make no other rule appear twice or be left out.

    Raises: UsageError for an unknown category or authority, a limit outside 1 to 1000, and a cursor that is
    not one of this query.
    """
    return fetch(columns, rule_request(rule_filter(**asked), limit=limit, cursor=cursor))


def rule_filter(**asked: Unpack[FilterFields]) -> RuleFilter:
    """Return a filter.

    Raises: UsageError for an unknown category or authority.
    """
    return RuleFilter(
        scope=_several(asked.get("scope", ())),
        project_id=asked.get("project_id"),
        category=_choice(Category, "category", asked.get("category")),
        authority=_choice(Authority, "authority", asked.get("authority")),
        tool_targets=_several(asked.get("tool_targets", ())),
        tags=_several(asked.get("tags", ())),
        enabled=asked.get("enabled", True),
    )


def rule_request(
    selected: RuleFilter, *, limit: int = DEFAULT_LIMIT, cursor: str | None = None
) -> RuleRequest:
    """Return the request for a page. Raises: UsageError for a bad limit or cursor."""
    if not 1 <= limit <= MAX_LIMIT:
        raise UsageError(f"limit {limit} is outside 1 to {MAX_LIMIT}", hint="Fetch page by page instead.")
    if cursor is None:
        return RuleRequest(selected, limit)
    group, priority, identifier = decode_cursor(cursor, fingerprint(selected))
    return RuleRequest(selected, limit, (int(group or 0), int(priority or 0), str(identifier)))


def fetch(columns: RuleColumns, request: RuleRequest) -> RulePage:
    """Answer a request from the columns of a rulebook."""
    total, left, found = _matching(columns, request)
    if columns.tail is not None:
        put, late, others = _matching(columns.tail.columns, request)
        total, left, found = total + put, left + late, merge(found, others, key=answer_key)
    chosen = tuple(islice(found, request.limit))
    cursor = None
    if len(chosen) < left:
        cursor = encode_cursor(answer_key(chosen[-1]), fingerprint(request.filter))
    return RulePage(chosen, total, cursor)


def _matching(columns: RuleColumns, request: RuleRequest) -> tuple[int, int, Iterator[Rule]]:
    """Return how many rules a filter lets through, how many come after the key, and those, in order."""
    found = select(columns, request.filter)
    start = 0
    if request.after is not None:
        # `found` counts in the order of answers, as `keys` does: what comes after a key is a suffix of both.
        first = bisect_right(columns.keys, request.after)
        start = int(found.searchsorted(first))
    places = columns.order[found[start : start + request.limit]].tolist()
    return len(found), len(found) - start, (columns.rules[place] for place in places)


def every(fetching: Fetch, selected: RuleFilter) -> Iterator[Rule]:
    """Yield all rules a filter lets through, page after page, each of the usual size: caches know those."""
    request: RuleRequest | None = RuleRequest(selected)
    while request is not None:
        page = fetching(request)
        yield from page.rules
        following = page.next_cursor
        request = None if following is None else rule_request(selected, cursor=following)


def get_context_rules(
    fetching: Fetch,
    search: Search,
    query: str,
    selected: RuleFilter,
    *,
    k: int = TOP_K,
    score_threshold: float = 0.5,
) -> ContextRules:
    """Return all absolute rules and the `k` default rules that answer best to a query [rules, composite].

    `selected` limits both; its own authority does not count.
    """
    absolute = tuple(every(fetching, replace(selected, authority=Authority.ABSOLUTE)))
    taken = {rule.id for rule in absolute}
    found = search(query, replace(selected, authority=Authority.DEFAULT), k, score_threshold)
    default = [(rule, score) for rule, score in found if rule.id not in taken]
    return ContextRules(absolute, tuple(default[:k]))


def fingerprint(selected: RuleFilter) -> str:
    """Return a text that differs for different filters."""
    return repr([getattr(selected, item.name) for item in fields(selected)])


def _several(values: Sequence[str]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(sorted(set(values)))


def _choice(kind: type[_Choice], name: str, value: str | None) -> _Choice | None:
    if value is None:
        return None
    try:
        return kind(value)
    except ValueError:
        raise UsageError(
            f"unknown {name} {value!r}", hint=f"Use one of {', '.join(item.value for item in kind)}."
        ) from None
