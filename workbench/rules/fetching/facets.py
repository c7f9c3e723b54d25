"""The rules of a rulebook by their properties, computed once, so that filters cost microseconds.

For each value a property takes there is the list of the rules that have it (a posting list), in the order in
which rules are answered: absolute ones first, then by priority, then by id. A filter unites the lists of the
values it asks for and intersects the properties; what is left is already in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from workbench.records.conversion import decode_lossless, encode_lossless
from workbench.records.dataclass import dataclass
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

    `order` int32 [n] are positions in `rules` in the order of answers. Ranks are positions in `order`.
    `globs` are the distinct lists of path globs in scopes with their rules. Rules that changed since the
    columns were made are those of the `tail`.
    """

    rules: Sequence[Rule]
    order: Ranks
    enabled: NDArray[np.bool_]
    scope: Property
    project: Property
    category: Property
    authority: Property
    tools: Property
    tags: Property
    globs: tuple[tuple[tuple[str, ...], Ranks], ...]
    tail: ColumnTail | None = None

    @property
    def keys(self) -> Sequence[Key]:
        """What the order of answers is by, ascending."""
        return _Keys(self.rules, self.order)


@dataclass(frozen=True, slots=True)
class ColumnTail:
    """Rules that are put over others: `columns` are theirs.

    `gone` int64, ascending, are the positions of rules that are not as they were, `holds` bool [n] says by
    rank which ones are. `before` int64, one for each of the rules put, is the position they are put before.
    """

    columns: RuleColumns
    gone: NDArray[np.int64]
    before: NDArray[np.int64]
    holds: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Keys(Sequence[Key]):
    rules: Sequence[Rule]
    order: Ranks

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> Key: ...

    @overload
    def __getitem__(self, index: slice) -> list[Key]: ...

    def __getitem__(self, index: int | slice) -> Key | list[Key]:
        if isinstance(index, slice):
            return [answer_key(self.rules[position]) for position in self.order[index].tolist()]
        return answer_key(self.rules[int(self.order[index])])


_PROPERTIES: Final[Mapping[str, Callable[[Rule], tuple[str, ...]]]] = {
    "scope": lambda rule: rule.scope,
    "project": lambda rule: () if rule.project_id is None else (rule.project_id,),
    "category": lambda rule: (rule.category,),
    "authority": lambda rule: (rule.authority,),
    "tools": lambda rule: rule.tool_targets,
    "tags": lambda rule: rule.tags,
}


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
        rules=rules,
        order=np.array(order, dtype=np.int32),
        enabled=np.array([rule.enabled for rule in ordered], dtype=np.bool_),
        globs=tuple((found, _ranks(ranks)) for found, ranks in globs.items()),
        tail=None,
        **{name: _property(map(values, ordered)) for name, values in _PROPERTIES.items()},
    )


def with_tail(
    columns: RuleColumns, put: Sequence[Rule], gone: Sequence[int], before: Sequence[int]
) -> RuleColumns:
    """Return columns over which rules are put, those at the positions `gone` left out; see `ColumnTail`."""
    left = np.array(gone, dtype=np.int64)
    holds = np.ones(len(columns.order), dtype=np.bool_)
    holds[left] = False
    tail = ColumnTail(column_rules(put), left, np.array(before, dtype=np.int64), holds[columns.order])
    return replace(columns, tail=tail)


def columns_arrays(columns: RuleColumns) -> dict[str, NDArray[Any] | bytes]:
    """Return columns as arrays by name, for whoever keeps them."""
    held = [*columns.globs]
    names: dict[str, Sequence[object]] = {"globs": [globs for globs, _ in held]}
    arrays: dict[str, NDArray[Any] | bytes] = {"order": columns.order, "enabled": columns.enabled}
    arrays |= _pack_ranks("globs", [ranks for _, ranks in held])
    for name in _PROPERTIES:
        found: Property = getattr(columns, name)
        names[name] = list(found.ranks)
        arrays |= {f"{name}.none": found.none, **_pack_ranks(name, list(found.ranks.values()))}
    return {**arrays, "names": encode_lossless(names)}


