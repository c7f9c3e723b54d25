"""The order of rules by a column, worked out in pieces so that no other thread waits for it.

Sorting a hundred thousand keys is one call that holds the interpreter for a tenth of a second and more; here
short runs are sorted and merged.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from heapq import merge
from typing import Any, Final

from workbench.records.rules import Authority, Level, Rule
from workbench.rules.describing import place

Check = Callable[[], None]

PLACE: Final = "origin"
"""The column rules are sorted by when nobody chose one: file and line."""

_RUN: Final = 2_048
_LEVELS: Final = {Level.GLOBAL: 0, Level.SCENARIO: 1, Level.STEP: 2}

SORT_KEYS: Final[Mapping[str, Callable[[Rule], Any]]] = {
    PLACE: place,
    "id": lambda rule: rule.id,
    "category": lambda rule: str(rule.category),
    "authority": lambda rule: rule.authority is not Authority.ABSOLUTE,
    "priority": lambda rule: rule.priority,
    "level": lambda rule: _LEVELS[rule.level],
    "enabled": lambda rule: not rule.enabled,
    "tokens": lambda rule: rule.token_cost,
    "used": lambda rule: rule.usage_count,
    "scope": lambda rule: rule.scope,
    "tags": lambda rule: rule.tags,
    "text": lambda rule: rule.rule.casefold()[:200],
    "updated": lambda rule: rule.updated_at,
}
"""What rules are sorted by, by the id of the column, in the order the columns are cycled through."""

DESCENDING_FIRST: Final = frozenset({"priority", "tokens", "used", "updated", "score"})
"""Columns whose largest values come first when they are chosen."""


def sorted_positions(
    rules: Sequence[Rule], column: str, *, descending: bool, check: Check = lambda: None
) -> array[int]:
    """Return the positions of rules sorted by a column; equal ones stay in their order, that is by id."""
    key = SORT_KEYS[column]
    keys: list[Any] = []
    runs: list[list[int]] = []
    for start in range(0, len(rules), _RUN):
        check()
        keys += [key(rule) for rule in rules[start : start + _RUN]]
        run = range(start, len(keys))
        runs.append(sorted(run, key=keys.__getitem__, reverse=descending))
    found = array("I")
    for number, position in enumerate(merge(*runs, key=keys.__getitem__, reverse=descending)):
        if number % _RUN == 0:
            check()
        found.append(position)
    return found


def inverse(order: Sequence[int], count: int) -> array[int]:
    """Return the place of each of `count` positions in an order, -1 for those that are not in it."""
    places = array("i", bytes(4 * count))
    for position in range(count):
        places[position] = -1
    for place_in_order, position in enumerate(order):
        places[position] = place_in_order
    return places
