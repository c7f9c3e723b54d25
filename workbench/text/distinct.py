"""The distinct ones among values, in order or as numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.ports import Int64

Item = TypeVar("Item")


def ascending(values: Int64) -> Int64:
    """Return values in order, each once; `np.unique` would import masked arrays first."""
    ordered = np.sort(values, axis=None)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def number_distinct(values: Int64) -> tuple[Int64, Int64]:
    """Return the number of each value among the distinct ones in order, and how often each occurs."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    counts = np.diff(starts, append=len(ordered))
    numbers = np.empty(len(values), np.int64)
    numbers[order] = np.repeat(np.arange(len(counts)), counts)
    return numbers, counts


def find_among(
    values: NDArray[np.uint32], wanted: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where each value would be among some that are ascending, and whether it is there.

    `np.isin` sorts them all.
    """
    if not len(wanted):
        return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    at = np.minimum(np.searchsorted(wanted, values), len(wanted) - 1)
    return at, np.asarray(wanted[at] == values)


def index_distinct(
    values: Sequence[Item], key: Callable[[Item], Hashable] = lambda value: value
) -> tuple[Int64, tuple[Item, ...]]:
    """Return (the index of each value, int64 [n], the distinct values in order of appearance)."""
    places: dict[Hashable, int] = {}
    found: list[Item] = []
    index = np.empty(len(values), np.int64)
    for row, value in enumerate(values):
        place = places.setdefault(key(value), len(places))
        if place == len(found):
            found.append(value)
        index[row] = place
    return index, tuple(found)