def columns_from(arrays: Mapping[str, NDArray[Any]], rules: Sequence[Rule]) -> RuleColumns:
    """Return the columns kept as arrays. Raises: ValueError, KeyError if they are of others."""
    names = decode_lossless(arrays["names"].tobytes(), dict[str, list[Any]])
    count, order = len(rules), _require_ranks(arrays["order"], len(rules))
    if len(order) != count or len(arrays["enabled"]) != count:
        raise ValueError("the columns are of other rules")
    held = {name: _unpack_ranks(arrays, name, len(names[name]), count) for name in ("globs", *_PROPERTIES)}
    if count and np.bincount(order, minlength=count).min() == 0:
        raise ValueError("the columns have no order")
    return RuleColumns(
        rules=rules,
        order=order,
        enabled=arrays["enabled"].astype(np.bool_),
        globs=tuple(zip(map(tuple, names["globs"]), held["globs"], strict=True)),
        tail=None,
        **{
            name: Property(
                dict(zip(names[name], held[name], strict=True)), _require_ranks(arrays[f"{name}.none"], count)
            )
            for name in _PROPERTIES
        },
    )


def _pack_ranks(name: str, held: Sequence[Ranks]) -> dict[str, NDArray[Any]]:
    ends = np.cumsum([len(ranks) for ranks in held], dtype=np.int64)
    return {f"{name}.ends": ends, f"{name}.ranks": np.concatenate([_ranks([]), *held])}


def _unpack_ranks(arrays: Mapping[str, NDArray[Any]], name: str, parts: int, count: int) -> list[Ranks]:
    ends, ranks = arrays[f"{name}.ends"], _require_ranks(arrays[f"{name}.ranks"], count)
    whole = len(ends) == parts and (not parts or (ends[-1] == len(ranks) and (np.diff(ends) >= 0).all()))
    if not whole or (parts and ends[0] < 0):
        raise ValueError(f"the columns of {name} do not fit together")
    return np.split(ranks, ends[:-1]) if parts else []


def _require_ranks(ranks: NDArray[Any], count: int) -> Ranks:
    if len(ranks) and not 0 <= ranks.min() <= ranks.max() < count:
        raise ValueError("the columns name rules that are not there")
    return ranks.astype(np.int32, copy=False)


def select(columns: RuleColumns, wanted: RuleFilter) -> Ranks:
    """Return the ranks of the rules a filter lets through, ascending; those of the tail aside."""
    count = len(columns.order)
    let = columns.enabled == wanted.enabled if wanted.enabled is not None else np.ones(count, dtype=np.bool_)
    if columns.tail is not None:
        let &= columns.tail.holds
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
    """Return int64 positions that a filter lets through, ascending, for a search.

    They are in the rules of the columns, or with a tail in those and the ones put over them, by id.
    """
    found = np.sort(columns.order[select(columns, wanted)]).astype(np.int64)
    if columns.tail is None:
        return found
    tail, put = columns.tail, allowed_positions(columns.tail.columns, wanted)
    found += np.searchsorted(tail.before, found, side="right") - np.searchsorted(tail.gone, found)
    before = tail.before[put]
    return np.sort(np.concatenate([found, before - np.searchsorted(tail.gone, before) + put]))


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
    return Property({value: _ranks(rank) for value, rank in ranks.items()}, _ranks(none))


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
    let = _mask(len(columns.order), columns.scope, scope, or_none=True)
    paths = tuple(entry[len(PATH_SCOPE) :] for entry in scope if entry.startswith(PATH_SCOPE))
    if paths:
        for globs, ranks in columns.globs:
            if first_match(globs, paths) is not None:
                let[ranks] = True
    return let
