"""The rules of a rulebook by their properties, computed once, so that filters cost microseconds.

For each value a property takes there is the list of the rules that have it (a posting list), in the order in
which rules are answered: absolute ones first, then by priority, then by id. A filter unites the lists of the
values it asks for and intersects the properties; what is left is already in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.records.rules import PATH_SCOPE, Authority, Category, Rule, path_globs
from workbench.rules.globs import first_match

Ranks = NDArray[np.int32]
Key = tuple[int, int, str]
"""(0 for absolute rules else 1, -priority, id): the order of answers."""


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """What fetched rules have in common; `fetching.rule_filter` makes one of anything a caller may say.

    `scope`, `tool_targets` and `tags` are sorted, each without duplicates; one of them being empty, or None
    elsewhere, asks for nothing.
    """

    scope: tuple[str, ...] = ()
    project_id: str | None = None
    category: Category | None = None
    authority: Authority | None = None
    tool_targets: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    enabled: bool | None = True


@dataclass(frozen=True, slots=True)
class Property:
    """One property of all rules: the ranks of each value, and of the rules that have none of any."""

    ranks: Mapping[str, Ranks]
    none: Ranks


@dataclass(frozen=True, slots=True)
class RuleColumns:
    """A rulebook's rules (by id) and their properties.

    `order` int32 [n] are positions in `rules` in the order of answers, `keys` what that order is by. Ranks
    are positions in `order`. `globs` are the distinct lists of path globs in scopes with their rules.
    """

    rules: tuple[Rule, ...]
    order: Ranks
    keys: tuple[Key, ...]
    enabled: NDArray[np.bool_]
    scope: Property
    project: Property
    category: Property
    authority: Property
    tools: Property
    tags: Property
    globs: tuple[tuple[tuple[str, ...], Ranks], ...]


def answer_key(rule: Rule) -> Key:
    """Return what a rule's place among answers is decided by."""
    return (0 if rule.authority is Authority.ABSOLUTE else 1, -rule.priority, rule.id)


def column_rules(rules: Sequence[Rule]) -> RuleColumns:
    """Return the columns of rules, which are sorted by id and have different ones."""
    unsorted = [answer_key(rule) for rule in rules]
    order = sorted(range(len(rules)), key=unsorted.__getitem__)
    ordered = [rules[position] for position in order]
    globs: dict[tuple[str, ...], list[int]] = {}
    for rank, rule in enumerate(ordered):
        if rule.scope and (found := path_globs(rule.scope)):
            globs.setdefault(found, []).append(rank)
    return RuleColumns(
        rules=tuple(rules),
        order=np.array(order, dtype=np.int32),
        keys=tuple(unsorted[position] for position in order),
        enabled=np.array([rule.enabled for rule in ordered], dtype=np.bool_),
        scope=_property(rule.scope for rule in ordered),
        project=_property(() if rule.project_id is None else (rule.project_id,) for rule in ordered),
        category=_property((rule.category,) for rule in ordered),
        authority=_property((rule.authority,) for rule in ordered),
        tools=_property(rule.tool_targets for rule in ordered),
        tags=_property(rule.tags for rule in ordered),
        globs=tuple((found, _ranks(ranks)) for found, ranks in globs.items()),
    )


def select(columns: RuleColumns, wanted: RuleFilter) -> Ranks:
    """Return the ranks of the rules a filter lets through, ascending."""
    count = len(columns.rules)
    let = columns.enabled == wanted.enabled if wanted.enabled is not None else np.ones(count, dtype=np.bool_)
    if wanted.scope:
        let &= _in_scope(columns, wanted.scope)
    if wanted.project_id is not None:
        let &= _mask(count, columns.project, [wanted.project_id], or_none=True)
    if wanted.category is not None:
        let &= _mask(count, columns.category, [wanted.category], or_none=False)
    if wanted.authority is not None:
        let &= _mask(count, columns.authority, [wanted.authority], or_none=False)
    if wanted.tool_targets:
        let &= _mask(count, columns.tools, wanted.tool_targets, or_none=True)
    if wanted.tags:
        let &= _mask(count, columns.tags, wanted.tags, or_none=False)
    return np.flatnonzero(let).astype(np.int32)


def allowed_positions(columns: RuleColumns, wanted: RuleFilter) -> NDArray[np.int64]:
    """Return int64 positions in `columns.rules` that a filter lets through, ascending, for a search."""
    return np.sort(columns.order[select(columns, wanted)]).astype(np.int64)


def _property(values: Iterable[tuple[str, ...]]) -> Property:
    ranks: dict[str, list[int]] = {}
    none: list[int] = []
    for rank, given in enumerate(values):
        if not given:
            none.append(rank)
        for value in given:
            found = ranks.get(value)
            if found is None:
                ranks[value] = [rank]
            else:
                found.append(rank)
    return Property({value: _ranks(found) for value, found in ranks.items()}, _ranks(none))


def _ranks(found: Sequence[int]) -> Ranks:
    return np.array(found, dtype=np.int32)


def _mask(count: int, column: Property, values: Iterable[str], *, or_none: bool) -> NDArray[np.bool_]:
    let = np.zeros(count, dtype=np.bool_)
    if or_none:
        let[column.none] = True
    for value in values:
        found = column.ranks.get(value)
        if found is not None:
            let[found] = True
    return let


def _in_scope(columns: RuleColumns, scope: tuple[str, ...]) -> NDArray[np.bool_]:
    """Let through rules without a scope, rules that share an entry, and rules whose globs take in a path."""
    let = _mask(len(columns.rules), columns.scope, scope, or_none=True)
    paths = tuple(entry[len(PATH_SCOPE) :] for entry in scope if entry.startswith(PATH_SCOPE))
    if paths:
        for globs, ranks in columns.globs:
            if first_match(globs, paths) is not None:
                let[ranks] = True
    return let
