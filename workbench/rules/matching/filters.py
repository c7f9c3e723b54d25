"""Which rules a query considers at all: the business filters [adr2].

`reject` says of one rule why it is left out; `passing` says of many, by columns computed once for a rulebook,
whether.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.records.conversion import decode_lossless, encode_lossless
from workbench.records.dataclass import dataclass
from workbench.records.rules import Activation, Authority, Level, Rule
from workbench.rules.matching.context import RuleContext, conditions_hold, left_out, scope_holds, tools_hold
from workbench.text.distinct import index_distinct


@dataclass(frozen=True, slots=True)
class RuleQuery:
    """What is asked: a message, in a context. Without a context rules hold whatever they are limited to.

    `now` is in seconds since the epoch, None ignores cooldowns. `project_id` None means any.
    """

    text: str = ""
    project_id: str | None = None
    context: RuleContext | None = None
    now: float | None = None


def reject(rule: Rule, query: RuleQuery) -> str:
    """Return why a rule can't apply to a query whatever it says, or ''."""
    return _reject_shared(rule, query) or reject_alone(rule, query)


def _reject_shared(rule: Rule, query: RuleQuery) -> str:
    """Return why rules with the properties of one can't apply, or ''; see `reject`."""
    if not rule.enabled:
        return "is disabled"
    if query.project_id is not None and rule.project_id not in (None, query.project_id):
        return "belongs to another project"
    return left_out(rule, query.context) if query.context is not None else ""


def reject_alone(rule: Rule, query: RuleQuery) -> str:
    """Return why a rule can't apply for what is about it alone: its cooldown, or a file to be named."""
    if rule.cooldown and rule.last_used and query.now is not None:
        until = _seconds(rule.last_used) + rule.cooldown
        if until > query.now:
            return f"was used at {rule.last_used} and cools down until {_moment(until)}"
    if rule.provenance is not None and rule.provenance.activation is Activation.MANUAL:
        return "" if _names_file(rule, query.text) else "is used only when its file is named"
    return ""


def _names_file(rule: Rule, text: str) -> bool:
    """Whether a message names a manual rule's file, as agents do: `@name` or `#name`."""
    file = rule.provenance.file if rule.provenance else ""
    name = file.rpartition("/")[2].partition(".")[0].lower()
    lowered = text.lower()
    return bool(name) and (f"@{name}" in lowered or f"#{name}" in lowered)


def _seconds(moment: str) -> float:
    """Return seconds since the epoch of an ISO time; an unreadable one is long ago."""
    try:
        return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return float("-inf")


def _moment(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return "the end of time"


Bool = NDArray[np.bool_]
Int64 = NDArray[np.int64]
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, eq=False)
class MatchColumns:
    """Columns of rules, [n] each; those named `…_of` index the distinct values beside them.

    `rank` is a rule's place by id; `claims` says which rules can enter a plan without matching: `absolute`
    ones and those with a scope. `singular` are positions of rules that are checked one by one.
    """

    rules: Sequence[Rule]
    enabled: Bool
    project_of: Int64
    projects: tuple[str | None, ...]
    tools_of: Int64
    tools: tuple[tuple[str, ...], ...]
    scope_of: Int64
    scopes: tuple[tuple[Level, tuple[str, ...]], ...]
    conditions_of: Int64
    conditions: tuple[dict[str, Any], ...]
    priority: NDArray[np.float64]
    rank: Int64
    absolute: Bool
    claims: Bool
    singular: tuple[int, ...]


_INDEXED: Final = {
    "project_of": "projects",
    "tools_of": "tools",
    "scope_of": "scopes",
    "conditions_of": "conditions",
}
"""The columns that index distinct values, with the names of these."""
_KEPT: Final = (*_INDEXED, "enabled", "priority", "absolute", "claims")


class _Tables(msgspec.Struct):
    projects: tuple[str | None, ...]
    tools: tuple[tuple[str, ...], ...]
    scopes: tuple[tuple[Level, tuple[str, ...]], ...]
    conditions: tuple[dict[str, Any], ...]


def match_columns_of(rules: Sequence[Rule]) -> MatchColumns:
    """Return the columns of rules."""
    project_of, projects = index_distinct([rule.project_id for rule in rules])
    tools_of, tools = index_distinct([rule.tool_targets for rule in rules])
    scope_of, scopes = index_distinct([(rule.level, rule.scope) for rule in rules])
    conditions_of, conditions = index_distinct([rule.conditions for rule in rules], key=_condition_key)
    rank = np.empty(len(rules), np.int64)
    rank[sorted(range(len(rules)), key=lambda row: (rules[row].id, row))] = np.arange(len(rules))
    absolute = np.array([rule.authority is Authority.ABSOLUTE for rule in rules], np.bool_)
    scoped = np.array([bool(scope) for _, scope in scopes], np.bool_)
    return MatchColumns(
        rules=rules,
        enabled=np.array([rule.enabled for rule in rules], np.bool_),
        project_of=project_of,
        projects=projects,
        tools_of=tools_of,
        tools=tools,
        scope_of=scope_of,
        scopes=scopes,
        conditions_of=conditions_of,
        conditions=conditions,
        priority=np.array([rule.priority for rule in rules], np.float64),
        rank=rank,
        absolute=absolute,
        claims=absolute | scoped[scope_of],
        singular=tuple(row for row, rule in enumerate(rules) if _singular(rule)),
    )


