"""Where a table's rows come from: an object asked for one row at a time, by its place among what is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar, runtime_checkable

from textual.content import Content

T = TypeVar("T")


class Rows(Protocol):
    """Rows in the order they are shown. A table calls `cells` for rows it draws and for no others."""

    def __len__(self) -> int:
        """Return how many rows there are, at once."""
        ...

    def cells(self, index: int) -> Sequence[Content | str]:
        """Return a row's cells, one for each column; strings are data."""
        ...

    def key(self, index: int) -> str:
        """Return what the row is known by wherever it moves; no two rows share it."""
        ...


@runtime_checkable
class FindableRows(Protocol):
    """Rows that know where a key is, so that a table need not look through all of them."""

    def find(self, key: str) -> int | None:
        """Return the index of the row with this key."""
        ...


class NoRows:
    """No rows at all."""

    def __len__(self) -> int:
        return 0

    def cells(self, index: int) -> Sequence[Content | str]:
        """Raise IndexError."""
        raise IndexError(index)

    def key(self, index: int) -> str:
        """Raise IndexError."""
        raise IndexError(index)


class ListRows(Generic[T]):
    """Rows made of things in a list, all of them or those at the positions of `order`, in that order.

    `order` is what filtering or sorting ends in; `key` and `cells` are asked about one thing at a time.
    """

    def __init__(
        self,
        things: Sequence[T],
        *,
        key: Callable[[T], str],
        cells: Callable[[T], Sequence[Content | str]],
        order: Sequence[int] | None = None,
    ) -> None:
        self._things = things
        self._key = key
        self._cells = cells
        self._order = order

    def __len__(self) -> int:
        return len(self._things if self._order is None else self._order)

    def thing(self, index: int) -> T:
        """Return the thing a row is made of."""
        return self._things[index if self._order is None else self._order[index]]

    def cells(self, index: int) -> Sequence[Content | str]:
        """Return a row's cells."""
        return self._cells(self.thing(index))

    def key(self, index: int) -> str:
        """Return a row's key."""
        return self._key(self.thing(index))


def find_row(rows: Rows, key: str, near: int) -> int | None:
    """Return the index of the row with this key; `near` is looked at first, as most rows stay in place."""
    if 0 <= near < len(rows) and rows.key(near) == key:
        return near
    if isinstance(rows, FindableRows):
        return rows.find(key)
    return next((index for index in range(len(rows)) if rows.key(index) == key), None)
