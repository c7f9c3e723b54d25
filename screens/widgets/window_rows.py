"""Rows of a list that is too long to hold: their numbers in order, and windows of rows that are fetched.

A table never waits for a row. One that is not there yet is drawn as a placeholder and asked for together
with its neighbours; around the cursor, and ahead of it in the direction it moves, rows are asked for before
they are drawn. One question is asked at a time, always about what is in view by then, so that a key that is
held down passes over rows without fetching them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from textual.content import Content

if TYPE_CHECKING:
    from workbench.ports import Int64

SIZE: Final = 128
"""Rows of a window."""

AHEAD: Final = 2
"""Windows that are fetched ahead of the cursor."""

MOST_HELD: Final = 8_192
"""Rows that are kept; those that came first go first."""

CHUNK: Final = 4_096
"""Rows that are asked for at once where only their keys are wanted."""

PLACEHOLDER: Final = (Content.styled("…", "$text-muted"),)


RowT = TypeVar("RowT")

Found: TypeAlias = Callable[[Mapping[int, RowT]], None]
"""Is given rows by their numbers; those that are gone are missing."""

Fetch: TypeAlias = Callable[[Sequence[int], Found[RowT], Callable[[], None]], None]
"""Reads rows with some numbers beside the event loop; hands them over on it, or calls the last argument."""


class WindowRows(Generic[RowT]):
    """The rows with some numbers (int64 [n]), in their order.

    `key` gives the id of a row's record, `held` are rows known already, by number.
    """

    def __init__(
        self,
        numbers: Int64,
        fetch: Fetch[RowT],
        *,
        key: Callable[[RowT], str],
        cells: Callable[[RowT], Sequence[Content | str]],
        held: Mapping[int, RowT | None] | None = None,
    ) -> None:
        self.numbers = numbers
        self._fetch = fetch
        self._key = key
        self._cells = cells
        self._held: dict[int, RowT | None] = dict(held or {})
        self._wanted: list[int] = []
        self._fetching = False
        self._arrived: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return len(self.numbers)

    def row(self, index: int) -> RowT | None:
        """Return a row, None where it is not there yet or is gone; one that is not there is asked for."""
        number = int(self.numbers[index])
        if number not in self._held:
            self._want([index // SIZE])
        return self._held.get(number)

    def cells(self, index: int) -> Sequence[Content | str]:
        """Return a row's cells, or a placeholder."""
        row = self.row(index)
        return PLACEHOLDER if row is None else self._cells(row)

    def key(self, index: int) -> str:
        """Return the id of a row's record, "" where the row is not there."""
        row = self.row(index)
        return "" if row is None else self._key(row)

    def find(self, key: str) -> int | None:
        """Return the index of the row with this key, if it is one of those that are there."""
        number = next(
            (number for number, row in self._held.items() if row is not None and self._key(row) == key), None
        )
        return None if number is None else place_of(self.numbers, number)

    def rows_of(self, keys: Container[str]) -> dict[str, RowT]:
        """Return the rows of some records, as they were shown, as far as they are there."""
        there = ((self._key(row), row) for row in self._held.values() if row is not None)
        return {key: row for key, row in there if key in keys}

    def without(self, numbers: Iterable[int], *, put_last: Iterable[int] = ()) -> WindowRows[RowT]:
        """Return these rows but for those with some numbers, and with some of them at the end."""
        import numpy as np

        last = [number for number in put_last if number in self.numbers]
        left = self.numbers[~np.isin(self.numbers, [*numbers, *last])]
        left = np.concatenate((left, np.array(last, dtype=np.int64)))
        return WindowRows(left, self._fetch, key=self._key, cells=self._cells, held=self._held)

    def count_missing(self, numbers: Int64) -> int:
        """Return how many of some numbers (int64 [n]) are not among these rows."""
        import numpy as np

        return int(np.count_nonzero(~np.isin(numbers, self.numbers)))

    # What a table asks for.

    def follow(self, arrived: Callable[[], None]) -> None:
        """Call `arrived` whenever rows came."""
        self._arrived = arrived

    def expect(self, index: int, step: int) -> None:
        """Ask for the rows around a row, and for those ahead of it."""
        here = index // SIZE
        near = (index - SIZE // 2) // SIZE, (index + SIZE // 2) // SIZE
        ahead = range(1, AHEAD + 1) if step > 0 else range(-1, -AHEAD - 1, -1) if step < 0 else ()
        self._wanted.clear()  # what was wanted before was of a place the cursor has left
        self._want([here, *near, *(here + one for one in ahead)])

    def name_rows(self, first: int, last: int, then: Callable[[Sequence[str]], None]) -> None:
        """Hand over the keys of rows, "" for those that are gone."""
        numbers: list[int] = self.numbers[first : last + 1].tolist()
        held = {number: self._held.get(number) for number in numbers}
        names = {number: self._key(row) for number, row in held.items() if row is not None}
        missing = iter([number for number in numbers if number not in self._held])

        def ask() -> None:
            if some := list(islice(missing, CHUNK)):
                self._fetch(some, came, lambda: None)
            else:
                then([names.get(number, "") for number in numbers])

        def came(rows: Mapping[int, RowT]) -> None:
            names.update((number, self._key(row)) for number, row in rows.items())
            ask()

        ask()

    # Windows.

    def _missing(self, windows: Iterable[int]) -> Iterator[int]:
        for window in windows:
            for number in self.numbers[window * SIZE : (window + 1) * SIZE].tolist():
                if number not in self._held:
                    yield number

    def _want(self, windows: Iterable[int]) -> None:
        most = -(-len(self) // SIZE)
        self._wanted += [one for one in windows if 0 <= one < most and one not in self._wanted]
        if self._fetching:
            return
        wanted, self._wanted = self._wanted, []
        numbers = list(dict.fromkeys(self._missing(wanted)))
        if not numbers:
            return
        self._fetching = True

        def came(rows: Mapping[int, RowT]) -> None:
            self._held.update((number, rows.get(number)) for number in numbers)
            for number in list(islice(self._held, max(len(self._held) - MOST_HELD, 0))):
                del self._held[number]
            self._fetching = False
            self._want([])
            self._arrived()

        def failed() -> None:
            self._fetching = False

        self._fetch(numbers, came, failed)


def place_of(numbers: Int64, number: int) -> int | None:
    """Return where a number is among numbers, None if it is not there."""
    found = (numbers == number).nonzero()[0]
    return int(found[0]) if len(found) else None


def window_around(numbers: Int64, place: int) -> list[int]:
    """Return the numbers of the rows to hold where the cursor is at a place."""
    found: list[int] = numbers[max(place - SIZE // 2, 0) : place + SIZE].tolist()
    return found