def match_arrays(columns: MatchColumns) -> dict[str, NDArray[Any] | bytes]:
    """Return the columns of rules that are sorted by id as arrays by name, for whoever keeps them."""
    arrays: dict[str, NDArray[Any] | bytes] = {name: getattr(columns, name) for name in _KEPT}
    arrays["singular"] = np.array(columns.singular, np.int64)
    arrays["tables"] = encode_lossless(_Tables(*(getattr(columns, name) for name in _INDEXED.values())))
    return arrays


def match_columns_from(arrays: Mapping[str, NDArray[Any]], rules: Sequence[Rule]) -> MatchColumns:
    """Return the columns kept as arrays. Raises: ValueError, KeyError if they are of others."""
    tables = decode_lossless(arrays["tables"].tobytes(), _Tables)
    found: dict[str, Any] = {name: arrays[name] for name in _KEPT}
    singular = arrays["singular"]
    if any(len(held) != len(rules) for held in found.values()) or not _is_within(singular, len(rules)):
        raise ValueError("the columns are of other rules")
    for name, values in _INDEXED.items():
        found[values] = getattr(tables, values)
        if not _is_within(found[name], len(found[values])):
            raise ValueError(f"the columns name {values} that are not there")
    rank = np.arange(len(rules), dtype=np.int64)
    return MatchColumns(rules=rules, rank=rank, singular=tuple(singular.tolist()), **found)


def move_match_columns(
    before: MatchColumns,
    rules: Sequence[Rule],
    moved: NDArray[np.int32],
    fresh: Sequence[int],
    used: Sequence[int],
) -> MatchColumns:
    """Return the columns of rules, sorted by id, most of which are those of before.

    `moved` int32 says where each rule of before is now, -1 for those that are not as they were; `fresh` are
    the positions of all others, `used` of those that were used since.
    """
    kept = np.flatnonzero(moved >= 0)
    at, added = moved[kept], match_columns_of([rules[place] for place in fresh])
    found: dict[str, Any] = {}
    for name in _KEPT:
        old, new = getattr(before, name), getattr(added, name)
        if name in _INDEXED:
            table = _INDEXED[name]
            found[table] = (*getattr(before, table), *getattr(added, table))
            new = new + len(getattr(before, table))
        found[name] = np.empty(len(rules), old.dtype)
        found[name][at], found[name][fresh] = old[kept], new
    alone = {int(moved[row]) for row in before.singular if moved[row] >= 0}
    alone.update(place for place in (*fresh, *used) if _singular(rules[place]))
    rank = np.arange(len(rules), dtype=np.int64)
    return MatchColumns(rules=rules, rank=rank, singular=tuple(sorted(alone)), **found)


def _is_within(held: NDArray[Any], count: int) -> bool:
    return not len(held) or bool(0 <= held.min() <= held.max() < count)


def passing(columns: MatchColumns, query: RuleQuery) -> Bool:
    """Return which rules a query's filters let through, bool [n]; the same as `reject` says."""
    kept = columns.enabled.copy()
    if query.project_id is not None:
        kept &= _each(columns.projects, lambda one: one in (None, query.project_id))[columns.project_of]
    context = query.context
    if context is not None:
        kept &= _each(columns.tools, lambda some: tools_hold(some, context))[columns.tools_of]
        kept &= _each(columns.scopes, lambda one: scope_holds(*one, context))[columns.scope_of]
        kept &= _each(columns.conditions, lambda one: conditions_hold(one, context))[columns.conditions_of]
    for row in columns.singular:
        kept[row] = kept[row] and not reject_alone(columns.rules[row], query)
    return kept


def find_claims(columns: MatchColumns, query: RuleQuery) -> list[int]:
    """Return the rows of the rules that a query's filters let through and that claim a place unmatched."""
    found: list[int] = np.flatnonzero(columns.claims & passing(columns, query)).tolist()
    return found


def find_disabled(columns: MatchColumns) -> list[int]:
    """Return the rows of the rules that are out of force."""
    found: list[int] = np.flatnonzero(~columns.enabled).tolist()
    return found


def refusals(columns: MatchColumns, query: RuleQuery) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return what `reject` says of each rule: int64 [n] that index the distinct reasons beside them.

    Rules with the same properties have the same reason, so that one of them is read.
    """
    code = columns.enabled.astype(np.int64)
    for name, table in _INDEXED.items():
        code = code * max(len(getattr(columns, table)), 1) + getattr(columns, name)
    _, firsts, groups = np.unique(code, return_index=True, return_inverse=True)
    reasons = [_reject_shared(columns.rules[row], query) for row in firsts.tolist()]
    found = groups.astype(np.int64).reshape(-1)
    for row in columns.singular:
        if not reasons[found[row]]:
            reasons.append(reject_alone(columns.rules[row], query))
            found[row] = len(reasons) - 1
    return found, tuple(reasons)


def _singular(rule: Rule) -> bool:
    """Whether a rule's filters are about itself alone: a cooldown, or a file that has to be named."""
    manual = rule.provenance is not None and rule.provenance.activation is Activation.MANUAL
    return manual or bool(rule.cooldown and rule.last_used)


def _condition_key(conditions: dict[str, Any]) -> Hashable:
    return repr(conditions) if conditions else ""  # in their order, in which the reason names the first unmet


def _each(values: Sequence[Item], holds: Callable[[Item], bool]) -> Bool:
    return np.array([holds(value) for value in values], np.bool_)
