"""Values as numbers of the distinct ones among them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from workbench.ports import Int64

Item = TypeVar("Item")


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
