"""The list of rules: what a filter asks of a rule, the orders there are, and which rules are shown.

A field's values are worked out when a filter asks for them, so a filter over a hundred thousand rules costs
what its terms cost. Sorting as many keys is one call that holds the interpreter for a tenth of a second and
more; here short runs are sorted and merged, so that no other thread waits.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import TYPE_CHECKING, Any, Final

from screens.filter_matching import Value, filter_rows
from screens.rules.rows import position_of
from screens.rules.rule_form import condition_lines
from workbench.lists.filters import Field, FieldKind
from workbench.lists.tables import ListQuery
from workbench.records.rules import Authority, Category, Level, Provenance, Rule
from workbench.rules.descriptions import place

if TYPE_CHECKING:
    from workbench.rules.matching.search import FoundRule


FACETS: Final = tuple(
    "category authority level enabled home tag tool scope file format project source holds checked".split()
)
"""The fields whose values are counted, in the order they are listed."""

Getter = Callable[[Rule], Value]


def _source(value: Callable[[Provenance], Value]) -> Getter:
    """Return what gives a value of the place that a rule was read from, nothing where there is none."""
    return lambda rule: None if rule.provenance is None else value(rule.provenance)


_TABLE: Final[tuple[tuple[Field, Getter], ...]] = (
    (Field("text", FieldKind.TEXT), lambda rule: rule.rule),
    (Field("condition", FieldKind.TEXT), lambda rule: rule.condition_text or None),
    (Field("example", FieldKind.TEXT), lambda rule: rule.examples),
    (Field("id"), lambda rule: (rule.id, rule.id.removeprefix("rule-"))),
    (Field("file"), _source(lambda found: (found.file, *found.names))),
    (Field("tag"), lambda rule: rule.tags),
    (Field("tool"), lambda rule: rule.tool_targets),
    (Field("scope"), lambda rule: rule.scope),
    (Field("name"), lambda rule: rule.name),
    (Field("category", choices=tuple(Category), searched=False), lambda rule: rule.category),
    (
        Field("authority", choices=(Authority.DEFAULT, Authority.ABSOLUTE), searched=False),
        lambda rule: rule.authority,
    ),
    (
        Field("level", choices=(Level.GLOBAL, Level.SCENARIO, Level.STEP), searched=False),
        lambda rule: rule.level,
    ),
    (Field("priority", FieldKind.NUMBER), lambda rule: rule.priority),
    (Field("tokens", FieldKind.NUMBER), lambda rule: rule.token_cost),
    (Field("used", FieldKind.NUMBER), lambda rule: rule.usage_count),
    (Field("version", FieldKind.NUMBER), lambda rule: rule.version),
    (Field("cooldown", FieldKind.NUMBER), lambda rule: rule.cooldown),
    (Field("line", FieldKind.NUMBER), _source(lambda found: found.line)),
    (Field("enabled", FieldKind.YES_NO), lambda rule: rule.enabled),
    (Field("home", FieldKind.YES_NO), lambda rule: rule.project_id is None),
    (Field("checked", FieldKind.YES_NO), lambda rule: rule.check is not None),
    (Field("created", FieldKind.TIME), lambda rule: rule.created_at),
    (Field("updated", FieldKind.TIME), lambda rule: rule.updated_at),
    (Field("last", FieldKind.TIME), lambda rule: rule.last_used),
    (Field("when", searched=False), lambda rule: condition_lines(rule.conditions)),
    (Field("project", searched=False), lambda rule: rule.project_id),
    (Field("source", searched=False), lambda rule: rule.source),
    (Field("format", searched=False), _source(lambda found: found.format)),
    (Field("section", searched=False), _source(lambda found: found.section)),
    (Field("holds", searched=False), _source(lambda found: str(found.activation))),
    (Field("replaces", searched=False), lambda rule: rule.replaces),
    (
        Field("meta", searched=False),
        lambda rule: [f"{name}={value}" for name, value in rule.metadata.items()],
    ),
)

FIELDS: Final = tuple(field for field, _ in _TABLE)
"""The fields of the filter; text that is looked for is looked for in the first ones first."""

_GETTERS: Final = {field.name: getter for field, getter in _TABLE}


class RuleRecord(Mapping[str, Value]):
    """A rule's fields by the names of a filter, each worked out when it is asked for."""

    __slots__ = ("rule",)

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def __getitem__(self, name: str) -> Value:
        return _GETTERS[name](self.rule)

    def __iter__(self) -> Iterator[str]:
        return iter(_GETTERS)

    def __len__(self) -> int:
        return len(_GETTERS)


def facet_values(rule: Rule, name: str) -> tuple[str, ...]:
    """Return a rule's values of a facet, as a filter writes them; what it has none of gives none."""
    value = _GETTERS[name](rule)
    if name == "file":
        return () if rule.provenance is None else (rule.provenance.file,)
    if value is None or value == "":
        return ()
    if isinstance(value, bool):
        return ("yes" if value else "no",)
    if isinstance(value, (str, int, float)):
        return (str(value),)
    return tuple(value)


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


Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class RuleListQuery(ListQuery):
    """What the list is to show; rules are in the order of their files where no column was chosen."""

    @property
    def order(self) -> tuple[str, bool]:
        """The column and direction that decide where nothing else does."""
        return self.sort or (PLACE, False)


@dataclass(frozen=True, slots=True)
class RuleListing:
    """Positions of rules in the order they are shown, the row of each position, and what a search found."""

    order: Sequence[int]
    places: array[int]
    found: Mapping[int, FoundRule] | None = None


def listed(
    rules: Sequence[Rule],
    wanted: RuleListQuery,
    base: Sequence[int],
    found: Mapping[int, FoundRule] | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> RuleListing:
    """Return what is shown of rules sorted by id; `base` are their positions in the order wanted.

    Of a search only what it found is shown, best first. A filter that ranks puts better matches first unless
    a column was chosen. `progress` may raise to stop.
    """
    start: Sequence[int] = base
    if found is not None:
        places = {position: place for place, position in enumerate(found)}
        start = array("I", found)
        if wanted.sort is not None:
            start = array("I", (position for position in base if position in places))
    order = _let_through(rules, wanted, start, ranked=wanted.sort is None and found is None, tell=progress)
    return RuleListing(order, inverse(order, len(rules)), found)


def base_order(rules: Sequence[Rule], wanted: RuleListQuery, progress: Progress) -> array[int]:
    """Return all positions in the order wanted."""
    column, descending = wanted.order
    return sorted_positions(rules, column, descending=descending, check=lambda: progress("Sorting", 0, 0))


def by_position(rules: Sequence[Rule], found: Sequence[FoundRule]) -> dict[int, FoundRule]:
    """Return what a search found by the rules' positions, best first; rules gone since are left out."""
    pairs = ((position_of(rules, one.rule.id), one) for one in found)
    return {position: one for position, one in pairs if position is not None}


def _let_through(
    rules: Sequence[Rule], wanted: RuleListQuery, start: Sequence[int], *, ranked: bool, tell: Progress
) -> Sequence[int]:
    if not wanted.filter:
        return start
    step = None
    for step in filter_rows(
        wanted.filter, lambda index: RuleRecord(rules[start[index]]), len(start), fields=FIELDS
    ):
        tell("Filtering", step.done, step.total)
    assert step is not None
    assert step.order is not None
    kept: Sequence[int] = step.order
    if not ranked and wanted.filter.ranks:
        kept = sorted(kept)
    return array("I", (start[index] for index in kept))
