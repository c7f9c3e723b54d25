"""What the list of rules shows: the rules a filter lets through, sorted or by how well they were found."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from screens.filter_matching import filter_rows
from screens.filtering import Filter
from screens.rules.ordering import PLACE, inverse, sorted_positions
from screens.rules.records import FIELDS, RuleRecord
from screens.rules.rows import position_of
from workbench.records.rules import Rule

if TYPE_CHECKING:
    from workbench.rules.matching.searching import FoundRule

Progress = Callable[[str, int, int], None]


NOTHING: Final = Filter()
"""The filter that lets everything through."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the list shall show: a filter, and a column to sort by and its direction, if one was chosen."""

    filter: Filter = NOTHING
    sort: tuple[str, bool] | None = None

    @property
    def order(self) -> tuple[str, bool]:
        """The column and direction that decide where nothing else does."""
        return self.sort or (PLACE, False)


@dataclass(frozen=True, slots=True)
class Listing:
    """Positions of rules in the order they are shown, the row of each position, and what a search found."""

    order: Sequence[int]
    places: array[int]
    found: Mapping[int, FoundRule] | None = None


def listed(
    rules: Sequence[Rule],
    wanted: Wanted,
    base: Sequence[int],
    found: Mapping[int, FoundRule] | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> Listing:
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
    return Listing(order, inverse(order, len(rules)), found)


def base_order(rules: Sequence[Rule], wanted: Wanted, progress: Progress) -> array[int]:
    """Return all positions in the order wanted."""
    column, descending = wanted.order
    return sorted_positions(rules, column, descending=descending, check=lambda: progress("Sorting", 0, 0))


def by_position(rules: Sequence[Rule], found: Sequence[FoundRule]) -> dict[int, FoundRule]:
    """Return what a search found by the rules' positions, best first; rules gone since are left out."""
    pairs = ((position_of(rules, one.rule.id), one) for one in found)
    return {position: one for position, one in pairs if position is not None}


def _let_through(
    rules: Sequence[Rule], wanted: Wanted, start: Sequence[int], *, ranked: bool, tell: Progress
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
